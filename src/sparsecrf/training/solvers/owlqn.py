"""`owlqn`: orthant-wise limited-memory quasi-Newton (Andrew & Gao 2007).

v  = the smallest subgradient of P at w                         (pseudo-gradient)
d  = -H v, H from the pairs (s, y) of the smooth part; d_k = 0 where d_k v_k >= 0, and where v_k = 0
     (before the first pair, H is c diag(unit^-2), where unit is the size of values, `TrainingData.units`)
w' = w + t d, with weights that would leave the orthant of w (of -v where w = 0) set to zero
"""

from __future__ import annotations

from functools import partial

import numpy as np

from sparsecrf.compatibility import Trait, solver_for
from sparsecrf.training.feature_sets import Floats
from sparsecrf.training.objective import Objective
from sparsecrf.training.solvers.pairs import Pairs, WithPairs
from sparsecrf.training.solvers.solver import Point, SolverKind

_SUFFICIENT = 1e-4
_SHORTEST = 2.0**-30


class Owlqn(WithPairs):
    """OWL-QN with `memory` pairs (s, y). With rho1 = 0 it is plain L-BFGS with backtracking."""

    def __init__(self, objective: Objective, memory: int = 10) -> None:
        self.objective = objective
        self.pairs = Pairs(memory)

    def step(self, point: Point) -> Point:
        v = self.objective.elastic_net_on(point.known).subgradient(point.w, point.g)
        d = -self._inverse_hessian_times(v, self.objective.units(point.known))
        d[d * v >= 0] = 0.0  # a coordinate whose pseudo-gradient is zero must not move, to keep sparsity
        if not d.any():
            return point
        unit = self.objective.units(point.known)
        # The scale of the first step is unknown: use length 1.
        t = 1.0 if len(self.pairs) else 1.0 / float(np.linalg.norm(unit * d))
        new = self._search(point, v, d, t)
        if new is not point:
            s = new.w - point.w
            self.pairs.add(s, new.g - point.g + self.objective.penalty.rho2 * s)
        return new

    def _inverse_hessian_times(self, v: Floats, unit: Floats | float) -> Floats:
        """H v. Before the first pair, H assumes that curvature grows with the square of the size of values."""
        first = partial(self.pairs.as_last, unit=unit)
        return self.pairs.inverse_times(v.copy(), first, threads=self.objective.threads)

    def _search(self, point: Point, v: Floats, d: Floats, t: float) -> Point:
        objective, penalty = self.objective, self.objective.elastic_net_on(point.known)
        orthant = np.where(point.w != 0, np.sign(point.w), -np.sign(v))
        value = point.loss + penalty.value(point.w)
        while t >= _SHORTEST:
            w = point.w + t * d
            if penalty.rho1 > 0:
                w[w * orthant < 0] = 0.0
            loss, g = objective.loss_grad(point.known, w)
            if loss + penalty.value(w) <= value + _SUFFICIENT * float(v @ (w - point.w)):
                return Point(point.known, w, loss, g)
            t /= 2
        return point


KIND = SolverKind(Owlqn, solver_for(Trait.L1, Trait.NGRAMS, Trait.PARTS, Trait.DENSE, Trait.SHARDS, Trait.PRIOR))
