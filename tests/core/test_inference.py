"""The core's inference against enumeration of all paths (tiny lattices) and the reference (larger ones)."""

from dataclasses import replace

import numpy as np
import pytest
from compare import KERNELS, assert_logs, assert_probabilities, magnitude
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from problems import Limits, Problem, make_limits, make_problem
from strategies import problems

import reference
from reference import SequenceData, enumeration

every_kernel = pytest.mark.parametrize("kernel", KERNELS)


def check_against(problem, kernel, log_partition, node_marginals, edge_marginals, log_prob):
    """log Z, marginals and log-probabilities of every sequence, each expected one a function of psi."""
    corpus, constraints, chain = problem.corpus(), problem.constraints(), problem.chain(kernel)
    log_z = chain.log_partition(corpus, constraints)
    log_p = chain.log_prob(corpus, constraints)
    node = chain.marginals(corpus, constraints)
    assert log_z.shape == log_p.shape == (len(problem.sequences),)
    assert node.shape == (problem.offsets[-1], problem.n_labels)
    for i in range(len(problem.sequences)):
        psi = problem.psi(i)
        size = magnitude(psi)
        assert_logs(log_z[i], log_partition(psi), size)
        assert_logs(log_p[i], log_prob(psi, problem.own_labels(i)), size)
        assert_probabilities(node[problem.offsets[i] : problem.offsets[i + 1]], node_marginals(psi))
        assert_probabilities(chain.edge_marginals(corpus, i, constraints), edge_marginals(psi))


def check_against_enumeration(problem, kernel):
    check_against(
        problem,
        kernel,
        enumeration.log_partition,
        enumeration.node_marginals,
        enumeration.edge_marginals,
        enumeration.log_prob,
    )


def check_against_reference(problem, kernel):
    check_against(
        problem,
        kernel,
        reference.log_partition,
        lambda psi: reference.forward_backward(psi).node,
        lambda psi: reference.forward_backward(psi).edge,
        reference.log_prob,
    )


@pytest.mark.slow
@every_kernel
@given(problem=problems(missing=True))
def test_tiny(kernel, problem):
    check_against_enumeration(problem, kernel)


@pytest.mark.slow
@every_kernel
@given(problem=problems(missing=True, limits=True))
def test_tiny_under_constraints(kernel, problem):
    check_against_enumeration(problem, kernel)


@pytest.mark.slow
@every_kernel
@given(problem=problems())
def test_score_of_own_labels(kernel, problem):
    scores = problem.chain(kernel).score(problem.corpus())
    for i, score in enumerate(scores):
        psi = problem.psi(i)
        assert_logs(score, reference.path_score(psi, problem.own_labels(i)), magnitude(psi))


@pytest.mark.slow
@every_kernel
@given(problem=problems(limits=True), data=st.data())
def test_span(kernel, problem, data):
    """Spans of any length and place; those of probability exp(-1000) or zero too."""
    corpus, constraints, chain = problem.corpus(), problem.constraints(), problem.chain(kernel)
    some_label = st.integers(0, problem.n_labels - 1)
    for i in range(len(problem.sequences)):
        psi = problem.psi(i)
        start = data.draw(st.integers(0, len(psi) - 1))
        size = data.draw(st.integers(1, len(psi) - start))
        labels = np.array(data.draw(st.lists(some_label, min_size=size, max_size=size)), dtype=np.int32)
        actual = chain.span_log_prob(corpus, i, start, labels, constraints)
        assert_logs(actual, enumeration.span_log_prob(psi, start, labels), magnitude(psi))


@pytest.mark.slow
@every_kernel
@pytest.mark.parametrize("density", [0.0, 0.01, 0.1, 0.5, 1.0])
@pytest.mark.parametrize(("n_labels", "length"), [(2, 60), (17, 60), (60, 200)])
def test_larger(kernel, n_labels, length, density):
    problem = make_problem(
        seed=n_labels,
        n_labels=n_labels,
        lengths=[length, 1, 7],
        n_attributes=9,
        density=density,
        real_values=True,
    )
    check_against_reference(problem, kernel)


@every_kernel
@pytest.mark.parametrize("weights", ["thousand", "single"])
@pytest.mark.parametrize("density", [0.02, 0.5, 1.0])
def test_larger_with_extreme_weights(kernel, weights, density):
    problem = make_problem(
        seed=3,
        n_labels=24,
        lengths=[40, 25],
        n_attributes=6,
        density=density,
        weights=weights,
        real_values=True,
    )
    check_against_reference(problem, kernel)


@every_kernel
@pytest.mark.parametrize("kinds", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)])
def test_larger_under_constraints(kernel, kinds):
    problem = make_problem(seed=5, n_labels=19, lengths=[50, 3], n_attributes=6, density=0.2, missing=0.8)
    check_against_reference(replace(problem, limits=make_limits(5, problem, *map(bool, kinds))), kernel)


@every_kernel
def test_one_position(kernel):
    check_against_enumeration(make_problem(seed=2, n_labels=5, lengths=[1, 1], n_attributes=3, density=1.0), kernel)


@every_kernel
def test_one_label(kernel):
    """One path: probability one, whatever the weights."""
    problem = make_problem(seed=2, n_labels=1, lengths=[4, 1], n_attributes=3, density=1.0, weights="thousand")
    check_against_enumeration(problem, kernel)
    assert_array_equal(problem.chain(kernel).marginals(problem.corpus()), np.ones((5, 1)))


@every_kernel
def test_empty_lists(kernel):
    """No attribute anywhere: T log Y and uniform marginals."""
    problem = make_problem(seed=2, n_labels=4, lengths=[5, 2], n_attributes=3, list_size=0)
    chain, corpus = problem.chain(kernel), problem.corpus()
    assert_logs(chain.log_partition(corpus), np.array([5.0, 2.0]) * np.log(4.0), 1.0)
    assert_probabilities(chain.marginals(corpus), np.full((7, 4), 0.25))


@every_kernel
def test_chain_without_features(kernel):
    problem = make_problem(seed=2, n_labels=4, lengths=[5, 2], n_attributes=3, list_size=3)
    check_against_reference(replace(problem, mu=0.0 * problem.mu, lam=0.0 * problem.lam), kernel)


@every_kernel
def test_repeated_attribute_adds_up(kernel):
    """The values 1 and -1 of one attribute in one list cancel; 1 and 2 make 3."""
    rng = np.random.default_rng(7)
    lists = (((0, 1.0), (0, -1.0), (1, 1.0)), ((1, 1.0), (1, 2.0)), ((1, 3.0),))
    sequence = SequenceData(unigram=lists, bigram=lists, labels=(0, 1, 1))
    check_against_enumeration(Problem((sequence,), rng.normal(size=(2, 3)), rng.normal(size=(2, 4, 3))), kernel)


@every_kernel
def test_only_one_path_allowed(kernel):
    """All labels fixed: probability one for that path, however unlikely it is."""
    problem = make_problem(seed=4, n_labels=6, lengths=[8], n_attributes=4, density=1.0, weights="thousand")
    problem = replace(problem, limits=Limits(fixed=problem.labels))
    check_against_reference(problem, kernel)
    node = problem.chain(kernel).marginals(problem.corpus(), problem.constraints())
    assert_array_equal(node[np.arange(8), problem.labels], np.ones(8))


@pytest.mark.slow
@given(problem=problems(limits=True, missing=True))
def test_marginals_agree_with_each_other(problem):
    """The edge marginals add up to the node marginals on both sides, and the nodes to one."""
    corpus, constraints, chain = problem.corpus(), problem.constraints(), problem.chain()
    node = chain.marginals(corpus, constraints)
    assert_probabilities(node.sum(axis=1), np.ones(len(node)))
    for i in range(len(problem.sequences)):
        own = node[problem.offsets[i] : problem.offsets[i + 1]]
        edge = chain.edge_marginals(corpus, i, constraints)
        assert_probabilities(edge.sum(axis=1), own)
        assert_probabilities(edge.sum(axis=2)[1:, :-1], own[:-1])
        assert not edge[0, :-1].any()
        assert not edge[1:, -1].any()


@pytest.mark.slow
@given(problem=problems(weights=("moderate",)))
def test_zero_weights_may_be_listed_or_not(problem):
    """A feature of weight zero is the same as no feature."""
    from sparsecrf import _core

    listed = _core.Chain(problem.features(), problem.w, threads=1)
    corpus = problem.corpus()
    assert_probabilities(listed.marginals(corpus), problem.chain().marginals(corpus))
