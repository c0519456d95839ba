"""The stochastic solvers: steps against NumPy with explicit weights, then what they promise as solvers."""

from dataclasses import replace

import numpy as np
import pytest
from compare import KERNELS
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from plain_sgd import plain_steps
from problems import make_problem
from strategies import problems

import reference
from sparsecrf import InputError, Vocabulary
from sparsecrf._core import Sgd as Stepper
from sparsecrf.training import fit
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import ElasticNet
from sparsecrf.training.solvers.sgd import SgdL1, _Stochastic, warm_up
from sparsecrf.training.solvers.solver import Point, point_at

stochastic = pytest.mark.parametrize(("solver", "rho1"), [("sgd", 0.0), ("sgd-l1", 1.0)])
STEPS = {"eta0": 0.3, "decay": 0.5}


def replay(problem, w, q, u, sequences, n, **options):
    """The steps as they are defined, with gradients of the reference."""

    def gradient(w, i):
        mu, lam = np.split(w, [problem.mu.size])
        found = reference.objective(
            [problem.sequences[i]], mu.reshape(problem.mu.shape), lam.reshape(problem.lam.shape)
        )
        return np.concatenate([found.g_mu.ravel(), found.g_lam.ravel()])

    return plain_steps(gradient, w, q, u, sequences, n, **options)


@pytest.mark.slow
@given(
    problem=problems(weights=("moderate",), missing=True, sequence_weights=True, token_weights=True),
    penalty=st.sampled_from([(0.0, 0.0), (0.0, 0.5), (0.4, 0.0), (0.3, 0.2)]),
    seed=st.integers(0, 2**64 - 1),
    kernel=st.sampled_from(KERNELS),
    at_once=st.sampled_from([1, 2, 5]),
    threads=st.integers(1, 3),
)
@settings(max_examples=60)
def test_an_epoch_is_the_steps_one_by_one(problem, penalty, seed, kernel, at_once, threads):
    stepper = Stepper(problem.corpus(), kernel, threads)
    rho1, rho2 = penalty
    n = len(stepper.order(seed, 0))
    state = expected = problem.w, np.zeros(problem.w.size), 0.0
    for epoch in range(3):
        order = stepper.order(seed, epoch)
        options = {"rho1": rho1, "rho2": rho2, **STEPS, "done": float(epoch * n), "at_once": at_once}
        state = stepper.run(problem.features(), *state, order, **options)
        expected = replay(problem, *expected, order, n, **options)
        for found, value in zip(state, expected, strict=True):
            if rho1 or found is state[0]:
                assert_allclose(found, value, rtol=1e-9, atol=1e-9)


def many_lists(seed, weights, n_attributes=40):
    """One frequent bigram attribute and many rare ones: most positions have both a base and a rest list."""
    options = {"n_labels": 4, "lengths": [4] * 40, "weights": weights, "missing": 0.02}
    problem = make_problem(seed, n_attributes=n_attributes, **options)
    sequences = [replace(s, bigram=tuple((*pairs, (0, 0.5)) for pairs in s.bigram)) for s in problem.sequences]
    return replace(problem, sequences=tuple(sequences))


@pytest.mark.parametrize("at_once", [1, 8])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("weights", ["moderate", "thousand"])
def test_base_and_rest_lists(kernel, weights, at_once):
    problem = many_lists(4, weights)
    stepper = Stepper(problem.corpus(), kernel, 2)
    order = stepper.order(0, 0)
    options = {"rho1": 0.1, "rho2": 0.1, **STEPS, "done": 0.0, "at_once": at_once}
    start = problem.w, np.zeros(problem.w.size), 0.0
    found = stepper.run(problem.features(), *start, order, **options)
    assert_allclose(found[0], replay(problem, *start, order, len(order), **options)[0], rtol=1e-9, atol=1e-9)


def test_the_start_of_auto_has_the_same_bits_for_any_number_of_threads():
    # Each run of 64 consecutive attributes belongs to one thread, so several threads have attributes.
    corpus = many_lists(5, "moderate", n_attributes=400).corpus()
    found = []
    for threads in (1, 2, 3, 4, 8):
        objective = Objective(corpus, ElasticNet(0.2, 0.1), threads=threads)
        found.append(warm_up(objective, point_at(objective)))
    assert np.count_nonzero(found[0].w) > 50
    for point in found[1:]:
        assert_array_equal(point.w, found[0].w)
        assert point.loss == found[0].loss


@pytest.mark.parametrize("at_once", [0, -1, 1025])
def test_at_once_is_checked(at_once):
    problem = make_problem(seed=3, n_labels=3, lengths=[4], n_attributes=3)
    stepper = Stepper(problem.corpus())
    start = problem.w, np.zeros(problem.w.size), 0.0
    with pytest.raises(InputError, match=f"at_once: expected 1 to 1024 steps, found {at_once}"):
        stepper.run(problem.features(), *start, stepper.order(0, 0), rho1=0, rho2=0, **STEPS, done=0, at_once=at_once)


@pytest.mark.parametrize("kernel", KERNELS)
def test_weights_that_outgrow_the_linear_domain(kernel):
    """From 0, by steps so large that the scores of later sequences span many hundreds."""
    problem = make_problem(seed=3, n_labels=3, lengths=[4] * 6, n_attributes=3, list_size=2)
    stepper = Stepper(problem.corpus(), kernel)
    order = stepper.order(0, 0)
    options = {"rho1": 0.0, "rho2": 0.0, "eta0": 400.0, "decay": 0.0, "done": 0.0}
    start = np.zeros(problem.w.size), np.zeros(problem.w.size), 0.0
    found = stepper.run(problem.features(), *start, order, **options)
    assert np.abs(found[0]).max() > 700
    assert_allclose(found[0], replay(problem, *start, order, len(order), **options)[0], rtol=1e-9, atol=1e-9)


@given(problem=problems(weights=("moderate",), missing=True, sequence_weights=True, token_weights=True))
@settings(max_examples=20)
def test_loss_of_a_sample(problem):
    stepper = Stepper(problem.corpus())
    some = stepper.order(1, 0)[:2]
    expected = reference.objective([problem.sequences[i] for i in some], problem.mu, problem.lam).loss
    assert_allclose(stepper.loss(problem.features(), problem.w, some), expected, rtol=1e-10, atol=1e-10)


def test_a_long_decay_keeps_its_digits():
    """So many and so large steps that the scale of the weights has to be renewed on the way."""
    problem = make_problem(seed=1, n_labels=3, lengths=[3] * 2, n_attributes=4, real_values=True)
    stepper = Stepper(problem.corpus())
    order = np.tile(stepper.order(0, 0), 60)
    options = {"rho1": 0.01, "rho2": 1.9, "eta0": 1.0, "decay": 0.0, "done": 0.0}
    start = problem.w, np.zeros(problem.w.size), 0.0
    found = stepper.run(problem.features(), *start, order, **options)
    assert_allclose(found[0], replay(problem, *start, order, 2, **options)[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("density", [0.05, 0.3, 1.0])
def test_any_working_set(density):
    """Some features only: their steps are the same as those of the whole set with the others held at 0."""
    problem = make_problem(seed=2, n_labels=12, lengths=[5] * 6, n_attributes=5, list_size=3, real_values=True)
    keep = np.random.default_rng(0).random(problem.w.size) < density
    stepper = Stepper(problem.corpus())
    order = stepper.order(0, 0)
    options = {"rho1": 0.1, "rho2": 0.1, **STEPS}
    w, q, u = problem.w[keep], np.zeros(keep.sum()), 0.0
    whole = np.where(keep, problem.w, 0.0), np.zeros(keep.size), 0.0
    for t, i in enumerate(order):
        w, q, u = stepper.run(problem.features(keep), w, q, u, np.array([i]), **options, done=float(t))
        whole_w, whole_q, whole_u = replay(problem, *whole, [i], len(order), **options, done=t)
        whole = np.where(keep, whole_w, 0.0), np.where(keep, whole_q, 0.0), whole_u
    assert_allclose(w, whole[0][keep], rtol=1e-9, atol=1e-9)


def test_orders_are_permutations_that_a_seed_repeats():
    problem = make_problem(seed=1, n_labels=2, lengths=[2] * 50, n_attributes=3, sequence_weights=True)
    stepper = Stepper(problem.corpus())
    first = stepper.order(7, 0)
    assert_array_equal(np.sort(first), [i for i, s in enumerate(problem.sequences) if s.weight > 0])
    assert_array_equal(first, Stepper(problem.corpus()).order(7, 0))
    for other in (stepper.order(7, 1), stepper.order(8, 0), np.sort(first)):
        assert (other != first).any()


def shuffled(n, seed, epoch):
    """Fisher-Yates with splitmix64 (Steele, Lea & Flood 2014)."""

    def splitmix(state):
        while True:
            state = (state + 0x9E3779B97F4A7C15) % 2**64
            z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 % 2**64
            z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
            yield z ^ z >> 31

    random = splitmix((next(splitmix(seed)) + epoch) % 2**64)
    order = list(range(n))
    for k in range(n, 1, -1):
        j = next(random) % k
        order[k - 1], order[j] = order[j], order[k - 1]
    return order


@pytest.mark.parametrize(("seed", "epoch"), [(0, 0), (3, 9), (2**64 - 1, 1)])
def test_orders_are_the_same_on_every_machine(seed, epoch):
    stepper = Stepper(make_problem(seed=1, n_labels=2, lengths=[1] * 30, n_attributes=2).corpus())
    assert_array_equal(stepper.order(seed, epoch), shuffled(30, seed, epoch))


# ---- As solvers


def moderate(seed, **kinds):
    """Enough sequences that an epoch gets somewhere, few enough that the optimum is found too."""
    return make_problem(seed=seed, n_labels=4, lengths=[6] * 60, n_attributes=8, real_values=True, **kinds).corpus()


KINDS = {
    "plain": {},
    "sequence weights": {"sequence_weights": True},
    "token weights": {"token_weights": True},
    "missing labels": {"missing": 0.2},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("solver", "rho1", "rho2"), [("sgd", 0.0, 2.0), ("sgd-l1", 2.0, 1.0), ("sgd-l1", 4.0, 0.0)])
def test_comes_near_the_optimum(solver, rho1, rho2, kind):
    for seed in range(3):
        corpus = moderate(seed, **KINDS[kind])
        best = fit(corpus, rho1=rho1, rho2=rho2, tol=1e-6, max_iter=2000, threads=1)
        found = fit(corpus, rho1=rho1, rho2=rho2, solver=solver, seed=seed, tol=1e-4, threads=1)
        assert found.objective <= best.objective * (1 + 1e-3)
        if kind != "missing labels":  # otherwise the problem is not convex, and another minimum may be lower
            assert found.gap >= found.objective - best.objective >= -1e-9 * best.objective


def test_l1_weights_are_sparse():
    corpus = moderate(0)
    best = fit(corpus, rho1=3.0, rho2=0.1, tol=1e-6, threads=1)
    found = fit(corpus, rho1=3.0, rho2=0.1, solver="sgd-l1", threads=1)
    everything = len(Objective(corpus, ElasticNet(0.0, 0.0)).hopeful().numbers)
    assert len(found.numbers) < 1.2 * len(best.numbers) < 0.5 * everything


@stochastic
def test_the_seed_decides_and_threads_do_not(solver, rho1):
    corpus = moderate(1)
    fits = [
        fit(corpus, rho1=rho1, rho2=0.1, solver=solver, seed=seed, threads=threads, max_iter=7)
        for seed, threads in [(5, 1), (5, 1), (5, 3), (6, 1)]
    ]
    for other in fits[1:3]:
        assert_array_equal(other.numbers, fits[0].numbers)
        assert_array_equal(other.w, fits[0].w)
    assert len(fits[3].w) != len(fits[0].w) or (fits[3].w != fits[0].w).any()


@stochastic
def test_the_best_point_is_returned(solver, rho1, monkeypatch):
    """With steps that are far too large, and only the third small, the objective goes up and down."""
    run = _Stochastic._run
    sizes = iter([3.0, 3.0, 1e-2, 50.0, 50.0, 50.0, 50.0, 50.0])
    monkeypatch.setattr(_Stochastic, "_calibrate", lambda self, point, size: 1.0)

    def wild(self, stepper, known, w, q, u, order, eta0):
        return run(self, stepper, known, w, q, u, order, next(sizes))

    monkeypatch.setattr(_Stochastic, "_run", wild)
    found = fit(moderate(2), rho1=rho1, rho2=0.1, solver=solver, max_iter=8, threads=1)
    values = [record.objective for record in found.history]
    assert found.stopped_by == "max_iter"
    assert min(values) < values[-1]
    assert found.objective == pytest.approx(min(values), rel=1e-12)


def test_features_that_join_owe_no_penalty():
    corpus = moderate(0)
    objective = Objective(corpus, ElasticNet(2.0, 0.1), threads=1)
    whole = objective.working_set(objective.prepared.observed)
    some = objective.working_set(whole.numbers[::2].copy())
    solver = SgdL1(objective)
    point = Point(some, np.zeros(some.size), *objective.loss_grad(some, np.zeros(some.size)))
    for _ in range(3):
        point = solver.step(point)
    assert solver.u > 0
    received = solver.q
    solver.move(whole, some)
    w = whole.carry(point.w, some)
    loss, g = objective.loss_grad(whole, w)
    q = solver._penalties_received(Point(whole, w, loss, g))
    assert_array_equal(q[::2], received)
    assert_array_equal(q[1::2], solver.u * np.sign(g[1::2]))
    assert_array_equal(solver._penalties_received(Point(whole, w, loss, -g)), q)  # they joined once


def test_epochs_without_a_limit(monkeypatch):
    monkeypatch.setattr("sparsecrf.training.fitting.EPOCHS", 4)
    found = fit(moderate(0), rho1=0.5, rho2=0.1, solver="sgd-l1", tol=0.0)
    assert (found.stopped_by, found.history[-1].iter) == ("max_iter", 4)
    assert fit(moderate(0), rho1=1e6, solver="sgd-l1").stopped_by == "tol"


def test_no_penalty_at_all():
    corpus = moderate(0)
    found = [fit(corpus, rho1=0.0, rho2=0.0, solver=solver, max_iter=10) for solver in ("sgd", "sgd-l1")]
    for one in found:
        assert one.objective < 0.9 * one.history[0].objective


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"solver": "sgd", "rho1": 0.5}, r"rho1=0\.5 is not supported by solver='sgd'; use .* or sgd-l1, or rho1=0"),
        ({"solver": "sgd-l1", "seed": -1}, r"seed: expected .* found -1"),
        ({"solver": "sgd-l1", "seed": 2**64}, r"seed: expected .* found"),
    ],
)
def test_wrong_options(options, words):
    with pytest.raises(InputError, match=words):
        fit(moderate(0), **options)


def test_wrong_steps():
    problem = make_problem(1, 2, [1] * 5, 2)
    stepper = Stepper(problem.corpus())
    options = {"rho1": 0.0, "rho2": 1.0, **STEPS, "done": 0.0}
    start = problem.features(), problem.w, np.zeros(problem.w.size), 0.0
    with pytest.raises(InputError, match=r"sequences: expected numbers from 0 to 4, found 5"):
        stepper.run(*start, np.array([5]), **options)
    for eta0 in (0.0, 5.0, np.nan):
        with pytest.raises(InputError, match="eta0: expected"):
            stepper.run(*start, np.array([0]), **{**options, "eta0": eta0})


def test_steps_do_not_grow_where_nothing_is_left_to_gain():
    """Without a penalty a single label can be made certain: weights of 1e17 had an objective of -4, by rounding."""
    X, y = [["a", "a", [], [], "a"]], [["L0", "L1", "L0", "L1", "L1"]]
    corpus = Vocabulary().encode(X, y, token_weight=[[0.0, 0.0, 0.3, 0.0, 0.0]], grow=True)
    found = fit(corpus, rho1=0.0, rho2=0.0, solver="sgd", threads=1)
    assert abs(found.objective) < 1e-6
    assert np.abs(found.w).max() < 1000
