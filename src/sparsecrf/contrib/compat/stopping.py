"""CRFsuite's stopping rule: stop when the objective improves too little."""

from __future__ import annotations

from typing import Any

# Features that enter at a screening need a few iterations to take effect.
_AFTER_SCREENING = 5


class Stagnation:
    """Whether  P[k - period] - P[k] <= delta P[k],  with the working set up to date."""

    def __init__(self, period: int, delta: float) -> None:
        self.period, self.delta = period, delta
        self.objectives: list[float] = []
        self.screened: int | None = None

    def reached(self, record: dict[str, Any]) -> bool:
        """Receives the record of each iteration in turn."""
        screened, iteration, value = self.screened, record["iter"], record["objective"]
        self.objectives.append(value)
        if record["kkt"] is not None:
            self.screened = iteration
        if self.period == 0 or self.delta == 0 or len(self.objectives) <= self.period:
            return False
        if screened is None or iteration - screened < min(_AFTER_SCREENING, self.period):
            return False
        improvement = self.objectives[-1 - self.period] - value
        return bool(improvement <= self.delta * value)
