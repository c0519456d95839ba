"""The penalty over a forest of groups.

    Omega(w) = rho1 |w|_1 + rho2/2 |w|^2 + sum_G eta_G ||w_G||_2,      eta_G = rho1 weight sqrt(n_G)

Groups are nested or disjoint (`groups.py`). n_G is the number of features of G with one or two labels that occur in the
data, but at least 1; longer n-grams are not counted. Therefore rho1 scales the whole norm N = rho1 |w|_1 + sum_G eta_G
||w_G||, and a path over rho1 works as without groups. `weight` is the weight of groups relative to single features.

Let S be the sweep from the leaves to the roots (`forest.py`). Training needs these operations:

    prox(v, c)         the sweep with c rho1 and c eta_G, divided by 1 + c rho2
    subgradient(w, g)  g + rho2 w + rho1 sign(w) + sum_G eta_G w_k / ||w_G||  where w_k is not 0; otherwise the sweep of
                       g over the groups that are all zero: the smallest element of g + dOmega(w)
    conjugate(G)       |S(G)|^2 / (2 rho2), by Moreau: Omega* is the squared distance to the ball of the dual norm
    screening          as without groups, max(E, C) <= rho1 implies S(g) = 0 for a feature: the same candidates suffice,
                       and a group outside the working set is optimal iff S(g) = 0 on its candidates
    rho_max            N1*(g) at w = 0, where N1 is the norm for rho1 = 1: the smallest r with S(g) = 0 for rho1 = r,
                       found by bisection, since S(g) for rho1 = r is r S1(g / r)
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsecrf._core import InputError
from sparsecrf.lazy import lazy
from sparsecrf.training.data import TrainingData
from sparsecrf.training.feature_sets import Floats, Numbers, place_among, union
from sparsecrf.training.forest import Forest
from sparsecrf.training.penalty import ElasticNet, Mask, Strength

if TYPE_CHECKING:
    from sparsecrf.training.groups import Grouping

_BISECTIONS = 60
_KEPT_SETS = 4  # number of cached forests: a run alternates between a few feature sets


@dataclass(frozen=True)
class OnFeatures(Strength):
    """The penalty on a set of features; all other weights are zero."""

    forest: Forest

    def value(self, w: Floats) -> float:
        return ElasticNet(self.rho1, self.rho2).value(w) + self.forest.norm(w)

    def subgradient(self, w: Floats, g: Floats) -> Floats:
        moving = g + self.rho2 * w + self.rho1 * np.sign(w) + self.forest.slope(w)
        smallest: Floats = np.where(w != 0, moving, self.forest.remainder(w, g, self.rho1))
        return smallest

    def excess(self, g: Floats) -> Floats:
        """|S(g)|"""
        excess: Floats = np.abs(self.forest.sweep(g, self.rho1))
        return excess

    def metric(self, unit: float | Floats) -> float | Floats:
        """Assign every feature the largest unit of its group, since the sweep is a proximal step only if all features
        of a group have the same unit."""
        return unit if isinstance(unit, float) else self.forest.shared(unit)

    def prox(self, v: Floats, c: float | Floats) -> Floats:
        return self.forest.sweep(v, self.rho1, c) / (1.0 + c * self.rho2)

    def conjugate(self, size: Floats) -> float:
        excess = self.excess(size)
        if self.rho2 == 0:
            # As for the elastic net, values scaled to meet the bound may exceed it only by rounding errors.
            return 0.0 if excess.max(initial=0.0) <= 1e-12 * self.rho1 else np.inf
        return float(excess @ excess) / (2 * self.rho2)

    def movable(self, w: Floats, g: Floats, share: float) -> Mask:
        movable: Mask = (w != 0) | (self.forest.remainder(w, g / share, self.rho1) != 0)
        return movable

    def factor(self, size: Floats) -> float:
        dual = self.dual_norm(size)
        return 1.0 / dual if dual > 1.0 else 1.0

    def dual_norm(self, size: Floats) -> float:
        """N*(G): the smallest r with S(G / r) = 0, approximated from above, to an accuracy relative to the largest
        |G|."""
        low, high = 0.0, float(size.max(initial=0.0)) / self.rho1
        for _ in range(_BISECTIONS):
            middle = 0.5 * (low + high)
            if middle == 0.0 or self.forest.sweep(size / middle, self.rho1).any():
                low = middle
            else:
                high = middle
        return high


@dataclass(frozen=True)
class GroupPenalty(Strength):
    """The penalty over all features of some data."""

    grouping: Grouping
    weight: float
    data: TrainingData

    def __post_init__(self) -> None:
        super().__post_init__()
        weight = float(self.weight) if isinstance(self.weight, Real) else np.nan
        if not (np.isfinite(weight) and weight >= 0):
            raise InputError(f"group_weight: expected a finite number >= 0, found {self.weight!r}")

    def on(self, numbers: Numbers) -> OnFeatures:
        for known, found in self._recent:
            if known is numbers:
                return found
        made = OnFeatures(self.rho1, self.rho2, self._forest(numbers))
        self._recent.insert(0, (numbers, made))
        del self._recent[_KEPT_SETS:]
        return made

    def _forest(self, numbers: Numbers) -> Forest:
        groups, weights = [], []
        for level, keys in self._keys(numbers).items():
            found, group = np.unique(keys, return_inverse=True)
            if len(found) and found[0] < 0:  # some features are in no group
                found, group = found[1:], group - 1
            groups.append(group.astype(np.int64))
            weights.append(self.rho1 * self.weight * self._relative(level, found))
        return Forest.of(groups, weights)

    def _keys(self, numbers: Numbers) -> dict[str, Numbers]:
        return self.grouping.keys_of(self.data, numbers)

    def _relative(self, level: str, keys: Numbers) -> Floats:
        """sqrt(n_G), unless the grouping sets another weight."""
        observed, n = self.sizes.get(level, (keys[:0], np.empty(0)))
        place = place_among(keys, observed)
        sizes = np.ones(len(keys))
        sizes[place >= 0] = n[place[place >= 0]]
        return self.grouping.weights_of(keys, np.sqrt(sizes))

    @lazy
    def sizes(self) -> dict[str, tuple[Numbers, Floats]]:
        """For each level: the groups with a feature that occurs, by ascending key, and the number of these features."""
        found = {}
        for level, keys in self._keys(self.data.observed).items():
            groups, n = np.unique(keys[keys >= 0], return_counts=True)
            found[level] = groups, n.astype(np.float64)
        return found

    @lazy
    def _recent(self) -> list[tuple[Numbers, OnFeatures]]:
        return []

    def summary(self, numbers: Numbers) -> dict[str, Any]:
        """Return `groups`: for each level, the number of groups that contain one of these features, and the number of
        groups that contain one of these features or a feature that occurs in the data."""
        groups = {}
        for level, keys in self._keys(numbers).items():
            kept = np.unique(keys[keys >= 0])
            observed = self.sizes[level][0] if level in self.sizes else kept
            groups[level] = [len(kept), len(union(kept, observed))]
        return {"penalty": self.grouping.name, "group_weight": float(self.weight), "groups": groups}

    def record(self) -> dict[str, Any]:
        digest = hashlib.sha256()
        for keys in self._keys(self.data.observed).values():
            digest.update(keys.tobytes())
        digest.update(self.grouping.description())
        about = {"penalty": self.grouping.name, "group weight": float(self.weight), "groups": digest.hexdigest()}
        return {"rho1": self.rho1, "rho2": self.rho2, **about}
