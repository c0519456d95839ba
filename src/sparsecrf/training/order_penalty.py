"""An elastic net whose rho1 grows with the number of labels of a feature.

    Omega(w) = sum_k rho1_k |w_k| + rho2/2 |w|^2,      rho1_k = rho1 factor^max(n - 2, 0)  for a feature of n labels

With factor >= 1, longer strings are penalised more, since there are more of them and each is learnt from fewer tokens.
Screening stays exact: E[x, b g] <= E[x, g] and C[x, b g] <= C[x, g], and the threshold of b g is at least as large as
the threshold of g. So no extension of a string with max(E, C) <= rho1_k can violate its condition, regardless of its
length.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from sparsecrf.compatibility import Capabilities, Named, OptionError
from sparsecrf.defaults import PENALTY
from sparsecrf.training.data import TrainingData
from sparsecrf.training.feature_sets import Floats, Numbers
from sparsecrf.training.ngrams import NgramSpace
from sparsecrf.training.penalty import ElasticNet, PenaltyKind, Strength, Strengths


@dataclass(frozen=True)
class WeightedNet(ElasticNet):
    """Omega(w) = sum_k rho1_k |w_k| + rho2/2 |w|^2 on a set of features."""

    factors: Floats = field(default_factory=lambda: np.empty(0))  #: [K] rho1_k / rho1, at least 1

    @property
    def rho1_of(self) -> Floats:
        return self.rho1 * self.factors

    def value(self, w: Floats) -> float:
        return float(self.rho1_of @ np.abs(w)) + 0.5 * self.rho2 * float(w @ w)

    def factor(self, size: Floats) -> float:
        """min rho1_k / |G_k|"""
        return 1.0 / max(self.dual_norm(size), 1.0)


@dataclass(frozen=True)
class OrderPenalty(Strength):
    """The penalty over all features of a data set."""

    factor: float
    ngrams: NgramSpace

    def threshold_of(self, n_labels: int) -> float:
        return self.rho1 * self.factor ** max(n_labels - 2, 0)

    def thresholds(self, numbers: Numbers) -> Floats:
        return self.rho1 * self._factors(numbers)

    def on(self, numbers: Numbers) -> WeightedNet:
        return WeightedNet(self.rho1, self.rho2, self._factors(numbers))

    def _factors(self, numbers: Numbers) -> Floats:
        """[K] factor^max(n - 2, 0) of features by ascending number; features of more than two labels come last."""
        factors = np.ones(len(numbers))
        first = int(np.searchsorted(numbers, self.ngrams.numbering.first_ngram))
        factors[first:] = self.factor ** (self.ngrams.lengths(numbers[first:]) - 2.0)
        return factors

    def record(self) -> dict[str, Any]:
        return {"rho1": self.rho1, "rho2": self.rho2, "order factor": self.factor}

    def summary(self, numbers: Numbers) -> dict[str, Any]:
        return {"order_factor": self.factor}


class ElasticNetKind(PenaltyKind):
    """The elastic net, with a factor if there are features of more than two labels."""

    name = PENALTY
    capabilities = Capabilities()

    def make(self, strengths: Strengths, data: TrainingData) -> ElasticNet | OrderPenalty:
        factor = _checked_factor(strengths.order_factor)
        if factor == 1 or data.ngrams is None:
            return ElasticNet(strengths.rho1, strengths.rho2)
        return OrderPenalty(strengths.rho1, strengths.rho2, factor, data.ngrams)


def _checked_factor(given: Any) -> float:
    """Check `order_factor`. With a factor below 1, the penalty would shrink as strings get longer, and their length
    would be unbounded."""
    factor = float(given) if isinstance(given, Real) and not isinstance(given, bool) else np.nan
    if not (np.isfinite(factor) and factor >= 1):
        raise OptionError(Named("order_factor"), f": expected a finite number >= 1, found {given!r}")
    return factor
