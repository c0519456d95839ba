"""THE objective: loss of a corpus plus elastic net, over the virtual feature space.

    P(w) = sum_i w_i { log Z(x_i) - w . F(x_i, y_i) } + rho1 |w|_1 + rho2/2 |w|^2

Every (attribute, label) and (attribute, label, label) feature is in the model; a working set names the few that are
looked at. With g = E - C the gradient of the loss, weight 0 is optimal iff |g_k| <= rho1. A feature with C <= rho1, all
that were never observed among them, can only violate this if its expectation E exceeds rho1 (as long as values are not
negative), which screening rules out for all but a few (`Oracle.candidates`): the conditions are checked over the whole
space. The space can be made smaller: to the observed features, or to a list of them; everything is then over that
list.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np

from sparsecrf._core import Corpus, FeatureSet, InputError
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.shards import Floats as Floats
from sparsecrf.shards import Numbers as Numbers
from sparsecrf.shards import Shards, shards_of
from sparsecrf.shards.oracle import ShardedOracle


@dataclass(frozen=True)
class WorkingSet:
    """Some features of the virtual space, by ascending number."""

    numbers: Numbers
    features: FeatureSet
    counts: Floats  #: C, the empirical count of each

    @property
    def size(self) -> int:
        return len(self.numbers)

    def attributes(self) -> Numbers:
        """The attribute of each feature."""
        found: Numbers = Numbering.of(self.features).attribute(self.numbers)
        return found

    def carry(self, values: Floats, other: WorkingSet) -> Floats:
        """Values by feature (last axis) of `other`, moved to this set: 0 where `other` has no such feature."""
        out = np.zeros((*values.shape[:-1], self.size))
        place = np.searchsorted(self.numbers, other.numbers)
        place[place == self.size] = 0
        shared = self.numbers[place] == other.numbers if self.size else np.zeros(other.size, dtype=np.bool_)
        out[..., place[shared]] = values[..., shared]
        return out


def union(a: Numbers, b: Numbers) -> Numbers:
    """The numbers of either, ascending; for ascending a and b a merge, and much faster than np.union1d."""
    both = np.concatenate([a, b])
    both.sort(kind="stable")
    first = np.ones(len(both), dtype=np.bool_)
    first[1:] = both[1:] != both[:-1]
    return both[first]


def shared(a: Numbers, b: Numbers) -> Numbers:
    """The numbers of both, ascending, for ascending a and b."""
    return a[place_among(a, b) >= 0]


def place_among(numbers: Numbers, among: Numbers) -> Numbers:
    """Where each number stands in the ascending `among`; -1 if it does not."""
    if not len(among):
        return np.full(len(numbers), -1)
    place = np.minimum(np.searchsorted(among, numbers), len(among) - 1)
    return np.where(among[place] == numbers, place, -1)


def virtual_features(data: Corpus | Shards, oracle: ShardedOracle | None = None) -> int:
    """How many features can be formed: labels of unigram attributes, pairs of bigram ones, those of the start too."""
    Y = data.n_labels
    unigram, start, inner = (oracle or ShardedOracle(shards_of(data))).masses()
    pairs = Y * Y + (Y if (start > 0).any() else 0)
    return int((unigram > 0).sum()) * Y + int(((start > 0) | (inner > 0)).sum()) * pairs


def observed_features(data: Corpus | Shards) -> int:
    """How many of them occur."""
    if isinstance(data, Corpus):
        return len(FeatureSet.observed(data))
    return len(ShardedOracle(data).observed()[0])


def _checked(features: Numbers, data: Shards) -> Numbers:
    given = np.asarray(features)
    if given.ndim != 1 or (given.size and not np.issubdtype(given.dtype, np.integer)):
        raise InputError(
            f"features: expected one dimension of whole numbers, found shape {given.shape} of {given.dtype}"
        )
    numbers = np.ascontiguousarray(given, dtype=np.int64)
    FeatureSet.from_numbers(data.n_labels, data.n_attributes, numbers)  # throws unless ascending and in range
    return numbers


class Objective:
    """P over a corpus, whole or in shards. `passes` counts forward-backward passes over all data."""

    def __init__(
        self,
        data: Corpus | Shards,
        rho1: float,
        rho2: float,
        *,
        observed_only: bool = False,
        features: Numbers | None = None,
        threads: int = 0,
        kernel: str = "auto",
    ) -> None:
        for name, value in (("rho1", rho1), ("rho2", rho2)):
            if not (isinstance(value, Real) and np.isfinite(float(value)) and value >= 0):
                raise InputError(f"{name}: expected a finite number >= 0, found {value!r}")
        self.data = shards_of(data, threads, kernel)
        self._whole = data if isinstance(data, Corpus) else None
        self.rho1, self.rho2 = float(rho1), float(rho2)
        self.passes = 0.0
        self.threads = threads
        self._oracle = ShardedOracle(self.data)
        self.observed, self.observed_counts = self._oracle.observed()
        # Observed features that could violate their condition although E <= rho1.
        self._suspects = self.observed[np.abs(self.observed_counts) > self.rho1]
        if not self._oracle.signs_agree:
            self._suspects = self.observed
        #: The features of the model, ascending; None: all of the virtual space.
        self.allowed: Numbers | None = self.observed if observed_only else None
        if features is not None:
            self.allowed = _checked(features, self.data)
            if observed_only:
                raise InputError("features: expected either a list of them or observed_only, found both")

    @property
    def in_one_place(self) -> bool:
        """Whether there is a corpus for solvers whose steps look at single sequences."""
        return self._whole is not None

    @property
    def corpus(self) -> Corpus:
        """The corpus itself, for solvers whose steps look at single sequences."""
        if self._whole is None:
            raise InputError("solver: expected one that needs sums over the data only, found one that needs all of it")
        return self._whole

    def n_features(self) -> int:
        """The size of the space that is searched and certified."""
        return virtual_features(self.data, self._oracle) if self.allowed is None else len(self.allowed)

    # ---- Working sets

    def working_set(self, numbers: Numbers) -> WorkingSet:
        counts = self._counts(numbers)
        features = FeatureSet.from_numbers(self.data.n_labels, self.data.n_attributes, numbers)
        return WorkingSet(numbers, features, counts)

    def _counts(self, numbers: Numbers) -> Floats:
        place = place_among(numbers, self.observed)
        counts = np.zeros(len(numbers))
        counts[place >= 0] = self.observed_counts[place[place >= 0]]
        return counts

    def only_allowed(self, numbers: Numbers) -> Numbers:
        return numbers if self.allowed is None else shared(numbers, self.allowed)

    def hopeful(self) -> WorkingSet:
        """The features that can become positive from 0: C > rho1 (g >= -C). All of the set when rho1 = 0."""
        if self.rho1 == 0:
            return self.working_set(self._oracle.virtual() if self.allowed is None else self.allowed)
        return self.working_set(self.only_allowed(self.observed[self.observed_counts > self.rho1]))

    def outside(self, known: WorkingSet, w: Floats) -> WorkingSet:
        """`known` and every other feature that could violate its condition at w: nothing else can."""
        if self.rho1 == 0:
            return known
        self.passes += 1
        more = union(self._oracle.candidates(known.features, w, self.rho1), self._suspects)
        return self.working_set(union(known.numbers, self.only_allowed(more)))

    # ---- Values and derivatives

    def loss_grad(self, known: WorkingSet, w: Floats) -> tuple[float, Floats]:
        self.passes += 1
        return self._oracle.loss_grad(known.features, w, known.counts)

    def loss_grad_curvature(self, known: WorkingSet, w: Floats) -> tuple[float, Floats, Floats]:
        """With h = sum_t w v^2 p (1 - p), the paper's approximation of the second derivatives."""
        self.passes += 1
        return self._oracle.loss_grad_curvature(known.features, w, known.counts)

    def release_tables(self) -> None:
        """Give back what passes keep for the next ones: for solvers that have tables of their own."""
        self._oracle.release_tables()

    def penalty(self, w: Floats) -> float:
        return self.rho1 * float(np.abs(w).sum()) + 0.5 * self.rho2 * float(w @ w)

    def subgradient(self, w: Floats, g: Floats) -> Floats:
        """The smallest element of dP/dw_k, feature by feature: 0 where the condition of optimality holds."""
        at_zero = np.sign(g) * np.maximum(np.abs(g) - self.rho1, 0.0)
        return np.where(w != 0, g + self.rho2 * w + self.rho1 * np.sign(w), at_zero)

    def start_residual(self) -> float:
        """sum_k |subgradient| over the whole space at w = 0, where labels are uniform: E = mass/Y or mass/Y^2."""
        n_labels = self.data.n_labels
        masses = self._oracle.masses()
        if self.allowed is not None:
            return self._excess(self._at_uniform(self.allowed, *masses) - self._counts(self.allowed))
        whole = 0.0
        for mass, cells in zip(masses, (n_labels, n_labels, n_labels**2), strict=True):
            whole += cells * self._excess(mass / cells)
        # Observed features: |E - C| instead of E.
        expected = self._at_uniform(self.observed, *masses)
        return whole + self._excess(expected - self.observed_counts) - self._excess(expected)

    def _excess(self, g: Floats) -> float:
        return float(np.maximum(np.abs(g) - self.rho1, 0.0).sum())

    def _at_uniform(self, numbers: Numbers, unigram: Floats, start: Floats, inner: Floats) -> Floats:
        """E of these features under uniform labels, from the masses of the attributes."""
        n_labels, numbering = self.data.n_labels, Numbering.of(self.data)
        attribute, previous = numbering.attribute(numbers), numbering.previous(numbers)
        expected: Floats = np.where(previous >= 0, inner[attribute] / n_labels**2, unigram[attribute] / n_labels)
        expected = np.where(previous == n_labels, start[attribute] / n_labels, expected)
        return expected
