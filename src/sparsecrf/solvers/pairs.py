"""The pairs (s, y) of a quasi-Newton method: the last steps, and how they changed the gradient."""

from __future__ import annotations

import numpy as np

from sparsecrf.objective import Floats, WorkingSet
from sparsecrf.solvers.state import Arrays

_FEWEST, _MOST_NUMBERS = 10, 2**20  # a large working set keeps fewer pairs, but not fewer than these


class Pairs:
    """At most `memory` pairs over a working set, oldest first."""

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self.s: Floats = np.empty((0, 0))  #: [pairs, K]
        self.y: Floats = np.empty((0, 0))

    def __len__(self) -> int:
        return len(self.s)

    def add(self, s: Floats, y: Floats) -> None:
        """Take a pair in, unless its curvature s . y is not clearly positive."""
        if s @ y <= 1e-12 * np.sqrt((s @ s) * (y @ y)):
            return
        keep = min(self.memory, max(_FEWEST, _MOST_NUMBERS // len(s))) - 1
        first = max(len(self) - keep, 0)
        self.s = np.concatenate([self.s[first:].reshape(-1, len(s)), s[None]])
        self.y = np.concatenate([self.y[first:].reshape(-1, len(y)), y[None]])

    def move(self, new: WorkingSet, old: WorkingSet) -> None:
        if len(self):
            self.s, self.y = new.carry(self.s, old), new.carry(self.y, old)

    def forget(self) -> None:
        self.s = self.y = np.empty((0, 0))

    def state(self) -> Arrays:
        return {"s": self.s, "y": self.y}

    def restore(self, state: Arrays) -> None:
        self.s, self.y = state["s"], state["y"]
