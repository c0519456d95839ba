"""The best labels: Viterbi (dense, and sparse as in the paper), posterior decoding, the k best paths.

Ties go to the predecessor with the smallest index, and to the smallest final label.
"""

from __future__ import annotations

import numpy as np

from .lattice import NEG_INF, FloatArray, IntArray, Unsatisfiable


def viterbi(psi: FloatArray) -> tuple[IntArray, float]:
    """The path with the highest score, and its score.

    epsilon_t(y) = max_{y'} { epsilon_{t-1}(y') + psi[t,y',y] }          (the paper's eq. viterb)
    """
    n_positions, _, n_labels = psi.shape
    best = np.zeros((n_positions, n_labels), dtype=np.int32)  # [T,Y] the y' that attains the maximum
    epsilon = np.append(np.full(n_labels, NEG_INF), 0.0)  # [Y+1]; before position 0: the start label
    for t in range(n_positions):
        candidates = epsilon[:, None] + psi[t]
        best[t] = candidates.argmax(axis=0)
        epsilon = np.append(candidates.max(axis=0), NEG_INF)
    return _trace(best, epsilon)


def sparse_viterbi(u: FloatArray, scores: FloatArray) -> tuple[IntArray, float]:
    """The same from unigram scores u[T,Y] and bigram scores l[T,Y+1,Y] (the paper's end of section 3.2).

        epsilon_t(y) = u_t(y) + max { max_{y' not in A(y)} epsilon_{t-1}(y'),
                                      max_{y' in A(y)} epsilon_{t-1}(y') + l_t(y', y) }

    with A(y) = {y': l_t(y', y) != 0}. The first maximum is found by visiting labels by decreasing epsilon until one is
    outside A(y).
    """
    n_positions, n_labels = u.shape
    best = np.zeros((n_positions, n_labels), dtype=np.int32)
    epsilon = np.append(np.full(n_labels, NEG_INF), 0.0)
    for t in range(n_positions):
        ranked = np.argsort(-epsilon, kind="stable")  # equal epsilon: smallest index first
        reached = np.full(n_labels + 1, NEG_INF)
        for y in range(n_labels):
            active = scores[t, :, y] != 0.0
            candidates = [(epsilon[previous] + scores[t, previous, y], previous) for previous in np.flatnonzero(active)]
            for previous in ranked:
                if not active[previous]:
                    candidates.append((epsilon[previous], previous))
                    break
            top, best[t, y] = max(candidates, key=lambda candidate: (candidate[0], -candidate[1]))
            reached[y] = u[t, y] + top
        epsilon = reached
    return _trace(best, epsilon)


def _trace(best: IntArray, epsilon: FloatArray) -> tuple[IntArray, float]:
    """Follow best[T,Y] back from the smallest label that attains max epsilon[Y+1]."""
    n_labels = best.shape[1]
    if epsilon.max() == NEG_INF:
        raise Unsatisfiable("every path has score -inf")
    path = np.zeros(len(best), dtype=np.int32)
    path[-1] = epsilon[:n_labels].argmax()
    for t in range(len(best) - 1, 0, -1):
        path[t - 1] = best[t, path[t]]
    return path, float(epsilon.max())


def posterior_labels(node: FloatArray) -> IntArray:
    """argmax_y p_t(y) at every position, the smallest label on ties; [T] from node marginals [T,Y]."""
    labels: IntArray = node.argmax(axis=1).astype(np.int32)
    return labels


def n_best(psi: FloatArray, k: int) -> tuple[IntArray, FloatArray]:
    """The k paths with the highest finite scores, best first; labels [k',T], scores [k'], k' <= k.

    Every (t, y) keeps the k best paths that end there, each of which extends one of the k best of some y':

        L_t(y) = the k best of { s + psi[t,y',y] : y', s in L_{t-1}(y') }

    Ties go to the smaller y', then to the better rank in L_{t-1}(y'), and to the smaller final label. So paths with
    equal scores are ordered by their last label, then by the one before it, and so on; the first is that of `viterbi`.
    """
    n_positions, _, n_labels = psi.shape
    kept: list[list[tuple[float, tuple[int, ...]]]] = [[] for _ in range(n_labels)] + [[(0.0, ())]]
    for t in range(n_positions):
        extended: list[list[tuple[float, tuple[int, ...]]]] = []
        for y in range(n_labels):
            candidates = [
                (score + float(psi[t, previous, y]), (*path, y))
                for previous, paths in enumerate(kept)
                for score, path in paths
                if psi[t, previous, y] != NEG_INF
            ]
            extended.append(_k_best(candidates, k))
        kept = [*extended, []]
    final = _k_best([candidate for paths in kept for candidate in paths], k)
    labels = np.array([path for _, path in final], dtype=np.int32).reshape(len(final), n_positions)
    return labels, np.array([score for score, _ in final])


def _k_best(candidates: list[tuple[float, tuple[int, ...]]], k: int) -> list[tuple[float, tuple[int, ...]]]:
    """The k with the highest scores, best first; ties stay in the given order."""
    return sorted(candidates, key=lambda candidate: -candidate[0])[:k]
