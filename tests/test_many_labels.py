"""Screening with so many labels that the sums of rare attributes are kept of likely labels only."""

import numpy as np
import pytest

from sparsecrf import _core
from sparsecrf.encoding.label_parts import LabelParts
from sparsecrf.encoding.numbering import Numbering

Y, TOKENS, OWN = 2000, 200, 90  # labels; tokens; attributes that a token alone has


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
