"""The pairs (s, y) of a quasi-Newton method: the last steps s and the changes y of the gradient along them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sparsecrf._core import two_loop_back, two_loop_forth
from sparsecrf.training.feature_sets import Floats, WorkingSet
from sparsecrf.training.solvers.solver import Arrays

_SPARE = 1  # spare rows for the next pairs
# minimum number of pairs; a large working set keeps fewer pairs than usual, but at least this many
_FEWEST, _MOST_NUMBERS = 6, 2**20


class _Rows:
    """Rows, oldest first, as a window that moves down a larger array, so that appending rarely moves existing rows."""

    def __init__(self, rows: Floats) -> None:
        self.room, self.first, self.end = rows, 0, len(rows)
        self.lent = True

    @property
    def window(self) -> Floats:
        return self.room[self.first : self.end]

    def lend(self) -> Floats:
        """A copy of the rows, which later appends do not change."""
        self.lent = True
        return self.window

    def append(self, row: Floats, keep: int) -> None:
        """Drop all but the last `keep` rows and add one."""
        self.first = max(self.first, self.end - keep)
        if self.end == len(self.room):
            kept = self.window.reshape(-1, len(row))
            if self.lent or len(self.room) < keep + 1:
                self.room, self.lent = np.empty((keep + 1 + _SPARE, len(row))), False
            for k in range(len(kept)):  # copy rows one by one, because source and target may overlap
                self.room[k] = kept[k]
            self.first, self.end = 0, len(kept)
        self.room[self.end] = row
        self.end += 1


class Pairs:
    """At most `memory` pairs over a working set, oldest first."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self._of_pair: Floats  # [pairs, 3] s . y, s . s, y . y
        self.forget()

    @property
    def s(self) -> Floats:
        """[pairs, K]"""
        return self._s.window

    @property
    def y(self) -> Floats:
        """[pairs, K]"""
        return self._y.window

    def __len__(self) -> int:
        return len(self.s)

    def add(self, s: Floats, y: Floats) -> None:
        """Add a pair if its curvature s . y is clearly positive."""
        products = _products(s, y)
        if not _curved(products):
            return
        keep = min(self.memory, max(_FEWEST, _MOST_NUMBERS // len(s))) - 1
        self._s.append(s, keep)
        self._y.append(y, keep)
        self._of_pair = np.vstack([self._of_pair[len(self._of_pair) - len(self) + 1 :], [products]])

    def move(self, new: WorkingSet, old: WorkingSet) -> None:
        """Restrict the pairs to the new set, and drop pairs whose curvature came from features that left."""
        if len(self):
            s, y = new.carry(self.s, old), new.carry(self.y, old)
            products = _products_of(s, y)
            kept = np.array([_curved(of_pair) for of_pair in products])
            self._s, self._y, self._of_pair = _Rows(s[kept]), _Rows(y[kept]), products[kept]

    def inverse_times(
        self, d: Floats, of_first: Callable[[Floats], Floats], ridge: float = 0.0, threads: int = 1
    ) -> Floats:
        """d times the inverse of the BFGS matrix of the pairs (s, y + ridge s), by the two-loop recursion. `of_first`
        multiplies by the inverse of the initial matrix. d is modified in place."""
        s_y, s_s, _ = self._of_pair.T
        shape = len(self), len(d)
        pairs = self.s.reshape(shape), self.y.reshape(shape), s_y + ridge * s_s, ridge
        along = two_loop_back(d, *pairs, threads)
        d = of_first(d)
        two_loop_forth(d, *pairs, along, threads)
        return d

    def as_last(self, d: Floats, unit: Floats | float = 1.0) -> Floats:
        """d times the inverse of the matrix c diag(unit^2) that is as steep as the last pair; c = 1 without pairs."""
        s_y = y_y = 1.0
        if len(self):
            s_y, _, y_y = self._of_pair[-1]
        if not isinstance(unit, float):
            d /= unit**2
            y_y = float(np.sum((self.y[-1] / unit) ** 2)) if len(self) else 1.0
        d *= s_y / y_y
        return d

    def forget(self) -> None:
        self._s, self._y, self._of_pair = _Rows(np.empty((0, 0))), _Rows(np.empty((0, 0))), np.empty((0, 3))

    def state(self) -> Arrays:
        return {"s": self._s.lend(), "y": self._y.lend()}

    def restore(self, state: Arrays) -> None:
        self._s, self._y = _Rows(state["s"]), _Rows(state["y"])
        self._of_pair = _products_of(self.s, self.y)


class WithPairs:
    """A solver whose only state is its pairs."""

    pairs: Pairs

    def move(self, new: WorkingSet, old: WorkingSet) -> None:
        self.pairs.move(new, old)

    def forget(self) -> None:
        self.pairs.forget()

    def state(self) -> Arrays:
        return self.pairs.state()

    def restore(self, state: Arrays) -> None:
        self.pairs.restore(state)


def _products(s: Floats, y: Floats) -> tuple[float, float, float]:
    """s . y, s . s, y . y"""
    return float(s @ y), float(s @ s), float(y @ y)


def _products_of(s: Floats, y: Floats) -> Floats:
    """[pairs, 3]"""
    return np.array([_products(*pair) for pair in zip(s, y, strict=True)]).reshape(-1, 3)


def _curved(products: Sequence[float] | Floats) -> bool:
    """Whether the curvature s . y is clearly positive."""
    s_y, s_s, y_y = products
    return bool(s_y > 1e-12 * np.sqrt(s_s * y_y))
