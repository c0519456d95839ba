"""The sparse forward-backward of the paper (section 3.2, eq. sparsefb), scaled, in the linear domain.

With e_t(y) = exp u_t(y), u the unigram scores, and M_t(y', y) = exp l_t(y', y) - 1, l the bigram scores, M is
zero wherever l is, and the sums over all pairs become a sum over labels plus a sum over the non-zeros of M:

    alpha_t(y)       = e_t(y) { 1 + sum_{y' in A_t(y)} alpha_{t-1}(y') M_t(y', y) } / c_t
    v_t(y)           = beta_t(y) e_t(y) / c_t
    beta_{t-1}(y')   = sum_y v_t(y) + sum_{y: M_t(y',y) != 0} M_t(y', y) v_t(y)
    p_t(y', y)       = alpha_{t-1}(y') (1 + M_t(y', y)) v_t(y)
    log Z            = sum_t (log c_t + max_y u_t(y))

A_t(y) = {y': l_t(y', y) != 0}, c_t makes alpha_t sum to one, and the 1 in braces is the sum of alpha_{t-1}.
Where M is close to -1 for nearly all of the mass, the sum in braces cancels: such a cell is recomputed as a dense sum
of nonnegative terms. This is the only precaution here: scores outside the range of exp are left to the log domain.
"""

from __future__ import annotations

import numpy as np

from .forward_backward import Posterior
from .lattice import FloatArray, Unsatisfiable

CANCELLED = 1e-3  # below this part of the larger term, a sum has lost three digits: do it again densely


def _times_one_plus(mass: FloatArray, M: FloatArray, factor: FloatArray) -> FloatArray:
    """sum_i mass[i] (1 + M[i,j]) for every column j, with one multiplication for each nonzero of M.

    factor[i,j] = 1 + M[i,j], computed without rounding through M, to recompute cells that cancelled.
    """
    total = mass.sum()
    result = np.full(M.shape[1], total)
    for j in range(M.shape[1]):
        active = np.flatnonzero(M[:, j])
        result[j] += mass[active] @ M[active, j]
        if result[j] < CANCELLED * total:
            result[j] = mass @ factor[:, j]
    return result


def sparse_forward_backward(u: FloatArray, scores: FloatArray) -> Posterior:
    """log Z and marginals from scores u[T,Y] of labels and l[T,Y+1,Y] of pairs (-inf: forbidden)."""
    n_positions, n_labels = u.shape
    shift = u.max(axis=1)
    if not np.isfinite(shift).all():
        raise Unsatisfiable(f"no label at position {int(np.argmin(np.isfinite(shift)))}")
    e: FloatArray = np.exp(u - shift[:, None])  # [T,Y]
    factor: FloatArray = np.exp(scores)  # [T,Y+1,Y], 1 + M
    M: FloatArray = np.expm1(scores)  # [T,Y+1,Y]

    alpha = np.zeros((n_positions + 1, n_labels + 1))  # alpha[t+1] is alpha_t; row 0 is the start label
    alpha[0, n_labels] = 1.0
    c = np.zeros(n_positions)
    for t in range(n_positions):
        unscaled = e[t] * _times_one_plus(alpha[t], M[t], factor[t])
        c[t] = unscaled.sum()
        if not 0.0 < c[t] < np.inf:
            raise Unsatisfiable(f"no mass within the range of exp at position {t}")
        alpha[t + 1, :n_labels] = unscaled / c[t]

    beta = np.ones(n_labels)
    edge = np.zeros((n_positions, n_labels + 1, n_labels))
    for t in range(n_positions - 1, -1, -1):
        v = beta * e[t] / c[t]
        edge[t] = alpha[t][:, None] * factor[t] * v
        beta = _times_one_plus(v, M[t, :n_labels].T, factor[t, :n_labels].T)

    with np.errstate(divide="ignore"):
        return Posterior(float(np.sum(np.log(c) + shift)), np.log(edge.sum(axis=1)), np.log(edge))
