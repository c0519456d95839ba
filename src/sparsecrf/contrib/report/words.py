"""Explains the numbers of a training record in words."""

from __future__ import annotations

from collections.abc import Mapping
from sys import float_info
from typing import Any, NamedTuple

from sparsecrf.training.history import REASONS, rounded_up, share_above

#: A bound wider than this fraction of the optimum is not informative.
_LOOSE = 0.1
_LARGEST = float_info.max


class Certificate(NamedTuple):
    """The known distance of the weights from the optimum."""

    headline: str
    detail: str
    good: bool  #: whether the bound is tight


def number(record: Mapping[str, Any], name: str) -> float | None:
    """A number from the record; None if the record has no number with this name."""
    value = record.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if -_LARGEST <= value <= _LARGEST else None  # an integer may be larger than any float


def certificate(training: Mapping[str, Any]) -> Certificate:
    """The duality gap in words: P - P* <= gap."""
    objective, gap, kkt = (number(training, name) for name in ("objective", "gap", "kkt"))
    if "imported_from" in training:
        return Certificate("No certificate", f"The weights were imported from {training['imported_from']}.", False)
    if "certificate" in training:
        detail = (
            f'The record says "{training["certificate"]}". '
            "The model's probabilities are normalised scores, not estimates."
        )
        return Certificate("Not a likelihood model", detail, False)
    if objective is None:
        return Certificate("No certificate", "The file does not record how the model was trained.", False)
    near = "" if kkt is None else f" The relative KKT residual is {kkt:.1e} (0 at the optimum, 1 at the start)."
    if gap is None:
        return Certificate(
            "No bound on the distance to the optimum",
            f"No bound is available, because some training labels were missing.{near}",
            False,
        )
    if gap <= 0:
        return Certificate("Training objective at its optimum", f"The duality gap is zero up to rounding.{near}", True)
    share = share_above(objective, gap)
    bound = f"No weights reach an objective below {objective - gap:,.6g}; these weights reach {objective:,.6g}."
    if share <= _LOOSE:
        return Certificate(f"Training objective within {rounded_up(100 * share)} % of its optimum", bound + near, True)
    remaining = number(training, "remaining")
    if remaining is not None and remaining < gap:
        headline = f"Training objective about {rounded_up(100 * share_above(objective, remaining))} % above its optimum"
        return Certificate(
            headline,
            f"This is an estimate from the decrease in the objective. The certified bound: {bound}{near}",
            True,
        )
    if share < 1:
        headline = f"Training objective within {rounded_up(100 * share)} % of its optimum"
        return Certificate(headline, f"{bound} This bound is loose.{near}", False)
    loose = (
        f"The duality gap is {gap:,.4g} and the objective is {objective:,.6g}. This bound is too loose to tell how "
        "close training came to the optimum."
    )
    return Certificate("No useful bound yet", loose + near, False)


def facts(training: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The training record, line by line: a name and a number."""
    lines = [
        ("l1 penalty rho1", _number(training, "rho1")),
        ("l2 penalty rho2", _number(training, "rho2")),
        *_order(training),
        ("Penalty", _text(training, "penalty")),
        ("Group weight", _number(training, "group_weight")),
        *_groups(training.get("groups")),
        ("Objective", _number(training, "objective")),
        ("Loss", _number(training, "loss")),
        ("KKT residual, relative", _number(training, "kkt", "{:.2e}")),
        ("Duality gap", _number(training, "gap", "{:,.4g}")),
        ("Solver", _text(training, "solver")),
        ("Stopped because", REASONS.get(str(training.get("stopped_by")), _text(training, "stopped_by"))),
        ("Iterations", _number(training, "iterations", "{:,.0f}")),
        ("Training sequences", _number(training, "sequences", "{:,.0f}")),
        ("Training tokens", _number(training, "tokens", "{:,.0f}")),
        ("Trained by version", _text(training, "version")),
        ("Imported from", _text(training, "imported_from")),
    ]
    return [(name, value) for name, value in lines if value is not None]


def _order(training: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """The maximum number of labels per feature, if it was set; None in the record means no limit."""
    if "order" not in training:
        return []
    labels = "any number" if training["order"] is None else _number(training, "order")
    return [
        ("Longest label n-gram", labels),
        ("rho1 factor per label beyond two", _number(training, "order_factor")),
    ]


def _groups(groups: Any) -> list[tuple[str, str]]:
    """The numbers of groups kept and dropped. The record is checked, since it comes from a file."""
    if not isinstance(groups, dict):
        return []
    counts = [(str(name), found) for name, found in groups.items() if isinstance(found, list) and len(found) == 2]
    known = [(name, *found) for name, found in counts if all(type(n) is int and 0 <= n < 2**53 for n in found)]
    return [(f"Kept: {name}", f"{kept:,} of {of:,}, {of - kept:,} dropped") for name, kept, of in known]


def _number(training: Mapping[str, Any], name: str, pattern: str = "{:,.7g}") -> str | None:
    if name not in training:
        return None
    value = number(training, name)
    return "not known" if value is None else pattern.format(value)


def _text(training: Mapping[str, Any], name: str) -> str | None:
    return str(training[name]) if training.get(name) is not None else None
