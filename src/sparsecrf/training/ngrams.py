"""Label n-grams with three or more labels: their numbers, their counts, and the screening of the next length.

An attribute x has an unlimited number of n-grams (x, y_1 .. y_k), so they are numbered in order of first use
(`NgramTable`). Screening still covers all of them: another label in front can only lower expectation and count,

    E[x, b g] <= E[x, g],   C[x, b g] <= C[x, g],

so no extension of a string with max(E, C) <= rho1 can violate its condition |E - C| <= rho1, regardless of its length.
(Values must not be negative. A rho1 that grows with the length, as in `order_penalty`, only rules out more.) Screening
proceeds level by level. It extends only strings above rho1, and only by labels b for which C[x, b g] or a bound on E[x,
b g] exceeds rho1 (`Oracle.ngram_bounds`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import FeatureSet, InputError, LabelParts, NgramTable
from sparsecrf.compatibility import Capabilities, Trait
from sparsecrf.encoding.ngrams import Ngrams
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.shards.oracle import ShardedOracle
from sparsecrf.training.feature_sets import Floats, Numbers, WorkingSet

Ids = NDArray[np.int32]

_CELLS = 2**23  # number of bounds computed in one pass of a screening, which stores two numbers for each bound
_ROUNDED = 1.0 + 1e-9  # margin for rounding errors in sums of probabilities


class NgramSpace:
    """The n-grams of up to `order` labels (None means no limit) in a data set, each combined with one of the given
    attributes (None means all that condition label pairs)."""

    capabilities = Capabilities(
        frozenset({Trait.NGRAMS}),
        refuses={
            Trait.NO_L1: "then every label n-gram would have a weight",
            Trait.MISSING: "the gradients of label n-grams then have no bound",
            Trait.NEGATIVE: "the gradients of label n-grams then have no bound",
            Trait.LISTED: "",
        },
    )

    def __init__(
        self,
        numbering: Numbering,
        order: int | None,
        oracle: ShardedOracle,
        attributes: Sequence[int] | None = None,
        part_rows: LabelParts | None = None,
    ) -> None:
        self.numbering, self.order, self._oracle, self._part_rows = numbering, order, oracle, part_rows
        self._conditions = _mask(numbering.n_attributes, attributes)  # [X]
        #: Whether strings may begin with the start label. With `start=False` they may not, since first positions then
        #: have no pair.
        self._has_start = bool((oracle.masses(absolute=True)[1] > 0).any())
        self.table = NgramTable(numbering.n_labels)
        self._counts: Floats = np.empty(0)  # counts of the n-grams by index in the table
        self._lengths: Ids = np.empty(0, dtype=np.int32)  # number of labels by index in the table

    def numbers(self, ngrams: Ngrams) -> Numbers:
        """The numbers of these n-grams, in order. New n-grams get the next numbers and are counted."""
        numbers: Numbers = self.numbering.first_ngram + self.table.add(*ngrams)
        first, last = self.numbering.first_ngram + len(self._counts), self.numbering.first_ngram + len(self.table)
        if first < last:
            new = np.arange(first, last)
            features = self._features(new)
            self._counts = np.concatenate([self._counts, self._oracle.counts(features)])
            self._lengths = np.concatenate([self._lengths, Ngrams.of(features).length])
        return numbers

    def fingerprint(self) -> str:
        """A hash of the attributes that condition n-grams."""
        return hashlib.sha256(np.packbits(self._conditions).tobytes()).hexdigest()

    def first(self, n: int) -> Ngrams:
        """The first n label n-grams of the table."""
        return self.of(self.numbering.first_ngram + np.arange(n))

    def of(self, numbers: Numbers) -> Ngrams:
        """The n-grams with these numbers."""
        return Ngrams.of(self._features(numbers))

    def _features(self, numbers: Numbers) -> FeatureSet:
        n_labels, n_attributes = self.numbering.n_labels, self.numbering.n_attributes
        return FeatureSet.from_numbers(n_labels, n_attributes, numbers, self.table, self._part_rows)

    def counts(self, numbers: Numbers) -> Floats:
        """The counts C of n-grams."""
        counts: Floats = self._counts[numbers - self.numbering.first_ngram]
        return counts

    def lengths(self, numbers: Numbers) -> Ids:
        """The number of labels of each n-gram."""
        lengths: Ids = self._lengths[numbers - self.numbering.first_ngram]
        return lengths

    def longer(
        self, known: WorkingSet, w: Floats, g: Floats, n_labels: int, threshold: float
    ) -> tuple[Numbers, Floats | None]:
        """The numbers of all n-grams with n_labels labels that could violate their condition at w, given the gradient g
        of all features with one label fewer whose max(E, C) exceeds the threshold. If the core has computed their E,
        also return their gradient, which is valid for n-grams outside `known`."""
        Y = self.numbering.n_labels
        attribute, strings, place = self._of_length(known, n_labels - 1)
        above = (
            (np.maximum(g + known.counts, known.counts)[place] > threshold)
            & (strings[:, 0] < Y)
            & self._conditions[attribute]
        )
        attribute, strings, place = attribute[above], strings[above], place[above]
        found_x, found = [np.empty(0, dtype=np.int32)], [np.empty((0, n_labels), dtype=np.int32)]
        expected, exact = [np.empty(0)], True
        at_once = max(1, _CELLS // (Y + 1))
        for first in range(0, len(place), at_once):
            chosen = slice(first, first + at_once)
            bounds, counts, n_bounded = self._oracle.ngram_bounds(known.feature_set, w, place[chosen])
            fronts = Y + 1 if self._has_start else Y
            row, front = np.nonzero(np.maximum(bounds * _ROUNDED, counts)[:, :fronts] > threshold)
            exact = exact and n_bounded == 0
            expected.append(bounds[row, front])
            found_x.append(attribute[chosen][row])
            found.append(np.concatenate([front[:, None].astype(np.int32), strings[chosen][row]], axis=1))
        x, labels = np.concatenate(found_x), np.concatenate(found)
        if not len(x):
            return np.empty(0, dtype=np.int64), None
        length = np.full(len(x), n_labels, dtype=np.int32)
        numbers = self.numbers(Ngrams(x, length, np.ascontiguousarray(labels.ravel())))
        order = np.argsort(numbers)
        numbers = numbers[order]
        return numbers, np.concatenate(expected)[order] - self.counts(numbers) if exact else None

    def _of_length(self, known: WorkingSet, n: int) -> tuple[Ids, Ids, Numbers]:
        """The attributes, labels [., n] and indices in the set of the features with n >= 2 labels."""
        features = known.feature_set
        if n == 2:
            place = np.arange(features.n_unigram, features.n_unigram + features.n_bigram)
            strings = np.stack([features.bigram_previous, features.bigram_label], axis=1)
            return features.bigram_attribute, strings, place
        ngrams = Ngrams.of(features)
        chosen = np.flatnonzero(ngrams.length == n)
        first = (np.cumsum(ngrams.length) - ngrams.length)[chosen]
        labels = ngrams.labels[first[:, None] + np.arange(n)]
        return ngrams.attribute[chosen], labels, chosen + features.n_unigram + features.n_bigram


def _mask(n_attributes: int, attributes: Sequence[int] | None) -> NDArray[np.bool_]:
    """[X] whether an attribute conditions n-grams."""
    if attributes is None:
        return np.ones(n_attributes, dtype=np.bool_)
    given = np.asarray(attributes)
    if given.ndim != 1 or (given.size and not np.issubdtype(given.dtype, np.integer)):
        raise InputError(f"ngram_attributes: expected integers, found shape {given.shape} of {given.dtype}")
    if given.size and not (given.min() >= 0 and given.max() < n_attributes):
        wrong = given[(given < 0) | (given >= n_attributes)][0]
        raise InputError(f"ngram_attributes: expected numbers from 0 to {n_attributes - 1}, found {wrong}")
    mask = np.zeros(n_attributes, dtype=np.bool_)
    mask[given.astype(np.int64)] = True
    return mask
