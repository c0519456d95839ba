"""`sbcd`: sparse blockwise coordinate descent, the paper's Algorithm 2; `cd`: one weight at a time, Algorithm 1.

    for every attribute x:
        forward-backward of the sequences that contain x, backward down to its first occurrence
        E and curvature of mu[x, .] and lambda[x, ., .];  update them

As printed, each weight becomes s(a h w - g, rho1) / (a h + rho2) with a fixed a, which diverges from w = 0 unless a is
large. By default the block takes the joint step of `local_model` instead, damped until the objective does not increase;
each check takes one more forward recursion.

If attributes overlap nearly everywhere (words, tags and chunk tags of a sentence), a blockwise sweep costs one pass per
attribute of a sentence. The solver then forms groups of attributes that never occur at the same position, such as the
attributes of one template line, and updates each group together, with one pass per group.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import InputError, disjoint_groups, sequences_by_attribute
from sparsecrf._core import Sbcd as Sweeper
from sparsecrf.compatibility import Trait, solver_for
from sparsecrf.training.feature_sets import Floats, WorkingSet
from sparsecrf.training.objective import Objective
from sparsecrf.training.solvers.local_model import LocalModel
from sparsecrf.training.solvers.solver import Arrays, Point, Solver, SolverKind

_MORE_DAMPING, _LESS_DAMPING, _MOST_DAMPING = 4.0, 0.8, 1e9


class Cd(Solver):
    """One step is one sweep over the weights of the working set, one at a time. The damping of a block corrects itself,
    so it need not be reset."""

    coordinatewise = True

    def __init__(self, objective: Objective, as_printed: float | None = None) -> None:
        """`as_printed` is the factor a of the curvature, 1/alpha in the paper's formula; None means safeguarded
        steps."""
        if as_printed is not None and not as_printed > 0:
            raise InputError(f"as_printed: expected a number above 0, found {as_printed}")
        self.objective, self.as_printed = objective, as_printed
        self.sweeper = Sweeper(objective.corpus, objective.threads)

    def state(self) -> Arrays:
        return {"damping": self.sweeper.damping}

    def restore(self, state: Arrays) -> None:
        self.sweeper.damping = state["damping"]

    def step(self, point: Point) -> Point:
        objective = self.objective
        objective.release_tables()
        try:
            w, passes = self.sweeper.sweep(
                point.known.feature_set,
                point.w,
                point.known.counts,
                rho1=objective.elastic_net.rho1,
                rho2=objective.elastic_net.rho2,
                as_printed=self.as_printed or 0.0,
                coordinatewise=self.coordinatewise,
            )
            objective.passes += passes
            if (w == point.w).all():
                return point
            return Point(point.known, w, *objective.loss_grad(point.known, w))
        except InputError:  # weights overflowed, because a sweep as printed can diverge; discard it
            if self.as_printed is None:
                raise
            return point


class Blockwise(Cd):
    """One step is one sweep over the attributes of the working set."""

    coordinatewise = False


class Groupwise(Solver):
    """One step is one sweep over groups of attributes that never occur at the same position, with one pass per
    group."""

    def __init__(self, objective: Objective, group: NDArray[np.uint8]) -> None:
        """`group`: the group of each attribute, [X]."""
        self.objective = objective
        self.group = group
        self.damping = np.ones(int(self.group.max(initial=0)) + 1)
        self.h: Floats | None = None  #: the curvature at the last point

    def move(self, new: WorkingSet, old: WorkingSet) -> None:
        self.h = None

    def state(self) -> Arrays:
        return {"damping": self.damping.copy(), **({} if self.h is None else {"h": self.h})}

    def restore(self, state: Arrays) -> None:
        self.damping, self.h = state["damping"].copy(), state.get("h")

    def step(self, point: Point) -> Point:
        if self.h is None:
            loss, g, self.h = self.objective.loss_grad_curvature(point.known, point.w)
            point = Point(point.known, point.w, loss, g)
        start = point
        group = self.group[point.known.attributes()]
        for k in range(len(self.damping)):
            members = np.flatnonzero(group == k)
            if len(members):
                point = self._update(point, members, k)
        return start if (point.w == start.w).all() else point

    def _update(self, point: Point, members: NDArray[np.int64], k: int) -> Point:
        """The point after the group's weights have moved, or the point itself if no step improves it."""
        objective, h = self.objective, self.h
        assert h is not None
        model = LocalModel.at(point.known, point.g, h, unit=objective.units(point.known))
        value = point.loss + objective.elastic_net.value(point.w)
        while self.damping[k] <= _MOST_DAMPING:
            d = model.scaled(self.damping[k]).minimize(objective.elastic_net, point.w, point.g, members)
            if not d.any():
                return point
            w = point.w + d
            loss, g, h = objective.loss_grad_curvature(point.known, w)
            if loss + objective.elastic_net.value(w) <= value * (1 + 1e-13):
                self.damping[k] = max(1.0, _LESS_DAMPING * self.damping[k])
                self.h = h
                return Point(point.known, w, loss, g)
            self.damping[k] *= _MORE_DAMPING
        self.damping[k] = 1.0
        return point


def sbcd(objective: Objective, as_printed: float | None = None, groups: bool | None = None) -> Blockwise | Groupwise:
    """Update block by block or group by group; the default is the method with fewer passes per sweep."""
    if as_printed is not None:
        if groups:
            raise InputError("groups=True cannot be combined with as_printed")
        return Blockwise(objective, as_printed)
    if groups is False:
        return Blockwise(objective)
    group = disjoint_groups(objective.corpus)
    if groups is None:
        holders = sequences_by_attribute(objective.corpus)
        blockwise = 1.5 * float(holders.sum()) / max(objective.corpus.n_sequences, 1)
        groups = int(group.max(initial=0)) + 1 < blockwise
    return Groupwise(objective, group) if groups else Blockwise(objective)


# These solvers need single sequences, and a block holds the features of an attribute with whole labels.
SBCD = SolverKind(sbcd, solver_for(Trait.L1))
CD = SolverKind(Cd, solver_for(Trait.L1))
