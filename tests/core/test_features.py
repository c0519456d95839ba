"""Corpus and FeatureSet: what they hold, and in which order."""

import numpy as np
import pytest
from hypothesis import given
from numpy.testing import assert_array_equal
from problems import Problem, make_problem
from strategies import problems

import reference
from reference import SequenceData
from sparsecrf import _core


def triples(features):
    """The features of a set as two lists of tuples, in its order."""
    unigram = zip(features.unigram_attribute.tolist(), features.unigram_label.tolist(), strict=True)
    bigram = zip(
        features.bigram_attribute.tolist(),
        features.bigram_previous.tolist(),
        features.bigram_label.tolist(),
        strict=True,
    )
    return list(unigram), list(bigram)


def where_nonzero(array):
    return [tuple(index) for index in np.argwhere(array).tolist()]


def test_order_is_canonical_whatever_the_input():
    features = _core.FeatureSet(
        2,
        4,
        np.array([3, 0, 3], np.int32),
        np.array([1, 1, 0], np.int32),
        np.array([1, 0, 1, 1], np.int32),
        np.array([2, 0, 0, 0], np.int32),
        np.array([0, 1, 1, 0], np.int32),
    )
    assert triples(features) == ([(0, 1), (3, 0), (3, 1)], [(0, 0, 1), (1, 0, 0), (1, 0, 1), (1, 2, 0)])
    assert (features.n_unigram, features.n_bigram, features.size) == (3, 4, 7)


def test_empty_feature_set():
    features = _core.FeatureSet(2, 4, *[np.zeros(0, np.int32)] * 5)
    assert features.size == 0
    assert triples(features) == ([], [])


@pytest.mark.slow
@given(problem=problems(weights=("moderate",)))
def test_observed_are_those_with_a_count(problem):
    """Values are 1, so that no count is zero by cancellation."""
    ones = [
        SequenceData(
            unigram=tuple(tuple((x, 1.0) for x, _ in attributes) for attributes in s.unigram),
            bigram=tuple(tuple((x, 1.0) for x, _ in attributes) for attributes in s.bigram),
            labels=s.labels,
        )
        for s in problem.sequences
    ]
    count_mu, count_lam = reference.empirical_counts(ones, problem.mu, problem.lam)
    corpus = Problem(tuple(ones), problem.mu, problem.lam).corpus()
    features = _core.FeatureSet.observed(corpus)
    assert triples(features) == (where_nonzero(count_mu), where_nonzero(count_lam))
    counts = _core.Oracle(corpus, threads=1).counts(features)
    assert_array_equal(counts, np.concatenate([count_mu[count_mu > 0], count_lam[count_lam > 0]]))


def test_observed_of_many_labels():
    """Rows of more bits than a word has, attributes that never occur."""
    problem = make_problem(seed=3, n_labels=70, lengths=[9, 1, 30, 4], n_attributes=7, list_size=2)
    corpus, expected = problem.corpus(), (set(), set())
    for s in problem.sequences:
        previous = problem.n_labels
        for unigram, bigram, y in zip(s.unigram, s.bigram, s.labels, strict=True):
            expected[0].update((x, y) for x, v in unigram if v != 0)
            expected[1].update((x, previous, y) for x, v in bigram if v != 0)
            previous = y
    assert triples(_core.FeatureSet.observed(corpus)) == tuple(map(sorted, expected))


@given(problem=problems(weights=("moderate",), missing=True))
def test_virtual_are_all_of_every_attribute_seen(problem):
    """All labels of a unigram attribute, all pairs of a bigram attribute, the start row among them."""
    in_u = {x for s in problem.sequences for attributes in s.unigram for x, _ in attributes}
    in_b = {x for s in problem.sequences for attributes in s.bigram for x, _ in attributes}
    y = range(problem.n_labels)
    previous = range(problem.n_labels + 1)
    expected = (
        [(x, b) for x in sorted(in_u) for b in y],
        [(x, a, b) for x in sorted(in_b) for a in previous for b in y],
    )
    assert triples(_core.FeatureSet.all_virtual(problem.corpus())) == expected


@pytest.mark.slow
@given(problem=problems(missing=True))
def test_corpus_keeps_counts_and_labels(problem):
    corpus = problem.corpus()
    assert corpus.n_sequences == len(problem.sequences)
    assert corpus.n_tokens == problem.offsets[-1]
    assert (corpus.n_labels, corpus.n_attributes) == (problem.n_labels, len(problem.mu))
    assert_array_equal(corpus.offsets, problem.offsets)
    assert_array_equal(corpus.labels, problem.labels)


def test_left_out_arrays_have_their_defaults():
    """No values: all 1. No labels: all missing. No weights: all 1."""
    problem = make_problem(seed=6, n_labels=3, lengths=[4, 2], n_attributes=3, list_size=3)
    arrays = problem.corpus_arrays()
    for name in ("unigram_value", "bigram_value", "sequence_weight", "token_weight"):
        del arrays[name]
    bare = _core.Corpus.from_arrays(**arrays)
    chain = problem.chain()
    assert_array_equal(chain.marginals(bare), chain.marginals(problem.corpus()))
    assert _core.Oracle(bare).loss(problem.features(), problem.w) == _core.Oracle(problem.corpus()).loss(
        problem.features(), problem.w
    )
    del arrays["labels"]
    unlabelled = _core.Corpus.from_arrays(**arrays)
    assert_array_equal(unlabelled.labels, np.full(6, -1))


def test_the_input_arrays_may_change_afterwards():
    problem = make_problem(seed=6, n_labels=3, lengths=[4, 2], n_attributes=3, list_size=3)
    arrays = problem.corpus_arrays()
    corpus = _core.Corpus.from_arrays(**arrays)
    before = problem.chain().marginals(corpus)
    for array in arrays.values():
        if isinstance(array, np.ndarray):
            array[:] = 0
    assert_array_equal(problem.chain().marginals(corpus), before)


def test_equal_lists_are_kept_once():
    """Bias and one of four letters: at most four lists and the empty one, for 200 positions."""
    rng = np.random.default_rng(0)
    lists = tuple(((0, 1.0), (int(x), 1.0)) for x in rng.integers(1, 5, 200))
    sequence = SequenceData(unigram=lists, bigram=lists)
    corpus = Problem((sequence,), np.zeros((5, 3)), np.zeros((5, 4, 3))).corpus()
    for count in (corpus.n_unigram_lists, corpus.n_base_lists, corpus.n_rest_lists):
        assert count <= 5
