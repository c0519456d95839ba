"""Plain L-BFGS (Nocedal 1980; Liu & Nocedal 1989), for objectives without an l1 term, as in CRFsuite's `lbfgs`.

    d = - H g        H: `memory` updates of gamma I, gamma = s . y / y . y of the last pair (two-loop recursion)
    w <- w + t d     t: meets the strong Wolfe conditions; the search begins at 1, in the first step at 1 / |g|

`auto` makes more progress per iteration. When the number of iterations is the only regulariser, faster progress means
overfitting. After k iterations, this solver fits the data as closely as other implementations of L-BFGS.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsecrf._core import InputError
from sparsecrf.training.feature_sets import Floats
from sparsecrf.training.objective import Objective
from sparsecrf.training.solvers.pairs import Pairs, WithPairs
from sparsecrf.training.solvers.solver import Point

_DECREASE, _CURVATURE = 1e-4, 0.9  # the constants of the Wolfe conditions
_TRIALS = 20
_FURTHER = 4.0  # while the interval has no upper end, t grows by at most this many times the last interval
_INSIDE = 0.1  # share of an interval that a trial keeps away from its ends


@dataclass(frozen=True)
class _Trial:
    t: float
    value: float
    slope: float
    point: Point


class PlainLbfgs(WithPairs):
    """One iteration per step."""

    def __init__(self, objective: Objective, memory: int = 6) -> None:
        if objective.elastic_net.rho1 > 0:
            raise InputError(f"rho1: expected 0 for plain L-BFGS, found {objective.elastic_net.rho1:g}")
        self.objective = objective
        self.pairs = Pairs(max(1, memory))

    def step(self, point: Point) -> Point:
        rho2 = self.objective.elastic_net.rho2
        gradient = point.g + rho2 * point.w
        norm = float(np.linalg.norm(gradient))
        if norm == 0:
            return point
        new = self._search(point, self._direction(gradient), 1.0 if len(self.pairs) else 1.0 / norm)
        if new is not point:
            self.pairs.add(new.w - point.w, new.g + rho2 * new.w - gradient)
        return new

    def _direction(self, gradient: Floats) -> Floats:
        return self.pairs.inverse_times(-gradient, self.pairs.as_last, threads=self.objective.threads)

    def _search(self, point: Point, d: Floats, t: float) -> Point:
        """The first trial that meets the strong Wolfe conditions, else the best one; `point` if none is better."""
        start = low = best = self._at(point, d, 0.0, 0)
        high: _Trial | None = None
        for trials in range(1, _TRIALS + 1):
            new = self._at(point, d, t, trials)
            best = min(best, new, key=lambda trial: trial.value)
            enough = new.value <= start.value + _DECREASE * t * start.slope
            if enough and abs(new.slope) <= -_CURVATURE * start.slope:
                return new.point
            if not enough or new.value > low.value or new.slope > 0:
                high = new
            else:
                low, before = new, low
                if high is None:
                    t = _further(before, low)
                    continue
            t = _between(low, high)
        return best.point

    def _at(self, point: Point, d: Floats, t: float, trials: int) -> _Trial:
        rho2 = self.objective.elastic_net.rho2
        if trials > 0:
            w = point.w + t * d
            point = Point(point.known, w, *self.objective.loss_grad(point.known, w), trials, t)
        value = point.loss + self.objective.elastic_net.value(point.w)
        return _Trial(t, value, float((point.g + rho2 * point.w) @ d), point)


# The next trial follows the rules of More & Thuente (1994, section 4): the values and slopes at two trials give a
# minimum c of a cubic, and a minimum q of a parabola or a zero q of a secant.


def _further(before: _Trial, low: _Trial) -> float:
    """The next trial if the slope still points down at `low`: the larger of c and q, at most a few interval widths
    away."""
    most = low.t + _FURTHER * (low.t - before.t)
    if low.slope <= before.slope:
        return most
    return min(max(_cubic(before, low, most), _secant(before, low)), most)


def _between(low: _Trial, high: _Trial) -> float:
    """The next trial if the minimum lies between the trials: c if that is more cautious, otherwise q or their
    midpoint."""
    c = _cubic(low, high, (low.t + high.t) / 2)
    if high.value > low.value:
        q = _parabola(low, high)
        t = c if abs(c - low.t) < abs(q - low.t) else (c + q) / 2
    else:
        q = _secant(low, high)
        t = c if abs(c - high.t) > abs(q - high.t) else q
    least, most = sorted((low.t, high.t))
    margin = _INSIDE * (most - least)
    return float(np.clip(t, least + margin, most - margin))


def _cubic(a: _Trial, b: _Trial, otherwise: float) -> float:
    """The minimum of the cubic through both points."""
    width = b.t - a.t
    theta = 3.0 * (a.value - b.value) / width + a.slope + b.slope
    gamma = -np.copysign(np.sqrt(max(0.0, theta**2 - a.slope * b.slope)), width)
    bottom = 2.0 * gamma + a.slope - b.slope
    share = (gamma - b.slope + theta) / bottom if bottom != 0 else 0.0
    inside = a.slope * b.slope < 0 or b.value > a.value
    return float(b.t - share * width) if inside or (share < 0 and gamma != 0) else otherwise


def _parabola(a: _Trial, b: _Trial) -> float:
    """The minimum of the parabola through both values with the slope at a."""
    width = b.t - a.t
    return a.t + a.slope / ((a.value - b.value) / width + a.slope) / 2 * width


def _secant(a: _Trial, b: _Trial) -> float:
    """The point where the slope, as a straight line, is 0."""
    return b.t - b.slope * (b.t - a.t) / (b.slope - a.slope)
