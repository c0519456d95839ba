"""A search over both penalties.

It works on a lattice: neighbouring values of rho1 differ by FACTOR, and rho2 is one of RHO2S. It
decreases rho1 at rho2 = START like the search for rho1 alone (`grid.py`). Then it tries the neighbours of the best
point, first the larger and the smaller rho2, then the larger and the smaller rho1, and moves to the first better
neighbour, until no neighbour is better. Finally, it halves the gaps on both sides of the best rho1. Ties go to the
larger rho1, then to the point tried first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isclose, log
from typing import ClassVar, Literal, Protocol, TypeAlias

from sparsecrf.compatibility import Capabilities, Trait
from sparsecrf.path.grid import FACTOR, Penalties, Search

AskedRho2: TypeAlias = float | Literal["search"]

RHO2S = 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0
START = 0.1


class Plan(Protocol):
    """Decides which penalties to try: `GivenValues` or `Search` at one rho2 (`grid`), `SearchBoth`, or `auto.Near`."""

    def next(self, tried: Sequence[Penalties], errors: Sequence[float]) -> list[Penalties]: ...
    def left(self, tried: Sequence[Penalties], errors: Sequence[float]) -> int: ...


@dataclass(frozen=True)
class SearchBoth:
    """Values of both penalties that depend on earlier errors (see above)."""

    capabilities: ClassVar = Capabilities(
        needs={Trait.DEV: "pairs of penalties are compared by their scores"},
        refuses={Trait.GRID: "the search also chooses rho1"},
    )

    largest: float  #: rho_max

    def next(self, tried: Sequence[Penalties], errors: Sequence[float]) -> list[Penalties]:
        """The penalties to try next, given the penalties tried and their errors; empty when the search has ended."""
        if down := self._down(tried, errors):
            return down
        if min(errors) == 0:
            return []
        return (self._untried(tried, errors) or self._halves(tried, errors))[:1]

    def left(self, tried: Sequence[Penalties], errors: Sequence[float]) -> int:
        """A lower bound on the number of penalties still to try: the rest of the descent, then the two neighbours in
        rho2."""
        if self._down(tried, errors):
            return self._search.left(tried, errors) + (0 if errors and min(errors) == 0 else 2)
        return len(self.next(tried, errors))

    @property
    def _search(self) -> Search:
        return Search(self.largest, START, halves=False)

    def _down(self, tried: Sequence[Penalties], errors: Sequence[float]) -> list[Penalties]:
        """The next step at the first rho2; empty if the score has got worse there, or the floor has been reached."""
        return [] if any(p.rho2 != START for p in tried) else self._search.next(tried, errors)

    def _untried(self, tried: Sequence[Penalties], errors: Sequence[float]) -> list[Penalties]:
        """The neighbours of the best point on the lattice that have not been tried."""
        on_lattice = [k for k, p in enumerate(tried) if self._on_lattice(p.rho1)]
        rho1, rho2 = tried[_best(on_lattice, tried, errors)]
        k = RHO2S.index(rho2)
        across = [Penalties(rho1, other) for other in (*RHO2S[k + 1 : k + 2], *RHO2S[max(k - 1, 0) : k])]
        up, down = min(FACTOR * rho1, self.largest), rho1 / FACTOR
        along = [Penalties(other, rho2) for other in (up, down) if self._search.floor <= other != rho1]
        return [p for p in across + along if not any(_same(p, other) for other in tried)]

    def _halves(self, tried: Sequence[Penalties], errors: Sequence[float]) -> list[Penalties]:
        """Penalties with values of rho1 between the best one and its neighbours."""
        rho2 = tried[_best(range(len(tried)), tried, errors)].rho2
        line = [k for k, p in enumerate(tried) if p.rho2 == rho2]
        return Search(self.largest, rho2).between([tried[k] for k in line], [errors[k] for k in line])

    def _on_lattice(self, rho1: float) -> bool:
        steps = log(rho1 / self._search.first) / log(FACTOR)
        return isclose(steps, round(steps), abs_tol=1e-6) or rho1 == self.largest


def _best(among: Sequence[int], tried: Sequence[Penalties], errors: Sequence[float]) -> int:
    return min(among, key=lambda k: (errors[k], -tried[k].rho1, k))


def _same(one: Penalties, other: Penalties) -> bool:
    return one.rho2 == other.rho2 and isclose(one.rho1, other.rho1, rel_tol=1e-6)
