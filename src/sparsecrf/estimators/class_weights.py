"""Converts label weights to token weights."""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

from sparsecrf._core import InputError
from sparsecrf.estimators.reading import weights_of
from sparsecrf.estimators.sequences import labels_beside
from sparsecrf.tables import counted
from sparsecrf.warn import warn_caller

#: Weights of labels; 1 for labels that are not listed; "balanced" means tokens / (labels x tokens with the label), and
#: None means 1 for all labels.
ClassWeight: TypeAlias = Mapping[Any, float] | str | None

BALANCED = "balanced"


def token_weights(
    y: Sequence[Sequence[Any]], class_weight: ClassWeight, sample_weight: Any, lengths: list[int] | None
) -> list[list[float]]:
    """A weight for each token: the weight of its label times its sample weight (by token or by sequence), if given.
    Tokens with a missing label or a label set have weight 1."""
    y = [[None if isinstance(label, (set, frozenset)) else label for label in labels] for labels in y]
    by_label = _by_label(y, class_weight)
    found = [[by_label.get(label, 1.0) for label in labels] for labels in y]
    given = weights_of(sample_weight, lengths)
    if not given:
        return found
    (kind, values) = next(iter(given.items()))
    values = list(values)
    if len(values) != len(found):
        raise InputError(f"sample_weight: expected {len(found)} entries, one per sequence, found {len(values)}")
    each = ([w] * len(own) if kind == "sequence_weight" else w for own, w in zip(found, values, strict=True))
    return [_product(own, weights, i) for i, (own, weights) in enumerate(zip(found, each, strict=True))]


def labels_of(y: Any, lengths: list[int] | None) -> list[list[Any]]:
    """The labels of each sequence as lists, which can be read more than once."""
    return [labels.tolist() if hasattr(labels, "tolist") else list(labels) for labels in labels_beside(y, lengths)]


def _by_label(y: Sequence[Sequence[Any]], asked: ClassWeight) -> Mapping[Any, float]:
    if isinstance(asked, Mapping):
        _check_weights(asked)
    elif asked != BALANCED:
        raise InputError(f"class_weight: expected weights by label (a dict), 'balanced' or None, found {asked!r:.60}")
    for i, t, label in ((i, t, label) for i, labels in enumerate(y) for t, label in enumerate(labels)):
        if not isinstance(label, Hashable):
            raise InputError(f"y, sequence {i}, position {t}: expected a label, found {label!r:.60}")
    counts = Counter(label for label in chain.from_iterable(y) if label is not None)
    if not isinstance(asked, Mapping):
        return {label: counts.total() / (len(counts) * n) for label, n in counts.items()}
    if counts and all(asked.get(label, 1.0) == 0 for label in counts):
        raise InputError("class_weight: expected a weight above 0 for at least one label in y, found 0 for all")
    # This is only a warning: the label may be misspelled, but a part of the data, such as a fold, may also lack it.
    if lacking := [label for label in asked if label not in counts]:
        known = ", ".join(repr(label) for label, _ in counts.most_common(10))
        warn_caller(f"class_weight: y does not contain {', '.join(map(repr, lacking))}; its labels are {known}")
    return asked


def _check_weights(by_label: Mapping[Any, Any]) -> None:
    for label, weight in by_label.items():
        is_number = isinstance(weight, numbers.Real) and not isinstance(weight, bool)
        if not is_number or not math.isfinite(weight) or weight < 0:
            raise InputError(f"class_weight, label {label!r}: expected a finite number >= 0, found {weight!r:.60}")


def _product(own: list[float], weights: Any, i: int) -> list[float]:
    if len(weights) != len(own):
        raise InputError(
            f"sample_weight, sequence {i}: expected {counted(len(own), 'weight')}, one per token, found {len(weights)}"
        )
    return [a * b for a, b in zip(own, weights, strict=True)]
