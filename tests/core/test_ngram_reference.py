"""Label n-grams: both reference recursions against all paths, and wrong recursions that the tests must detect."""

import numpy as np
import pytest
from compare import assert_logs, assert_probabilities
from hypothesis import given, settings
from hypothesis import strategies as st

import reference
from reference import ngrams


@st.composite
def lattices(draw, sizes=(0.5, 2.0)):
    """psi[T,Y+1,Y] and theta[T]: strings of three to five labels, some after the start, some labels excluded."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_labels, length = draw(st.sampled_from([(1, 1), (1, 4), (2, 1), (2, 5), (2, 6), (3, 4), (3, 5), (4, 4)]))
    size = draw(st.sampled_from(sizes))
    allowed = None
    if draw(st.booleans()):
        allowed = rng.random((length, n_labels)) < 0.7
        allowed[np.arange(length), rng.integers(n_labels, size=length)] = True
    psi = rng.normal(scale=size, size=(length, n_labels + 1, n_labels))
    psi += reference.constraint_scores(length, n_labels, allowed=allowed)
    theta = []
    for t in range(length):
        strings = {}
        for _ in range(rng.integers(6)):
            n = int(rng.integers(3, 6))
            labels = tuple(int(y) for y in rng.integers(n_labels, size=n))
            strings[labels if rng.random() < 0.7 else (n_labels, *labels[: t + 1])] = float(rng.normal(scale=size))
        theta.append({g: score for g, score in strings.items() if len(g) > 2})
    return psi, theta


def assert_agrees(found, psi, theta):
    n_labels = psi.shape[2]
    paths = ngrams.enumerate_paths(psi, theta)
    size = 1.0 + np.abs(psi[np.isfinite(psi)]).sum() + sum(abs(x) for of in theta for x in of.values())
    assert_logs(found.log_z, paths.log_z, size)
    for t in range(len(psi)):
        p = paths.probability
        for y in range(n_labels):
            assert_probabilities(found.node[t, y], p[paths.labels[:, t] == y].sum())
            for before in range(n_labels + 1):
                pair = ngrams.ends_in(paths, n_labels, t, (before, y))
                assert_probabilities(found.edge[t, before, y], p[pair].sum())
        for labels, probability in found.string[t].items():
            assert_probabilities(probability, p[ngrams.ends_in(paths, n_labels, t, labels)].sum())


@pytest.mark.slow
@given(lattices())
def test_recursion(problem):
    assert_agrees(ngrams.ngram_recursion(*problem), *problem)


@pytest.mark.slow
@given(lattices(sizes=(1.0, 500.0)))
def test_log_domain(problem):
    assert_agrees(ngrams.ngram_forward_backward(*problem), *problem)


@given(lattices(sizes=(1.0, 500.0)))
def test_viterbi(problem):
    psi, theta = problem
    labels, score = ngrams.ngram_viterbi(psi, theta)
    paths = ngrams.enumerate_paths(psi, theta)
    assert score == pytest.approx(paths.score.max(), rel=1e-12, abs=1e-9)
    own = paths.score[(paths.labels == labels).all(axis=1)]
    assert own == pytest.approx(paths.score.max(), rel=1e-12, abs=1e-9)


def wrong_parent(labels, among):
    """Wrong: always uses the last pair, even if a longer suffix is an arc."""
    return labels[-2:]


def forgotten_child(labels, among):
    """Wrong: arcs of four labels have their pair as parent, so a parent of three labels misses them."""
    return ngrams.longest_suffix(labels, among) if len(labels) != 4 else labels[-2:]


@pytest.mark.parametrize("mutant", [wrong_parent, forgotten_child])
def test_mutants_are_caught(mutant):
    rng = np.random.default_rng(3)
    psi = rng.normal(size=(5, 3, 2)) + reference.constraint_scores(5, 2)
    theta = [{(0, 1, 0): 1.0, (1, 0, 1, 0): -0.5, (1, 1, 0): 0.7} for _ in range(5)]
    assert_agrees(ngrams.ngram_recursion(psi, theta), psi, theta)
    with pytest.raises(AssertionError):
        assert_agrees(ngrams.ngram_recursion(psi, theta, parent=mutant), psi, theta)


@settings(max_examples=30)
@given(lattices())
def test_longer_strings_are_no_likelier(problem):
    """E[b g] <= E[g], on which screening over all orders relies."""
    found = ngrams.ngram_forward_backward(*problem)
    for of, edge in zip(found.string, found.edge, strict=True):
        for labels, p in of.items():
            shorter = of.get(labels[1:], edge[labels[-2], labels[-1]] if len(labels) == 3 else 1.0)
            assert p <= shorter + 1e-12
