"""The state of a run, so that it can be saved and resumed."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from sparsecrf.training.dual import Mixture
from sparsecrf.training.feature_sets import Floats, Numbers
from sparsecrf.training.heldout import Best

if TYPE_CHECKING:
    from sparsecrf.training.history import Record
    from sparsecrf.training.solvers.solver import Point

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Lowest:
    """The weights with the smallest objective."""

    numbers: Numbers
    w: Floats
    value: float


@dataclass(frozen=True)
class State:
    """A run at the start of an iteration, before screening and its record: it resumes from here bit for bit."""

    point: Point
    iteration: int
    screened: int  #: iteration of the last screening
    stalled: int  #: steps in a row that did not improve
    passes: float
    elapsed: float  #: seconds of training
    history: list[Record]
    values: list[float]  #: the lowest objective so far, at every iteration of the history, before its screening
    solver: Arrays
    best: Best | None  #: on the dev corpus
    lowest: Lowest | None  #: weights that are better than those of `point`, if any
    mixture: Mixture | None  #: the dual point of the gap
    n_ngrams: int = 0  #: number of label n-grams found so far: the first in the table of the data
    promise: float = inf  #: possible gain of features outside of the working set, from the last screening


class Keeper(Protocol):
    """Storage for states."""

    def due(self) -> bool:
        """Whether it is time to save a new state."""

    def save(self, state: State) -> None: ...
