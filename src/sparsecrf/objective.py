"""THE objective: loss of a corpus plus elastic net, over the virtual feature space.

    P(w) = sum_i w_i { log Z(x_i) - w . F(x_i, y_i) } + rho1 |w|_1 + rho2/2 |w|^2

Every (attribute, label) and (attribute, label, label) feature is in the model; a working set names the few that are
looked at. With g = E - C the gradient of the loss, weight 0 is optimal iff |g_k| <= rho1. A feature with C <= rho1, all
that were never observed among them, can only violate this if its expectation E exceeds rho1 (as long as values are not
negative), which screening rules out for all but a few (`Oracle.candidates`): the conditions are checked over the whole
space.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import Corpus, FeatureSet, InputError, Oracle

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class WorkingSet:
    """Some features of the virtual space, by ascending number."""

    numbers: Numbers
    features: FeatureSet
    counts: Floats  #: C, the empirical count of each

    @property
    def size(self) -> int:
        return len(self.numbers)

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


class Objective:
    """P over one corpus. `passes` counts forward-backward passes over all data."""

    def __init__(
        self,
        corpus: Corpus,
        rho1: float,
        rho2: float,
        *,
        observed_only: bool = False,
        threads: int = 0,
        kernel: str = "auto",
    ) -> None:
        for name, value in (("rho1", rho1), ("rho2", rho2)):
            if not (np.isfinite(value) and value >= 0):
                raise InputError(f"{name}: expected a finite number >= 0, found {value}")
        self.corpus = corpus
        self.rho1, self.rho2 = float(rho1), float(rho2)
        self.observed_only = observed_only
        self.passes = 0.0
        self.threads = threads
        self._oracle = Oracle(corpus, threads, kernel)
        observed = FeatureSet.observed(corpus)
        self.observed: Numbers = observed.numbers
        self.observed_counts: Floats = self._oracle.counts(observed)
        # Observed features that could violate their condition although E <= rho1.
        self._suspects = self.observed[np.abs(self.observed_counts) > self.rho1]
        if not self._oracle.signs_agree:
            self._suspects = self.observed

    # ---- Working sets

    def working_set(self, numbers: Numbers) -> WorkingSet:
        counts = np.zeros(len(numbers))
        if len(self.observed) and len(numbers):
            place = np.minimum(np.searchsorted(self.observed, numbers), len(self.observed) - 1)
            known = self.observed[place] == numbers
            counts[known] = self.observed_counts[place[known]]
        features = FeatureSet.from_numbers(self.corpus.n_labels, self.corpus.n_attributes, numbers)
        return WorkingSet(numbers, features, counts)

    def hopeful(self) -> WorkingSet:
        """The features that can become positive from 0: C > rho1 (g >= -C). All of the set when rho1 = 0."""
        if self.rho1 == 0 and not self.observed_only:
            return self.working_set(FeatureSet.virtual(self.corpus).numbers)
        return self.working_set(self.observed[self.observed_counts > self.rho1])

    def outside(self, known: WorkingSet, w: Floats) -> WorkingSet:
        """`known` and every other feature that could violate its condition at w: nothing else can."""
        if self.rho1 == 0:
            return known
        self.passes += 1
        more = self._oracle.candidates(known.features, w, self.rho1)
        if self.observed_only:
            more = np.intersect1d(more, self.observed, assume_unique=True)
        return self.working_set(union(known.numbers, union(more, self._suspects)))

    # ---- Values and derivatives

    def loss_grad(self, known: WorkingSet, w: Floats) -> tuple[float, Floats]:
        self.passes += 1
        return self._oracle.loss_grad(known.features, w, known.counts)

    def loss_grad_curvature(self, known: WorkingSet, w: Floats) -> tuple[float, Floats, Floats]:
        """With h = sum_t w v^2 p (1 - p), the paper's approximation of the second derivatives."""
        self.passes += 1
        return self._oracle.loss_grad_curvature(known.features, w, known.counts)

    def penalty(self, w: Floats) -> float:
        return self.rho1 * float(np.abs(w).sum()) + 0.5 * self.rho2 * float(w @ w)

    def subgradient(self, w: Floats, g: Floats) -> Floats:
        """The smallest element of dP/dw_k, feature by feature: 0 where the condition of optimality holds."""
        at_zero = np.sign(g) * np.maximum(np.abs(g) - self.rho1, 0.0)
        return np.where(w != 0, g + self.rho2 * w + self.rho1 * np.sign(w), at_zero)

    def start_residual(self) -> float:
        """sum_k |subgradient| over the whole space at w = 0, where labels are uniform: E = mass/Y or mass/Y^2."""
        n_labels, n_attributes = self.corpus.n_labels, self.corpus.n_attributes
        unigram, start, inner = self._oracle.masses()
        excess = 0.0
        if not self.observed_only:
            for mass, cells in ((unigram, n_labels), (start, n_labels), (inner, n_labels**2)):
                excess += float((np.maximum(np.abs(mass) / cells - self.rho1, 0.0) * cells).sum())
        # Observed features: |E - C| instead of E.
        first_bigram = n_attributes * n_labels
        pairs = (n_labels + 1) * n_labels
        is_bigram = self.observed >= first_bigram
        attribute = np.where(is_bigram, (self.observed - first_bigram) // pairs, self.observed // n_labels)
        after_start = is_bigram & ((self.observed - first_bigram) % pairs >= n_labels**2)
        expected = np.where(is_bigram, inner[attribute] / n_labels**2, unigram[attribute] / n_labels)
        expected = np.where(after_start, start[attribute] / n_labels, expected)
        excess += float(np.maximum(np.abs(expected - self.observed_counts) - self.rho1, 0.0).sum())
        if not self.observed_only:
            excess -= float(np.maximum(np.abs(expected) - self.rho1, 0.0).sum())
        return excess

    def gap(self, w: Floats, loss: float, g: Floats) -> float:
        """P(w) - D(u) for the best dual point u = (1 - s) data + s model, 0 < s <= 1; g over all that could violate.

        D = s H - sum_k max(s |g_k| - rho1, 0)^2 / (2 rho2), H = loss - w . g the entropy of the model. At the minimum
        over s of the convex -D the derivative changes sign; it is found by bisection.
        """
        entropy = loss - float(w @ g)
        size = np.abs(g[np.abs(g) > self.rho1])
        value = loss + self.penalty(w)
        largest = float(size.max(initial=0.0))
        if largest == 0.0:
            return value - entropy
        if self.rho2 == 0:
            return value - entropy * self.rho1 / largest
        low, high = min(1.0, self.rho1 / largest), 1.0
        for _ in range(60):
            s = 0.5 * (low + high)
            slope = entropy - float((np.maximum(s * size - self.rho1, 0.0) * size).sum()) / self.rho2
            low, high = (s, high) if slope > 0 else (low, s)
        excess = np.maximum(low * size - self.rho1, 0.0)
        return value - (low * entropy - float(excess @ excess) / (2 * self.rho2))
