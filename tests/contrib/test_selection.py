"""Models of some features only, and the choices of them that the paper compares with."""

from collections import Counter
from dataclasses import replace
from functools import cache
from math import log

import numpy as np
import pytest
from explicit_objective import Explicit, larger
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import make_problem
from scipy.optimize import minimize
from strategies import problems

from sparsecrf import BIAS, InputError, Vocabulary, _core, fit
from sparsecrf.contrib.selection import frequency_cutoff, information, mutual_information, threshold
from sparsecrf.training import SOLVERS
from sparsecrf.training.data import TrainingData
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import ElasticNet

NO_FEATURES = np.zeros(0, dtype=np.int64)


class Restricted(Explicit):
    """P on some of the features."""

    def restrict(self, features):
        keep = np.zeros(self.problem.w.size, dtype=bool)
        keep[features] = True
        object.__setattr__(self, "keep", keep)
        return self

    def loss_grad(self, w):
        loss, g = super().loss_grad(np.where(self.keep, w, 0.0))
        return loss, np.where(self.keep, g, 0.0)


@cache
def restricted(rho1, rho2):
    """Some features of a problem; their minimum is found once for all solvers."""
    problem = larger()
    features = np.sort(np.random.default_rng(1).permutation(problem.w.size)[:60])
    return Restricted(problem, rho1, rho2).restrict(features), features


@pytest.mark.slow
@pytest.mark.parametrize("solver", [name for name, kind in SOLVERS.items() if not kind.is_stochastic])
@pytest.mark.parametrize(("rho1", "rho2"), [(0.3, 0.1), (0.0, 0.2), (0.3, 0.0)])
def test_optimum_and_certificate_are_over_the_given_features(solver, rho1, rho2):
    if solver == "dual" and rho2 == 0:
        pytest.skip("needs an l2 term")
    explicit, features = restricted(rho1, rho2)
    problem = explicit.problem
    found = fit(problem.corpus(), rho1=rho1, rho2=rho2, numbers=features, solver=solver, tol=1e-6, threads=1)
    assert np.isin(found.numbers, features).all()
    assert len(found.numbers) > 3
    w, best = explicit.weights(found), explicit.minimum
    assert_allclose(found.objective, explicit.value(w), rtol=1e-9)
    assert_allclose(found.objective, best, rtol=1e-6)
    assert found.gap >= found.objective - best - 1e-7 * best
    at_zero = explicit.residual(np.zeros_like(w))
    assert_allclose(found.kkt, explicit.residual(w) / at_zero, rtol=1e-5, atol=1e-9)
    early = fit(problem.corpus(), rho1=rho1, rho2=rho2, numbers=features, solver=solver, tol=0.0, max_iter=0)
    assert_allclose(early.kkt, 1.0, rtol=1e-9)


@pytest.mark.slow
def test_all_and_observed_features_as_lists():
    corpus = larger().corpus()
    options = {"rho1": 0.2, "rho2": 0.05, "tol": 1e-7, "threads": 1}
    for features, same in (
        (_core.FeatureSet.all_virtual(corpus).numbers, {}),
        (_core.FeatureSet.observed(corpus).numbers, {"observed_only": True}),
    ):
        found, expected = fit(corpus, numbers=features, **options), fit(corpus, **same, **options)
        assert_allclose(found.objective, expected.objective, rtol=1e-9)
        assert_allclose(found.history[0].loss, expected.history[0].loss)
        ratios = [
            Objective(corpus, ElasticNet(0.2, 0.05), **kind).start_residual() for kind in ({"numbers": features}, same)
        ]
        assert_allclose(*ratios, rtol=1e-12)


def test_init_is_cut_down_to_the_features():
    corpus = larger().corpus()
    every = fit(corpus, rho1=0.1, rho2=0.01, threads=1)
    features = every.numbers[::2]
    found = fit(corpus, rho1=0.1, rho2=0.01, numbers=features, init=every, max_iter=0, threads=1)
    assert_array_equal(found.numbers, features)
    assert_array_equal(found.w, every.w[::2])
    observed = fit(corpus, rho1=0.1, rho2=0.01, observed_only=True, init=every, max_iter=0, threads=1)
    assert np.isin(observed.numbers, _core.FeatureSet.observed(corpus).numbers).all()


def test_of_a_list_of_features_those_that_occur():
    corpus = larger().corpus()
    observed = TrainingData(corpus, observed_only=True).allowed
    half = observed[::2]
    never = np.setdiff1d(np.arange(observed[-1]), observed)[:5]
    found = TrainingData(corpus, numbers=np.union1d(half, never), observed_only=True).allowed
    np.testing.assert_array_equal(found, half)
    assert len(never) == 5


def test_no_feature_at_all():
    corpus = larger().corpus()
    found = fit(corpus, numbers=NO_FEATURES)
    assert len(found.w) == 0
    assert found.stopped_by == "tol"


@pytest.mark.parametrize(
    "features",
    [np.array([3, 2]), np.array([2, 2]), np.array([-1]), np.array([10**9]), np.array([1.0]), np.array([[1]])],
)
def test_wrong_features(features):
    with pytest.raises(InputError, match=r"expected.*found"):
        fit(larger().corpus(), numbers=features)


# ---- Before training


def test_frequency_cutoff():
    vocabulary = Vocabulary()
    corpus = vocabulary.encode(["aab", "ab"], [["X", "X", "Y"], ["X", "Y"]], grow=True)
    a, bias, X, Y = (
        *(vocabulary.attributes.find(name) for name in ("a", BIAS)),
        *(vocabulary.labels.find(name) for name in "XY"),
    )
    pairs = 3 * 2  # X Y + x (Y + 1) Y + y' Y + y, with three attributes and two labels
    assert len(vocabulary.attributes) == 3
    a_x, b_y, x_y = a * 2 + X, vocabulary.attributes.find("b") * 2 + Y, 6 + bias * pairs + X * 2 + Y
    start_x, x_x = 6 + bias * pairs + 2 * 2 + X, 6 + bias * pairs + X * 2 + X
    assert frequency_cutoff(corpus, 3).tolist() == [a_x]
    assert frequency_cutoff(corpus, 2).tolist() == sorted([a_x, b_y, x_y, start_x])
    assert frequency_cutoff(corpus, 1).tolist() == sorted([a_x, b_y, x_y, start_x, x_x])
    assert len(fit(corpus, rho1=0.0, rho2=0.1, numbers=frequency_cutoff(corpus, 2)).numbers) == 4
    with pytest.raises(InputError, match=r"at_least: expected.*found"):
        frequency_cutoff(corpus, 0)


def by_definition(labels, has):
    """I(has; label) = sum p(a, y) log p(a, y) / (p(a) p(y)), over the tokens."""
    n = len(labels)
    both = Counter(zip(has, labels, strict=True))
    return sum(k / n * log(k * n / (has.count(a) * labels.count(y))) for (a, y), k in both.items())


@pytest.mark.slow
@given(problem=problems(weights=("moderate",), sequence_weights=True), hide=st.sampled_from([0.0, 0.4]))
@settings(max_examples=30)
def test_information_is_its_definition(problem, hide):
    rng = np.random.default_rng(0)
    sequences = tuple(
        replace(s, labels=tuple(-1 if rng.random() < hide else y for y in s.labels)) for s in problem.sequences
    )
    found = information(replace(problem, sequences=sequences).corpus())
    for kind, scores in zip(("unigram", "bigram"), found, strict=True):
        tokens = [
            (y, [x for x, _ in attributes])
            for s in sequences
            for y, attributes in zip(s.labels, getattr(s, kind), strict=True)
            if y >= 0 and attributes
        ]
        labels = [y for y, _ in tokens]
        for x, score in enumerate(scores):
            has = [x in attributes for _, attributes in tokens]
            expected = np.inf if tokens and all(has) else by_definition(labels, has)
            assert_allclose(score, expected, atol=1e-12)


@pytest.mark.parametrize("start", [True, False])
def test_mutual_information_takes_the_blocks_that_tell(start):
    """`a` and `b` tell the label, `c` tells nothing, the bias is at every token."""
    rng = np.random.default_rng(0)
    y = [[str(rng.choice(["X", "Y"])) for _ in range(5)] for _ in range(60)]
    X = [[["a" if label == "X" else "b", *("c" for _ in range(rng.integers(2)))] for label in row] for row in y]
    vocabulary = Vocabulary(start=start)
    corpus = vocabulary.encode(X, y, grow=True)
    names = [vocabulary.attributes[k] for k in range(len(vocabulary.attributes))]

    def attributes(top_n):
        chosen = _core.FeatureSet.from_numbers(2, len(names), mutual_information(corpus, top_n))
        blocks = [{names[x] for x in kind} for kind in (chosen.unigram_attribute, chosen.bigram_attribute)]
        return blocks[0], blocks[1]

    assert attributes(0) == (set(), {BIAS})
    assert attributes(1)[0] < {"a", "b"}
    assert attributes(2) == ({"a", "b"}, {BIAS})
    assert attributes(3) == ({"a", "b", "c"}, {BIAS})
    assert_array_equal(mutual_information(corpus, 10**6), _core.FeatureSet.observed(corpus).numbers)
    with pytest.raises(InputError, match=r"top_n: expected.*found"):
        mutual_information(corpus, -1)


# ---- After training


@pytest.fixture(scope="module")
def dense():
    problem = make_problem(seed=4, n_labels=4, lengths=[6] * 20, n_attributes=8, real_values=True)
    return problem, fit(problem.corpus(), rho1=0.0, rho2=0.5, observed_only=True, tol=1e-6, threads=1)


def test_threshold_drops_the_small_weights_and_says_what_that_costs(dense):
    problem, found = dense
    cut = float(np.median(np.abs(found.w)))
    for small in (threshold(found, cut=cut), threshold(found, keep=int((np.abs(found.w) >= cut).sum()))):
        large = np.abs(found.w) >= cut
        assert_array_equal(small.numbers, found.numbers[large])
        assert_array_equal(small.w, found.w[large])
        explicit = Explicit(problem, 0.0, 0.5)
        assert_allclose(small.objective, explicit.value(explicit.weights(small)), rtol=1e-9)
        assert small.objective > found.objective
        assert small.kkt > 1e-3


@pytest.mark.slow
def test_threshold_and_refit(dense):
    problem, found = dense
    small, again = threshold(found, keep=20), threshold(found, keep=20, refit=True, tol=1e-7)
    assert len(small.w) == 20
    assert np.isin(again.numbers, small.numbers).all()
    assert found.objective < again.objective < small.objective

    def value(w):
        explicit = Explicit(problem, 0.0, 0.5)
        full = np.zeros(problem.w.size)
        full[small.numbers] = w
        loss, g = explicit.loss_grad(full)
        return loss + 0.25 * w @ w, g[small.numbers] + 0.5 * w

    best = minimize(value, np.zeros(20), jac=True, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-9}).fun
    assert_allclose(again.objective, best, rtol=1e-8)


def test_threshold_to_nothing_or_to_everything(dense):
    _, found = dense
    assert len(threshold(found, keep=0).w) == 0
    assert_array_equal(threshold(found, cut=0.0).w, found.w)
    for options in ({}, {"cut": 0.1, "keep": 3}, {"keep": -1}):
        with pytest.raises(InputError, match=r"expected.*found"):
            threshold(found, **options)
