"""A prior: training finds the differences from the weights w0 of another model.

    P(d) = loss(w0 + d) + Omega(d),      d = w - w0

is minimised in d. Solvers, penalty, working sets, screening and stopping work on d as they do on w without a prior;
only the oracle uses w0 + d. Outside the working set, d is 0 and the weight is w0, so the oracle always gets every
feature of w0 that occurs in the data.

The lower bound needs no change either. For distributions u_i over label sequences, log Z is the largest value of
entropy plus expected score, so loss(w) >= H(u) + w . G(u) (`dual`), and

    min_d P(d)  >=  H(u) + w0 . G(u) + min_d { d . G(u) + Omega(d) }  =  A(u) - Omega*(G(u)),      A = H + w0 . G

A replaces the entropy: like H, it is concave in u and 0 for the data. For the model at w = w0 + d, where
H = loss - w . g and G = g, it is loss - d . g: the same expression as without a prior, with d for w.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np

from sparsecrf._core import FeatureSet
from sparsecrf.shards.oracle import ShardedOracle
from sparsecrf.training.data import TrainingData
from sparsecrf.training.feature_sets import Floats, Numbers, WorkingSet, place_among, union
from sparsecrf.training.starting_weights import Weights


class _Wide(NamedTuple):
    """A set of features, extended by all features of w0."""

    known: WorkingSet
    w0: Floats  #: [K] the weight w0 of each feature of the set
    place: Numbers  #: the indices of the features of the smaller set


class PriorOracle(ShardedOracle):
    """Wraps the oracle of the data: its methods take d and compute values at w0 + d."""

    def __init__(self, data: TrainingData, prior: Weights) -> None:
        super().__init__(data.shards, data.part_rows)
        self._data, self.prior = data, prior
        # Cached, since solvers use one set many times.
        self._last: tuple[FeatureSet | None, _Wide | None] = None, None

    def wide(self, features: FeatureSet) -> _Wide:
        """The set, extended by the features of w0."""
        if self._last[0] is not features or self._last[1] is None:
            small = features.numbers
            known = self._data.working_set(union(small, self.prior.numbers))
            w0 = np.zeros(known.size)
            w0[place_among(self.prior.numbers, known.numbers)] = self.prior.w
            self._last = features, _Wide(known, w0, place_among(small, known.numbers))
        assert self._last[1] is not None
        return self._last[1]

    def _at(self, features: FeatureSet, d: Floats) -> tuple[_Wide, Floats]:
        """The set extended by the features of w0, and the weights w0 + d of all its features."""
        wide = self.wide(features)
        w = wide.w0.copy()
        w[wide.place] += d
        return wide, w

    def loss_grad(self, features: FeatureSet, w: Floats, counts: Floats) -> tuple[float, Floats]:
        wide, at = self._at(features, w)
        loss, g = super().loss_grad(wide.known.feature_set, at, wide.known.counts)
        return loss, g[wide.place]

    def loss_grad_curvature(self, features: FeatureSet, w: Floats, counts: Floats) -> tuple[float, Floats, Floats]:
        wide, at = self._at(features, w)
        loss, g, h = super().loss_grad_curvature(wide.known.feature_set, at, wide.known.counts)
        return loss, g[wide.place], h[wide.place]

    def block_curvature(self, features: FeatureSet, w: Floats, block: Numbers, every: int) -> Floats:
        wide, at = self._at(features, w)
        return super().block_curvature(wide.known.feature_set, at, wide.place[block], every)

    def candidates(self, features: FeatureSet, w: Floats, bound: float) -> Numbers:
        wide, at = self._at(features, w)
        return super().candidates(wide.known.feature_set, at, bound)

    def sequence_factors(
        self, features: FeatureSet, w: Floats, listed: Numbers, total: Floats, **options: Any
    ) -> tuple[float, Floats]:
        """Like the method of the base class, with A(u) in place of the entropy. `listed` contains all features of
        w0."""
        wide, at = self._at(features, w)
        place = wide.place[listed]
        options["centre"] = wide.w0[place]
        return super().sequence_factors(wide.known.feature_set, at, place, total, **options)


def fingerprint(prior: Weights) -> str:
    """A digest of the weights, for checkpoints to compare."""
    return hashlib.sha256(prior.numbers.tobytes() + prior.w.tobytes()).hexdigest()


def added(prior: Weights, numbers: Numbers, d: Floats) -> tuple[Numbers, Floats]:
    """The nonzero weights of w0 + d, in ascending order of feature numbers."""
    all_numbers = union(prior.numbers, numbers)
    w = np.zeros(len(all_numbers))
    w[place_among(prior.numbers, all_numbers)] = prior.w
    w[place_among(numbers, all_numbers)] += d
    return all_numbers[w != 0], w[w != 0]
