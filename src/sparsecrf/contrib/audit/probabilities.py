"""Probabilities of the given labels, with and without the labels around them.

For a token t with the given label g_t, and for the tokens W of a span with the given labels g_W,

    without the others   P(y_t = g_t | x)              P(y_W = g_W | x)
    given the others     P(y_t = g_t | x, g_{-t})      P(y_W = g_W | x, g_{-W})

All four are ratios of partition functions in which some labels are fixed:

    P(y_W = g_W | x)          = Z(g_W fixed) / Z
    P(y_W = g_W | x, g_{-W})  = Z(all fixed) / Z(g_{-W} fixed)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import Chain, Constraints, Corpus

Floats = NDArray[np.float64]


def given_others(chain: Chain, corpus: Corpus, reach: int) -> Floats:
    """float64[P, Y]: P(y_t = y | x, given labels of all other tokens), for features of at most `reach` labels.

    A label depends on the `reach` - 1 labels before and after it, so tokens at a distance of `reach` can be free at the
    same time: `reach` runs of forward-backward are enough for all tokens. Missing labels are summed over.
    """
    # The position of each token in its sequence.
    place = np.arange(corpus.n_tokens) - np.repeat(corpus.offsets[:-1], np.diff(corpus.offsets))
    found = np.empty((corpus.n_tokens, corpus.n_labels))
    for k in range(reach):
        free = place % reach == k
        fixed = np.where(free, -1, corpus.labels).astype(np.int32)
        found[free] = chain.marginals(corpus, Constraints(corpus.n_labels, fixed=fixed))[free]
    return found


def span_log_probs(
    chain: Chain, corpus: Corpus, sequences: NDArray[np.int64], windows: Sequence[tuple[int, int]]
) -> tuple[Floats, Floats]:
    """log P of the given labels of tokens a to b - 1, without the other labels and given the other labels, for one
    window in each of these sequences."""
    copies = corpus.subset(sequences)
    inside = np.zeros(copies.n_tokens, dtype=np.bool_)
    for begin, (a, b) in zip(copies.offsets[:-1].tolist(), windows, strict=True):
        inside[begin + a : begin + b] = True

    def log_z(free: NDArray[np.bool_]) -> Floats:
        fixed = np.where(free, -1, copies.labels).astype(np.int32)
        return chain.log_partition(copies, Constraints(copies.n_labels, fixed=fixed))

    everywhere = np.ones_like(inside)
    without = log_z(~inside) - log_z(everywhere)
    given = log_z(~everywhere) - log_z(inside)
    return np.minimum(without, 0.0), np.minimum(given, 0.0)


def best_inside(
    chain: Chain, corpus: Corpus, sequences: NDArray[np.int64], windows: Sequence[tuple[int, int]]
) -> list[NDArray[np.int32]]:
    """The best labels of each window, given all other labels."""
    copies = corpus.subset(sequences)
    fixed = copies.labels.copy()
    begins = copies.offsets[:-1].tolist()
    for begin, (a, b) in zip(begins, windows, strict=True):
        fixed[begin + a : begin + b] = -1
    path, _ = chain.viterbi(copies, Constraints(copies.n_labels, fixed=fixed))
    return [path[begin + a : begin + b] for begin, (a, b) in zip(begins, windows, strict=True)]
