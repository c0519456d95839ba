"""The loss over labelled sequences, its gradient, and the paper's approximate curvature; dense in mu and lam.

A sequence of weight w with labels y, some of them missing or one of a set, has the loss

    w { log Z - log Z(y) },        Z(y): the sum over the paths that agree with the labels and label sets

whose numerator Z(y) is exp(score(y)) when all are known. Token weights make layers. With
0 = s_0 < s_1 < ... < s_m the distinct positive token weights,

    w sum_j (s_j - s_{j-1}) { log Z(y_t fixed where w_t < s_j) - log Z(y) }

so that layer j is the conditional likelihood of the tokens with w_t >= s_j given the labels of the others.
Without token weights there is one layer, s_1 = 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from .forward_backward import Posterior, forward_backward
from .lattice import MISSING, FloatArray, IntArray, SequenceData, merged, potentials


@dataclass(frozen=True)
class Derivatives:
    """Loss, gradient and curvature, shaped like mu[X,Y] and lam[X,Y+1,Y]."""

    loss: float
    g_mu: FloatArray
    g_lam: FloatArray
    h_mu: FloatArray
    h_lam: FloatArray


def layers(sequence: SequenceData) -> Iterator[tuple[float, IntArray]]:
    """For every layer j: w (s_j - s_{j-1}), and the labels [T] that are fixed in it (MISSING: free)."""
    labels = np.array(sequence.labels, dtype=np.int32)
    token_weight = np.ones(len(sequence)) if sequence.token_weight is None else np.array(sequence.token_weight)
    below = 0.0
    for threshold in np.unique(token_weight[token_weight > 0.0]):
        given = np.where(token_weight < threshold, labels, MISSING).astype(np.int32)
        yield sequence.weight * float(threshold - below), given
        below = float(threshold)


def objective(sequences: Iterable[SequenceData], mu: FloatArray, lam: FloatArray) -> Derivatives:
    """The loss and its derivatives, summed over sequences and layers.

    g_k = sum_layers w ( E_denominator f_k - E_numerator f_k )                     (the paper's eq. 1rstorder)
    h_k = sum_layers w sum_t V_t^2 p_t (1 - p_t), p_t of the denominator           (eq. 2ndorder_approx)

    V_t is the value of the attribute at position t (repeated ones are added up), p_t the probability of (y) or of (y',
    y).
    """
    loss = 0.0
    g_mu, g_lam = np.zeros_like(mu), np.zeros_like(lam)
    h_mu, h_lam = np.zeros_like(mu), np.zeros_like(lam)
    for sequence in sequences:
        numerator = forward_backward(potentials(sequence, mu, lam, fixed=np.array(sequence.labels, dtype=np.int32)))
        for weight, given in layers(sequence):
            denominator = forward_backward(potentials(sequence, mu, lam, fixed=given))
            loss += weight * (denominator.log_z - numerator.log_z)
            _add_expectation(sequence, denominator, weight, g_mu, g_lam)
            _add_expectation(sequence, numerator, -weight, g_mu, g_lam)
            _add_curvature(sequence, denominator, weight, h_mu, h_lam)
    return Derivatives(loss, g_mu, g_lam, h_mu, h_lam)


def empirical_counts(
    sequences: Iterable[SequenceData], mu: FloatArray, lam: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """C_k = sum_layers w F_k(x, y) over the fully labelled sequences; shaped like mu and lam.

    The weights of the layers add up to w max_t w_t, so the gradient is the sum of the layers' expectations minus C.
    """
    count_mu, count_lam = np.zeros_like(mu), np.zeros_like(lam)
    for sequence in sequences:
        if not sequence.is_labelled:
            continue
        weight = sum(weight for weight, _ in layers(sequence))
        previous = mu.shape[1]
        for t, y in enumerate(sequence.labels):
            for x, v in sequence.unigram[t]:
                count_mu[x, y] += weight * v
            for x, v in sequence.bigram[t]:
                count_lam[x, previous, y] += weight * v
            previous = y
    return count_mu, count_lam


def _add_expectation(
    sequence: SequenceData, p: Posterior, weight: float, to_mu: FloatArray, to_lam: FloatArray
) -> None:
    """Add weight * E f_k = weight * sum_t v p_t to arrays shaped like mu and lam."""
    node, edge = p.node, p.edge
    for t in range(len(sequence)):
        for x, v in sequence.unigram[t]:
            to_mu[x] += weight * v * node[t]
        for x, v in sequence.bigram[t]:
            to_lam[x] += weight * v * edge[t]


def _add_curvature(sequence: SequenceData, p: Posterior, weight: float, to_mu: FloatArray, to_lam: FloatArray) -> None:
    """Add weight * sum_t V_t^2 p_t (1 - p_t) to arrays shaped like mu and lam."""
    node, edge = p.node, p.edge
    for t in range(len(sequence)):
        for x, v in merged(sequence.unigram[t]).items():
            to_mu[x] += weight * v * v * node[t] * (1.0 - node[t])
        for x, v in merged(sequence.bigram[t]).items():
            to_lam[x] += weight * v * v * edge[t] * (1.0 - edge[t])
