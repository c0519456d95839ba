"""Labels that are not text: a model names them by text, users keep what they gave."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from numbers import Integral
from typing import Any

from sparsecrf._core import InputError


class LabelNames:
    """Names of labels, and the labels by name. Text is its own name; integers have theirs."""

    def __init__(self, kind: type[str] | type[int] | None = None) -> None:
        self.kind = kind  #: of all labels; None: that of the first

    def of(self, sequences: Iterable[Iterable[Any]], what: str = "y") -> Iterator[list[Any]]:
        """The names of sequences of labels. What is neither text nor integer stays, for the encoder to refuse.

        A text and an integer may have the same name: all labels must be of one kind.
        """
        for i, labels in enumerate(sequences):
            known = labels.tolist() if hasattr(labels, "tolist") else labels
            yield [self._name(label, what, i, t) for t, label in enumerate(known)]

    def _name(self, label: Any, what: str, i: int, t: int) -> Any:
        kind = str if isinstance(label, str) else int if isinstance(label, Integral) else None
        if kind is None:
            return label
        if self.kind is None:
            self.kind = kind
        if kind is not self.kind:
            others = "text" if self.kind is str else "integers"
            raise InputError(
                f"{what}, sequence {i}, position {t}: expected labels that are all text or all integers, found "
                f"{label!r} among {others}"
            )
        return label if kind is str else str(int(label))

    def labels(self, names: list[str]) -> list[Any]:
        """What the names stand for."""
        return [int(name) for name in names] if self.kind is int else names
