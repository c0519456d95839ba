"""`fista`: accelerated proximal gradient (Beck & Teboulle 2009), for any penalty that has a proximal step.

    v  = w + m (w - w before),      m = (t - 1) / t',   t' = (1 + sqrt(1 + 4 t^2)) / 2
    w' = prox(v - g(v) / L, 1 / L)

L grows until the loss is below its quadratic model, loss(w') <= loss(v) + g(v) . (w' - v) + L/2 |w' - v|^2, and
decreases slightly with every step. If values are not 1, a feature uses L unit^2 instead of L (`TrainingData.units`; the
features of a group share the largest unit): curvature grows with the square of values. If the objective would increase,
the step is repeated from w without momentum (O'Donoghue & Candes 2015), which never increases it. A single L for all
features makes it slow: use it for comparison, not for training.
"""

from __future__ import annotations

import math

import numpy as np

from sparsecrf.compatibility import OF_SOLVERS, Trait, solver_for
from sparsecrf.training.feature_sets import Floats, WorkingSet
from sparsecrf.training.objective import Objective
from sparsecrf.training.solvers.solver import Arrays, Point, SolverKind

_GROW, _FALL = 2.0, 0.9  # factors by which L changes
_TRIALS = 40  # maximum number of values of L tried in one step
_ROUNDING = 1e-13  # relative rounding error of the loss


class Fista:
    """Accelerated proximal steps."""

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.L, self.t = 1.0, 1.0
        self.before: Floats | None = None  # the weights before the last step

    def move(self, new: WorkingSet, old: WorkingSet) -> None:
        if self.before is not None:
            self.before = new.carry(self.before, old)

    def forget(self) -> None:
        self.L, self.t, self.before = 1.0, 1.0, None

    def state(self) -> Arrays:
        before = {} if self.before is None else {"before": self.before}
        return {"L": np.array(self.L), "t": np.array(self.t), **before}

    def restore(self, state: Arrays) -> None:
        self.L, self.t, self.before = float(state["L"]), float(state["t"]), state.get("before")

    def step(self, point: Point) -> Point:
        value = self._value(point)
        if self.before is not None:
            t = 0.5 * (1.0 + math.sqrt(1.0 + 4.0 * self.t**2))
            v = point.w + (self.t - 1.0) / t * (point.w - self.before)
            new = self._from(Point(point.known, v, *self.objective.loss_grad(point.known, v)))
            if new is not None and self._value(new) < value:
                self.t, self.before = t, point.w
                return new
        new = self._from(point)
        if new is None or not self._value(new) < value:
            return point
        self.t, self.before = 1.0, point.w
        return new

    def _from(self, at: Point) -> Point | None:
        """The proximal step from a point; None if no step is short enough, or if time is up."""
        penalty = self.objective.penalty_on(at.known)
        square = penalty.metric(self.objective.units(at.known)) ** 2
        for trials in range(1, _TRIALS + 1):
            L = self.L * square
            w = penalty.prox(at.w - at.g / L, 1.0 / L)
            change = w - at.w
            loss, g = self.objective.loss_grad(at.known, w)
            model = at.loss + float(at.g @ change) + 0.5 * self.L * float(change @ (square * change))
            if loss <= model + _ROUNDING * abs(at.loss):
                self.L *= _FALL
                return Point(at.known, w, loss, g, trials)
            self.L *= _GROW
            if self.objective.out_of_time():
                break
        return None

    def _value(self, point: Point) -> float:
        return point.loss + self.objective.penalty_on(point.known).value(point.w)


# Small gains say nothing about the distance to the optimum: progress is slow in directions with little curvature.
KIND = SolverKind(Fista, solver_for(*OF_SOLVERS, has=[Trait.ANY_PENALTY]), doubt=math.inf)
