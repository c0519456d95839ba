"""Labels that are not text: a model names them by text, users keep what they gave."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

from sparsecrf._core import InputError


class LabelNames:
    """Names of labels, and the labels by name. Text is its own name; integers have theirs."""

    def __init__(self) -> None:
        self._integers: dict[str, Any] = {}

    def of(self, labels: Iterable[Any]) -> list[Any]:
        """The names of a sequence of labels. What is neither text nor integer stays, for the encoder to refuse."""
        known = labels.tolist() if hasattr(labels, "tolist") else labels
        return [self._name(label) if isinstance(label, Integral) else label for label in known]

    def _name(self, label: Any) -> str:
        name = str(int(label))
        self._integers[name] = int(label)
        return name

    def labels(self, names: list[str]) -> list[Any]:
        """What the names stand for."""
        if not self._integers:
            return names
        for name in names:
            if name not in self._integers:
                raise InputError(f"y: expected labels that are all text or all integers, found {name!r} among integers")
        return [self._integers[name] for name in names]
