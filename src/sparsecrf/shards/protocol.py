"""The interface that shards need from an oracle, the class that computes sums over one corpus. `sparsecrf._core.Oracle`
is the compiled oracle; to use another implementation, pass a class with these methods to `Shard` as `make_oracle`.

Shapes: K features in the set, X attributes, M features of a block, L listed features, n cells.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import Corpus, FeatureSet

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@runtime_checkable
class Oracle(Protocol):
    """Sums over the sequences of one labelled corpus, at any weights. Calls must not overlap."""

    @property
    def signs_agree(self) -> bool:
        """Whether |E - C| <= max(E, C) for every feature: no value is negative and no label is missing."""

    def counts(self, features: FeatureSet) -> Floats:
        """C [K]: how often each feature occurs, with weights and values."""

    def masses(self, absolute: bool = False) -> tuple[Floats, Floats, Floats]:
        """The sum of w v of each attribute, as three arrays [X]: over unigram lists, over bigram lists of first
        positions, and over bigram lists of other positions. With `absolute`, the sum of |w v|."""

    def value_logs(self) -> tuple[Floats, Floats, Floats, Floats]:
        """sum |w| log |v| and sum |w| of each attribute [X] over its nonzero values: in unigram lists and dense
        columns, and in bigram lists."""

    def loss_grad(self, features: FeatureSet, w: Floats, counts: Floats | None = None) -> tuple[float, Floats]:
        """The loss and its gradient E - counts [K]; without `counts`, the counts of the corpus are used."""

    def loss_grad_curvature(
        self, features: FeatureSet, w: Floats, counts: Floats | None = None
    ) -> tuple[float, Floats, Floats]:
        """The loss and gradient of `loss_grad`, and h [K] = sum_t w v^2 p (1 - p)."""

    def block_curvature(self, features: FeatureSet, w: Floats, block: Numbers, every: int = 1) -> Floats:
        """Second derivatives [M, M] between the features at these indices of the set, estimated from every n-th
        sequence. Terms that couple different positions are left out (cpp/core/training/block_curvature.cpp)."""

    def sequence_factors(
        self,
        features: FeatureSet,
        w: Floats,
        listed: Numbers,
        total: Floats,
        *,
        rho1: float,
        rho2: float,
        sweeps: int,
        max_entries: int,
        thresholds: Floats | None = None,
        alone: bool = False,
        centre: Floats | None = None,
    ) -> tuple[float, Floats]:
        """A dual point with a factor for each sequence (cpp/core/training/sequence_factors.cpp): its entropy, and its G
        [L] for the features at the indices `listed`. `total` [L] is the gradient over the data of all shards;
        `thresholds` [L] replace rho1 if there are groups of features. `alone`: there are no other shards. `centre` [L]:
        the weights w0 on which the penalty is centred; the entropy is then H + w0 . G."""

    def candidates(self, features: FeatureSet, w: Floats, bound: float) -> Numbers:
        """Screening: the numbers, in ascending order, of all virtual features whose expectation at w could exceed the
        bound."""

    def ngram_bounds(self, features: FeatureSet, w: Floats, listed: Numbers) -> tuple[Floats, Floats, int]:
        """Screening of label n-grams. Each feature at the indices `listed` (with two or more labels, and not after the
        start) is extended by each label and by the start label in front. Returns a bound on the expectation and the
        count of every extension, both [L, Y + 1]. Also the number of sequences whose bounds are not exact
        (cpp/core/training/screening/ngram_screen.cpp)."""

    def shard_sums(
        self,
        features: FeatureSet,
        w: Floats,
        bound: float,
        unigram: Floats,
        start: Floats,
        inner: Floats,
        fraction: float,
    ) -> tuple[Numbers, Floats, Floats]:
        """Screening over several shards, given the masses of all shards: cells [n], sums [n] and shares of the mass [n]
        (cpp/core/training/screening/screen.hpp)."""

    def release_tables(self) -> None:
        """Free the memory that passes keep for the next pass."""


#: Creates the oracle of a corpus, for a number of threads (0 means all) and a kernel (auto, sparse, dense or log).
OracleFactory: TypeAlias = Callable[[Corpus, int, str], Oracle]
