"""A lower bound on min P, from distributions over label sequences.

For any distributions u_i, let G(u) = sum_i w_i (E_{u_i} F - F_i), H(u) = sum_i w_i H(u_i), and let Omega* be the
conjugate of the penalty. Then

    D(u) = H(u) - Omega*(G(u)) = H(u) - |S(G)|^2 / (2 rho2)  <=  min P,      |S(G)_k| = max(|G_k| - rho1, 0)

(With groups, S is the sweep of `forest`, which has the same properties. If rho1 grows with the number of labels, rho1
means the rho1 of each feature here and below.)

If u is the model itself, G = g, the gradient of the loss, and H = loss - w . g. Since G is linear and the entropy
concave in u, these values suffice to bound mixtures: (1 - s) data + s u has s G and at least s H (for the data alone, G
and H are 0), and (1 - c) u + c u' has (1 - c) G + c G' and at least (1 - c) H + c H'. A run keeps the best mixture of
its points. For a feature that screening ruled out at a point, only |G| <= rho1 is known there, so each G_k of a mixture
lies in a range, and the bound uses the worse end.

With a prior w0, the entropy is H(u) + w0 . G(u) here and below, and w is the difference from w0 (derivation: `prior`).

`gap` computes this bound at every screening. `tighten` computes a much tighter bound at the cost of a few passes. It
uses u_i = (1 - s_i) data + s_i model with a factor for each sequence (cpp/core/training/sequence_factors.cpp). As long
as values are not negative, -C_k <= G_k(s) <= E_k for all factors, so a feature with max(E_k, C_k) <= rho1 cannot be
violated. All other features are listed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparsecrf.training.feature_sets import Floats, Numbers, WorkingSet, matches, union
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import Penalty

_MOST_STEPS = 30
_CLOSE = 1e-7  # relative accuracy of the search for a maximum
_KEEP = 0.5  # features with |G| below this share of rho1 are not stored; it is enough to know that their |G| <= rho1


@dataclass(frozen=True)
class Mixture:
    """A dual point. Features that are not listed have |G| <= rho1."""

    bound: float  #: D, a lower bound on min P
    entropy: float  #: a lower bound on H(u)
    numbers: Numbers
    G: Floats  #: [2, K] the smallest and the largest possible G; [1, K] if G is known


class LowerBound:
    """The best dual point of a run."""

    def __init__(self, objective: Objective, best: Mixture | None = None) -> None:
        self.objective, self.best = objective, best
        #: The solver's own lower bound.
        self.of_solver = -np.inf
        # With missing labels the loss is not convex, and no lower bound on its minimum is known.
        self.convex = objective.data.n_missing == 0

    def gap(self, numbers: Numbers, w: Floats, loss: float, g: Floats) -> float:
        """P(w) minus the bound, improved by the model at w. g must contain all features with |g| > rho1 and may contain
        others."""
        value, entropy = loss + self._penalty(numbers).value(w), loss - float(w @ g)
        # Weights of a diverging solver are not finite.
        if not (self.convex and np.isfinite(entropy) and np.isfinite(value)):
            return self.gap_of(value)
        return value - max(self._improved(self._shrunk(entropy, numbers, g[np.newaxis])), self.of_solver)

    def gap_of(self, value: float) -> float:
        """P (`value`) minus the current bound."""
        bound = max(-np.inf if self.best is None else self.best.bound, self.of_solver)
        return value - bound if np.isfinite(value) and np.isfinite(bound) else np.inf

    def tighten(self, known: WorkingSet, w: Floats, loss: float, g: Floats) -> float:
        """The gap, tightened with a factor for each sequence. `known` contains all features whose conditions could be
        violated at w."""
        value, penalty = loss + self.objective.penalty_on(known).value(w), self.objective.penalty
        if self.best is None or not np.isfinite(value):
            return np.inf
        if penalty.threshold == 0 or not (self.objective.signs_agree and self.objective.has_all_weights(known)):
            return value - self.best.bound
        large = np.maximum(g + known.counts, known.counts) > penalty.thresholds(known.numbers)
        listed = np.flatnonzero(large | self.objective.weighted(known, w))
        entropy, G = self.objective.sequence_factors(known, w, listed, g[listed])
        new = self._shrunk(entropy, known.numbers[listed], G[np.newaxis])
        # Shards choose their factors simultaneously and overshoot together, so a partial step is better.
        plain = self._shrunk(loss - float(w @ g), known.numbers, g[np.newaxis])
        return value - self._improved(new, self._mixed(plain, new))

    def _improved(self, *points: Mixture) -> float:
        """The bound after adding these points and their mixtures with the best point so far."""
        candidates = list(points)
        if self.best is not None:
            candidates += [self.best, *(self._mixed(self.best, point) for point in points)]
        best = max(candidates, key=lambda mixture: mixture.bound)
        if self.objective.penalty.threshold > 0:
            keep = np.abs(best.G).max(axis=0) > _KEEP * self.objective.penalty.thresholds(best.numbers)
            best = Mixture(best.bound, best.entropy, best.numbers[keep], best.G[:, keep])
        self.best = best
        return best.bound

    def _shrunk(self, entropy: float, numbers: Numbers, G: Floats) -> Mixture:
        """The best point (1 - s) data + s u with 0 < s <= 1."""
        rho2 = self.objective.penalty.rho2
        whole = _worse(G)
        # d/ds |S(s G)|^2 / 2 = S(s G) . G, and S is nonzero only for features with |G| > rho1.
        large = np.flatnonzero(whole > self.objective.penalty.thresholds(numbers))
        size, penalty = whole[large], self._penalty(numbers[large])
        s = penalty.factor(size)
        if rho2 > 0 and s < 1.0:
            s = _peak(lambda s: entropy - float((penalty.excess(s * size) * size).sum()) / rho2, s, 1.0)
        bound = s * entropy - self._penalty(numbers).conjugate(s * whole)
        return Mixture(bound, s * entropy, numbers, s * G)

    def _mixed(self, a: Mixture, b: Mixture) -> Mixture:
        """The best (1 - c) a + c b with 0 <= c <= 1. With rho2 = 0 the bound is linear in c, so a or b is the best."""
        rho2 = self.objective.penalty.rho2
        if rho2 == 0:
            return max(a, b, key=lambda mixture: mixture.bound)
        if np.array_equal(a.numbers, b.numbers):
            numbers, G_a, G_b = a.numbers, a.G, b.G
        else:
            numbers = union(a.numbers, b.numbers)
            G_a, G_b = self._ranges(a, numbers), self._ranges(b, numbers)
        # |G| is largest at one of the two ends, so S can be nonzero in between only for features above rho1 at an end.
        most = self.objective.penalty.thresholds(numbers)
        large = np.flatnonzero((_worse(G_a) > most) | (_worse(G_b) > most))
        first, penalty = G_a[:, large], self._penalty(numbers[large])
        change = G_b[:, large] - first

        def slope(c: float) -> float:
            G = first + c * change
            worse = np.where(G[-1] >= -G[0], change[-1], -change[0])
            return b.entropy - a.entropy - float(penalty.excess(_worse(G)) @ worse) / rho2

        c = _peak(slope, 0.0, 1.0)
        return self._shrunk((1 - c) * a.entropy + c * b.entropy, numbers, (1 - c) * G_a + c * G_b)

    def _penalty(self, numbers: Numbers) -> Penalty:
        return self.objective.penalty.on(numbers)

    def _ranges(self, mixture: Mixture, numbers: Numbers) -> Floats:
        """The range of G for each feature; [-rho1, rho1] for features that are not listed."""
        here, there = matches(numbers, mixture.numbers)
        most = np.broadcast_to(self.objective.penalty.thresholds(numbers), len(numbers))
        out: Floats = np.array([[-1.0], [1.0]]) * most
        out[:, here] = mixture.G[:, there]
        return out


def _worse(G: Floats) -> Floats:
    """[K] the largest possible |G|, from its range."""
    worse: Floats = np.maximum(G[-1], -G[0])
    return worse


def _peak(slope: Callable[[float], float], low: float, high: float) -> float:
    """Find the approximate zero of a decreasing slope; any point gives a valid bound. The method is regula falsi with
    the Illinois modification, which halves the weight of an end that stays. Without an l1 term, the first step is
    exact."""
    at_low, at_high = slope(low), slope(high)
    if at_low <= 0:
        return low
    if at_high >= 0:
        return high
    moved = 0  # which end was moved last: 1 for the low end, -1 for the high end
    for _ in range(_MOST_STEPS):
        middle = low + (high - low) * at_low / (at_low - at_high)
        if not low < middle < high or high - low <= _CLOSE * high:
            break
        value = slope(middle)
        if value == 0:
            return middle
        if value > 0:
            low, at_low, at_high = middle, value, at_high / (2 if moved > 0 else 1)
            moved = 1
        else:
            high, at_high, at_low = middle, value, at_low / (2 if moved < 0 else 1)
            moved = -1
    return low
