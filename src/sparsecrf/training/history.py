"""The history of a run as stored in a model file (a few points, stored as columns), and messages about the end of the
run.

Wall-clock times are left out, so that identical runs give identical files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from math import inf, isfinite
from typing import Any

from sparsecrf.defaults import TOL


@dataclass(frozen=True)
class Record:
    """One iteration, as `--log` writes it. Values that were not computed are None."""

    iter: int
    time_s: float
    passes: float
    objective: float
    loss: float
    gap: float | None
    kkt: float | None
    active_unigram: int
    active_bigram: int
    dev_error: float | None = None
    active_ngram: int = 0  #: number of nonzero weights with three or more labels


#: The reasons for which a run stops.
REASONS = {
    "tol": "close enough to the optimum",
    "gap": "duality gap small enough",
    "max_iter": "iteration limit reached",
    "time_limit": "time limit reached",
    "dev": "the dev error no longer improves",
    "callback": "stopped by the callback",
    "delta": "the objective has almost stopped improving",
    "loss": "the mean loss is small enough",
    "interrupt": "interrupted",
    "precision": "no step improves the objective any more",
}

#: No estimate is shown if the certified distance is at most this: the default `tol`.
CLOSE = TOL
#: The bound is not shown if the certified distance is at least this: even zero weights are rarely farther from the
#: optimum.
USELESS = 1.0

#: Maximum number of points in a stored history.
POINTS = 200
#: The columns of a stored history, with their significant digits. The objective needs more, since plots show its
#: distance to its last value.
_DIGITS = {"passes": 6, "objective": 10, "loss": 10, "kkt": 4, "gap": 6, "dev_error": 6}


def columns(history: Sequence[Record]) -> dict[str, list[Any]]:
    """The columns of at most POINTS records: iter, passes, objective, loss, kkt, gap, active, dev_error.

    Unknown values are None; a column without any value is left out.
    """
    kept = [history[k] for k in thinned(history)]
    found: dict[str, list[Any]] = {"iter": [record.iter for record in kept]}
    for name, digits in _DIGITS.items():
        found[name] = [_rounded(getattr(record, name), digits) for record in kept]
    found["active"] = [record.active_unigram + record.active_bigram + record.active_ngram for record in kept]
    return {name: values for name, values in found.items() if any(value is not None for value in values)}


def thinned(history: Sequence[Record], points: int = POINTS) -> list[int]:
    """Indices of the records to keep: the first, the last, the few with a certificate, and others at even intervals
    between them."""
    n = len(history)
    if n <= points:
        return list(range(n))
    certified = [k for k, record in enumerate(history) if record.kkt is not None]
    if len(certified) > points // 2:
        certified = [certified[k] for k in _evenly(len(certified), points // 2)]
    return sorted({*certified, *_evenly(n, points - len(certified))})


def _evenly(n: int, points: int) -> list[int]:
    """`points` of the indices 0 ... n - 1, including both ends."""
    return [k * (n - 1) // (points - 1) for k in range(points)]


def _rounded(value: float | None, digits: int) -> float | None:
    return float(f"{value:.{digits}g}") if value is not None and isfinite(value) else None


def rounded_up(percent: float) -> str:
    """The number with two significant digits, rounded up so that it is still an upper bound."""
    exact = Decimal(percent)
    unit = Decimal(1).scaleb(max(exact.adjusted() - 1, -6))
    return f"{exact.quantize(unit, rounding=ROUND_CEILING).normalize():f}"


def share_above(objective: float, distance: float) -> float:
    """The largest relative distance to the optimum P*, given that P is at most `distance` above it: P <= P* (1 +
    share)."""
    if distance <= 0:
        return 0.0
    return distance / (objective - distance) if objective > distance else inf


def distance_in_words(objective: float, gap: float | None, remaining: float | None) -> str:
    """The distance of the training objective from its optimum in words: certified if the duality gap is tight enough,
    otherwise also estimated."""
    certified = inf if gap is None else max(share_above(objective, gap), 0.0)
    estimated = inf if remaining is None else max(share_above(objective, remaining), 0.0)
    if certified <= CLOSE or (certified <= USELESS and estimated >= certified):
        return f"within {rounded_up(100 * certified)} % of the optimum (certified)"
    bound = "no certified bound"
    if certified <= USELESS:
        bound = f"certified: at most {rounded_up(100 * certified)} %"
    if estimated < certified:  # otherwise the estimate is the bound itself
        return f"an estimated {rounded_up(100 * estimated)} % above the optimum ({bound})"
    return f"an unknown distance above the optimum ({bound})"
