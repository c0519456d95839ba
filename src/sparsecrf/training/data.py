"""Labelled data prepared for training, once for any number of fits: penalties change, the data do not."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsecrf._core import Corpus, FeatureSet, InputError
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.shards import Shards, shards_of
from sparsecrf.shards.oracle import ShardedOracle
from sparsecrf.training.feature_sets import Floats, Numbers, WorkingSet, place_among, shared


class TrainingData:
    """A corpus, whole or in shards, with its oracle, its observed features and the space that a model chooses from."""

    def __init__(
        self,
        data: Corpus | Shards,
        *,
        observed_only: bool = False,
        features: Numbers | None = None,
        threads: int = 0,
        kernel: str = "auto",
    ) -> None:
        """The space is that of all features that can be formed; with `observed_only` of those that occur; or it is a
        list of `features` by ascending number."""
        self.shards = shards_of(data, threads, kernel)
        self.whole = data if isinstance(data, Corpus) else None
        self.threads = threads
        self.oracle = ShardedOracle(self.shards)
        #: The features that occur, ascending, and their counts.
        self.observed, self.observed_counts = self.oracle.observed()
        #: The features of the model, ascending; None: all of the virtual space.
        self.allowed: Numbers | None = self.observed if observed_only else None
        if features is not None:
            self.allowed = _checked(features, self.shards)
            if observed_only:
                raise InputError("features: expected either a list of them or observed_only, found both")

    @classmethod
    def of(cls, data: Corpus | Shards | TrainingData, **how: Any) -> TrainingData:
        """Prepared as `how` says; itself, if it was prepared before."""
        return data if isinstance(data, TrainingData) else cls(data, **how)

    @property
    def corpus(self) -> Corpus | Shards:
        """What was prepared."""
        return self.shards if self.whole is None else self.whole

    def n_features(self) -> int:
        """The size of the space."""
        return self.n_virtual() if self.allowed is None else len(self.allowed)

    def n_virtual(self) -> int:
        """How many features can be formed: labels of unigram attributes, pairs of bigram ones, after the start too."""
        return virtual_features(self.shards, self.oracle)

    def working_set(self, numbers: Numbers) -> WorkingSet:
        features = FeatureSet.from_numbers(self.shards.n_labels, self.shards.n_attributes, numbers)
        return WorkingSet(numbers, features, self.counts(numbers))

    def counts(self, numbers: Numbers) -> Floats:
        """C of these features."""
        place = place_among(numbers, self.observed)
        counts = np.zeros(len(numbers))
        counts[place >= 0] = self.observed_counts[place[place >= 0]]
        return counts

    def only_allowed(self, numbers: Numbers) -> Numbers:
        return numbers if self.allowed is None else shared(numbers, self.allowed)

    def uniform(self, numbers: Numbers) -> Floats:
        """E of these features under uniform labels, from the masses of the attributes: mass / Y or mass / Y^2."""
        unigram, start, inner = self.oracle.masses()
        n_labels, numbering = self.shards.n_labels, Numbering.of(self.shards)
        attribute, previous = numbering.attribute(numbers), numbering.previous(numbers)
        expected: Floats = np.where(previous >= 0, inner[attribute] / n_labels**2, unigram[attribute] / n_labels)
        expected = np.where(previous == n_labels, start[attribute] / n_labels, expected)
        return expected


def virtual_features(data: Corpus | Shards, oracle: ShardedOracle | None = None) -> int:
    """How many features can be formed: labels of unigram attributes, pairs of bigram ones, those of the start too."""
    Y = data.n_labels
    unigram, start, inner = (oracle or ShardedOracle(shards_of(data))).masses()
    pairs = Y * Y + (Y if (start > 0).any() else 0)
    return int((unigram > 0).sum()) * Y + int(((start > 0) | (inner > 0)).sum()) * pairs


def _checked(features: Numbers, data: Shards) -> Numbers:
    given = np.asarray(features)
    if given.ndim != 1 or (given.size and not np.issubdtype(given.dtype, np.integer)):
        raise InputError(
            f"features: expected one dimension of whole numbers, found shape {given.shape} of {given.dtype}"
        )
    numbers = np.ascontiguousarray(given, dtype=np.int64)
    FeatureSet.from_numbers(data.n_labels, data.n_attributes, numbers)  # throws unless ascending and in range
    return numbers
