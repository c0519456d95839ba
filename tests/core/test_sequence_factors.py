"""The bound with a factor for each sequence: against the best factors by SciPy, and against the true minimum."""

import numpy as np
import pytest
from explicit_objective import Explicit
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import make_problem
from scipy.optimize import minimize
from scipy.special import xlogy

from sparsecrf import InputError, fit
from sparsecrf._core import Corpus, Oracle
from sparsecrf.shards import Shards
from sparsecrf.training.dual import LowerBound
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import ElasticNet


def parts(problem):
    """[N, K] w_i g_i, [N] w_i, H(p_i) and p_i(y_i) of every sequence, by marginals of single sequences."""
    features, chain = problem.features(), problem.chain()
    g, weight, entropy, own = [], [], [], []
    for i, sequence in enumerate(problem.sequences):
        corpus = problem.corpus().subset(np.array([i]))
        loss, gradient = Oracle(corpus, 1).loss_grad(features, problem.w)
        w_i = sequence.weight
        g.append(gradient)
        weight.append(w_i)
        own.append(np.exp(chain.log_prob(corpus)[0]))
        entropy.append((loss - problem.w @ gradient) / w_i if w_i > 0 else 0.0)
    return np.array(g), np.array(weight), np.array(entropy), np.array(own)


def value(s, g, weight, entropy, own, penalty):
    """D(s), with the entropy of a mixture written out: those of its two disjoint parts, and that of which part."""
    a, b = 1 - s + s * own, s * (1 - own)  # mass of the own labels, and of all others
    others = entropy + xlogy(own, own)  # - sum of p log p over the others
    mixed = s * others - xlogy(a, a) - xlogy(b, s)
    return float(weight @ mixed) - penalty.conjugate(np.abs(s @ g))


def bound_of(objective, problem):
    """The bound at the weights of a problem, all features known."""
    known = objective.working_set(problem.features().numbers)
    loss, g = objective.loss_grad(known, problem.w)
    run = LowerBound(objective)
    run.gap(known.numbers, problem.w, loss, g)
    plain = run.best.bound
    return plain, loss + objective.penalty.value(problem.w) - run.tighten(known, problem.w, loss, g)


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32 - 1),
    n_labels=st.integers(1, 3),
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=5),
    rho1=st.sampled_from([0.1, 0.5, 1.5]),
    rho2=st.sampled_from([0.01, 0.1, 1.0]),
)
@settings(max_examples=60)
def test_the_best_factors_are_found(seed, n_labels, lengths, rho1, rho2):
    problem = make_problem(seed=seed, n_labels=n_labels, lengths=lengths, n_attributes=3, sequence_weights=True)
    penalty = ElasticNet(rho1, rho2)
    of = parts(problem)
    starts = [np.ones(len(lengths)), np.full(len(lengths), 0.5), np.full(len(lengths), 0.1)]
    best = max(
        -minimize(lambda s: -value(s, *of, penalty), s, bounds=[(1e-9, 1.0)] * len(s), method="L-BFGS-B").fun
        for s in starts
    )
    plain, found = bound_of(Objective(problem.corpus(), penalty, threads=1), problem)
    assert found >= plain - 1e-12
    scale = 1 + abs(best)
    assert found >= best - 0.02 * scale  # coordinate ascent stops early, and sure sequences keep the factor 1
    # Above the best factors of this kind by no more than mixing with the plain model allows.
    assert found <= max(best, plain) + 0.05 * scale


@pytest.mark.slow
@pytest.mark.parametrize(("rho2", "loss"), [(1.0, 1e-4), (0.02, 0.06)])
def test_blocks_of_several_sequences(rho2, loss):
    """With many sequences, a block has more than one, and eight blocks change G at the same time."""
    problem = make_problem(seed=7, n_labels=3, lengths=[3] * 300, n_attributes=8, density=0.5)
    penalty = ElasticNet(0.3, rho2)
    g, weight, entropy, own = of = parts(problem)

    def falls(s):  # - D(s), and its derivative
        G = s @ g
        slope = entropy + xlogy(own, own) + (1 - own) * (np.log(1 - s + s * own) - np.log(s))
        excess = np.sign(G) * np.maximum(np.abs(G) - 0.3, 0.0)
        return -value(s, *of, penalty), g @ excess / rho2 - weight * slope

    best = -minimize(falls, np.ones(300), jac=True, bounds=[(1e-9, 1.0)] * 300, method="L-BFGS-B").fun
    bounds = [bound_of(Objective(problem.corpus(), penalty, threads=n), problem) for n in (1, 2, 16)]
    assert bounds[0] == bounds[1] == bounds[2]
    plain, found = bounds[0]
    assert plain < best - loss * abs(best)  # the factors matter
    assert best - loss * abs(best) <= found <= best + 1e-3 * abs(best)


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32 - 1),
    n_labels=st.integers(1, 3),
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    rho1=st.sampled_from([0.05, 0.3, 1.0]),
    rho2=st.sampled_from([0.0, 0.01, 0.3]),
    kind=st.sampled_from([{}, {"sequence_weights": True}, {"token_weights": True}]),
)
def test_it_is_below_the_minimum(seed, n_labels, lengths, rho1, rho2, kind):
    problem = make_problem(seed=seed, n_labels=n_labels, lengths=lengths, n_attributes=3, **kind)
    _, found = bound_of(Objective(problem.corpus(), ElasticNet(rho1, rho2), threads=1), problem)
    best = Explicit(problem, rho1, rho2).minimum
    assert found <= best + 1e-7 * (1 + abs(best))


def near_the_optimum():
    problem = make_problem(seed=3, n_labels=3, lengths=[5] * 12, n_attributes=6, density=0.5)
    objective = Objective(problem.corpus(), ElasticNet(0.3, 0.05), threads=1)
    found = fit(problem.corpus(), rho1=0.3, rho2=0.05, tol=1e-3, threads=1)
    known = objective.screen(objective.working_set(found.numbers), found.w)[0]
    return problem, objective, known, known.carry(found.w, objective.working_set(found.numbers))


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["none", "entropy", "factor", "feature"])
def test_a_wrong_entropy_factor_or_feature_list_is_found(fault, monkeypatch):
    """The check above can fail: each fault puts the bound above the minimum."""
    problem, objective, known, w = near_the_optimum()
    whole = Objective.sequence_factors

    def wrong(self, known, w, listed, g):
        entropy, G = whole(self, known, w, listed, g)
        if fault == "entropy":
            entropy *= 1.01
        if fault == "factor":
            G = 0.97 * G
        if fault == "feature":
            G[np.argsort(-np.abs(G))[:10]] = 0.0
        return entropy, G

    monkeypatch.setattr(Objective, "sequence_factors", wrong)
    loss, g = objective.loss_grad(known, w)
    run = LowerBound(objective)
    run.gap(known.numbers, w, loss, g)
    run.tighten(known, w, loss, g)
    best = Explicit(problem, 0.3, 0.05).minimum
    assert (run.best.bound <= best + 1e-7 * best) == (fault == "none")


@pytest.mark.slow
def test_shards_give_a_bound_too():
    problem, objective, known, w = near_the_optimum()
    corpus: Corpus = problem.corpus()
    halves = [corpus.subset(np.arange(k, 12, 2)) for k in range(2)]
    shards = Objective(Shards.in_process([lambda half=half: half for half in halves], n_kept=2), objective.penalty)
    bounds = []
    for one in (objective, shards):
        loss, g = one.loss_grad(known, w)
        run = LowerBound(one)
        run.gap(known.numbers, w, loss, g)
        plain = run.best.bound
        run.tighten(known, w, loss, g)
        bounds.append((plain, run.best.bound))
    best = Explicit(problem, 0.3, 0.05).minimum
    assert bounds[1][0] == pytest.approx(bounds[0][0], rel=1e-9)
    assert bounds[1][0] < bounds[1][1] <= best  # better than the plain bound, though not as good as without shards
    assert bounds[0][0] < bounds[0][1] <= best


def test_any_number_of_threads_and_wrong_arguments():
    problem, objective, known, w = near_the_optimum()
    _, g = objective.loss_grad(known, w)
    listed = np.arange(known.size)
    options = {"rho1": 0.3, "rho2": 0.05, "sweeps": 5, "max_entries": 10**6}
    corpus = problem.corpus()
    one, *others = (
        Oracle(corpus, n).sequence_factors(known.feature_set, w, listed, g, **options) for n in (1, 2, 3, 8)
    )
    for other in others:
        assert one[0] == other[0]
        np.testing.assert_array_equal(one[1], other[1])
    # Sequences that do not fit keep the factor 1: the entropy of the model itself.
    loss, _ = objective.loss_grad(known, w)
    none = Oracle(corpus, 1).sequence_factors(known.feature_set, w, listed, g, **{**options, "max_entries": 0})
    assert none[0] == pytest.approx(loss - w @ g, rel=1e-9)
    np.testing.assert_allclose(none[1], g, atol=1e-10)
    # A single shard need not compute the contributions of others.
    alone = Oracle(corpus, 1).sequence_factors(known.feature_set, w, listed, g, **options, alone=True)
    np.testing.assert_allclose(alone[1], one[1], atol=1e-10)
    for fault, match in (({"rho2": 0.0}, "rho2"), ({"listed": listed[::-1].copy()}, "listed"), ({"g": g[1:]}, "total")):
        given = {"listed": listed, "g": g, **{k: v for k, v in fault.items() if k in ("listed", "g")}}
        with pytest.raises(InputError, match=match):
            Oracle(corpus, 1).sequence_factors(
                known.feature_set,
                w,
                given["listed"],
                given["g"],
                **{**options, **({} if "rho2" not in fault else fault)},
            )


def test_many_pairs_of_few_lists():
    """E of a pair is then found once for all positions; in the log domain it is not."""
    problem = make_problem(
        seed=5, n_labels=10, lengths=[6, 1, 9] * 4, n_attributes=3, density=0.3, sequence_weights=True
    )
    corpus, features, w = problem.corpus(), problem.features(), problem.w
    loss, g = Oracle(corpus, 1).loss_grad(features, w)
    listed = np.arange(len(w))
    options = {"rho1": 0.3, "rho2": 0.05, "sweeps": 5}
    none = Oracle(corpus, 1).sequence_factors(features, w, listed, g, **options, max_entries=0)
    assert none[0] == pytest.approx(loss - w @ g, rel=1e-9)  # all factors are 1: the entropy of the model
    linear, log = (
        Oracle(corpus, 2, kernel).sequence_factors(features, w, listed, g, **options, max_entries=10**6)
        for kernel in ("sparse", "log")
    )
    assert abs(linear[0] - none[0]) > 1e-3  # some factors are not
    assert linear[0] == pytest.approx(log[0], rel=1e-9)
    np.testing.assert_allclose(linear[1], log[1], atol=1e-8)
