"""Progress of a path: the fold, the point, the score and the remaining time."""

from __future__ import annotations

from collections import deque
from typing import Any

from sparsecrf.path.following import Point
from sparsecrf.progress import Advance, note
from sparsecrf.tables import counted


class PathProgress:
    """Shows every finished fit and the iterations of the running one."""

    def __init__(self, advance: Advance, score: str, folds: int = 0) -> None:
        self._advance, self._score = advance, score
        self._done = ""
        # only the durations of the last few fits, since later fits take longer
        self._seconds: deque[float] = deque(maxlen=max(4, 2 * folds))

    def each(self, point: Point) -> None:
        self._seconds.append(point.seconds)
        self._done = self.text(point)
        self._advance(1, self._done)

    def callback(self, record: dict[str, Any]) -> Any:
        """An iteration of the running fit."""
        self._advance(0, "  |  ".join(part for part in (self._done, note(record)) if part))

    def text(self, point: Point) -> str:
        """A line of text about one fit."""
        where = f"fold {point.fold + 1} of {point.folds}, " if point.fold is not None and point.folds > 1 else ""
        if point.fold is None and point.folds:
            where = "all data, "
        parts = [
            f"{where}point {point.number + 1}: rho1 {point.rho1:.4g}, rho2 {point.rho2:.4g}",
            counted(point.n_weights, "weight"),
        ]
        if point.error is not None:
            parts.append(f"{self._score} {100 - point.error:.2f} %")
        if point.left:
            left = point.left * sum(self._seconds) / len(self._seconds)
            parts.append(f"at least {duration(left)} left")
        return "  ".join(parts)


def duration(seconds: float) -> str:
    """A duration, for example 8 s, 1:23 or 2:01:23."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes}:{rest:02d}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
