"""Dense forward-backward in the log domain: correct for any weights and any length, but slow.

    a_t(y)      = log sum_{y'} exp( a_{t-1}(y') + psi[t,y',y] ) - c_t   c_t makes sum_y exp a_t(y) = 1
    b_{t-1}(y') = log sum_y exp( psi[t,y',y] + b_t(y) ) - d_t           d_t makes max b_{t-1} = 0; b_{T-1} = 0
    log Z = sum_t c_t
    p_t(y', y) proportional to exp( a_{t-1}(y') + psi[t,y',y] + b_t(y) )

(the paper's eqs. forw and backw). Every position is normalised separately, so that rounding errors do not grow with T.
A score of -inf marks a transition that cannot occur.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .lattice import NEG_INF, FloatArray, IntArray, Unsatisfiable, constraint_scores, log_sum_exp


@dataclass(frozen=True)
class Posterior:
    """The results of forward-backward for one lattice, as logarithms, so that nothing underflows."""

    log_z: float
    log_node: FloatArray  # [T,Y] log p_t(y)
    log_edge: FloatArray  # [T,Y+1,Y] log p_t(y', y)

    @property
    def node(self) -> FloatArray:
        """p_t(y); [T,Y]."""
        p: FloatArray = np.exp(self.log_node)
        return p

    @property
    def edge(self) -> FloatArray:
        """p_t(y', y); [T,Y+1,Y]."""
        p: FloatArray = np.exp(self.log_edge)
        return p


def forward(psi: FloatArray) -> tuple[FloatArray, FloatArray]:
    """a[t+1,y] = a_t(y) and c[t]; a[0] is the start label with probability 1. Shapes [T+1,Y+1] and [T].

    Once no path is possible, a and c stay -inf.
    """
    n_positions, _, n_labels = psi.shape
    a = np.full((n_positions + 1, n_labels + 1), NEG_INF)
    c = np.full(n_positions, NEG_INF)
    a[0, n_labels] = 0.0
    for t in range(n_positions):
        reached = log_sum_exp(a[t, :, None] + psi[t], axis=0)
        c[t] = log_sum_exp(reached, axis=0)
        if c[t] == NEG_INF:
            break
        a[t + 1, :n_labels] = reached - c[t]
    return a, c


def backward(psi: FloatArray) -> FloatArray:
    """b[t,y] = b_t(y); [T,Y]. Needs a lattice with at least one path."""
    n_positions, _, n_labels = psi.shape
    b = np.zeros((n_positions, n_labels))
    for t in range(n_positions - 1, 0, -1):
        onward = log_sum_exp(psi[t, :n_labels] + b[t], axis=1)
        b[t - 1] = onward - onward.max()
    return b


def log_partition(psi: FloatArray) -> float:
    """log Z; -inf if no path is possible."""
    _, c = forward(psi)
    return math.fsum(c) if np.isfinite(c).all() else NEG_INF


def forward_backward(psi: FloatArray) -> Posterior:
    """log Z and the marginals of a lattice psi[T,Y+1,Y]."""
    a, c = forward(psi)
    if not np.isfinite(c).all():
        raise Unsatisfiable(f"no path passes position {int(np.argmin(np.isfinite(c)))}")
    b = backward(psi)
    log_edge = a[:-1, :, None] + psi + b[:, None, :]
    log_edge -= log_sum_exp(log_edge.reshape(len(psi), -1), axis=1)[:, None, None]
    return Posterior(math.fsum(c), log_sum_exp(log_edge, axis=1), log_edge)


def log_prob(psi: FloatArray, labels: IntArray) -> float:
    """log P(known labels) = log Z(known labels fixed) - log Z; -inf if psi excludes them."""
    log_z = log_partition(psi)
    if log_z == NEG_INF:
        raise Unsatisfiable("no path is possible")
    return log_partition(psi + constraint_scores(len(psi), psi.shape[2], fixed=labels)) - log_z


def span_log_prob(posterior: Posterior, start: int, labels: IntArray) -> float:
    """log P(y_start.. = labels), the chain rule along the span.

    P(y_s, ..., y_e) = p_s(y_s) prod_{s < t <= e} p_t(y_{t-1}, y_t) / p_{t-1}(y_{t-1})
    """
    log_p = float(posterior.log_node[start, labels[0]])
    for offset in range(1, len(labels)):
        t = start + offset
        if log_p == NEG_INF:
            break
        log_p += float(posterior.log_edge[t, labels[offset - 1], labels[offset]])
        log_p -= float(posterior.log_node[t - 1, labels[offset - 1]])
    return log_p
