"""The interface of solvers. A solver moves a point (weights on a working set) to a better one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from math import inf
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sparsecrf.compatibility import Capabilities
from sparsecrf.training.dual import Mixture
from sparsecrf.training.feature_sets import Floats, Numbers, WorkingSet, union
from sparsecrf.training.heldout import Best
from sparsecrf.training.history import Record
from sparsecrf.training.objective import Objective
from sparsecrf.training.stopping import DOUBT

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Lowest:
    """The weights with the smallest objective."""

    numbers: Numbers
    w: Floats
    value: float


@dataclass(frozen=True)
class State:
    """The state of a run at the start of an iteration, before the iteration screens and is recorded. The run resumes
    from here bit for bit."""

    point: Point
    iteration: int
    screened: int  #: iteration of the last screening
    stalled: int  #: number of consecutive steps without improvement
    passes: float
    elapsed: float  #: seconds of training
    history: list[Record]
    values: list[float]  #: the lowest objective so far, for every iteration of the history, before it screened
    solver: Arrays
    best: Best | None  #: the best weights on the dev corpus
    lowest: Lowest | None  #: weights that are better than those of `point`, if any
    mixture: Mixture | None  #: the dual point of the gap
    n_ngrams: int = 0  #: number of label n-grams found so far, which come first in the table of the data
    promise: float = inf  #: possible gain of features outside the working set, from the last screening


class Keeper(Protocol):
    """Storage for states."""

    def due(self) -> bool:
        """Whether it is time to save a new state."""

    def save(self, state: State) -> None: ...


@dataclass(frozen=True)
class Point:
    """Weights on a working set, with the loss and its gradient there."""

    known: WorkingSet
    w: Floats
    loss: float
    g: Floats
    trials: int = 0  #: number of trials of the line search that led here; 0 without a line search
    step: float = 1.0  #: length of the last step along its direction


class Solver(Protocol):
    """An algorithm that takes steps on a fixed set of features. By default, it keeps no state between steps."""

    def step(self, point: Point) -> Point:
        """Perform one iteration. Returns `point` itself if it found nothing better; a stochastic solver may increase
        P."""

    def move(self, new: WorkingSet, old: WorkingSet) -> None:
        """Carry the state over to a new working set."""
        return

    def forget(self) -> None:
        """Drop the state, because it led to a step that did not improve, or because no step follows."""
        return

    def state(self) -> Arrays:
        """The state, as arrays that later steps do not change."""
        return {}

    def restore(self, state: Arrays) -> None:
        """Restore the state of another solver of the same kind."""
        return


@runtime_checkable
class Certifying(Protocol):
    """A solver that computes its own lower bound. Its points have no gradients."""

    bound: float  #: lower bound on the minimum over all features, up to accumulated rounding errors

    def zero(self) -> Point:
        """The starting point of a run, with all weights 0."""

    def certify(self) -> float:
        """The lower bound without accumulated rounding errors."""

    def finish(self, known: WorkingSet, w: Floats) -> tuple[float, float]:
        """The loss at these weights, and the sum of |smallest subgradient| over all features. No step follows."""


@dataclass(frozen=True)
class SolverKind:
    """A solver by name: its constructor and its capabilities."""

    make: Callable[..., Solver]
    capabilities: Capabilities
    #: Whether the solver takes a seed, only approaches the optimum, and stops after EPOCHS iterations if no other limit
    #: is given. All other solvers never increase the objective and can reach any tolerance.
    is_stochastic: bool = False
    #: Whether the solver computes a lower bound on the minimum (`Certifying`) over all features, so that nothing is
    #: screened until the end.
    certifies: bool = False
    doubt: float = DOUBT  #: doubt of its estimates (`Stopping`)

    @property
    def options(self) -> list[str]:
        """Names of the options that `solver_options` may contain."""
        return [name for name in signature(self.make).parameters if name != "objective"]


def point_at(objective: Objective, numbers: Numbers | None = None, w: Floats | None = None) -> Point:
    """A point with these weights (zero if none are given), on their features and on all features that can become
    nonzero."""
    known = objective.hopeful()
    if numbers is None or w is None:
        w = np.zeros(known.size)
    else:
        given = objective.working_set(numbers)
        known = objective.working_set(union(known.numbers, objective.prepared.only_allowed(numbers)))
        w = known.carry(w, given)
    return Point(known, w, *objective.loss_grad(known, w))
