"""The values of rho1 to try at one rho2: given values, or a search guided by the scores.

A search decreases rho1 by factors of FACTOR until it has passed the default value and the score gets worse, that is,
until PATIENCE values below the best are no better. (Scores may fall and rise again on small dev data, and when features
of rare words enter the model.) The search begins at FIRST: rho1 is in units of tokens (a feature whose count is within
rho1 of its expectation has weight zero), and the best rho1 was below FIRST on all data tried so far, of any size
(benchmarks/record/penalties.md). If the first value is the best, the search increases rho1, at most to rho_max.
Finally, it halves the gaps on both sides of the best value (on a logarithmic scale). The search does not go below
FLOOR; `Path.advice` reports a best value at this edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from sparsecrf._core import Corpus, InputError
from sparsecrf.defaults import GROUP_WEIGHT, N_RHO, ORDER_FACTOR, PENALTY, RHO1, RHO_MIN_RATIO
from sparsecrf.shards import Shards
from sparsecrf.training.data import TrainingData
from sparsecrf.training.feature_sets import Floats, Numbers, WorkingSet
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalties import PenaltyChoice, kind_of
from sparsecrf.training.penalty import ElasticNet, Strengths

FIRST = 3.0  # tokens
FACTOR = 3.0
PATIENCE = 2
FLOOR = 1e-3  # tokens


def rho_max(
    corpus: Corpus | Shards | TrainingData,
    *,
    observed_only: bool = False,
    numbers: Numbers | None = None,
    penalty: PenaltyChoice = PENALTY,
    group_weight: float = GROUP_WEIGHT,
    order_factor: float = ORDER_FACTOR,
    threads: int = 0,
) -> float:
    """The smallest rho1 whose solution is w = 0: the largest |gradient| at w = 0 over all features of the model,
    divided by each feature's factor if rho1 grows with the number of labels; with groups, the dual norm of the gradient
    for rho1 = 1. Label n-grams count if the data were prepared for n-grams."""
    data = TrainingData.of(corpus, observed_only=observed_only, numbers=numbers, threads=threads)
    at_zero = Objective(data, ElasticNet(0.0, 0.0))
    known = data.working_set(data.observed if data.allowed is None else data.allowed)
    unit = kind_of(penalty).make(Strengths(1.0, 0.0, group_weight, order_factor), data)

    def dual_norm(known: WorkingSet) -> float:
        size = np.abs(at_zero.loss_grad(known, np.zeros(known.size))[1])
        return unit.on(known.numbers).dual_norm(size)

    largest = dual_norm(known)
    if data.allowed is None:
        # Only features whose expectation could exceed this bound are checked, so none is missed. If no observed feature
        # has a nonzero gradient, all are checked.
        bounded = Objective(data, ElasticNet(largest, 0.0))
        if largest > 0:
            wide, _, _, g = bounded.screen(known, np.zeros(known.size))
            largest = unit.on(wide.numbers).dual_norm(np.abs(g))
        else:
            largest = dual_norm(bounded.hopeful())
    return largest


class Penalties(NamedTuple):
    """The penalties of a fit."""

    rho1: float
    rho2: float


@dataclass(frozen=True)
class GivenValues:
    """Values that are tried regardless of the scores."""

    values: list[float]  #: in decreasing order
    rho2: float

    def next(self, tried: Sequence[Penalties], errors: Sequence[float]) -> list[Penalties]:
        """The penalties to try next, in this order; empty when none are left."""
        return [] if tried else [Penalties(rho1, self.rho2) for rho1 in self.values]

    def left(self, tried: Sequence[Penalties], errors: Sequence[float]) -> int:
        """A lower bound on the number of values still to try."""
        return len(self.values) - len(tried)


@dataclass(frozen=True)
class Search:
    """Values that depend on earlier errors (see above)."""

    largest: float  #: rho_max
    rho2: float
    halves: bool = True  #: whether to halve the gaps next to the best value at the end

    @property
    def first(self) -> float:
        return min(FIRST, self.largest / FACTOR)

    @property
    def floor(self) -> float:
        return min(FLOOR, 1e-2 * self.largest)

    def next(self, tried: Sequence[Penalties], errors: Sequence[float]) -> list[Penalties]:
        """The penalties to try next, given those tried and their errors; empty when the search has ended."""
        if not tried:
            return [Penalties(self.first, self.rho2)]
        rho1, error = _falling(tried, errors)
        if self._goes_down(rho1, error):
            return [Penalties(rho1[-1] / FACTOR, self.rho2)]
        if int(np.argmin(error)) == 0 and rho1[0] < self.largest:
            return [Penalties(min(FACTOR * rho1[0], self.largest), self.rho2)]
        return self.between(tried, errors)[:1] if self.halves else []

    def between(self, tried: Sequence[Penalties], errors: Sequence[float]) -> list[Penalties]:
        """The values that halve the gaps next to the best value, if they are wide."""
        rho1, error = _falling(tried, errors)
        best = int(np.argmin(error))
        sides = [rho1[k] for k in (best - 1, best + 1) if 0 <= k < len(rho1)]
        wide = [side for side in sides if not 1 / _FINE < side / rho1[best] < _FINE]
        return [Penalties(sqrt(side * rho1[best]), self.rho2) for side in wide]

    def left(self, tried: Sequence[Penalties], errors: Sequence[float]) -> int:
        """A lower bound on the number of values still to try. Of the two values that halve the gaps, the second is not
        tried if the first beats all earlier values."""
        if not tried:
            return 1 + max(PATIENCE, self._until_default(self.first)) + self.halves
        rho1, error = _falling(tried, errors)
        best = int(np.argmin(error))
        if self._goes_down(rho1, error):
            left = max(PATIENCE - (len(rho1) - 1 - best), self._until_default(rho1[-1]))
            return max(1, left) + self.halves
        return (self.halves and len(self.between(tried, errors)) > 0) + (best == 0 and rho1[0] < self.largest)

    def _goes_down(self, tried: list[float], error: list[float]) -> bool:
        """Whether to decrease rho1 further, because the score has not become worse yet. Scores are not considered worse
        above the default value or while all scores are equal (for example, because no chunk is found)."""
        best = int(np.argmin(error))
        turned = len(tried) - 1 - best >= PATIENCE and max(error) > min(error) and tried[-1] <= RHO1
        return not turned and min(error) != 0 and tried[-1] / FACTOR >= self.floor

    def _until_default(self, rho1: float) -> int:
        """The number of values from here until one is at most the default."""
        return max(0, ceil(log(rho1 / RHO1, FACTOR) - 1e-9))


_FINE = 1.01 * sqrt(FACTOR)  # no value is tried between the best value and a neighbour that is closer than this


def _falling(tried: Sequence[Penalties], errors: Sequence[float]) -> tuple[list[float], list[float]]:
    """The values of rho1 in decreasing order, and their errors."""
    order = sorted(range(len(tried)), key=lambda k: -tried[k].rho1)
    return [tried[k].rho1 for k in order], [errors[k] for k in order]


def plan(
    data: TrainingData,
    rho1: Floats | None,
    rho2: float,
    n_rho: int | None,
    rho_min_ratio: float | None,
    *,
    scored: bool,
    **penalty: Any,
) -> GivenValues | Search:
    """The given values, a geometric grid, or, if there are scores and nothing was given, a search. Without a ratio, the
    grid reaches down to the default rho1. `penalty`: the options that `rho_max` needs."""
    if rho1 is not None:
        given = np.asarray(rho1, dtype=np.float64)
        if given.ndim != 1 or len(given) == 0 or not (np.diff(given) < 0).all():
            raise InputError(f"rho1: expected one or more decreasing values, found {rho1}")
        return GivenValues(given.tolist(), rho2)
    if n_rho is not None and n_rho < 1:
        raise InputError(f"n_rho: expected at least 1, found {n_rho}")
    if rho_min_ratio is not None and not 0 < rho_min_ratio <= 1:
        raise InputError(f"rho_min_ratio: expected a number above 0 and at most 1, found {rho_min_ratio}")
    largest = rho_max(data, **penalty)
    if scored and n_rho is None and rho_min_ratio is None and largest > 0:
        return Search(largest, rho2)
    if rho_min_ratio is None:
        rho_min_ratio = min(RHO_MIN_RATIO, RHO1 / largest) if largest > 0 else 1.0
    values = largest * np.geomspace(1.0, rho_min_ratio, N_RHO if n_rho is None else n_rho)
    return GivenValues(values.tolist(), rho2)
