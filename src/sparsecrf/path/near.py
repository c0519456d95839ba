"""A short search over both penalties, around the defaults: the plan of `rho1="auto"`.

It works on a lattice with factors of FACTOR through (RHO1, RHO2). It begins one step above the default rho1, since a
fit is best started from a sparser one, and tries the neighbours of the best: first in rho1, until one on each side was
tried and is not better, then in rho2. So the best is never at an edge, unless it is a limit of the lattice. Each step
away from the defaults must lower the error by the share MARGIN, since held-out data are limited and small differences
are mostly noise: the best has the smallest error (1 + MARGIN)^steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, isclose, log, log1p

from sparsecrf.defaults import RHO1, RHO2
from sparsecrf.path.both import Penalties

FACTOR = 3.0
MARGIN = 0.02
LIMITS = {"rho1": (1e-3, 100.0), "rho2": (1e-3, 100.0)}


@dataclass(frozen=True)
class Near:
    """Values of both penalties that depend on earlier errors (see above)."""

    rho2: float = RHO2  #: to begin with
    fixed: bool = False  #: no other rho2 is tried

    def next(self, tried: Sequence[Penalties], errors: Sequence[float]) -> list[Penalties]:
        """What to try next, given what was tried and its errors; empty when the search has ended."""
        if not tried:
            return [Penalties(FACTOR * RHO1, self.rho2)]
        if len(tried) == 1:
            return [Penalties(RHO1, self.rho2)]
        best = tried[self.best(tried, errors)]
        if min(errors) == 0:
            return []
        names = ("rho1", "rho2")[any(p.rho2 != self.rho2 for p in tried) : 1 if self.fixed else 2]
        for name in names:
            for factor in (FACTOR, 1 / FACTOR):
                value = getattr(best, name) * factor
                step = best._replace(**{name: value})
                low, high = LIMITS[name]
                if low <= value <= high and not any(_same(step, other) for other in tried):
                    return [step]
        return []

    def left(self, tried: Sequence[Penalties], errors: Sequence[float]) -> int:
        """A lower bound on the number still to try."""
        least = 3 if self.fixed else 5
        return max(least - len(tried), len(self.next(tried, errors)))

    def best(self, tried: Sequence[Penalties], errors: Sequence[float]) -> int:
        """The index of the best."""

        def judged(k: int) -> float:
            steps = abs(log(tried[k].rho1 / RHO1, FACTOR))
            if not self.fixed:  # a fixed rho2 may be 0
                steps += abs(log(tried[k].rho2 / self.rho2, FACTOR))
            return errors[k] * exp(steps * log1p(MARGIN))

        return min(range(len(tried)), key=judged)


def _same(one: Penalties, other: Penalties) -> bool:
    return isclose(one.rho1, other.rho1, rel_tol=1e-6) and isclose(one.rho2, other.rho2, rel_tol=1e-6)
