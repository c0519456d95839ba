"""The pairs (s, y) of a quasi-Newton method: the last steps, and how they changed the gradient."""

from __future__ import annotations

import numpy as np

from sparsecrf.training.feature_sets import Floats, WorkingSet
from sparsecrf.training.solvers.state import Arrays

_SPARE = 1  # rows of room for the next pairs
_FEWEST, _MOST_NUMBERS = 6, 2**20  # a large working set keeps fewer pairs, but not fewer than these


class _Rows:
    """Rows, oldest first: a window that moves down a larger array, so that few appends move the others."""

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
            for k in range(len(kept)):  # one by one: they may overlap
                self.room[k] = kept[k]
            self.first, self.end = 0, len(kept)
        self.room[self.end] = row
        self.end += 1


class Pairs:
    """At most `memory` pairs over a working set, oldest first."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
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
        """Take a pair in, unless its curvature s . y is not clearly positive."""
        if not _curved(s, y):
            return
        keep = min(self.memory, max(_FEWEST, _MOST_NUMBERS // len(s))) - 1
        self._s.append(s, keep)
        self._y.append(y, keep)

    def move(self, new: WorkingSet, old: WorkingSet) -> None:
        """What is left of each pair on the new set, if it still shows a curvature: a feature that left may have held
        all of it."""
        if len(self):
            s, y = new.carry(self.s, old), new.carry(self.y, old)
            kept = np.array([_curved(*pair) for pair in zip(s, y, strict=True)])
            self._s, self._y = _Rows(s[kept]), _Rows(y[kept])

    def forget(self) -> None:
        self._s, self._y = _Rows(np.empty((0, 0))), _Rows(np.empty((0, 0)))

    def state(self) -> Arrays:
        return {"s": self._s.lend(), "y": self._y.lend()}

    def restore(self, state: Arrays) -> None:
        self._s, self._y = _Rows(state["s"]), _Rows(state["y"])


class WithPairs:
    """A solver whose pairs are all that it remembers."""

    pairs: Pairs

    def move(self, new: WorkingSet, old: WorkingSet) -> None:
        self.pairs.move(new, old)

    def forget(self) -> None:
        self.pairs.forget()

    def state(self) -> Arrays:
        return self.pairs.state()

    def restore(self, state: Arrays) -> None:
        self.pairs.restore(state)


def _curved(s: Floats, y: Floats) -> bool:
    """Whether the curvature s . y is clearly positive."""
    return bool(s @ y > 1e-12 * np.sqrt((s @ s) * (y @ y)))
