"""Label n-grams of three labels and more: their numbers, their counts, and the next level of a screening.

Every attribute that conditions label pairs conditions n-grams (x, y_1 .. y_k) too, up to `order` labels. There is no
end to them, so they are numbered as they are met (`NgramTable`). Nothing is lost by that: a label more in front can
only lower expectation and count,

    E[x, b g] <= E[x, g],   C[x, b g] <= C[x, g],

so below a string with max(E, C) <= rho1 no string can violate its condition |E - C| <= rho1, whatever its length
(values must not be negative). Screening goes from level to level and extends only strings above rho1. Where there is an
attribute p of value 1 at every position, the labels without the last one count as well: E[x, c a] <= v E[p, c], with v
the largest value of x.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import Corpus, FeatureSet, NgramTable
from sparsecrf.encoding.ngrams import Ngrams
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.shards.oracle import ShardedOracle
from sparsecrf.training.feature_sets import Floats, Numbers, WorkingSet

Ids = NDArray[np.int32]


class NgramSpace:
    """The label n-grams of some training data, up to `order` labels (None: no limit)."""

    def __init__(self, numbering: Numbering, order: int | None, oracle: ShardedOracle, corpus: Corpus | None) -> None:
        self.numbering, self.order, self._oracle, self._corpus = numbering, order, oracle, corpus
        self.table = NgramTable(numbering.n_labels)
        self._counts: Floats = np.empty(0)  # by place in the table

    def numbers(self, ngrams: Ngrams) -> Numbers:
        """The numbers of these n-grams, in their order; new ones get the next, and are counted."""
        numbers: Numbers = self.numbering.first_ngram + self.table.add(*ngrams)
        first, last = self.numbering.first_ngram + len(self._counts), self.numbering.first_ngram + len(self.table)
        if first < last:
            new = np.arange(first, last)
            features = FeatureSet.from_numbers(self.numbering.n_labels, self.numbering.n_attributes, new, self.table)
            self._counts = np.concatenate([self._counts, self._oracle.counts(features)])
        return numbers

    def counts(self, numbers: Numbers) -> Floats:
        """C of n-grams."""
        counts: Floats = self._counts[numbers - self.numbering.first_ngram]
        return counts

    def longer(self, known: WorkingSet, expected: Floats, n_labels: int, threshold: float) -> Numbers:
        """Numbers of all n-grams of n_labels that could violate their condition, given E of all features of one label
        less with max(E, C) above the threshold."""
        Y = self.numbering.n_labels
        attribute, strings, place = self._of_length(known, n_labels - 1)
        above = np.maximum(expected, known.counts)[place] > threshold
        attribute, strings = attribute[above], strings[above]
        # (p, c) for prefixes: at least one of the strings of p above the threshold.
        plain = self._plain
        prefixes = None if plain is None else _keys(strings[attribute == plain[0]], Y)
        inner = strings[:, 0] < Y
        attribute, strings = attribute[inner], strings[inner]
        found_x, found = [], []
        for b in range(Y + 1 if self._starts else Y):
            longer = np.concatenate([np.full((len(strings), 1), b, dtype=np.int32), strings], axis=1)
            keep = np.ones(len(longer), dtype=np.bool_)
            if plain is not None and prefixes is not None:
                keep = np.isin(_keys(longer[:, :-1], Y), prefixes) | (plain[1][attribute] > 1.0)
            found_x.append(attribute[keep])
            found.append(longer[keep])
        x, labels = np.concatenate(found_x), np.concatenate(found)
        if not len(x):
            return np.empty(0, dtype=np.int64)
        length = np.full(len(x), n_labels, dtype=np.int32)
        return np.sort(self.numbers(Ngrams(x, length, np.ascontiguousarray(labels.ravel()))))

    def _of_length(self, known: WorkingSet, n: int) -> tuple[Ids, Ids, Numbers]:
        """Attribute, labels [., n] and place in the set of the features of n >= 2 labels."""
        features = known.features
        if n == 2:
            place = np.arange(features.n_unigram, features.n_unigram + features.n_bigram)
            strings = np.stack([features.bigram_previous, features.bigram_label], axis=1)
            return features.bigram_attribute, strings, place
        ngrams = Ngrams.of(features)
        chosen = np.flatnonzero(ngrams.length == n)
        first = (np.cumsum(ngrams.length) - ngrams.length)[chosen]
        labels = ngrams.labels[first[:, None] + np.arange(n)]
        return ngrams.attribute[chosen], labels, chosen + features.n_unigram + features.n_bigram

    @cached_property
    def _starts(self) -> bool:
        """Whether there are features after the start label."""
        return bool((self._oracle.masses()[1] > 0).any())

    @cached_property
    def _plain(self) -> tuple[int, Floats] | None:
        """An attribute of value 1 at every position, and the largest value of each attribute; None: there is none, or
        it is not known."""
        if self._corpus is None:
            return None
        arrays = self._corpus.to_arrays()
        attribute, value = np.asarray(arrays["bigram_id"]), np.asarray(arrays["bigram_value"])
        largest = np.zeros(self.numbering.n_attributes)
        np.maximum.at(largest, attribute, value)
        ones = np.bincount(attribute[value == 1.0], minlength=self.numbering.n_attributes)
        # Without a start label the first positions have no bigram attributes.
        least = self._corpus.n_tokens - (0 if self._starts else self._corpus.n_sequences)
        everywhere = np.flatnonzero(ones >= least)
        return (int(everywhere[0]), largest) if len(everywhere) else None


def _keys(strings: Ids, n_labels: int) -> NDArray[np.void]:
    """Rows as single values that can be compared."""
    rows = np.ascontiguousarray(strings)
    return rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
