"""What a run knows, so that it can be kept and gone on with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from sparsecrf.heldout import Best

if TYPE_CHECKING:
    from sparsecrf.solvers.working_set import Point, Record

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class State:
    """A run at the head of an iteration, before its screening and its record: it goes on from here to the same bits."""

    point: Point
    iteration: int
    screened: int  #: iteration of the last screening
    stalled: int  #: steps in a row that did not improve
    passes: float
    elapsed: float  #: seconds of training
    history: list[Record]
    solver: Arrays
    best: Best | None  #: on the dev corpus


class Keeper(Protocol):
    """Where states are kept."""

    def due(self) -> bool:
        """The last state kept is old enough for a new one."""

    def save(self, state: State) -> None: ...


# ---- Lists of arrays in the state of a solver, which has arrays by name


def numbered(name: str, arrays: Sequence[NDArray[Any]]) -> Arrays:
    return {f"{name}.{k}": array for k, array in enumerate(arrays)}


def in_order(name: str, state: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
    """The list that `numbered` was given."""
    names = (f"{name}.{k}" for k in count())
    return [state[key] for key in takewhile(state.__contains__, names)]
