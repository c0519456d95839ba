"""The nonzero weights of a model by name, the largest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import InputError, StringTable
from sparsecrf.compatibility import Named, OptionError
from sparsecrf.encoding.ngrams import Ngrams
from sparsecrf.model import Model

#: The name of the start label, which precedes the first position.
START = "[start]"

_LIKE = 20_000  # maximum number of names to compare an unknown name with


class Weight(NamedTuple):
    """A weight by name; previous is None for weights of single labels and of their parts, START for the start label.
    For label n-grams, previous contains all labels but the last, separated by spaces. Pairs of label classes are named
    by the first part of their labels."""

    attribute: str
    previous: str | None
    label: str
    weight: float


@dataclass(frozen=True, eq=False)
class WeightTable:
    """Weights by id, in decreasing order of absolute value. Among equal values, weights of labels precede weights of
    label pairs, both in order of id.

    Names are looked up on demand, since only a few of 100,000 weights are shown.
    """

    attribute: NDArray[np.int32]  # [K]
    previous: NDArray[np.int32]  # [K], -1 for weights of single labels, Y for the start, above it parts, `histories`
    label: NDArray[np.int32]  # [K], Y or more for parts of labels
    weight: NDArray[np.float64]  # [K]
    attribute_names: StringTable
    label_names: list[str]  # [Y + P] of labels, then of their parts
    before_names: list[str]  # labels, START, parts, then for label n-grams all labels but the last

    @classmethod
    def of(cls, model: Model, label: str | None = None, attribute: str | None = None) -> WeightTable:
        """The weights of a label and an attribute; None means every label or attribute."""
        features = model.features
        names, longer = [*model.labels, START], Ngrams.of(features)
        parts = () if model.label_parts is None else model.label_parts.names
        strings = longer.strings()
        histories = [" ".join(names[y] for y in labels[:-1]) for labels in strings]
        x = np.concatenate([features.unigram_attribute, features.bigram_attribute, longer.attribute])
        above = len(names) + len(parts) + np.arange(len(histories), dtype=np.int32)
        none = np.full(features.n_unigram, -1, dtype=np.int32)
        previous = np.concatenate([none, features.bigram_previous, above])
        last = np.array([labels[-1] for labels in strings], dtype=np.int32)
        y = np.concatenate([features.unigram_label, features.bigram_label, last])
        kept = model.w != 0
        if label is not None:
            kept &= y == _cell_of(label, model.vocabulary.labels, parts)
        if attribute is not None:
            kept &= x == _id_of("attribute", attribute, model.vocabulary.attributes)
        k = np.flatnonzero(kept)
        k = k[np.argsort(-np.abs(model.w[k]), kind="stable")]
        cells = [*model.labels, *parts]
        return cls(
            x[k], previous[k], y[k], model.w[k], model.vocabulary.attributes, cells, [*names, *parts, *histories]
        )

    def __len__(self) -> int:
        return len(self.weight)

    def where(self, chosen: NDArray[Any]) -> WeightTable:
        """The rows selected by a mask or by indices."""
        columns = (self.attribute[chosen], self.previous[chosen], self.label[chosen], self.weight[chosen])
        return WeightTable(*columns, self.attribute_names, self.label_names, self.before_names)

    def by_label(self) -> list[WeightTable]:
        """[Y + P]: the weights of each label, and of each part of labels."""
        rows = np.argsort(self.label, kind="stable")
        ends = np.searchsorted(self.label[rows], np.arange(1, len(self.label_names)))
        return [self.where(own) for own in np.split(rows, ends)]

    def top(self, n: int | None = None) -> list[Weight]:
        """The n largest weights by name; None means all."""
        names, labels, before = self.attribute_names, self.label_names, self.before_names
        columns = (column[:n].tolist() for column in (self.attribute, self.previous, self.label, self.weight))
        return [
            Weight(names[x], None if previous < 0 else before[previous], labels[y], weight)
            for x, previous, y, weight in zip(*columns, strict=True)
        ]


def _cell_of(name: str, labels: StringTable, parts: Sequence[str]) -> int:
    """The id of a label, or Y + j for part j of labels."""
    if labels.find(name) is None and name in parts:
        return len(labels) + parts.index(name)
    return _id_of("label", name, labels)


def _id_of(what: str, name: str, table: StringTable) -> int:
    """The id of a name. The error for an unknown name lists similar names."""
    from difflib import get_close_matches

    found = table.find(name)
    if found is not None:
        return found
    names = [table[k] for k in range(len(table))]
    like = [known for known in names if abs(len(known) - len(name)) <= 3][:_LIKE]
    near = ", ".join(map(repr, get_close_matches(name, like, 5, 0.5) or names[:5]))
    expected = f"expected one of the model's {len(names)} {what}s (such as {near})"
    raise OptionError(Named(what), f": {expected}, found {name!r}")


def check_top(top: int | None) -> None:
    """Reject an invalid `top`."""
    if top is not None and (not isinstance(top, int) or top < 1):
        raise InputError(f"top: expected a positive integer, or None for all, found {top!r}")


def frame(rows: Iterable[tuple[Any, ...]], columns: Sequence[str]) -> Any:
    """A pandas.DataFrame of rows."""
    try:
        import pandas
    except ImportError:
        raise ImportError("to_frame needs the package pandas: pip install pandas") from None
    return pandas.DataFrame.from_records(list(rows), columns=list(columns))
