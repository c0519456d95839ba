"""Screening with so many labels that the sums of rare attributes are kept of likely labels only, and that label pairs
have a bound of their own."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sparsecrf import _core
from sparsecrf.encoding.label_parts import LabelParts
from sparsecrf.encoding.numbering import Numbering

pytestmark = pytest.mark.slow

Y, TOKENS, OWN = 2000, 200, 90  # labels; tokens; attributes that occur at only one token


def corpus():
    """Every token has attributes of its own, the attribute 0, which all tokens have, and 1, which three have."""
    own = 2 + np.arange(TOKENS * OWN).reshape(TOKENS, OWN)
    rows = [np.concatenate([[0] if t >= 3 else [0, 1], own[t]]) for t in range(TOKENS)]
    ptr = np.cumsum([0, *map(len, rows)])
    empty = np.zeros(TOKENS + 1, dtype=np.int64)
    return _core.Corpus.from_arrays(
        n_labels=Y,
        n_attributes=2 + TOKENS * OWN,
        lengths=np.full(TOKENS // 4, 4, dtype=np.int64),
        unigram_ptr=ptr.astype(np.int64),
        unigram_id=np.concatenate(rows).astype(np.int32),
        bigram_ptr=empty,
        bigram_id=np.empty(0, dtype=np.int32),
        labels=(np.arange(TOKENS) * 7 % Y).astype(np.int32),
    ), rows


@pytest.mark.parametrize("parts", [None, LabelParts.of([f"{y % 50}.{y}" for y in range(Y)], ".")])
@pytest.mark.parametrize("threads", [1, 2])
def test_no_likely_cell_is_left_out(parts, threads):
    data, rows = corpus()
    core = None if parts is None else parts.core
    numbering = Numbering(Y, data.n_attributes, 0 if parts is None else len(parts.names))
    rng = np.random.default_rng(1)
    # Weights of the first attribute of each token make some labels likely.
    numbers = np.unique(
        numbering.unigram(2 + OWN * np.arange(TOKENS)[:, None], rng.integers(0, Y, (TOKENS, 60))).ravel()
    )
    features = _core.FeatureSet.from_numbers(Y, data.n_attributes, numbers, None, core)
    w = rng.normal(5.0, 2.0, len(features))
    p = _core.Chain(features, w).marginals(data)
    if parts is not None:
        member = np.zeros((Y, len(parts.names)))
        for y, row in enumerate(parts.of_labels):
            member[y, list(row)] = 1
        p = np.concatenate([p, p @ member], axis=1)
    expected = np.zeros((data.n_attributes, p.shape[1]))
    for t, row in enumerate(rows):
        expected[row] += p[t]
    bound = 1e-3
    found = _core.Oracle(data, threads=threads).candidates(features, w, bound)
    x, cell = np.divmod(found, numbering.cells)
    told = np.zeros_like(expected, dtype=bool)
    told[x, cell] = True
    assert told[expected > bound].all()
    assert not told[expected < 0.94 * bound].any()
    assert (np.diff(found) > 0).all()
    assert told.sum() > TOKENS * OWN  # several labels of each attribute


def pairs_problem(kernel, threads):
    """Attribute 0 occurs everywhere and 1, with value 0.5, at half of the positions: both are in base lists. Each rest
    list has three of 2 to 13. All have weights of label pairs, so that matrices and corrections matter."""
    n_labels, n_attributes, lengths = 264, 14, np.array([9, 1, 30, 2, 18] * 6, dtype=np.int64)
    rng, tokens = np.random.default_rng(3), int(lengths.sum())
    rows = [
        np.array([0, *([1] if t % 2 else []), *(2 + rng.choice(12, 3, replace=False))], dtype=np.int32)
        for t in range(tokens)
    ]
    ptr = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    ids = np.concatenate(rows)
    data = _core.Corpus.from_arrays(
        n_labels=n_labels,
        n_attributes=n_attributes,
        lengths=lengths,
        unigram_ptr=ptr,
        unigram_id=ids,
        bigram_ptr=ptr,
        bigram_id=ids,
        bigram_value=np.where(ids == 1, 0.5, 1.0),
        labels=rng.integers(0, n_labels, tokens).astype(np.int32),
        sequence_weight=rng.uniform(0.5, 2.0, len(lengths)),
    )
    numbering = Numbering(n_labels, n_attributes)
    # Some labels are likely, at some positions only; few pairs have weights.
    unigram = np.unique(numbering.unigram(rng.integers(2, n_attributes, 150), rng.integers(0, n_labels, 150)))
    x, before, y = rng.integers(0, n_attributes, 900), rng.integers(0, 60, 900), rng.integers(0, 60, 900)
    weighted = np.union1d(unigram, numbering.bigram(x, before, y))
    grid = np.meshgrid([0, 1], np.arange(n_labels), np.arange(n_labels), indexing="ij")
    pairs = numbering.bigram(*(axis.ravel() for axis in grid))
    numbers = np.union1d(weighted, pairs)
    w = np.where(np.isin(numbers, weighted), rng.normal(1.0, 3.0, len(numbers)), 0.0)
    features = _core.FeatureSet.from_numbers(n_labels, n_attributes, numbers)
    oracle = _core.Oracle(data, threads=threads, kernel=kernel)
    _, g = oracle.loss_grad(features, w)
    expected = (g + oracle.counts(features))[np.searchsorted(numbers, pairs)]
    return oracle, features, w, pairs, expected


@pytest.mark.parametrize("kernel", ["auto", "sparse", "dense", "log"])
@pytest.mark.parametrize("bound", [0.003, 0.05])  # about the expectation of a pair of labels without weights; much more
def test_no_likely_pair_is_left_out(kernel, bound):
    oracle, features, w, pairs, expected = pairs_problem(kernel, 1)
    found = oracle.candidates(features, w, bound)
    told = np.isin(pairs, found)
    assert 0 < (expected > bound).sum() < len(pairs)
    assert told[expected > bound].all()
    if kernel != "log":  # there a pair is reported if both of its labels are likely enough
        assert told.sum() < 1.5 * (expected > bound).sum()
        assert not told[expected < 0.3 * bound].any()
    assert_array_equal(pairs_problem(kernel, 3)[0].candidates(features, w, bound), found)
