"""The queries of an `Oracle`, for data in shards.

Loss, gradient, curvature and masses are sums. The caller passes the counts only to the first shard, so that the answers
of all shards add up to E - C. With a single shard, the answer equals the answer of its oracle.

Screening needs the sums A and B over all shards (derivation: screen.hpp in the core). With M the mass of an attribute
in all shards and m_s its mass in shard s, a shard reports the sums a_s that exceed a fraction c of its share of the
bound, c b m_s / M. An unreported sum is at most this large, so

    sum_s a_s <= sum_{s reported} a_s + c b (1 - sum_{s reported} m_s / M)

and the sum of a cell can exceed b only if the right side does. A shard returns only these cells, with two values
each.
"""

from __future__ import annotations

import copyreg
from typing import Any

import numpy as np

from sparsecrf._core import FeatureSet, LabelParts
from sparsecrf.encoding.ngrams import Ngrams
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.lazy import lazy
from sparsecrf.shards.protocol import Floats, Numbers
from sparsecrf.shards.shards import Shard, Shards, Sparse, add, unite

#: The fraction c. A smaller c means that shards send more values and that screening returns fewer false candidates.
FRACTION = 0.5


# ---- Feature sets in messages to other processes, sent as their numbers, label n-grams and label parts


def _as_numbers(features: FeatureSet) -> tuple[Any, ...]:
    """The function and arguments that pickle stores for a feature set."""
    numbers, ngrams = features.numbers, None
    if features.n_ngram:  # the n-grams renumbered in the same order, since a process needs only these
        ngrams, first = Ngrams.of(features), Numbering.of(features).first_ngram
        numbers[len(numbers) - features.n_ngram :] = first + np.arange(features.n_ngram)
    return feature_set, (features.n_labels, features.n_attributes, numbers, ngrams, _sent(features.parts))


copyreg.pickle(FeatureSet, _as_numbers)


def feature_set(
    n_labels: int, n_attributes: int, numbers: Numbers, ngrams: Ngrams | None, parts: tuple[Any, ...] | None
) -> FeatureSet:
    """Restore a pickled feature set. `parts`: the number of label parts, the parts of each label, and its class, if
    any."""
    # Align arrays, since arrays in a message from another process may not be aligned.
    table = None if ngrams is None else Ngrams(*map(_aligned, ngrams)).table(n_labels)
    rows = None if parts is None else LabelParts(parts[0], *map(_aligned, parts[1:]))
    return FeatureSet.from_numbers(n_labels, n_attributes, _aligned(numbers), table, rows)


def _aligned(array: Any) -> Any:
    return np.require(array, requirements="A")


def _sent(parts: LabelParts | None) -> tuple[Any, ...] | None:
    """The arguments from which `feature_set` builds the parts of labels, and their classes if they have any."""
    if parts is None:
        return None
    rows = [parts.of(y) for y in range(parts.n_labels)]
    ptr = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    sent = parts.n_parts, ptr, np.array([j for row in rows for j in row], dtype=np.int32)
    cells = parts.class_cells
    return (*sent, np.array(cells, dtype=np.int32)[parts.class_of]) if cells else sent


# ---- Queries to a shard; `Workers.total` sends them


def masses(shard: Shard, absolute: bool) -> tuple[Floats, ...]:
    return shard.oracle.masses(absolute)


def value_logs(shard: Shard) -> tuple[Floats, ...]:
    return shard.oracle.value_logs()


def has_values(shard: Shard) -> tuple[int]:
    """The number of shards that have values other than 1."""
    return (int(shard.corpus.has_values),)


def signs_agree(shard: Shard) -> tuple[int]:
    """The number of shards for which `Oracle.signs_agree` is false."""
    return (int(not shard.oracle.signs_agree),)


def signs_agree_in_lists(shard: Shard) -> tuple[int]:
    """Like `signs_agree`, but without dense columns."""
    return (int(not getattr(shard.oracle, "signs_agree_in_lists", shard.oracle.signs_agree)),)


def not_all_labels_count(shard: Shard) -> tuple[int]:
    """The number of shards that have missing labels or token weights."""
    return (int(not shard.corpus.all_labels_count),)


def observed(shard: Shard, *empty: FeatureSet) -> Sparse:
    """`empty`: a feature set without features that holds the parts of labels, if they have any."""
    parts = (features.parts for features in empty)
    features = FeatureSet.observed(shard.corpus, *parts, threads=shard.threads)
    return Sparse(features.numbers, shard.oracle.counts(features)[np.newaxis])


def virtual(shard: Shard, *empty: FeatureSet) -> Sparse:
    numbers = FeatureSet.all_virtual(shard.corpus, *(features.parts for features in empty)).numbers
    return Sparse(numbers, np.empty((0, len(numbers))))


def counts(shard: Shard, features: FeatureSet) -> tuple[Floats]:
    return (np.asarray(shard.oracle.counts(features)).copy(),)


def loss_grad(shard: Shard, features: FeatureSet, w: Floats, counts: Floats | None = None) -> tuple[float, Floats]:
    return shard.oracle.loss_grad(features, w, np.zeros(len(w)) if counts is None else counts)


def loss_grad_curvature(
    shard: Shard, features: FeatureSet, w: Floats, counts: Floats | None = None
) -> tuple[float, Floats, Floats]:
    return shard.oracle.loss_grad_curvature(features, w, np.zeros(len(w)) if counts is None else counts)


def block_curvature(shard: Shard, features: FeatureSet, w: Floats, block: Numbers, every: int) -> tuple[Floats]:
    return (shard.oracle.block_curvature(features, w, block, every),)


def sequence_factors(
    shard: Shard, features: FeatureSet, w: Floats, listed: Numbers, total: Floats, options: dict[str, Any]
) -> tuple[float, Floats]:
    return shard.oracle.sequence_factors(features, w, listed, total, **options)


def candidates(shard: Shard, features: FeatureSet, w: Floats, bound: float) -> tuple[Numbers]:
    """Screening for data in a single shard."""
    return (shard.oracle.candidates(features, w, bound),)


def ngram_bounds(shard: Shard, features: FeatureSet, w: Floats, listed: Numbers) -> tuple[Floats, Floats, int]:
    return shard.oracle.ngram_bounds(features, w, listed)


def large_sums(
    shard: Shard, features: FeatureSet, w: Floats, bound: float, whole: tuple[Floats, Floats, Floats]
) -> Sparse:
    """The sums of this shard that are large enough to matter, by cell, each with its share of the attribute's mass."""
    cells, sums, shares = shard.oracle.shard_sums(features, w, bound, *whole, FRACTION)
    return Sparse(cells, np.stack([sums, shares]))


def release_tables(shard: Shard) -> tuple[int]:
    if shard.has_tables:
        shard.oracle.release_tables()
    return (1,)


class ShardedOracle:
    """An oracle for data in shards, which sends queries to their workers."""

    def __init__(self, shards: Shards, parts: LabelParts | None = None) -> None:
        """`parts` are the parts of the labels, if they have any."""
        self.shards, self.workers = shards, shards.workers
        self._empty: list[Any] = []  # arguments for `observed` and `virtual`
        if parts is not None:
            none = np.empty(0, dtype=np.int64)
            empty = FeatureSet.from_numbers(shards.n_labels, shards.n_attributes, none, None, parts)
            self._empty = [self.workers.share(empty)]
        self._masses: dict[bool, tuple[Floats, Floats, Floats]] = {}  # cached sums, by whether values are absolute
        self._whole: Any = None
        # The objects that were sent last, since solvers make many passes over one feature set.
        self._features: tuple[FeatureSet | None, Any] = (None, None)
        self._counts: tuple[Floats | None, Any] = (None, None)

    @lazy
    def signs_agree(self) -> bool:
        return int(self.workers.total(signs_agree, add)[0]) == 0

    @lazy
    def signs_agree_in_lists(self) -> bool:
        return self.signs_agree or int(self.workers.total(signs_agree_in_lists, add)[0]) == 0

    @lazy
    def all_labels_count(self) -> bool:
        """Whether no label is missing and no token has its own weight, so that all labels are uniform at w = 0."""
        return int(self.workers.total(not_all_labels_count, add)[0]) == 0

    def observed(self) -> tuple[Numbers, Floats]:
        """The features that occur, by number, and their counts."""
        found = self.workers.total(observed, unite, *self._empty)
        return found.keys, found.values[0]

    def virtual(self) -> Numbers:
        """Every feature of the attributes that occur."""
        return self.workers.total(virtual, unite, *self._empty).keys

    def masses(self, absolute: bool = False) -> tuple[Floats, Floats, Floats]:
        """The sum of w v (`absolute`: |w v|) of each attribute, as three arrays [X]: over unigram lists, over bigram
        lists of first positions, and over bigram lists of other positions."""
        absolute = absolute and not self.signs_agree  # otherwise both sums are the same
        if absolute not in self._masses:
            self._masses[absolute] = self.workers.total(masses, add, absolute)
        return self._masses[absolute]

    @lazy
    def value_sizes(self) -> tuple[Floats, Floats] | None:
        """The geometric mean of |v| over the nonzero values of each attribute, [X], in unigram lists and in bigram
        lists; 1 for an attribute without nonzero values. None if every value is 1."""
        if int(self.workers.total(has_values, add)[0]) == 0:
            return None
        unigram, of_unigram, pairs, of_pairs = self.workers.total(value_logs, add)
        return _geometric_mean(unigram, of_unigram), _geometric_mean(pairs, of_pairs)

    def counts(self, features: FeatureSet) -> Floats:
        """C [K] of the given features."""
        found: Floats = self.workers.total(counts, add, self.workers.share(features))[0]
        return found

    def loss_grad(self, features: FeatureSet, w: Floats, counts: Floats) -> tuple[float, Floats]:
        loss, g = self._pass(loss_grad, features, w, counts)
        return loss, g

    def loss_grad_curvature(self, features: FeatureSet, w: Floats, counts: Floats) -> tuple[float, Floats, Floats]:
        loss, g, h = self._pass(loss_grad_curvature, features, w, counts)
        return loss, g, h

    def block_curvature(self, features: FeatureSet, w: Floats, block: Numbers, every: int) -> Floats:
        """Curvature [M, M] between the features at these indices of the set, from every n-th sequence."""
        shared, w = self._shared(features), self.workers.share(w)
        matrix: Floats = self.workers.total(block_curvature, add, shared, w, block, every)[0]
        return matrix

    def sequence_factors(
        self, features: FeatureSet, w: Floats, listed: Numbers, total: Floats, **options: Any
    ) -> tuple[float, Floats]:
        """Entropy and G of a dual point with a factor for each sequence. Shards compute their factors
        independently, each as if the factors of all other shards were 1."""
        shared, w = self._shared(features), self.workers.share(w)
        options["alone"] = len(self.workers) == 1
        entropy, G = self.workers.total(sequence_factors, add, shared, w, listed, total, options)
        return entropy, G

    def _pass(self, question: Any, features: FeatureSet, w: Floats, counts: Floats) -> tuple[Any, ...]:
        shared = self._shared(features)
        if self._counts[0] is not counts:
            self._counts = counts, self.workers.share(counts)
        return self.workers.total(question, add, shared, self.workers.share(w), first=(self._counts[1],))

    def _shared(self, features: FeatureSet) -> Any:
        if self._features[0] is not features:
            self._features = features, self.workers.share(features)
        return self._features[1]

    def candidates(self, features: FeatureSet, w: Floats, bound: float) -> Numbers:
        """The numbers of all virtual features whose expectation at w could exceed the bound, in ascending order."""
        shared, w = self._shared(features), self.workers.share(w)
        if len(self.workers) == 1:
            numbers: Numbers = self.workers.total(candidates, add, shared, w, bound)[0]
            return numbers
        if self._whole is None:
            self._whole = self.workers.share(self.masses(absolute=True))
        cells, (sums, shares) = self.workers.total(large_sums, unite, shared, w, bound, self._whole)
        upper = sums + FRACTION * bound * np.maximum(1.0 - shares, 0.0)
        return features_of(cells[upper > bound], Numbering.of(features))

    def ngram_bounds(self, features: FeatureSet, w: Floats, listed: Numbers) -> tuple[Floats, Floats, int]:
        """Bounds on the expectations, and counts, both [L, Y + 1], of the features at these indices, extended by each
        label in front (last column: the start label). Also the number of sequences whose bounds are not exact; if it is
        0, the bounds are the expectations of strings outside the set."""
        shared, w = self._shared(features), self.workers.share(w)
        return self.workers.total(ngram_bounds, add, shared, w, listed)

    def release_tables(self) -> None:
        self.workers.total(release_tables, add)


def features_of(cells: Numbers, numbering: Numbering) -> Numbers:
    """The features, in ascending order, that belong to these cells (`ShardSums` in screen.hpp): the unigram features,
    the features after the start, and the pairs (y', y) of an attribute with A(y') and B(y)."""
    Y, row, size = numbering.n_labels, numbering.cells, numbering.first_bigram
    unigram, before, after, start = np.split(cells, np.searchsorted(cells, [size, 2 * size, 3 * size]))
    (x, previous), (x_after, label) = np.divmod(before - size, row), np.divmod(after - 2 * size, row)
    first, last = np.searchsorted(x_after, x), np.searchsorted(x_after, x, side="right")
    # Every (x, y') is followed by all labels of x, the k-th of which is at first + k.
    n = last - first
    k = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
    inner = np.repeat(numbering.bigram(x, previous, 0), n) + label[np.repeat(first, n) + k]
    x, y = np.divmod(start - 3 * size, row)
    bigram = np.concatenate([inner, numbering.bigram(x, Y, y)])
    bigram.sort(kind="stable")
    return np.concatenate([unigram, bigram])


def _geometric_mean(logs: Floats, weights: Floats) -> Floats:
    mean: Floats = np.exp(np.divide(logs, weights, out=np.zeros(len(logs)), where=weights > 0))
    return mean
