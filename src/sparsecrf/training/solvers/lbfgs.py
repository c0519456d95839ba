"""`lbfgs`: SciPy's L-BFGS-B. With an l1 penalty, it splits variables: w = a - b, a, b >= 0 (Kazama & Tsujii 2003).

    min  loss(a - b) + sum_k rho1_k (a_k + b_k) + rho2/2 |a - b|^2        over a, b >= 0

At the optimum a_k b_k = 0. With rho1 = 0, variables are neither split nor bounded. If values are not 1, SciPy gets u =
unit w (`TrainingData.units`), since the curvature in w itself grows with the square of values.
"""

from __future__ import annotations

import numpy as np

from sparsecrf.compatibility import Trait, solver_for
from sparsecrf.training.feature_sets import Floats
from sparsecrf.training.objective import Objective
from sparsecrf.training.solvers.plain_lbfgs import PlainLbfgs
from sparsecrf.training.solvers.solver import Point, Solver, SolverKind

_INNER_ITERATIONS = 20  # number of iterations of one step; SciPy restarts its memory at each step


def lbfgs(objective: Objective, memory: int = 10, plain: bool = False) -> Lbfgs | PlainLbfgs:
    """`plain`: the textbook method, one iteration per step, for objectives without an l1 term (`plain_lbfgs`)."""
    return PlainLbfgs(objective, memory) if plain else Lbfgs(objective, memory)


class Lbfgs(Solver):
    """Each step is a run of L-BFGS-B on the working set."""

    def __init__(self, objective: Objective, memory: int = 10) -> None:
        from scipy.optimize import minimize  # import SciPy before `fit` limits the threads of the loaded libraries

        self.objective, self.memory, self.minimize = objective, memory, minimize
        self.interrupted = False

    def step(self, point: Point) -> Point:
        if self.interrupted:  # the interrupt came in the middle of the last step, whose best point was kept
            raise KeyboardInterrupt
        objective, known, n = self.objective, point.known, point.known.size
        best, penalty = point, objective.elastic_net_on(known)
        unit = objective.units(known)
        rho1 = np.tile(np.broadcast_to(penalty.rho1_of / unit, n), 2)  # [2 K] rho1 for a, then for b
        best_value = point.loss + penalty.value(point.w)

        def smooth(u: Floats) -> tuple[float, Floats]:
            nonlocal best, best_value
            w = u / unit
            loss, g = objective.loss_grad(known, w)
            value = loss + penalty.value(w)
            if value < best_value:
                best, best_value = Point(known, w, loss, g), value
            return loss + 0.5 * penalty.rho2 * float(w @ w), (g + penalty.rho2 * w) / unit

        def split(ab: Floats) -> tuple[float, Floats]:
            value, g = smooth(ab[:n] - ab[n:])
            return value + float(rho1 @ ab), np.concatenate([g, -g]) + rho1

        options = {"maxiter": _INNER_ITERATIONS, "maxcor": self.memory, "ftol": 0.0, "gtol": 0.0}
        try:
            if penalty.rho1 == 0:
                self.minimize(smooth, unit * point.w, jac=True, method="L-BFGS-B", options=options)
            else:
                at = unit * point.w
                start = np.concatenate([np.maximum(at, 0.0), np.maximum(-at, 0.0)])
                bounds = [(0.0, None)] * (2 * n)
                self.minimize(split, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        except KeyboardInterrupt:
            if best is point:
                raise
            self.interrupted = True
        return best


KIND = SolverKind(lbfgs, solver_for(Trait.L1, Trait.NGRAMS, Trait.PARTS, Trait.DENSE, Trait.SHARDS, Trait.PRIOR))
