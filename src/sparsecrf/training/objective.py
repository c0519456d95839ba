"""The objective, which is the loss of a corpus plus a penalty, over the virtual feature space.

    P(w) = sum_i w_i { log Z(x_i) - w . F(x_i, y_i) } + Omega(w),      Omega(w) = rho1 |w|_1 + rho2/2 |w|^2

or another penalty (`penalty`, `order_penalty`, `group_penalty`). With a prior, weights w0 of another model, w denotes
the difference from w0 here and below (`prior`).

The model contains every (attribute, label) and (attribute, label, label) feature and, with a higher order, every label
n-gram (`ngrams`). A working set lists the few features that are considered. The gradient of the loss is g = E - C, and
weight 0 is optimal iff |g_k| is at most the penalty's threshold, rho1. As long as values are not negative, a feature
with C <= rho1, which includes all unobserved features, can violate this condition only if its expectation E exceeds
rho1. Screening (`Oracle.candidates`) rules out violations by all but a few features, so the conditions are checked over
the whole space. The space can be restricted to the observed features or to a list; all of the above then applies to the
restricted space.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from sparsecrf._core import LONGEST_NGRAM, Corpus
from sparsecrf.encoding.label_parts import LabelParts
from sparsecrf.shards import Shards
from sparsecrf.training.data import TrainingData
from sparsecrf.training.feature_sets import Floats, Numbers, WorkingSet, place_among, union
from sparsecrf.training.penalty import ElasticNet, Mask, Penalty, PenaltyOfAll
from sparsecrf.training.prior import PriorOracle, added
from sparsecrf.training.starting_weights import Weights

_LARGEST_STRIDE = 64  # curvature is estimated from every n-th sequence; n grows with the data up to this maximum
# Factors of sequences: maximum number of rounds and of stored numbers (8 bytes each), and approximate cost in passes.
_SWEEPS, _MOST_ENTRIES, _PASSES_OF_FACTORS = 100, 2**24, 5.0


#: Maximum number of seconds that a screening may run past the time limit.
LAST_SECONDS = 1.0
# Maximum number of features whose residual at w = 0 is summed one by one, if it has no closed form.
_MOST_LISTED = 2**20


class OutOfTime(Exception):
    """Raised if time runs out while screening label n-grams length by length."""


class Objective:
    """The objective P on labelled data. `passes` counts forward-backward passes over all data."""

    def __init__(
        self, data: Corpus | Shards | TrainingData, penalty: PenaltyOfAll, prior: Weights | None = None, **how: Any
    ) -> None:
        """`how`: options for data that are not yet prepared, such as observed_only, numbers, threads, kernel."""
        self.prepared = TrainingData.of(data, **how)
        self.penalty = penalty
        self.passes = 0.0
        self.deadline: float | None = None  #: time.perf_counter() at which long steps should end early
        self.cut_short = False  #: whether a long step ended early
        self.pass_s = 0.0  #: duration of the last pass
        self.heartbeat: Callable[[str], None] | None = None  #: called with a line of text during long steps
        self.prior = prior
        self._oracle = self.prepared.oracle if prior is None else PriorOracle(self.prepared, prior)
        self._units: tuple[WorkingSet | None, Floats | float] = None, 1.0  # the last requested set and its units
        # Observed features that could violate their condition although E is below the threshold.
        observed, counts = self.prepared.observed, self.prepared.observed_counts
        bounded = self._oracle.signs_agree_in_lists
        self._suspects = observed[:0]  # without an l1 term, nothing is screened
        if penalty.threshold > 0:
            self._suspects = observed[np.abs(counts) > penalty.threshold] if bounded else observed
            self._suspects = union(self._suspects, self.prepared.dense)
            # the difference from the prior can be negative for features that are expected but never observed
            if prior is not None:
                self._suspects = union(self._suspects, prior.numbers)

    @property
    def data(self) -> Shards:
        return self.prepared.shards

    @property
    def signs_agree(self) -> bool:
        """Whether |E - C| <= max(E, C) for every feature: no value is negative, and no label is missing."""
        return self._oracle.signs_agree

    @property
    def threads(self) -> int:
        return self.prepared.threads

    @property
    def in_this_process(self) -> bool:
        """Whether single sequences are accessible: in a corpus, or in shards that are not on a cluster."""
        return len(self.data.workers.here) > 0

    @property
    def corpus(self) -> Corpus:
        """The corpus itself, for solvers whose steps use single sequences."""
        assert self.prepared.whole is not None
        return self.prepared.whole

    def penalty_on(self, known: WorkingSet) -> Penalty:
        """The penalty on the features of a working set."""
        return self.penalty.on(known.numbers)

    @property
    def elastic_net(self) -> ElasticNet:
        """The penalty, for solvers that support only one rho1 for all features."""
        assert type(self.penalty) is ElasticNet  # subclasses may use several values of rho1
        return self.penalty

    def elastic_net_on(self, known: WorkingSet) -> ElasticNet:
        """The penalty on the features of a working set, for solvers that update features one by one."""
        penalty = self.penalty_on(known)
        assert isinstance(penalty, ElasticNet)
        return penalty

    def out_of_time(self) -> bool:
        """Whether a long step should end early, so that there is time for one more pass; sets `cut_short`."""
        self.cut_short = self.deadline is not None and time.perf_counter() + self.pass_s >= self.deadline
        return self.cut_short

    # ---- Working sets

    def working_set(self, numbers: Numbers) -> WorkingSet:
        return self.prepared.working_set(numbers)

    def units(self, known: WorkingSet) -> Floats | float:
        """The size of the values of each feature's attribute (`TrainingData.units`)."""
        if self._units[0] is not known:  # cached, since solvers ask at every step
            self._units = known, self.prepared.units(known)
        return self._units[1]

    def hopeful(self) -> WorkingSet:
        """The features that can become positive from 0: those that g = -C would move, since g >= -C (without groups:
        C > threshold). Without an l1 term, these are all features of the space."""
        data = self.prepared
        if self.penalty.threshold == 0:
            return self.working_set(self._oracle.virtual() if data.allowed is None else data.allowed)
        numbers = data.only_allowed(data.observed[data.observed_counts > self.penalty.threshold])
        numbers = numbers[self.penalty.on(numbers).excess(data.counts(numbers)) > 0]
        if self.prior is not None:
            numbers = union(numbers, data.only_allowed(self.prior.numbers))
        return self.working_set(union(numbers, data.only_allowed(data.dense)))

    def screen(self, known: WorkingSet, w: Floats) -> tuple[WorkingSet, Floats, float, Floats]:
        """Extend `known` by every feature that could violate its condition at w. Returns the set, its weights, the loss
        and its gradient. Requires a penalty with an l1 term."""
        self.passes += 1
        more = union(self._oracle.candidates(known.feature_set, w, self.penalty.threshold), self._suspects)
        wide = self.working_set(union(known.numbers, self.prepared.only_allowed(more)))
        w = wide.carry(w, known)
        loss, g = self.loss_grad(wide, w)
        if self.prepared.ngrams is not None:
            wide, w, g = self._with_longer(wide, w, g)
        return wide, w, loss, g

    def _with_longer(self, wide: WorkingSet, w: Floats, g: Floats) -> tuple[WorkingSet, Floats, Floats]:
        """Add label n-grams that could violate their condition, level by level: the E of one level determines which
        n-grams can be extended."""
        data, n_labels = self.prepared, 3
        assert data.ngrams is not None
        longest = min(data.order or LONGEST_NGRAM, LONGEST_NGRAM)
        while n_labels <= longest:
            if self.deadline is not None and time.perf_counter() + self.pass_s > self.deadline + LAST_SECONDS:
                raise OutOfTime
            self.passes += 1
            found, its_g = data.ngrams.longer(wide, w, g, n_labels, self.penalty.threshold_of(n_labels))
            more = data.only_allowed(found)
            if not len(more):
                break
            shorter, wide = wide, self.working_set(union(wide.numbers, more))
            w, g_before = wide.carry(w, shorter), g
            if its_g is None:
                g = self.loss_grad(wide, w)[1]
            else:
                g = np.empty(wide.size)
                g[place_among(more, wide.numbers)] = its_g[place_among(more, found)]
                # the bounds are exact for strings that were in the set
                g[place_among(shorter.numbers, wide.numbers)] = g_before
            n_labels += 1
        return wide, w, g

    def weighted(self, known: WorkingSet, w: Floats) -> Mask:
        """A mask of the features that may have a weight: those with a nonzero w or a weight in the prior."""
        has_weight: Mask = w != 0
        if self.prior is not None:
            has_weight = has_weight | (place_among(known.numbers, self.prior.numbers) >= 0)
        return has_weight

    def has_all_weights(self, known: WorkingSet) -> bool:
        """Whether a set contains all features of the prior."""
        return self.prior is None or bool((place_among(self.prior.numbers, known.numbers) >= 0).all())

    def with_prior(self, numbers: Numbers, w: Floats) -> tuple[Numbers, Floats]:
        """The nonzero weights with the weights of the prior added, by number."""
        return (numbers[w != 0], w[w != 0]) if self.prior is None else added(self.prior, numbers, w)

    # ---- Values and derivatives

    def loss_grad(self, known: WorkingSet, w: Floats) -> tuple[float, Floats]:
        self.passes += 1
        began = time.perf_counter()
        found = self._oracle.loss_grad(known.feature_set, w, known.counts)
        self.pass_s = time.perf_counter() - began
        return found

    def loss_grad_curvature(self, known: WorkingSet, w: Floats) -> tuple[float, Floats, Floats]:
        """The loss, its gradient, and its second derivatives in the paper's approximation, h = sum_t w v^2 p (1 -
        p)."""
        self.passes += 1
        return self._oracle.loss_grad_curvature(known.feature_set, w, known.counts)

    def block_curvature(self, known: WorkingSet, w: Floats, block: Numbers, n_tokens: int) -> Floats:
        """[M, M] the second derivatives between the features at these indices of the set, without terms that couple
        different positions. If there are more than about n_tokens tokens, a sample of that size is used."""
        every = int(min(max(self.data.n_tokens // n_tokens, 1), _LARGEST_STRIDE))
        self.passes += 1.0 / every
        return self._oracle.block_curvature(known.feature_set, w, block, every)

    def sequence_factors(self, known: WorkingSet, w: Floats, listed: Numbers, g: Floats) -> tuple[float, Floats]:
        """A dual point with a factor for each sequence (`dual`): its entropy, and its G on the features at the indices
        `listed` of the set. g: the gradient for these features.

        With groups, the threshold of a feature is its part of the projection of g: |g - S(g)|."""
        self.passes += _PASSES_OF_FACTORS
        # Without an l2 term the bound is -infinity unless every |G_k| <= rho1. A small rho2 nearly enforces this
        # condition.
        rho2 = self.penalty.rho2 or 1e-3 * self.penalty.rho1
        options: dict[str, Any] = {"rho1": self.penalty.rho1, "rho2": rho2}
        options |= {"sweeps": _SWEEPS, "max_entries": _MOST_ENTRIES}
        if not isinstance(self.penalty, ElasticNet):
            penalty, size = self.penalty.on(known.numbers[listed]), np.abs(g)
            # For an elastic net this is the feature's rho1, whereas min(|g|, rho1) is smaller if |g| < rho1.
            tolerated = penalty.rho1_of if isinstance(penalty, ElasticNet) else size - penalty.excess(g)
            options["thresholds"] = np.maximum(tolerated, self.penalty.rho1)
        return self._oracle.sequence_factors(known.feature_set, w, listed, g, **options)

    def release_tables(self) -> None:
        """Free the memory that passes keep for later ones, for solvers with their own tables."""
        self._oracle.release_tables()

    def start_residual(self) -> float:
        """sum_k |subgradient| over the whole space at w = 0, where labels are uniform: E = mass/Y or mass/Y^2. With
        groups, this is the sum without groups, an upper bound, which suffices as a scale.

        If tokens have weights or labels are missing, some labels are not uniform, and the sum comes from the gradient
        of all features. If the space is too large for that, the sum under uniform labels serves as the scale."""
        data, n_labels = self.prepared, self.data.n_labels
        listed = data.n_features() <= _MOST_LISTED or data.allowed is not None
        if listed and not self._oracle.all_labels_count:
            known = self.working_set(self._oracle.virtual() if data.allowed is None else data.allowed)
            return self._excess(self.loss_grad(known, np.zeros(known.size))[1])
        if data.allowed is not None:
            return self._excess(data.uniform(data.allowed) - data.counts(data.allowed))
        unigram, start, inner = self._oracle.masses()
        whole = 0.0
        for mass, cells in ((unigram, n_labels), (start, n_labels), (inner, n_labels**2)):
            whole += cells * self._excess(mass / cells)
        for size in [] if data.parts is None else data.parts.sizes:
            whole += self._excess(unigram * (size / n_labels))
        if data.parts is not None and data.parts.classes:
            whole += self._class_residual(data.parts, start, inner)
        # For observed features, use |E - C| instead of E.
        expected = data.uniform(data.observed)
        return whole + self._excess(expected - data.observed_counts) - self._excess(expected)

    def _class_residual(self, parts: LabelParts, start: Floats, inner: Floats) -> float:
        """The sum for pairs of classes: E = n m mass/Y^2 for classes of n and m labels, n mass/Y after the start.
        Two classes with one label each form no feature. Pairs with the same n m are summed together."""
        n_labels, sizes = self.data.n_labels, parts.class_sizes
        pairs = [n * m for n in sizes for m in sizes if n * m > 1]
        whole = 0.0
        for mass, cells, found in ((inner, n_labels**2, pairs), (start, n_labels, [n for n in sizes if n > 1])):
            mass = mass[mass != 0]  # skip zeros, since few attributes condition pairs
            whole += sum(many * self._excess(mass * (size / cells)) for size, many in Counter(found).items())
        return whole

    def _excess(self, g: Floats) -> float:
        return float(ElasticNet(self.penalty.rho1, self.penalty.rho2).excess(g).sum())
