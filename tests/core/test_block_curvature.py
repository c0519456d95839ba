"""Curvature between features: the core's block against covariances at each position by enumeration of all paths."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ngram_problems import indicators, make_ngram_problem
from numpy.testing import assert_allclose, assert_array_equal
from problems import make_problem

from reference.lattice import merged
from sparsecrf import InputError
from sparsecrf._core import FeatureSet, Oracle
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import ElasticNet
from sparsecrf.training.solvers import proximal
from sparsecrf.training.solvers.proximal import Proximal
from sparsecrf.training.solvers.solver import point_at


def by_enumeration(problem, numbers, every=1):
    """sum_t Cov(f_a(t), f_b(t)) over the sequences 0, n, 2n, ..., times n: from p_t(y', y) of the core's marginals."""
    corpus, chain = problem.corpus(), problem.chain()
    numbering, Y = Numbering.of(corpus), corpus.n_labels
    arrays = corpus.to_arrays()
    x, previous, y = numbering.attribute(numbers), numbering.previous(numbers), numbering.label(numbers)
    total = np.zeros((len(numbers), len(numbers)))
    for i in range(0, corpus.n_sequences, every):
        pairs = chain.edge_marginals(corpus, i)
        for t in range(corpus.offsets[i + 1] - corpus.offsets[i]):
            position, p = corpus.offsets[i] + t, pairs[t].reshape(-1)
            f = np.zeros((len(numbers), (Y + 1) * Y))  # value of each feature for each pair of labels
            for kind, mine in (("unigram", previous < 0), ("bigram", previous >= 0)):
                begin, end = arrays[f"{kind}_ptr"][position : position + 2]
                values = dict(zip(arrays[f"{kind}_id"][begin:end], arrays[f"{kind}_value"][begin:end], strict=True))
                for k in np.flatnonzero(mine):
                    cells = f[k].reshape(Y + 1, Y)
                    where = cells[:, y[k]] if kind == "unigram" else cells[previous[k] : previous[k] + 1, y[k]]
                    where += values.get(x[k], 0.0)
            mean = f @ p
            total += every * ((f * p) @ f.T - np.outer(mean, mean))
    return total


@pytest.mark.slow
@given(
    seed=st.integers(0, 10_000),
    n_labels=st.integers(1, 3),
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    every=st.integers(1, 2),
    threads=st.integers(1, 3),
)
def test_against_covariances_by_position(seed, n_labels, lengths, every, threads):
    problem = make_problem(seed=seed, n_labels=n_labels, lengths=lengths, n_attributes=3)
    features = problem.features()
    rng = np.random.default_rng(seed)
    block = np.flatnonzero(rng.random(len(features)) < 0.7)
    oracle = Oracle(problem.corpus(), threads)
    found = oracle.block_curvature(features, problem.w, block, every)
    expected = by_enumeration(problem, features.numbers[block], every)
    # Features and positions that matter less than 1e-4 are left out.
    scale = 1e-3 * (1.0 + np.abs(expected).max(initial=0.0))
    assert_allclose(found, expected, atol=scale)
    assert_array_equal(found, found.T)
    assert_array_equal(found, Oracle(problem.corpus(), 1).block_curvature(features, problem.w, block, every))


@pytest.mark.parametrize("block", [[1, 0], [0, 0], [-1], [10**6]])
def test_places_out_of_order_or_range(block):
    problem = make_problem(seed=0, n_labels=2, lengths=[2], n_attributes=2)
    with pytest.raises(InputError, match="block: expected ascending feature indices"):
        Oracle(problem.corpus(), 1).block_curvature(problem.features(), problem.w, np.array(block, dtype=np.int64))


def test_it_is_positive_semidefinite():
    problem = make_problem(seed=3, n_labels=4, lengths=[5, 6, 7], n_attributes=6)
    features = FeatureSet.from_numbers(4, 6, problem.features().numbers)
    every = np.arange(len(features))
    found = Oracle(problem.corpus(), 1).block_curvature(features, problem.w, every)
    assert np.linalg.eigvalsh(found).min() > -1e-3 * np.abs(found).max()


@pytest.mark.parametrize(("share", "first"), [(0.0, 2), (1e9, proximal._SETTLED)])
def test_a_block_comes_early_only_with_many_features_a_token(share, first, monkeypatch):
    monkeypatch.setattr(proximal, "_ENOUGH", share)
    corpus = make_problem(seed=3, n_labels=4, lengths=[5] * 20, n_attributes=6).corpus()
    objective = Objective(corpus, ElasticNet(0.1, 0.1), threads=1)
    solver, point, steps = Proximal(objective, warm_up=False), point_at(objective), 0
    while not len(solver.block):
        point, steps = solver.step(point), solver.steps
    assert steps - 1 == first  # the step that made it is counted


@pytest.mark.slow
def test_label_ngrams():
    """Covariances of strings at a position, by all paths: one must be the end of the other to fire together."""
    for seed in range(6):
        problem = make_ngram_problem(seed, 3, [5, 4], n_ngrams=25, real_values=True)
        features, n = problem.features(), len(problem.weights)
        block = np.arange(len(features) - n - 40, len(features))
        found = Oracle(problem.corpus, 2).block_curvature(features, problem.w, block)
        expected = np.zeros_like(found)
        for i, sequence in enumerate(problem.base.sequences):
            paths = problem.paths(i)
            for t in range(len(sequence)):
                values, (one, two, more) = merged(sequence.bigram[t]), indicators(problem, paths, t)
                f = np.zeros((len(features), len(paths.probability)))
                for x, value in merged(sequence.unigram[t]).items():
                    for (_, y), on in one[x]:
                        f[x * 3 + y] = value * on
                for x, value in values.items():
                    for (_, previous, y), on in two[x]:
                        f[problem.base.mu.size + (x * 4 + previous) * 3 + y] = value * on
                    for k, on in more[x]:
                        f[len(features) - n + k] = value * on
                mean = f @ paths.probability
                expected += ((f * paths.probability) @ f.T - np.outer(mean, mean))[np.ix_(block, block)]
        assert_allclose(found, expected, atol=1e-3 * (1.0 + np.abs(expected).max()))
