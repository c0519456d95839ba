"""Stores attributes of an estimator that its model lacks in the training record, so that they can be restored from the
model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sparsecrf._core import InputError
from sparsecrf.encoding.label_names import LabelNames
from sparsecrf.shards.dataset import Dataset

RECORD = "estimator"  #: key in the training record
_KINDS: dict[str, type[int] | type[bool]] = {"int": int, "bool": bool}


def estimator_record(data: Dataset) -> dict[str, Any]:
    """The entry for an estimator that was fitted to these data; empty if its model contains everything."""
    kind = next((name for name, kind in _KINDS.items() if data.names.kind is kind), None)
    found = {"labels": kind, "n_features_in": data.n_features, "feature_names_in": data.frame_columns}
    known = {name: value for name, value in found.items() if value is not None}
    return {RECORD: known} if known else {}


def fitted_attributes(labels: list[str], training: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of an estimator for a model with these labels and this record."""
    entry = training.get(RECORD)
    known = entry if isinstance(entry, Mapping) else {}
    width, names = known.get("n_features_in"), known.get("feature_names_in")
    names_of = LabelNames(_KINDS.get(str(known.get("labels")), str))
    try:
        found: dict[str, Any] = {"classes_": np.array(names_of.labels(labels))}
    except ValueError:
        raise InputError(
            f"model: expected integer labels, according to the training record, found {labels[:5]}"
        ) from None
    if isinstance(width, int) and width > 0:
        found["n_features_in_"] = width
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        found["feature_names_in_"] = np.array(names, dtype=object)
    return found
