"""Labels that are not text. The model uses text, and users get back labels of the type that they passed."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

from sparsecrf._core import InputError


class LabelNames:
    """Converts labels to names and back. Text is its own name; integers and booleans are converted."""

    def __init__(self, kind: type[str] | type[int] | type[bool] | None = None) -> None:
        self.kind = kind  #: type of all labels; None until the first label determines it
        self.n_missing = 0  #: number of labels that were None

    def of(self, labels: Any, i: int, what: str = "y") -> list[Any]:
        """The names of the labels of sequence i. The encoder rejects anything but text, integers and booleans.

        A text and an integer may have the same name, so all labels must be of one type.
        """
        known = labels.tolist() if hasattr(labels, "tolist") else list(labels)
        if self.kind is str and set(map(type, known)) == {str}:  # the usual case: nothing to do
            return known
        return [self._name(label, what, i, t) for t, label in enumerate(known)]

    def check_some_known(self) -> None:
        """Raise an error if all labels were missing."""
        if self.kind is None and self.n_missing > 0:
            raise InputError(
                f"y: expected at least one label, found None for all {self.n_missing} tokens; use None only for "
                "unknown labels, and text or integers for known labels"
            )

    def _name(self, label: Any, what: str, i: int, t: int) -> Any:
        if isinstance(label, (set, frozenset)):
            return self._names(label, what, i, t)
        kind = _kind(label)
        if kind is None:
            self.n_missing += label is None
            if isinstance(label, (float, Real)):
                whole = "integers or text, with y.astype(int) or y.astype('Int64') if some labels are missing"
                remedy = "None where the label is unknown" if label != label else whole
                where = f"{what}, sequence {i}, position {t}"
                raise InputError(f"{where}: expected a label (text or an integer), found {label!r}; give {remedy}")
            return label
        if self.kind is None:
            self.kind = kind
        if kind is not self.kind:
            raise InputError(
                f"{what}, sequence {i}, position {t}: expected labels that are all text or all integers, found "
                f"{label!r} among {_PLURALS[self.kind]}"
            )
        return label if kind is str else str(kind(label))

    def _names(self, labels: set[Any] | frozenset[Any], what: str, i: int, t: int) -> Any:
        """The names of the labels in a set; for a set with one label, only its name."""
        if not labels or None in labels:
            found = "None in it" if labels else "an empty set"
            raise InputError(
                f"{what}, sequence {i}, position {t}: expected a set of labels, found {found}; if any label is "
                "possible, give None instead of a set"
            )
        names = frozenset(self._name(label, what, i, t) for label in labels)
        return next(iter(names)) if len(names) == 1 else names

    def labels(self, names: list[str]) -> list[Any]:
        """The labels with these names."""
        if self.kind is bool:
            return [name == "True" for name in names]
        return [int(name) for name in names] if self.kind is int else names


_PLURALS: dict[type, str] = {str: "text", int: "integers", bool: "booleans"}


def _kind(label: Any) -> type[str] | type[int] | type[bool] | None:
    if isinstance(label, str):
        return str
    if isinstance(label, bool) or getattr(getattr(label, "dtype", None), "kind", "") == "b":  # a boolean of NumPy
        return bool
    return int if isinstance(label, Integral) else None
