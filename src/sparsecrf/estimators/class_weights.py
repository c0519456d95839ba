"""Weights of labels as weights of the tokens that have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, TypeAlias

from sparsecrf._core import InputError
from sparsecrf.estimators.labelled import weights_of
from sparsecrf.estimators.sequences import beside

#: By label, 1 for those that are not named; "balanced": tokens / (labels x tokens with the label); None: all are 1.
ClassWeight: TypeAlias = "Mapping[Any, float] | str | None"

BALANCED = "balanced"


def token_weights(
    y: Sequence[Sequence[Any]], class_weight: ClassWeight, sample_weight: Any, lengths: list[int] | None
) -> list[list[float]]:
    """A weight for each token: that of its label, times that of the token or of its sequence, if there are any. Tokens
    whose label is missing have 1."""
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
    """The labels of each sequence, to be read more than once."""
    return [labels.tolist() if hasattr(labels, "tolist") else list(labels) for labels in beside(y, lengths, "y")]


def _by_label(y: Sequence[Sequence[Any]], asked: ClassWeight) -> Mapping[Any, float]:
    counts = Counter(chain.from_iterable(y))
    del counts[None]
    if isinstance(asked, Mapping):
        # A part of the data, such as a fold, may lack some of them.
        if counts and not any(label in counts for label in asked):
            known = ", ".join(repr(label) for label, _ in counts.most_common(10))
            raise InputError(f"class_weight: expected labels of y ({known}), found {', '.join(map(repr, asked))}")
        return asked
    if asked != BALANCED:
        raise InputError(f"class_weight: expected weights by label (a dict), 'balanced' or None, found {asked!r:.60}")
    return {label: counts.total() / (len(counts) * n) for label, n in counts.items()}


def _product(own: list[float], weights: Any, i: int) -> list[float]:
    if len(weights) != len(own):
        raise InputError(
            f"sample_weight, sequence {i}: expected {len(own)} weights, one per token, found {len(weights)}"
        )
    return [a * b for a, b in zip(own, weights, strict=True)]
