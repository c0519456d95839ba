"""Plain L-BFGS (Nocedal 1980; Liu & Nocedal 1989), for objectives without an l1 term: what CRFsuite's `lbfgs` does.

    d = - H g        H: `memory` updates of gamma I, gamma = s . y / y . y of the last pair (two-loop recursion)
    w <- w + t d     t: the strong Wolfe conditions, from 1, in the first step from 1 / |g|

`auto` gets further with every iteration. Where the number of iterations is the only regulariser, that is too far: this
one fits as much after k iterations as other implementations of the method do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparsecrf._core import InputError
from sparsecrf.training.feature_sets import Floats, WorkingSet
from sparsecrf.training.objective import Objective
from sparsecrf.training.solvers.pairs import Pairs
from sparsecrf.training.solvers.state import Arrays
from sparsecrf.training.solvers.working_set import Point

_DECREASE, _CURVATURE = 1e-4, 0.9  # the constants of the Wolfe conditions
_TRIALS = 20
_FURTHER = 1.1, 4.0  # without an upper end, t grows by this many times the last interval
_INSIDE = 0.1  # share of an interval that a trial keeps away from its ends


@dataclass(frozen=True)
class _Trial:
    t: float
    value: float
    slope: float
    point: Point


class PlainLbfgs:
    """One iteration a step."""

    def __init__(self, objective: Objective, memory: int = 6) -> None:
        if objective.penalty.rho1 > 0:
            raise InputError(f"rho1: expected 0 for plain L-BFGS, found {objective.penalty.rho1:g}")
        self.objective = objective
        self.pairs = Pairs(max(1, memory))

    def move(self, new: WorkingSet, old: WorkingSet) -> None:
        self.pairs.move(new, old)

    def forget(self) -> None:
        self.pairs.forget()

    def state(self) -> Arrays:
        return self.pairs.state()

    def restore(self, state: Arrays) -> None:
        self.pairs.restore(state)

    def step(self, point: Point) -> Point:
        rho2 = self.objective.penalty.rho2
        gradient = point.g + rho2 * point.w
        norm = float(np.linalg.norm(gradient))
        if norm == 0:
            return point
        new = self._search(point, self._direction(gradient), 1.0 if len(self.pairs) else 1.0 / norm)
        if new is not point:
            self.pairs.add(new.w - point.w, new.g + rho2 * new.w - gradient)
        return new

    def _direction(self, gradient: Floats) -> Floats:
        s, y = self.pairs.s, self.pairs.y
        s_y = np.einsum("ik,ik->i", s, y)
        d, along = -gradient, np.empty(len(s))
        for i in reversed(range(len(s))):
            along[i] = s[i] @ d / s_y[i]
            d -= along[i] * y[i]
        if len(s):
            d *= s_y[-1] / (y[-1] @ y[-1])
        for i in range(len(s)):
            d += (along[i] - y[i] @ d / s_y[i]) * s[i]
        return d

    def _search(self, point: Point, d: Floats, t: float) -> Point:
        """The first trial that meets the strong Wolfe conditions, else the best one; `point` if none is better."""
        start = low = best = self._at(point, d, 0.0, 0)
        high: _Trial | None = None
        for trials in range(1, _TRIALS + 1):
            new = self._at(point, d, t, trials)
            best = min(best, new, key=lambda trial: trial.value)
            if new.value > start.value + _DECREASE * t * start.slope or new.value > low.value:
                high = new
            elif abs(new.slope) <= -_CURVATURE * start.slope:
                return new.point
            elif new.slope > 0:
                high = new
            else:
                low, before = new, low
                if high is None:
                    t = _further(before, low)
                    continue
            t = _between(low, high)
        return best.point

    def _at(self, point: Point, d: Floats, t: float, trials: int) -> _Trial:
        rho2 = self.objective.penalty.rho2
        if trials > 0:
            w = point.w + t * d
            point = Point(point.known, w, *self.objective.loss_grad(point.known, w), trials, t)
        value = point.loss + self.objective.penalty.value(point.w)
        return _Trial(t, value, float((point.g + rho2 * point.w) @ d), point)


def _further(before: _Trial, low: _Trial) -> float:
    """Where the slope would be 0 if it went on as it did, within limits."""
    width = low.t - before.t
    flatter = before.slope < low.slope
    zero = low.t - low.slope * width / (low.slope - before.slope) if flatter else np.inf
    return float(np.clip(zero, low.t + _FURTHER[0] * width, low.t + _FURTHER[1] * width))


def _between(low: _Trial, high: _Trial) -> float:
    """The minimum of the cubic with the values and slopes at both ends, not too near to either."""
    width = high.t - low.t
    theta = 3.0 * (low.value - high.value) / width + low.slope + high.slope
    square = theta**2 - low.slope * high.slope
    margin = _INSIDE * abs(width)
    if square < 0:
        return low.t + width / 2
    gamma = np.copysign(np.sqrt(square), width)
    bottom = high.slope - low.slope + 2.0 * gamma
    share = (high.slope + gamma - theta) / bottom if bottom != 0 else 0.5
    t = high.t - share * width
    least, most = sorted((low.t, high.t))
    return float(np.clip(t, least + margin, most - margin))
