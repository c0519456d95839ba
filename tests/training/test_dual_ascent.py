"""Dual ascent: its bound against enumeration, its certificate at every iteration, and what it refuses.

Its optimum is compared with SciPy's in test_training.py and test_selection.py, its checkpoints in test_checkpoint.py.
"""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from explicit_objective import Explicit, larger
from numpy.testing import assert_allclose, assert_array_equal
from problems import make_problem

from sparsecrf import CRF, InputError
from sparsecrf._core import DualAscent, FeatureSet
from sparsecrf.training import fit
from sparsecrf.training.data import TrainingData
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import ElasticNet
from sparsecrf.training.solvers.dual import Dual


def epochs(ascent, n):
    for epoch in range(n):
        if epoch:
            ascent.recenter(0.02)
        ascent.run(ascent.order(0, epoch, by_gaps=epoch % 4 != 0))


def chains(state, problem):
    """Of every sequence its first node [Y] and its pairs [T - 1, Y, Y]."""
    Y, (nodes, *_, pairs) = problem.n_labels, state
    nodes, at = nodes.reshape(len(problem.labels), -1), 0
    for sequence, first in zip(problem.sequences, problem.offsets[:-1], strict=True):
        n = max(len(sequence) - 1, 0) * Y * Y
        yield sequence, nodes[first, :Y], pairs[at : at + n].reshape(-1, Y, Y)
        at += -(-n // 8) * 8


def features_of(sequence, labels, shape):
    """F of a sequence with these labels: [X, Y] and [X, Y + 1, Y]."""
    X, Y = shape
    mu, lam = np.zeros((X, Y)), np.zeros((X, Y + 1, Y))
    for t, y in enumerate(labels):
        for x, value in sequence.unigram[t]:
            mu[x, y] += value
        for x, value in sequence.bigram[t]:
            lam[x, labels[t - 1] if t else Y, y] += value
    return np.concatenate([mu.ravel(), lam.ravel()])


def enumerated_bound(state, problem, rho1, rho2):
    """D by the sum over all label sequences of every chain."""
    entropy, G = 0.0, np.zeros(problem.w.size)
    for sequence, first, pairs in chains(state, problem):
        if sequence.weight == 0 or not len(sequence):
            continue
        total = 0.0
        for labels in product(range(problem.n_labels), repeat=len(sequence)):
            p = first[labels[0]]
            for t in range(1, len(labels)):
                before = pairs[t - 1][labels[t - 1]].sum()
                p *= pairs[t - 1][labels[t - 1], labels[t]] / before if before > 0 else 0.0
            total += p
            entropy -= sequence.weight * (p * np.log(p) if p > 0 else 0.0)
            G += sequence.weight * p * features_of(sequence, labels, problem.mu.shape)
        assert_allclose(total, 1.0, rtol=1e-12)
        G -= sequence.weight * features_of(sequence, sequence.labels, problem.mu.shape)
    return entropy - (np.maximum(np.abs(G) - rho1, 0.0) ** 2).sum() / (2 * rho2)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("rho1", "rho2"), [(0.1, 0.1), (0.0, 0.5), (0.5, 0.01)])
@pytest.mark.parametrize("doubles", [False, True])
def test_bound_is_that_of_its_distributions(seed, rho1, rho2, doubles):
    """`certify` returns the bound of a distribution exactly, in any precision that the pairs are stored in."""
    problem = make_problem(seed, 3, [1, 4, 2, 5], 4, real_values=seed % 2 == 1, sequence_weights=seed > 2)
    ascent = DualAscent(problem.corpus(), None, rho1, rho2)
    if doubles:
        ascent.use_doubles()
    for n in (0, 1, 5):
        epochs(ascent, n)
        loss, penalty, bound, *_ = ascent.evaluate()
        assert bound <= loss + penalty + 1e-9
        expected = enumerated_bound(ascent.state(), problem, rho1, rho2)
        assert_allclose(bound, expected, **({"rtol": 1e-9, "atol": 1e-9} if doubles else {"rtol": 1e-6, "atol": 1e-6}))
        assert_allclose(ascent.certify(), expected, rtol=1e-9, atol=1e-9)
        assert_allclose(ascent.evaluate()[2], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("real_values", [False, True])
def test_attributes_with_identical_columns(real_values):
    """They share a row: D is that of all of them, and so are the weights. The last two attributes are copies of others,
    but one label of the last is no feature."""
    problem = make_problem(2, 3, [6] * 8, 5, real_values=real_values)
    sequences = [
        replace(s, unigram=[[*here, *((x + 5, v) for x, v in here if x < 2)] for here in s.unigram])
        for s in problem.sequences
    ]
    problem = replace(problem, sequences=sequences, mu=np.ones((7, 3)), lam=np.ones((7, 4, 3)))
    ascent = DualAscent(problem.corpus(), None, 0.1, 0.1)
    assert ascent.state()[1].size == 5 * 8
    epochs(ascent, 6)
    expected = enumerated_bound(ascent.state(), problem, 0.1, 0.1)
    assert_allclose(ascent.certify(), expected, rtol=1e-9)
    numbers, w = ascent.weights()
    mu = np.zeros(21)
    mu[numbers[numbers < 21]] = w[numbers < 21]
    assert_array_equal(mu.reshape(7, 3)[5:], mu.reshape(7, 3)[:2])
    assert np.abs(mu[:6]).max() > 0

    keep = np.arange(problem.w.size) != 20
    some = DualAscent(problem.corpus(), problem.features(keep), 0.1, 0.1)
    assert some.state()[1].size == 6 * 8
    epochs(some, 3)
    assert 20 not in some.weights()[0]


@pytest.mark.parametrize(("rho1", "rho2"), [(0.3, 0.1), (0.0, 0.2)])
def test_every_gap_is_valid(rho1, rho2):
    problem = make_problem(3, 3, [4] * 8, 5)
    best = Explicit(problem, rho1, rho2).minimum
    found = fit(problem.corpus(), rho1=rho1, rho2=rho2, solver="dual", tol=1e-7, threads=1)
    assert found.stopped_by == "tol"
    assert_allclose(found.objective, best, rtol=1e-6)
    gaps = [(record.objective - best, record.gap) for record in found.history if record.gap is not None]
    assert len(gaps) > 3
    for above, gap in gaps:
        assert gap >= above - 1e-7 * best
    assert gaps[0][1] > 100 * gaps[-1][1]


def test_weights_so_large_that_sums_overflow():
    """Scores of pairs that differ by more than the linear domain can hold."""
    problem = make_problem(2, 3, [6] * 4, 3)
    corpus, features = problem.corpus(), problem.features()
    w = np.where(np.arange(problem.w.size) % 2 == 0, 900.0, -900.0)
    ascent = DualAscent(corpus, None, 0.1, 0.1)
    ascent.start(features, w)
    assert np.isfinite(ascent.evaluate()).all()
    epochs(ascent, 3)
    loss, penalty, bound, *_ = ascent.evaluate()
    assert bound <= loss + penalty


@pytest.mark.parametrize(("weight", "rho2"), [(1e5, 0.1), (1e6, 0.1), (1.0, 1e-8)])
def test_gaps_that_rounding_to_floats_would_hide(weight, rho2):
    """Separable data with a weak penalty: the objective is much smaller than the scores of sequences."""
    rng = np.random.default_rng(0)
    gold = [rng.integers(0, 2, rng.integers(1, 200)) for _ in range(60)]
    words = [[[f"w{2 * y + rng.integers(2)}", "bias"] for y in sequence] for sequence in gold]
    labels = [["AB"[y] for y in sequence] for sequence in gold]
    crf = CRF(solver="dual", rho1=0.0, rho2=rho2, max_iter=50)
    crf.fit(words, labels, sample_weight=np.full(60, weight))
    assert crf.model_.training["stopped_by"] == "tol"


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rho1", [0.0, 0.3])
@pytest.mark.parametrize("threads", [1, 3])
def test_loss_and_residual_at_the_end(seed, rho1, threads):
    """`finish` against the definition, for weights that steps did not find, with and without all features."""
    problem = make_problem(seed, 3, [1, 4, 2, 5] * 5, 4, real_values=seed % 2 == 1, sequence_weights=seed > 2)
    some = np.arange(problem.w.size) % 3 == 0
    w, explicit = np.where(some, problem.w, 0.0), Explicit(problem, rho1, 0.1)
    loss, g = explicit.loss_grad(w)
    smallest = np.abs(ElasticNet(rho1, 0.1).subgradient(w, g))
    for listed in (None, some):
        features = problem.features(listed)
        ascent = DualAscent(problem.corpus(), None if listed is None else features, rho1, 0.1, threads)
        epochs(ascent, 1)
        found, residual = ascent.finish(features, w if listed is None else w[some])
        assert_allclose(found, loss, rtol=1e-11)
        assert_allclose(residual, explicit.residual(w) if listed is None else smallest[some].sum(), rtol=1e-10)


def test_starts_near_given_weights():
    corpus, options = larger().corpus(), {"rho1": 0.3, "rho2": 0.1, "threads": 1}
    best = fit(corpus, tol=1e-8, **options)
    cold = fit(corpus, solver="dual", tol=1e-6, **options)
    warm = fit(corpus, solver="dual", tol=1e-6, init=best, **options)
    assert warm.history[-1].iter < cold.history[-1].iter / 2


@pytest.mark.parametrize("repeated", [1, 240])
def test_same_bits_for_any_number_of_threads(repeated):
    """In batches of either size (`kManySequences`)."""
    corpus = larger().corpus().subset(np.tile(np.arange(25), repeated))
    runs = [DualAscent(corpus, FeatureSet.observed(corpus), 0.2, 0.05, threads) for threads in (1, 2, 3, 8)]
    for ascent in runs:
        epochs(ascent, 6)
    values = [ascent.evaluate() for ascent in runs]
    assert values.count(values[0]) == 4
    for ascent in runs[1:]:
        for part, first in zip(ascent.state(), runs[0].state(), strict=True):
            assert_array_equal(part, first)


X, Y = [["a", "b"], ["b"]] * 3, [["x", "y"], ["y"]] * 3


@pytest.mark.parametrize("rho1", [0.0, 0.1])
def test_batches_never_lower_the_bound(rho1):
    """Every sequence occurs twenty times: the changes of a batch all point in the same direction."""
    small = make_problem(3, 3, [4, 1, 6], 5, list_size=3)
    corpus = small.corpus().subset(np.tile(np.arange(3), 20))
    ascent = DualAscent(corpus, None, rho1, 0.05, 2)
    ascent.never_descend()
    bounds = [ascent.certify()]
    for epoch in range(12):
        order = ascent.order(0, epoch, by_gaps=epoch % 4 != 0)
        for batch in np.array_split(order, range(8, len(order), 8)):
            ascent.run(batch)
            bounds.append(ascent.evaluate()[2])
    rises = np.diff(bounds)
    assert rises.min() >= -1e-9 * abs(bounds[-1])
    assert rises.max() > 0


@pytest.mark.parametrize(
    ("options", "data"),
    [
        ({"rho2": 0.0}, {}),
        ({"order": 3}, {}),
        ({"penalty": "group:attribute"}, {}),
        ({"label_parts": "bio"}, {}),
        ({"class_weight": {"x": 2.0}}, {}),
        ({}, {"y": [["x", None], ["y"]] * 3}),
    ],
)
def test_what_it_refuses(options, data):
    with pytest.raises(InputError, match="dual"):
        CRF(solver="dual", n_jobs=1, **{"rho1": 0.1, "rho2": 0.1, **options}).fit(X, data.get("y", Y))


def test_states_of_other_data_are_refused():
    ascent = DualAscent(larger().corpus(), None, 0.1, 0.1)
    with pytest.raises(InputError, match="expected 8 arrays, found 0"):
        ascent.restore([])
    parts = ascent.state()
    with pytest.raises(InputError, match=r"state: expected .* entries"):
        ascent.restore([parts[0][1:], *parts[1:]])
    with pytest.raises(InputError, match="rho2: expected a number > 0"):
        DualAscent(larger().corpus(), None, 0.1, 0.0)


def test_a_run_knows_how_long_a_pass_takes():
    """A time limit and an interrupt rely on it: what follows them must be short."""
    objective = Objective(TrainingData(larger().corpus(), threads=1), ElasticNet(0.1, 0.1))
    Dual(objective).zero()
    assert objective.pass_s > 0


def test_a_state_of_another_version_is_refused():
    objective = Objective(TrainingData(larger().corpus(), threads=1), ElasticNet(0.1, 0.1))
    with pytest.raises(InputError, match="expected 8 numbers of the solver dual, found 6 numbers"):
        Dual(objective).restore({"numbers": np.zeros(6)})
