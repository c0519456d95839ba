"""Labelled data prepared for training, once for any number of fits with different penalties."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from sparsecrf._core import Corpus, FeatureSet, InputError
from sparsecrf.compatibility import Choice, Trait, check_compatible, has
from sparsecrf.defaults import ORDER
from sparsecrf.encoding.label_parts import CLASS_PAIRS, PARTS, LabelParts
from sparsecrf.encoding.ngrams import Ngrams
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.shards import Shards, shards_of
from sparsecrf.shards.oracle import ShardedOracle
from sparsecrf.training.feature_sets import Floats, Numbers, WorkingSet, matches, shared
from sparsecrf.training.ngrams import NgramSpace

#: Maximum number C of classes if there are features for class pairs. A pass keeps C^2 probabilities for each position
#: of a block: with 200 classes and 256 positions, 80 MB per thread.
_MOST_CLASSES = 200


class TrainingData:
    """A corpus, whole or in shards, with its oracle, its observed features and the feature space."""

    def __init__(
        self,
        data: Corpus | Shards,
        *,
        observed_only: bool = False,
        numbers: Numbers | None = None,
        order: int | None = ORDER,
        ngram_attributes: Sequence[int] | None = None,
        parts: LabelParts | None = None,
        threads: int = 0,
        kernel: str = "auto",
    ) -> None:
        """The feature space consists of all possible features with at most `order` labels (None means no limit).
        Features with more than two labels use the attributes `ngram_attributes` (ids; None means all that condition
        label pairs). `observed_only` restricts the space to features that occur, `numbers` (ascending) to the listed
        features. With `parts`, there are also features for label parts."""
        self.shards = shards_of(data, threads, kernel)
        self.whole = data if isinstance(data, Corpus) else None
        self.threads = threads
        #: Label parts, and their representation in the core; None means no parts.
        self.parts = parts if parts is None else _checked_parts(parts, self.shards)
        self.part_rows = None if self.parts is None else self.parts.core
        self.oracle = ShardedOracle(self.shards, self.part_rows)
        #: The features that occur, in ascending order, and their counts.
        self.observed, self.observed_counts = self.oracle.observed()
        #: The features of the model, in ascending order; None means the whole virtual space.
        self.allowed: Numbers | None = self.observed if observed_only else None
        if numbers is not None:
            self.allowed = _checked(numbers, self.shards)
            if observed_only:
                self.allowed = shared(self.allowed, self.observed)
            if np.array_equal(self.allowed, self.observed):
                self.allowed = self.observed  # the same array, not a copy
        #: Features of dense columns, in ascending order. They occur at every position and are never screened.
        self.dense = _dense_features(self.whole)
        self.order, self.observed_only = _checked_order(order), observed_only
        #: Features with three or more labels, or None.
        self.ngrams: NgramSpace | None = None
        #: Properties of the data and of the feature space that restrict which options can be used.
        self.choices = self._choices(listed=numbers is not None)
        check_compatible(self.choices)
        if self.order != 2:
            self.ngrams = NgramSpace(self.numbering, self.order, self.oracle, ngram_attributes, self.part_rows)

    @classmethod
    def of(cls, data: Corpus | Shards | TrainingData, **how: Any) -> TrainingData:
        """Prepare data with the options `how`; return data that are already prepared unchanged."""
        return data if isinstance(data, TrainingData) else cls(data, **how)

    def _choices(self, listed: bool) -> list[Choice]:
        found = []
        if self.order != 2:
            found.append(Choice("order", self.order, NgramSpace.capabilities))
        if self.parts is not None:
            found.append(Choice("label_parts", ..., PARTS))
            if self.parts.classes:
                found.append(Choice("class_pairs", ..., CLASS_PAIRS))
        traits = {
            Trait.LISTED: listed,
            Trait.DENSE: len(self.dense) > 0,
            Trait.MISSING: self.shards.n_missing > 0,
            Trait.TOKEN_WEIGHTS: self.shards.n_missing == 0 and not self.oracle.all_labels_count,
            Trait.NEGATIVE: self.shards.n_missing == 0 and not self.oracle.signs_agree,
            Trait.SEVERAL_SHARDS: len(self.shards.workers) > 1,
            Trait.SHARDS: self.whole is None,
        }
        return found + [Choice("", trait.title, has(trait)) for trait, is_there in traits.items() if is_there]

    @property
    def numbering(self) -> Numbering:
        """The numbering of the features."""
        return Numbering.with_parts(self.shards.n_labels, self.shards.n_attributes, self.parts)

    @property
    def corpus(self) -> Corpus | Shards:
        """The prepared data."""
        return self.shards if self.whole is None else self.whole

    def n_features(self) -> int:
        """The size of the feature space."""
        return self.n_virtual() if self.allowed is None else len(self.allowed)

    def n_virtual(self) -> int:
        """The number of possible features with at most two labels: unigram attributes with labels, and bigram
        attributes with label pairs, including pairs with the start label. Longer label n-grams, whose number is
        unlimited, are not counted."""
        return virtual_features(self.shards, self.oracle, self.parts)

    def working_set(self, numbers: Numbers) -> WorkingSet:
        table = None if self.ngrams is None else self.ngrams.table
        features = FeatureSet.from_numbers(
            self.shards.n_labels, self.shards.n_attributes, numbers, table, self.part_rows
        )
        return WorkingSet(numbers, features, self.counts(numbers))

    def counts(self, numbers: Numbers) -> Floats:
        """The counts C of these features."""
        if numbers is self.observed:
            return self.observed_counts
        here, there = matches(numbers, self.observed)
        counts = np.zeros(len(numbers))
        counts[here] = self.observed_counts[there]
        if self.ngrams is not None:
            first = int(np.searchsorted(numbers, self.ngrams.numbering.first_ngram))
            counts[first:] = self.ngrams.counts(numbers[first:])
        return counts

    def only_allowed(self, numbers: Numbers) -> Numbers:
        if self.allowed is None:
            return numbers
        if self.ngrams is None:
            return shared(numbers, self.allowed)
        first = int(np.searchsorted(numbers, self.ngrams.numbering.first_ngram))
        longer = numbers[first:]
        return np.concatenate([shared(numbers[:first], self.allowed), longer[self.ngrams.counts(longer) > 0]])

    def units(self, known: WorkingSet) -> Floats | float:
        """The size of the values of each feature's attribute [K]: weights are of the order of 1 / unit, gradients of
        the order of unit, curvature of unit^2. 1.0 if every value is 1."""
        sizes = self.oracle.value_sizes
        if sizes is None:
            return 1.0
        n_pairs = known.size - known.feature_set.n_ngram
        attribute = self.numbering.attribute(known.numbers[:n_pairs])
        of_unigram, of_pairs = sizes
        units: Floats = np.where(
            known.numbers[:n_pairs] < self.numbering.first_bigram, of_unigram[attribute], of_pairs[attribute]
        )
        if known.feature_set.n_ngram:
            units = np.concatenate([units, of_pairs[Ngrams.of(known.feature_set).attribute]])
        return units

    def uniform(self, numbers: Numbers) -> Floats:
        """The expectations E of these features under uniform labels, from the masses of the attributes: mass / Y for a
        label and for a pair with the start label, mass / Y^2 for any other pair, multiplied by the number of labels
        with a part, or of label pairs in a pair of classes."""
        unigram, start, inner = self.oracle.masses()
        n_labels, numbering = self.shards.n_labels, self.numbering
        attribute, previous = numbering.attribute(numbers), numbering.previous(numbers)
        expected: Floats = np.where(previous >= 0, inner[attribute] / n_labels**2, unigram[attribute] / n_labels)
        expected = np.where(previous == n_labels, start[attribute] / n_labels, expected)
        if self.parts is not None:
            label = numbering.label(numbers)
            expected = expected * np.where(previous < 0, np.array([*[1] * n_labels, *self.parts.sizes])[label], 1)
        if self.parts is not None and self.parts.classes:  # multiplied by the number of label pairs in two classes
            of_class = np.bincount(self.parts.classes, minlength=numbering.cells)
            before = np.insert(of_class, n_labels, 1)  # the start label
            many = of_class[label] * before[np.maximum(previous, 0)]
            expected = np.where(numbers >= numbering.first_class, expected * many, expected)
        return expected


def _dense_features(corpus: Corpus | None) -> Numbers:
    if corpus is None or corpus.n_dense == 0:
        return np.empty(0, dtype=np.int64)
    labels = np.arange(corpus.n_labels)
    return np.sort(Numbering.of(corpus).unigram(np.asarray(corpus.dense_attributes)[:, None], labels).ravel())


def virtual_features(
    data: Corpus | Shards, oracle: ShardedOracle | None = None, parts: LabelParts | None = None
) -> int:
    """The number of possible features: unigram attributes with labels and their parts, and bigram attributes with pairs
    of labels and pairs of classes, including pairs with the start label."""
    Y, n_parts = data.n_labels, 0 if parts is None else len(parts.names)
    unigram, start, inner = (oracle or ShardedOracle(shards_of(data))).masses(absolute=True)
    has_start = bool((start > 0).any())
    pairs = Y * Y + (Y if has_start else 0)
    pairs += 0 if parts is None else parts.n_class_pairs(start=has_start)
    return int((unigram > 0).sum()) * (Y + n_parts) + int((start + inner > 0).sum()) * pairs


def _checked_parts(parts: LabelParts, data: Shards) -> LabelParts:
    if len(parts.of_labels) != data.n_labels:
        raise InputError(f"parts: expected parts for {data.n_labels} labels, found parts for {len(parts.of_labels)}")
    if (found := len(parts.class_cells)) > _MOST_CLASSES:
        raise InputError(
            f"class_pairs: expected at most {_MOST_CLASSES} classes, found {found}: labels with the same first part "
            "form a class, and a label whose first part is unique forms a class of its own"
        )
    return parts


def _checked_order(order: int | None) -> int | None:
    if order is not None and (isinstance(order, bool) or not isinstance(order, Integral) or order < 2):
        raise InputError(f"order: expected an integer >= 2, or None for no limit, found {order!r}")
    return None if order is None else int(order)


def _checked(numbers: Numbers, data: Shards) -> Numbers:
    given = np.asarray(numbers)
    if given.ndim != 1 or (given.size and not np.issubdtype(given.dtype, np.integer)):
        raise InputError(
            f"numbers: expected a one-dimensional array of integers, found shape {given.shape} of {given.dtype}"
        )
    numbers = np.ascontiguousarray(given, dtype=np.int64)
    # raises an error unless the numbers are ascending and in range
    FeatureSet.from_numbers(data.n_labels, data.n_attributes, numbers)
    return numbers
