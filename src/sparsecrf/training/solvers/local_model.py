"""A quadratic model of the loss that uses two properties of CRFs.

The curvature h = sum_t p (1 - p) is far too small while a feature's expectation E is far from its count C, so q =
max(h, |E - C|) replaces it (with unit |E - C| if an attribute's values are of size `unit`). Also, mu[x, y] fires
exactly when one of lambda[x, ., y] does, so the model of a mu and a lambda is q (d_mu + d_lambda)^2 / 2, where q
belongs to the lambda.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import RADIUS, RIDGE, minimize_quadratic, times_matrix
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.training.feature_sets import Floats, WorkingSet, place_among
from sparsecrf.training.forest import Forest
from sparsecrf.training.group_penalty import OnFeatures
from sparsecrf.training.order_penalty import WeightedNet
from sparsecrf.training.penalty import Penalty

_FEW = 16  # the numbers are sorted if at most one in this many possible numbers occurs


class Block(NamedTuple):
    """The curvatures between some of the features, as a full matrix."""

    row: NDArray[np.int32]  #: [K] the row of each feature of the working set; -1 if none
    matrix: Floats  #: [M, Mp] symmetric, rows padded with zeros as the core needs it

    def times(self, s: Floats, rows: NDArray[np.int32], threads: int) -> Floats:
        """The products of the matrix and the vectors along the last axis of `s`. `s` and the result contain only these
        rows; the vectors are zero in all others."""
        whole = np.zeros((math.prod(s.shape[:-1]), len(self.matrix)))
        whole[:, rows] = s
        found: Floats = times_matrix(whole, self.matrix, threads)[:, rows].reshape(s.shape)
        return found


NO_BLOCK = Block(np.empty(0, dtype=np.int32), np.empty((0, 0)))


class LocalModel(NamedTuple):
    """d' B0 d / 2, where B0 is a diagonal plus a coupling between each feature and its parent."""

    diagonal: Floats  #: [K]
    parent: NDArray[np.int32]  #: [K] for lambda[x, y', y] the index of mu[x, y]; -1 if none
    coupling: Floats  #: [K] curvature between a feature and its parent
    block: Block | None = None  #: features with a full matrix instead of diagonal and coupling
    scale: float = 1.0  #: factor on that matrix
    unit: Floats | float = 1.0  #: [K] the size of the values of each feature's attribute, or one number for all
    threads: int = 1

    @classmethod
    def at(
        cls,
        known: WorkingSet,
        g: Floats,
        h: Floats,
        ridge: Floats | float | None = None,
        unit: Floats | float = 1.0,
        threads: int = 1,
    ) -> LocalModel:
        """`ridge` is added to the curvature; None means RIDGE unit^2."""
        q = np.abs(h)
        np.maximum(q, unit * np.abs(g), out=q)
        parent = _unigram_of_each(known)
        child = np.flatnonzero(parent >= 0)
        above, place = _distinct(parent[child], known.size)
        # Only the diagonal of parents is needed, since parents have no parents.
        q[above] = np.maximum(q[above], np.bincount(place, weights=q[child], minlength=len(above)))
        return cls(q + (RIDGE * unit**2 if ridge is None else ridge), parent, q, unit=unit, threads=threads)

    def with_block(self, block: Block) -> LocalModel:
        """B0 with the matrix of a block, and no curvature between the features of the block and other features."""
        inside = np.append(block.row >= 0, False)  # the last entry stands for "no parent"
        alone = inside[:-1] | inside[self.parent]
        parent, coupling = np.where(alone, np.int32(-1), self.parent), np.where(alone, 0.0, self.coupling)
        diagonal = self.diagonal.copy()
        diagonal[inside[:-1]] = block.matrix[block.row[inside[:-1]], block.row[inside[:-1]]]
        return self._replace(diagonal=diagonal, parent=parent, coupling=coupling, block=block)

    def scaled(self, factor: float) -> LocalModel:
        diagonal, coupling = factor * self.diagonal, factor * self.coupling
        return self._replace(diagonal=diagonal, coupling=coupling, scale=factor * self.scale)

    def times(self, s: Floats) -> Floats:
        """B0 s, for vectors along the last axis."""
        out = self.diagonal * s
        if self.block is not None:
            inside = np.flatnonzero(self.block.row >= 0)
            out[..., inside] = self.scale * self.block.times(s[..., inside], self.block.row[inside], self.threads)
        child = np.flatnonzero(self.parent >= 0)
        parent, coupling = self.parent[child], self.coupling[child]
        out[..., child] += coupling * s[..., parent]
        np.add.at(out.T, parent, (coupling * s[..., child]).T)
        return out

    def solve(self, r: Floats, ridge: float) -> Floats:
        """(B0 + ridge I)^-1 r, for vectors along the last axis.

        A feature has at most one parent. With c the coupling of a child and D the diagonal,

            (D_parent - sum c^2 / D_child) x_parent = r_parent - sum c r_child / D_child
            D_child x_child = r_child - c x_parent
        """
        x: Floats = self.diagonal + ridge
        x = r / x if r.ndim > 1 else np.divide(r, x, out=x)
        child = np.flatnonzero(self.parent >= 0)
        parent, share = self.parent[child], self.coupling[child] / (self.diagonal[child] + ridge)
        above, place = _distinct(parent, len(self.diagonal))
        shared = np.bincount(place, weights=share * self.coupling[child], minlength=len(above))
        rest = r[..., above]
        np.subtract.at(rest.T, place, (share * r[..., child]).T)
        x[..., above] = rest / (self.diagonal[above] + ridge - shared)
        x[..., child] -= share * x[..., parent]
        return x

    def minimize(
        self,
        penalty: Penalty,
        w: Floats,
        g: Floats,
        free: NDArray[np.int64],
        factors: Floats | None = None,
        subtracted: int = 0,
        tolerance: float = 1e-3,
    ) -> Floats:
        """The step d that minimises g . d + d' B d / 2 + penalty(w + d), without moving features that are not free.

        B = B0 - P P' + Q Q'. `factors` contains the rows of [P, Q] for free features only; P has `subtracted` columns.
        """
        place = np.full(len(w) + 1, -1, dtype=np.int32)
        place[free] = np.arange(len(free), dtype=np.int32)
        d = np.zeros(len(w))
        block = NO_BLOCK if self.block is None else self.block
        d[free] = minimize_quadratic(
            g[free],
            w[free],
            self.diagonal[free],
            place[self.parent[free]],
            self.coupling[free],
            np.zeros((len(free), 0)) if factors is None else factors,
            block.row[free] if len(block.row) else block.row,
            block.matrix,
            self.scale,
            subtracted=subtracted,
            rho1=penalty.rho1,
            rho2=penalty.rho2,
            radius=RADIUS,
            tolerance=tolerance,
            max_sweeps=60,
            **_more_of(penalty, free, len(w)),
            unit=None if isinstance(self.unit, float) else self.unit[free],
            threads=self.threads,
        )
        return d


def _more_of(penalty: Penalty, free: NDArray[np.int64], n: int) -> dict[str, Any]:
    """The arguments that the core needs for a penalty besides rho1 and rho2."""
    if isinstance(penalty, OnFeatures):
        return _groups_of(penalty.forest, free, n)
    return {"rho1_of": penalty.rho1_of[free]} if isinstance(penalty, WeightedNet) else {}


def _groups_of(forest: Forest, free: NDArray[np.int64], n: int) -> dict[str, Any]:
    """The groups of the free features, numbered as in the core: level by level, without empty groups."""
    if not forest.levels:
        return {}
    group, eta, first = np.full((len(forest.levels), len(free)), -1, dtype=np.int32), [], 0
    for row, level in zip(group, forest.levels, strict=True):
        of_feature = np.full(n, -1)
        of_feature[level.cells] = level.group
        inside = of_feature[free] >= 0
        found, place = np.unique(of_feature[free[inside]], return_inverse=True)
        row[inside] = first + place
        eta.append(level.eta[found])
        first += len(found)
    return {"group": group, "eta": np.concatenate(eta)}


def _distinct(numbers: NDArray[np.int32], n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct values of numbers below n, in ascending order, and the index of each number among them."""
    if _FEW * len(numbers) < n:
        found, place = np.unique(numbers, return_inverse=True)
        return found.astype(np.int64), place
    there = np.zeros(n, dtype=np.bool_)
    there[numbers] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[numbers]


def _unigram_of_each(known: WorkingSet) -> NDArray[np.int32]:
    """For every bigram feature (x, y', y), the index of (x, y) in the set. -1 if the set does not contain (x, y), and
    for all other features."""
    n_unigram, n_pairs = known.feature_set.n_unigram, known.size - known.feature_set.n_ngram
    unigram = Numbering.of(known.feature_set).unigram_of(known.numbers[n_unigram:n_pairs])
    parent = np.full(known.size, -1, dtype=np.int32)
    parent[n_unigram:n_pairs] = place_among(unigram, known.numbers[:n_unigram])
    return parent
