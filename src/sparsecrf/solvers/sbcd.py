"""`sbcd`: sparse blockwise coordinate descent, the paper's Algorithm 2.

    for every attribute x:
        forward-backward of the sequences that hold x, backward down to its first occurrence
        E and curvature of mu[x, .] and lambda[x, ., .];  update them

As printed, each weight becomes s(a h w - g, rho1) / (a h + rho2) with a fixed a, which diverges from w = 0 unless a is
large. By default the block takes the joint step of `auto` instead (curvature max(h, |E - C|), mu coupled to its
lambda), damped until the objective does not rise: one more forward recursion tells.
"""

from __future__ import annotations

from sparsecrf._core import Sbcd as Sweeper
from sparsecrf.objective import Objective, WorkingSet
from sparsecrf.solvers.state import Arrays
from sparsecrf.solvers.working_set import Point


class Sbcd:
    """One step is one sweep over the attributes of the working set."""

    def __init__(self, objective: Objective, as_printed: float | None = None) -> None:
        """`as_printed`: the factor a of the curvature, 1/alpha in the paper's formula; None: safeguarded."""
        self.objective, self.as_printed = objective, as_printed
        self.sweeper = Sweeper(objective.corpus, objective.threads)

    def move(self, new: WorkingSet, old: WorkingSet) -> None:
        """Nothing depends on the working set."""

    def forget(self) -> None:
        """What is learnt, the damping of each block, corrects itself."""

    def state(self) -> Arrays:
        return {"damping": self.sweeper.damping}

    def restore(self, state: Arrays) -> None:
        self.sweeper.damping = state["damping"]

    def step(self, point: Point) -> Point:
        objective = self.objective
        w, passes = self.sweeper.sweep(
            point.known.features,
            point.w,
            point.known.counts,
            rho1=objective.rho1,
            rho2=objective.rho2,
            as_printed=self.as_printed or 0.0,
        )
        objective.passes += passes
        if (w == point.w).all():
            return point
        return Point(point.known, w, *objective.loss_grad(point.known, w))
