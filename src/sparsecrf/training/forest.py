"""Norms over a forest of groups. Their proximal step is a sweep from the leaves to the roots.

A forest over K cells is a list of levels, fine to coarse. A level puts some of the cells into disjoint groups, and
every group lies inside one group of a coarser level or outside all of them. With eta_G >= 0 the weight of group G,

    N(w) = rho1 |w|_1 + sum_G eta_G ||w_G||_2

is a norm, and its proximal step is one sweep (Jenatton, Mairal, Obozinski & Bach 2011) over the single cells, then over
every level in turn:

    z <- sign(v) max(|v| - c rho1, 0)
    z_G <- z_G max(1 - c eta_G / ||z_G||, 0)          for the groups of each level

Let S(v) be the result for c = 1. Since v - S(v) is the projection of v onto the ball { u : N*(u) <= 1 }, which is the
subdifferential of N at 0:

    zero is optimal for a gradient g              iff  S(g) = 0
    the smallest element of g + dN(0)             is   S(g)
    min over u with N*(u) <= 1 of |g - u|^2       is   |S(g)|^2

|S(v)_k| never decreases when any |v_j| grows, so bounds on |v| give bounds on |S(v)|. A cell with |v_k| <= rho1 has no
effect, so it need not be listed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsecrf.training.feature_sets import Floats, Numbers


class Level(NamedTuple):
    """Disjoint groups of some cells."""

    cells: Numbers  #: [n] the indices of the cells that are in a group, in ascending order
    group: Numbers  #: [n] the group of each cell, numbered from 0
    eta: Floats  #: [groups] the weights

    def norms(self, w: Floats) -> Floats:
        """[groups] ||w_G||"""
        norms: Floats = np.sqrt(np.bincount(self.group, w[self.cells] ** 2, minlength=len(self.eta)))
        return norms

    def largest(self, values: Floats) -> Floats:
        """[groups] the largest of the values [K] in each group."""
        found = np.zeros(len(self.eta))
        np.maximum.at(found, self.group, values[self.cells])
        return found

    def shrink(self, z: Floats, c: float | Floats, only: NDArray[np.bool_] | None = None) -> None:
        """z_G <- z_G max(1 - c eta_G / ||z_G||, 0), in place, for all groups or those in a mask. c is a number, or an
        array [K] that is constant within each group."""
        norms, eta = self.norms(z), (self.largest(c) if isinstance(c, np.ndarray) else c) * self.eta
        factor = np.where(norms > eta, 1.0 - eta / np.maximum(norms, eta + np.finfo(float).tiny), 0.0)
        if only is not None:
            factor = np.where(only, factor, 1.0)
        z[self.cells] *= factor[self.group]


class Forest(NamedTuple):
    """Levels of groups over K cells, ordered from fine to coarse."""

    levels: tuple[Level, ...]

    @classmethod
    def of(cls, groups: Sequence[Numbers], weights: Sequence[Floats]) -> Forest:
        """Build a forest from the group of each cell [K] at every level (-1 if none; fine to coarse) and the weights of
        groups."""
        made = []
        for group, eta in zip(groups, weights, strict=True):
            cells = np.flatnonzero(group >= 0)
            made.append(Level(cells, group[cells], np.asarray(eta, dtype=np.float64)))
        return cls(tuple(made))

    def norm(self, w: Floats) -> float:
        """sum_G eta_G ||w_G||"""
        return float(sum(level.eta @ level.norms(w) for level in self.levels))

    def shared(self, values: Floats) -> Floats:
        """[K] for each cell, the largest value in its largest group, or its own value if it is in no group."""
        found = values.copy()
        for level in self.levels:  # a coarser group contains a finer one completely or not at all
            found[level.cells] = level.largest(found)[level.group]
        return found

    def sweep(self, v: Floats, rho1: float, c: float | Floats = 1.0) -> Floats:
        """The proximal step of c N at v; S(v) for c = 1. c is a number, or an array [K] that is constant within each
        group."""
        z: Floats = np.sign(v) * np.maximum(np.abs(v) - c * rho1, 0.0)
        for level in self.levels:
            level.shrink(z, c)
        return z

    def remainder(self, w: Floats, g: Floats, rho1: float) -> Floats:
        """The residual of g at cells with w = 0, which stay at zero iff their residual is 0. Groups with a nonzero
        weight do not shrink the residual, since their norm has derivative 0 at these cells. Values at other cells are
        meaningless."""
        z: Floats = np.where(w != 0, 0.0, np.sign(g) * np.maximum(np.abs(g) - rho1, 0.0))
        for level in self.levels:
            level.shrink(z, 1.0, level.norms(w) == 0)
        return z

    def slope(self, w: Floats) -> Floats:
        """The derivative of the norms of groups with a nonzero weight: sum over G of eta_G w_k / ||w_G||."""
        out = np.zeros(len(w))
        for level in self.levels:
            norms = level.norms(w)
            share = np.divide(level.eta, norms, out=np.zeros(len(norms)), where=norms > 0)
            out[level.cells] += share[level.group] * w[level.cells]
        return out
