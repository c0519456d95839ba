"""How the features of the virtual space are numbered: the Python twin of cpp/core/corpus/numbering.hpp.

With Y labels and X attributes there are X Y unigram features (x, y), then X (Y + 1) Y bigram features (x, y', y), where
y' = Y is the start label:

    (x, y)      x Y + y
    (x, y', y)  X Y + (x (Y + 1) + y') Y + y

Ascending numbers are the canonical order of features. Where labels have P parts (`label_parts.py`), unigram rows have
Y + P cells: the feature of part j is (x, Y + j), and Y + P takes the place of Y in x Y and X Y.
Label n-grams (x, y_1 .. y_k), k >= 3, are numbered from `first_ngram` on, by their place in a table
(`training/ngrams.py`); the methods below that take numbers are for features of one and two labels.

Arithmetic works on Python's integers and on arrays alike; NumPy is imported where arrays are made, because a model can
be loaded without it.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Numbering(NamedTuple):
    """The numbers of the features of so many labels and attributes."""

    n_labels: int  #: Y
    n_attributes: int  #: X
    n_parts: int = 0  #: P

    @classmethod
    def of(cls, data: Any) -> Numbering:
        """That of a corpus, of shards, or of a set of features."""
        return cls(data.n_labels, data.n_attributes, getattr(data, "n_parts", 0))

    @property
    def cells(self) -> int:
        """How many unigram features an attribute has, those of parts of labels included."""
        return self.n_labels + self.n_parts

    @property
    def pairs(self) -> int:
        """How many label pairs an attribute has, those after the start included."""
        return (self.n_labels + 1) * self.n_labels

    @property
    def first_bigram(self) -> int:
        """The number of the first bigram feature: all below are unigram features."""
        return self.n_attributes * self.cells

    @property
    def first_ngram(self) -> int:
        """The number of the first label n-gram: all below are unigram and bigram features."""
        return self.first_bigram + self.n_attributes * self.pairs

    def unigram(self, x: Any, y: Any) -> Any:
        """The number of (x, y); y = Y + j is part j."""
        return x * self.cells + y

    def bigram(self, x: Any, previous: Any, y: Any) -> Any:
        """The number of (x, previous, y); previous = Y is the start."""
        return self.first_bigram + (x * (self.n_labels + 1) + previous) * self.n_labels + y

    def label(self, numbers: Any) -> Any:
        """y of each feature of an array; Y + j for part j."""
        import numpy as np

        bigram = numbers - self.first_bigram
        return np.where(bigram >= 0, bigram % self.n_labels, numbers % self.cells)

    def attribute(self, numbers: Any) -> Any:
        """x of each feature of an array."""
        import numpy as np

        bigram = numbers - self.first_bigram
        return np.where(bigram >= 0, bigram // self.pairs, numbers // self.cells)

    def previous(self, numbers: Any) -> Any:
        """y' of each feature of an array; -1 for unigram features."""
        import numpy as np

        bigram = numbers - self.first_bigram
        return np.where(bigram >= 0, bigram % self.pairs // self.n_labels, -1)

    def block(self, numbers: Any) -> Any:
        """The block of each feature of an array: x for its unigram features, X + x for its bigram features."""
        import numpy as np

        bigram = numbers - self.first_bigram
        return np.where(bigram >= 0, self.n_attributes + bigram // self.pairs, numbers // self.cells)

    def unigram_of(self, bigrams: Any) -> Any:
        """The number of (x, y) for numbers of (x, y', y)."""
        return self.unigram((bigrams - self.first_bigram) // self.pairs, self.label(bigrams))

    def moved(self, numbers: Any, place: Any, n_attributes: int) -> Any:
        """The numbers of the same features when their attributes become `place` (one for each number) of so many."""
        import numpy as np

        new, y, previous = self._replace(n_attributes=n_attributes), self.label(numbers), self.previous(numbers)
        return np.where(previous >= 0, new.bigram(place, previous, y), new.unigram(place, y))
