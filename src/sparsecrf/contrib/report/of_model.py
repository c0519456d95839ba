"""The part of the page's data that comes from the model alone."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import numpy as np

from sparsecrf.contrib.explain import START, longest_strings, weights_by_length
from sparsecrf.contrib.explain.weights import WeightTable
from sparsecrf.contrib.report.pack import Names, real, whole
from sparsecrf.contrib.report.words import certificate, facts, number
from sparsecrf.model import Model

STRINGS = 40  # number of strings of three labels or more to show
_HISTORY = ("iter", "passes", "objective", "loss", "kkt", "gap", "active", "dev_error")


def model_data(model: Model, name: str, max_weights: int, names: Names) -> dict[str, Any]:
    """Everything that the page shows about a model called `name`, with its `max_weights` largest weights.

    `names` collects the attributes of the weights.
    """
    explained = model.explain(top=1)
    return {
        "name": name,
        "version": version("sparsecrf"),
        "labels": model.labels,
        "parts": [] if model.label_parts is None else list(model.label_parts.names),
        "start": START,
        "summary": {
            **explained.summary,
            "active": model.n_active,
            "features": number(model.training, "features"),
        },
        "certificate": certificate(model.training)._asdict(),
        "facts": facts(model.training),
        "template": None if model.template is None else model.template.text,
        "history": history(model.training),
        "weights": _weights(model, max_weights, names),
        "transitions": _transitions(explained.transitions),
        "strings": _strings(model),
        "templates": [use._asdict() for use in explained.templates],
    }


def _weights(model: Model, limit: int, names: Names) -> dict[str, Any]:
    """The largest weights, as columns: attribute, previous label (-1: none; Y: the start; above Y, an index into
    `histories`, whose first `classes` entries are classes of labels), label (Y or more for a part), weight."""
    table = WeightTable.of(model)
    kept = table.where(np.arange(min(limit, len(table))))
    # Numbers of attributes in the page, in order of first use.
    known, first, place = np.unique(kept.attribute, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    number_of = np.empty(len(known), dtype=np.int64)
    for k in order.tolist():
        number_of[k] = names.number(kept.attribute_names[int(known[k])])
    plain, histories = set(model.plain_attributes()), len(model.labels) + 1
    longer, history = np.unique(kept.previous[kept.previous >= histories], return_inverse=True)
    previous = kept.previous.copy()
    previous[kept.previous >= histories] = histories + history
    return {
        "total": len(table),
        "x": whole(number_of[place]),
        "p": whole(previous),
        "classes": int((longer < histories + model.features.n_parts).sum()),
        "histories": [kept.before_names[k] for k in longer.tolist()],
        "y": whole(kept.label),
        "w": real(kept.weight),
        "plain": [names.number(kept.attribute_names[x]) for x in known.tolist() if kept.attribute_names[x] in plain],
    }


def _strings(model: Model) -> dict[str, Any] | None:
    """Weights by number of labels, and the longest strings; None for a model with labels and label pairs only."""
    if model.features.n_ngram == 0:
        return None
    longest = [string._asdict() for string in longest_strings(model, STRINGS)]
    return {"by_length": weights_by_length(model), "longest": longest}


def _transitions(matrix: np.ndarray[Any, Any]) -> dict[str, Any]:
    """The nonzero plain transitions."""
    p, y = np.nonzero(matrix)
    return {"p": whole(p), "y": whole(y), "w": real(matrix[p, y])}


def history(training: Mapping[str, Any]) -> dict[str, list[float | None]] | None:
    """The history of the training if the record contains a valid one, with columns of equal length."""
    record = training.get("history")
    if not isinstance(record, dict) or not isinstance(record.get("iter"), list):
        return None
    n = len(record["iter"])
    columns: dict[str, list[float | None]] = {}
    for name in _HISTORY:
        values = record.get(name)
        if isinstance(values, list) and len(values) == n:
            columns[name] = [number({name: value}, name) for value in values]
    return columns if n > 1 and None not in columns["iter"] else None
