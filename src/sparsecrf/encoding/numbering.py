"""The numbering of the features of the virtual space, as in cpp/core/corpus/numbering.hpp.

With Y labels and X attributes there are X Y unigram features (x, y), then X (Y + 1) Y bigram features (x, y', y), where
y' = Y is the start label:

    (x, y)      x Y + y
    (x, y', y)  X Y + (x (Y + 1) + y') Y + y

Ascending numbers are the canonical order of features. If labels have P parts (`label_parts.py`), unigram rows have Y +
P cells: the feature of part j is (x, Y + j), and Y + P takes the place of Y in x Y and X Y. If labels have C classes,
the numbers of X (C + 1) C features of class pairs follow, in the same order as for bigram features. A class is
identified by its cell, which is a label y or a part Y + j; as a previous label, part j is Y + 1 + j, since Y is the
start. Label n-grams (x, y_1 .. y_k), k >= 3, are numbered from `first_ngram` on, by their place in a table
(`training/ngrams.py`); the methods below that take numbers are for features of one and two labels.

The arithmetic works on Python integers and on arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sparsecrf.encoding.label_parts import LabelParts
from sparsecrf.lazy import np


class Numbering(NamedTuple):
    """The numbers of features, for given numbers of labels and attributes."""

    n_labels: int  #: Y
    n_attributes: int  #: X
    n_parts: int = 0  #: P
    classes: tuple[int, ...] = ()  #: [C] the cells of the classes of labels, in ascending order

    @classmethod
    def of(cls, data: Any) -> Numbering:
        """The numbering of a corpus, of shards, or of a feature set."""
        classes = tuple(getattr(data, "class_cells", ()))
        return cls(data.n_labels, data.n_attributes, getattr(data, "n_parts", 0), classes)

    @classmethod
    def with_parts(cls, n_labels: int, n_attributes: int, parts: LabelParts | None) -> Numbering:
        """The numbering for labels with these parts; None means no parts."""
        return cls(n_labels, n_attributes, *(() if parts is None else (len(parts.names), parts.class_cells)))

    @property
    def cells(self) -> int:
        """The number of unigram features of an attribute, including features of label parts."""
        return self.n_labels + self.n_parts

    @property
    def pairs(self) -> int:
        """The number of label pairs of an attribute, including pairs after the start."""
        return (self.n_labels + 1) * self.n_labels

    @property
    def class_pairs(self) -> int:
        """The number of class pairs of an attribute, including pairs after the start."""
        return (len(self.classes) + 1) * len(self.classes)

    @property
    def first_bigram(self) -> int:
        """The number of the first bigram feature; unigram features have smaller numbers."""
        return self.n_attributes * self.cells

    @property
    def first_class(self) -> int:
        """The number of the first feature of a class pair; features of labels and label pairs have smaller numbers."""
        return self.first_bigram + self.n_attributes * self.pairs

    @property
    def first_ngram(self) -> int:
        """The number of the first label n-gram; all other features have smaller numbers."""
        return self.first_class + self.n_attributes * self.class_pairs

    def unigram(self, x: Any, y: Any) -> Any:
        """The number of (x, y); y = Y + j is part j."""
        return x * self.cells + y

    def bigram(self, x: Any, previous: Any, y: Any) -> Any:
        """The number of (x, previous, y); previous = Y is the start."""
        return self.first_bigram + (x * (self.n_labels + 1) + previous) * self.n_labels + y

    def class_pair(self, x: Any, previous: Any, y: Any) -> Any:
        """The number of (x, previous, y) for two classes, given by their indices in `classes`; previous = C is the
        start."""
        C = len(self.classes)
        return self.first_class + (x * (C + 1) + previous) * C + y

    def _taken_apart(self, numbers: Any) -> tuple[Any, Any, Any]:
        """For each feature of an array: its kind (0: label, 1: pair, 2: pair of classes), x, and its index among the
        features of this kind and attribute."""
        numbers = np.asarray(numbers)
        kind = np.asarray(numbers >= self.first_bigram, np.int8)
        if self.classes:
            kind = kind + (numbers >= self.first_class)
        first = np.array([0, self.first_bigram, self.first_class])
        width = np.maximum([self.cells, self.pairs, self.class_pairs], 1)
        x, cell = np.divmod(numbers - first[kind], width[kind])
        return kind, x, cell

    def label(self, numbers: Any) -> Any:
        """y of each feature of an array; Y + j for part j."""
        kind, _, cell = self._taken_apart(numbers)
        of_class = np.array([*self.classes, 0])[cell % max(len(self.classes), 1)]
        return np.select([kind == 0, kind == 1], [cell, cell % self.n_labels], of_class)

    def attribute(self, numbers: Any) -> Any:
        """x of each feature of an array."""
        return self._taken_apart(numbers)[1]

    def previous(self, numbers: Any) -> Any:
        """y' of each feature of an array; -1 for unigram features, Y + 1 + j for part j."""
        kind, _, cell = self._taken_apart(numbers)
        Y, C = self.n_labels, max(len(self.classes), 1)
        names = np.array([*(c if c < Y else c + 1 for c in self.classes), Y])  # the last is the start
        return np.select([kind == 0, kind == 1], [-1, cell // Y], names[np.minimum(cell // C, len(self.classes))])

    def block(self, numbers: Any) -> Any:
        """The block of each feature of an array: x for unigram features of attribute x, X + x for its bigram
        features."""
        kind, x, _ = self._taken_apart(numbers)
        return np.where(kind > 0, self.n_attributes + x, x)

    def unigram_of(self, bigrams: Any) -> Any:
        """The numbers of the features (x, y) for an array of numbers of (x, y', y)."""
        return self.unigram(self.attribute(bigrams), self.label(bigrams))

    def moved(self, numbers: Any, place: Any, n_attributes: int) -> Any:
        """The numbers of the same features after their attributes are renumbered to `place` (one entry for each
        number), out of `n_attributes` attributes."""
        kind, _, cell = self._taken_apart(numbers)
        new = self._replace(n_attributes=n_attributes)
        first, width = (0, new.first_bigram, new.first_class), (self.cells, self.pairs, self.class_pairs)
        return np.array(first)[kind] + place * np.array(width)[kind] + cell
