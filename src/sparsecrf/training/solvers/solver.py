"""What a solver is: it takes a point, weights on a working set, to a better one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sparsecrf.compatibility import Capabilities
from sparsecrf.training.feature_sets import Floats, Numbers, WorkingSet, union
from sparsecrf.training.objective import Objective
from sparsecrf.training.solvers.state import Arrays
from sparsecrf.training.stopping import DOUBT


@dataclass(frozen=True)
class Point:
    """Weights on a working set, with the loss and its gradient there."""

    known: WorkingSet
    w: Floats
    loss: float
    g: Floats
    trials: int = 0  #: of the line search that led here; 0: there was none
    step: float = 1.0  #: how far it went along its direction


class Solver(Protocol):
    """One algorithm on a fixed set of features."""

    def step(self, point: Point) -> Point:
        """One iteration. Returns `point` itself if it found nothing better; a stochastic one may raise P."""

    def move(self, new: WorkingSet, old: WorkingSet) -> None:
        """The working set changes: carry over what was learnt."""

    def forget(self) -> None:
        """Drop what was learnt: it led to a step that did not improve, or no step follows."""

    def state(self) -> Arrays:
        """What was learnt, as arrays that no later step changes."""

    def restore(self, state: Arrays) -> None:
        """Go on as the solver that this is the state of would have."""


@runtime_checkable
class Certifying(Protocol):
    """A solver that knows how far away it is. Its points have no gradients."""

    bound: float  #: on the minimum over all features, from below; as far as rounding errors of many steps allow

    def certify(self) -> float:
        """The same without these."""


@dataclass(frozen=True)
class SolverKind:
    """A solver by name: what makes it, and what it can minimise."""

    make: Callable[..., Solver]
    capabilities: Capabilities
    #: Takes a seed, comes near the optimum, and stops after EPOCHS iterations if no other limit is given. The others
    #: never raise the objective, and reach any tolerance.
    is_stochastic: bool = False
    #: Knows a lower bound on the minimum (`Certifying`), and all features: nothing is screened until the end.
    certifies: bool = False
    doubt: float = DOUBT  #: of its estimates (`Stopping`)

    def __call__(self, objective: Objective, **options: Any) -> Solver:
        return self.make(objective, **options)

    @property
    def options(self) -> list[str]:
        """Names of what `solver_options` may hold."""
        return [name for name in signature(self.make).parameters if name != "objective"]


def point_at(objective: Objective, numbers: Numbers | None = None, w: Floats | None = None) -> Point:
    """These weights, on them and on what can become positive; zero if there are none."""
    known = objective.hopeful()
    if numbers is None or w is None:
        w = np.zeros(known.size)
    else:
        given = objective.working_set(numbers)
        known = objective.working_set(union(known.numbers, objective.prepared.only_allowed(numbers)))
        w = known.carry(w, given)
    return Point(known, w, *objective.loss_grad(known, w))
