"""Calibrates a model: computes thresholds for `Model.predict_set` from held-out labelled sequences."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.model.answer_sets import ScoreFinder
from sparsecrf.model.calibration import KEY, check_enough
from sparsecrf.model.model import Model

_SHOWN = 5  # maximum number of labels in a message


def calibrated(
    model: Model,
    labelled: Iterable[tuple[Any, Iterable[Any]]],
    what: str = "calibration",
    each: Callable[[], None] = lambda: None,
) -> Model:
    """The model with thresholds computed from pairs (tokens, labels). `what` names the data in errors; `each` is called
    after every sequence. Raises an error if there are too few sequences, or if a label is missing or unknown to the
    model."""
    scores = ScoreFinder(model.labels)
    known = set(model.labels)
    for i, (tokens, labels) in enumerate(labelled):
        given = list(labels)
        check_labels(given, known, f"{what}, sequence {i}")
        if given:
            scores.add(model._single, model.encode([tokens], [given]))
        each()
    check_enough(len(scores.sequences), what)
    return model.noted(**{KEY: scores.calibrations()})


def check_labels(labels: Sequence[Any], known: set[Any], where: str) -> None:
    """Reject a label that is missing or not in the model."""
    for t, label in enumerate(labels):
        if not isinstance(label, Hashable) or label not in known:
            some = ", ".join(map(repr, sorted(known, key=str)[:_SHOWN])) + (", ..." if len(known) > _SHOWN else "")
            found = "none" if label is None else f"{label!r:.60}"
            raise InputError(f"{where}, token {t}: expected a label of the model ({some}), found {found}")
