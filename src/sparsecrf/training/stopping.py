"""The rule for when to stop. It is based on the objective and is the same for every solver.

A run stops when its point is at most `tol` times the objective above the optimum: certified if the bound (`dual`) is
tight enough, otherwise estimated. The estimate compares the lowest objective at three moments, m iterations apart,
where m is a fifth of all iterations but at least 5. Let d1 be the gain from the first moment to the second, and d2 from
the second to the last. If gains keep decreasing at the rate r = d2 / d1, all later gains add up to d2 r / (1 - r).
Solvers slow down near the optimum, and r is unreliable after a fast start, so the estimate is

    remaining distance  ~  2 d2 max(r / (1 - r), 2)   (infinite unless the gains decrease)

At the end of nine default runs, the estimate was 4 to 11 times the true distance (benchmarks/record/defaults.md).

An estimate from gains cannot see directions in which a solver makes no progress; the certified gap can. Therefore, the
larger the gap, the smaller the estimate must be. If `target` is the requested distance, a run stops when

    remaining distance <= target / max(1, gap / target)^doubt

`doubt` is 3/4 for `auto`, whose curvature leaves few such directions, and 3/2 for the other solvers that learn
curvature from their steps. It is infinite for stochastic solvers and for `fista`, which uses one step length for all
directions. The direction with the largest curvature determines this length; in all other directions steps are short, so
gains are small even if the optimum is far away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from sparsecrf.defaults import TOL

_SHARE, _FEWEST = 5, 5  # the window m is a fifth of all iterations, but at least 5
_CAUTION = 2.0  # factor on the remaining distance
DOUBT = 1.5  #: default doubt of a solver
_LEAST_SUM = 2.0  # minimum of the estimated further gains, in units of the gain of the last window


@dataclass(frozen=True)
class Stopping:
    """Stop within `tol` (relative) of the optimum; or, if `gap` is given, at a certified relative gap of at most `gap`;
    or at a limit."""

    tol: float = TOL
    gap: float | None = None
    max_iter: int | None = None
    time_limit: float | None = None
    certify: bool = True  #: whether to make the certificate of the result as tight as possible
    doubt: float = DOUBT  #: how much a gap far above the target counts against an estimate

    @property
    def target(self) -> float:
        """The requested distance to the optimum, relative to the objective."""
        return self.tol if self.gap is None else self.gap

    def believable(self, gap: float, target: float) -> float:
        """The largest estimate that may stop a run with this certified gap. It is `target` if there is no lower bound,
        as with missing labels."""
        return target / max(gap / target, 1.0) ** self.doubt if gap < inf and target > 0 else target


def remaining(values: Sequence[float]) -> float:
    """An estimate of the last objective minus its minimum. `values` contains the lowest objective so far for every
    iteration."""
    last = len(values) - 1
    m = max(_FEWEST, last // _SHARE)
    if last < 2 * m:
        return inf
    first_gain, gain = values[last - 2 * m] - values[last - m], values[last - m] - values[last]
    if not 0 < gain < first_gain:
        return inf
    rate = gain / first_gain
    return _CAUTION * gain * max(rate / (1 - rate), _LEAST_SUM)
