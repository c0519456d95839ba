"""Label n-grams (attribute, y_1 .. y_k), k >= 3, stored as arrays for fits and model files."""

from __future__ import annotations

from typing import Any, NamedTuple

from sparsecrf._core import FeatureSet, NgramTable
from sparsecrf.lazy import np


class Ngrams(NamedTuple):
    """A set of label n-grams. The label Y is the start; it can only be the first."""

    attribute: Any  #: int32[n]
    length: Any  #: int32[n] number of labels
    labels: Any  #: int32[sum of the lengths] one n-gram after the other

    @classmethod
    def none(cls) -> Ngrams:
        return cls(*(np.empty(0, dtype=np.int32) for _ in range(3)))

    @classmethod
    def of(cls, features: FeatureSet) -> Ngrams:
        """The n-grams of a feature set, in its order."""
        return cls(*features.ngrams)

    def __bool__(self) -> bool:
        return len(self.attribute) > 0

    def table(self, n_labels: int) -> NgramTable | None:
        """A table in which n-gram k has index k; None without n-grams."""
        if not self:
            return None
        table = NgramTable(n_labels)
        table.add(*self)
        return table

    def strings(self) -> list[tuple[int, ...]]:
        """The labels of each n-gram."""
        ends = np.cumsum(self.length)
        return [tuple(self.labels[end - n : end].tolist()) for n, end in zip(self.length, ends, strict=True)]

    def where(self, kept: Any) -> Ngrams:
        """The n-grams selected by a mask, in order."""
        return Ngrams(self.attribute[kept], self.length[kept], self.labels[np.repeat(kept, self.length)])
