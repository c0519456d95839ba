"""Viterbi, posterior decoding and n-best of the core against the reference and all paths."""

from dataclasses import replace

import numpy as np
import pytest
from compare import KERNELS, assert_logs, magnitude
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from problems import Limits, make_limits, make_problem
from strategies import problems

import reference
from reference import enumeration
from sparsecrf import _core

every_kernel = pytest.mark.parametrize("kernel", KERNELS)
real_weights = ("moderate", "thousand", "single")


def by_sequence(problem, labels):
    """The labels [P] of all sequences, cut into one array [T] a sequence."""
    return np.split(labels, problem.offsets[1:-1])


@pytest.mark.slow
@every_kernel
@given(problem=problems(weights=("integer",), limits=True))
def test_viterbi_with_ties(kernel, problem):
    """Whole weights: many paths share the best score exactly, and the tie rule names one of them."""
    paths, scores = problem.chain(kernel).viterbi(problem.corpus(), problem.constraints())
    for i, path in enumerate(by_sequence(problem, paths)):
        expected_path, expected_score = enumeration.n_best(problem.psi(i), 1)
        assert_array_equal(path, expected_path[0])
        assert scores[i] == expected_score[0]


@pytest.mark.slow
@every_kernel
@given(problem=problems(weights=real_weights, limits=True))
def test_viterbi(kernel, problem):
    """Real weights: a path of the best score; rounding may choose among those that differ in the last bit."""
    paths, scores = problem.chain(kernel).viterbi(problem.corpus(), problem.constraints())
    for i, path in enumerate(by_sequence(problem, paths)):
        psi = problem.psi(i)
        best = enumeration.n_best(psi, 1)[1][0]
        assert_logs(scores[i], best, magnitude(psi))
        assert_logs(reference.path_score(psi, path), best, magnitude(psi))


@pytest.mark.parametrize("density", [0.0, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("limited", [False, True])
def test_larger_viterbi_with_ties(density, limited):
    """Every kernel gives the path of the reference, ties included."""
    problem = make_problem(
        seed=9, n_labels=40, lengths=[120, 1, 30], n_attributes=5, density=density, weights="integer"
    )
    if limited:
        problem = replace(problem, limits=make_limits(9, problem, True, True, True))
    expected = [reference.viterbi(problem.psi(i)) for i in range(3)]
    for kernel in KERNELS:
        paths, scores = problem.chain(kernel).viterbi(problem.corpus(), problem.constraints())
        assert_array_equal(paths, np.concatenate([path for path, _ in expected]))
        assert_array_equal(scores, [score for _, score in expected])


@pytest.mark.slow
@every_kernel
@given(problem=problems(limits=True))
def test_posterior(kernel, problem):
    """The most probable label of every position, by the chain's own marginals and by the true ones."""
    chain, corpus, constraints = problem.chain(kernel), problem.corpus(), problem.constraints()
    labels = chain.posterior(corpus, constraints)
    assert_array_equal(labels, chain.marginals(corpus, constraints).argmax(axis=1))
    for i, own in enumerate(by_sequence(problem, labels)):
        node = enumeration.node_marginals(problem.psi(i))
        assert np.all(node[np.arange(len(own)), own] >= node.max(axis=1) * (1.0 - 1e-10))


@every_kernel
def test_posterior_tie_goes_to_the_smallest_label(kernel):
    problem = make_problem(seed=1, n_labels=5, lengths=[6], n_attributes=2)
    problem = replace(problem, mu=0.0 * problem.mu, lam=0.0 * problem.lam)
    assert_array_equal(problem.chain(kernel).posterior(problem.corpus()), np.zeros(6))
    excluded = np.ones((6, 5), dtype=bool)
    excluded[:, :2] = False
    problem = replace(problem, limits=Limits(allowed=excluded))
    assert_array_equal(problem.chain(kernel).posterior(problem.corpus(), problem.constraints()), np.full(6, 2))


@pytest.mark.slow
@every_kernel
@given(problem=problems(weights=("integer",), limits=True), k=st.integers(1, 50))
def test_nbest_with_ties(kernel, problem, k):
    """Equal scores are ordered by the last label, then the one before it, ...: the order Viterbi prefers."""
    chain, corpus, constraints = problem.chain(kernel), problem.corpus(), problem.constraints()
    for i in range(len(problem.sequences)):
        paths, scores = chain.nbest(corpus, i, k, constraints)
        expected_paths, expected_scores = enumeration.n_best(problem.psi(i), k)
        assert_array_equal(scores, expected_scores)
        assert_array_equal(paths, expected_paths)


@pytest.mark.slow
@every_kernel
@given(problem=problems(weights=real_weights, limits=True), k=st.integers(1, 50))
def test_nbest(kernel, problem, k):
    chain, corpus, constraints = problem.chain(kernel), problem.corpus(), problem.constraints()
    for i in range(len(problem.sequences)):
        psi = problem.psi(i)
        paths, scores = chain.nbest(corpus, i, k, constraints)
        assert_logs(scores, enumeration.n_best(psi, k)[1], magnitude(psi))
        assert_logs([reference.path_score(psi, path) for path in paths], scores, magnitude(psi))
        assert len({tuple(path) for path in paths.tolist()}) == len(scores)
        assert np.all(np.diff(scores) <= 0.0)


@pytest.mark.slow
def test_larger_nbest():
    problem = make_problem(seed=10, n_labels=12, lengths=[4, 30], n_attributes=5, weights="integer")
    expected_paths, expected_scores = reference.n_best(problem.psi(1), 100)
    for kernel in KERNELS:
        paths, scores = problem.chain(kernel).nbest(problem.corpus(), 1, 100)
        assert_array_equal(paths, expected_paths)
        assert_array_equal(scores, expected_scores)


def test_nbest_gives_all_paths_where_there_are_fewer():
    problem = make_problem(seed=10, n_labels=3, lengths=[3], n_attributes=2)
    paths, scores = problem.chain().nbest(problem.corpus(), 0, 1000)
    assert paths.shape == (27, 3)
    assert scores.shape == (27,)


def unsatisfiable_limits(kind):
    """Constraints that sequence 0 of lengths [2, 3] meets and sequence 1 does not; Y = 3."""
    allowed = np.ones((5, 3), dtype=bool)
    forbidden = np.zeros((4, 3), dtype=bool)
    fixed = np.full(5, -1, dtype=np.int32)
    if kind == "no label":
        allowed[4] = False
    elif kind == "fixed label not allowed":
        allowed[3, 1], fixed[3] = False, 1
    elif kind == "pair between fixed labels":
        forbidden[1, 2], fixed[2], fixed[3] = True, 1, 2
    elif kind == "start":
        forbidden[3, 1], fixed[2] = True, 1
    return Limits(allowed, forbidden, fixed)


@every_kernel
@pytest.mark.parametrize("kind", ["no label", "fixed label not allowed", "pair between fixed labels", "start"])
def test_unsatisfiable_names_the_sequence(kernel, kind):
    problem = make_problem(seed=3, n_labels=3, lengths=[2, 3], n_attributes=2, density=1.0)
    problem = replace(problem, limits=unsatisfiable_limits(kind))
    chain, corpus, constraints = problem.chain(kernel), problem.corpus(), problem.constraints()
    span = np.zeros(1, dtype=np.int32)
    calls = {
        "log_partition": lambda: chain.log_partition(corpus, constraints),
        "log_prob": lambda: chain.log_prob(corpus, constraints),
        "marginals": lambda: chain.marginals(corpus, constraints),
        "edge_marginals": lambda: chain.edge_marginals(corpus, 1, constraints),
        "span_log_prob": lambda: chain.span_log_prob(corpus, 1, 0, span, constraints),
        "viterbi": lambda: chain.viterbi(corpus, constraints),
        "posterior": lambda: chain.posterior(corpus, constraints),
        "nbest": lambda: chain.nbest(corpus, 1, 2, constraints),
    }
    for call in calls.values():
        with pytest.raises(_core.UnsatisfiableError, match=r"sequence 1\b"):
            call()
    assert np.isfinite(chain.edge_marginals(corpus, 0, constraints)).all()
