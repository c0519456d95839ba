"""The interface of penalties for training.

Omega is a convex function of the weights, 0 at w = 0. The objective, the lower bound, screening, the solvers and
checkpoints use only these methods, so a new penalty is a new class that implements them:

    value(w)            Omega(w)
    subgradient(w, g)   the smallest element of g + dOmega(w), feature by feature: 0 where w is optimal
    excess(g)           the absolute values of subgradient(0, g): how far g exceeds what Omega tolerates at zero
    prox(v, c)          argmin_w |w - v|^2 / 2 + c Omega(w)
    conjugate(size)     Omega*(G) = max_w { w . G - Omega(w) }, from |G|
    thresholds          a feature with |g| <= its threshold is optimal at zero for any other weights: only features
    whose |g| could exceed it need to be checked. It may grow with the number of labels;
                        `threshold` is the smallest one, which applies to features of one and two labels
    movable(w, g, c)    which features are nonzero, or would leave zero if all thresholds were multiplied by c
    metric(unit)        sizes [K], adjusted so that `prox` can be computed with c = (a number) / (their squares)
    factor(size)        the largest s <= 1 with Omega*(s G) = 0 without the rho2 term, from |G|

`on(numbers)` returns the penalty on a set of features, whose methods take vectors over that set. The elastic net is
separable, so every feature is treated by itself, and the penalty is the same on any set. `order_penalty.py` defines an
elastic net that grows with the number of labels, `group_penalty.py` defines penalties over groups, and `penalties.py`
lists all penalties by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import InputError
from sparsecrf.compatibility import Capabilities, Trait
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.training.data import TrainingData
from sparsecrf.training.feature_sets import Floats, Numbers

Mask = NDArray[np.bool_]


class HasStrength(Protocol):
    """The strength of a penalty."""

    @property
    def rho1(self) -> float: ...

    @property
    def rho2(self) -> float: ...

    @property
    def threshold(self) -> float: ...


class Penalty(HasStrength, Protocol):
    """The interface of a penalty on a set of features."""

    def value(self, w: Floats) -> float: ...

    def subgradient(self, w: Floats, g: Floats) -> Floats: ...

    def excess(self, g: Floats) -> Floats: ...

    def prox(self, v: Floats, c: float | Floats) -> Floats: ...

    def metric(self, unit: float | Floats) -> float | Floats: ...

    def conjugate(self, size: Floats) -> float: ...

    def movable(self, w: Floats, g: Floats, share: float) -> Mask: ...

    def factor(self, size: Floats) -> float: ...

    def dual_norm(self, size: Floats) -> float:
        """The smallest r >= 0 such that Omega*(G) would be 0 with r rho1 instead of rho1 and rho2 = 0, from |G|."""


class PenaltyOfAll(HasStrength, Protocol):
    """A penalty on the whole space."""

    def threshold_of(self, n_labels: int) -> float:
        """The threshold of features with `n_labels` labels; it never decreases with that number."""

    def thresholds(self, numbers: Numbers) -> float | Floats:
        """The threshold of each of these features: one number for all, or an array [K]."""

    def on(self, numbers: Numbers) -> Penalty:
        """The penalty on the features with these numbers; all other weights are zero."""

    def record(self) -> dict[str, Any]:
        """The penalty as JSON values, which checkpoints compare."""

    def summary(self, numbers: Numbers) -> dict[str, Any]:
        """Additional entries (besides rho1 and rho2) for the training record of a fit with these nonzero features."""


class Strengths(NamedTuple):
    """The options of `fit` that set the strength of a penalty."""

    rho1: float
    rho2: float
    group_weight: float
    order_factor: float


class PenaltyKind:
    """A value of the option `penalty`. Subclasses define `name` and `make`."""

    name: str
    capabilities = Capabilities(needs={Trait.ANY_PENALTY: ""})

    def make(self, strengths: Strengths, data: TrainingData) -> PenaltyOfAll:
        """The penalty on all features of some data."""
        raise NotImplementedError

    def named(self, vocabulary: Vocabulary, template: Template | None) -> PenaltyKind:
        """The kind of penalty with the names of attributes and labels, if it needs them."""
        return self


@dataclass(frozen=True)
class Strength:
    """The strength of a penalty, checked; a base class for penalties whose threshold is rho1."""

    rho1: float
    rho2: float

    def __post_init__(self) -> None:
        for name in ("rho1", "rho2"):
            given = getattr(self, name)
            value = float(given) if isinstance(given, Real) else np.nan
            if not (np.isfinite(value) and value >= 0):
                raise InputError(f"{name}: expected a finite number >= 0, found {given!r}")
            object.__setattr__(self, name, value)

    @property
    def threshold(self) -> float:
        return self.rho1

    def threshold_of(self, n_labels: int) -> float:
        return self.rho1

    def thresholds(self, numbers: Numbers) -> float | Floats:
        return self.rho1


class ElasticNet(Strength):
    """Omega(w) = rho1 |w|_1 + rho2/2 |w|^2"""

    @property
    def rho1_of(self) -> float | Floats:
        """The factor on |w_k|: one number for all features, or an array [K]."""
        return self.rho1

    def value(self, w: Floats) -> float:
        l1 = 0.0 if self.rho1 == 0 else self.rho1 * float(np.abs(w).sum())
        return l1 + 0.5 * self.rho2 * float(w @ w)

    def subgradient(self, w: Floats, g: Floats) -> Floats:
        if self.rho1 == 0:
            return g + self.rho2 * w
        at_zero = np.sign(g) * self.excess(g)
        return np.where(w != 0, g + self.rho2 * w + self.rho1_of * np.sign(w), at_zero)

    def excess(self, g: Floats) -> Floats:
        """max(|g| - rho1, 0)"""
        if self.rho1 == 0:
            return np.abs(g)
        excess: Floats = np.maximum(np.abs(g) - self.rho1_of, 0.0)
        return excess

    def metric(self, unit: float | Floats) -> float | Floats:
        """The penalty is separable, so any diagonal metric works."""
        return unit

    def prox(self, v: Floats, c: float | Floats) -> Floats:
        """sign(v) max(|v| - c rho1, 0) / (1 + c rho2)"""
        shrunk: Floats = np.sign(v) * np.maximum(np.abs(v) - c * self.rho1_of, 0.0) / (1.0 + c * self.rho2)
        return shrunk

    def conjugate(self, size: Floats) -> float:
        """sum_k max(|G_k| - rho1, 0)^2 / (2 rho2). If rho2 is 0, infinite unless every |G_k| <= rho1."""
        excess = size if self.rho1 == 0 else np.maximum(size - self.rho1_of, 0.0)
        if self.rho2 == 0:
            # Values scaled to at most rho1 may exceed it only by rounding errors.
            return 0.0 if (excess <= 1e-12 * self.rho1_of).all() else np.inf
        return float(excess @ excess) / (2 * self.rho2)

    def movable(self, w: Floats, g: Floats, share: float) -> Mask:
        movable: Mask = (w != 0) | (np.abs(g) > share * self.rho1_of)
        return movable

    def factor(self, size: Floats) -> float:
        """rho1 / max |G|"""
        largest = float(size.max(initial=0.0))
        return self.rho1 / largest if largest > self.rho1 else 1.0

    def dual_norm(self, size: Floats) -> float:
        """The smallest r with |G_k| <= r rho1 for every feature, from |G|."""
        return float((size / self.rho1_of).max(initial=0.0))

    def on(self, numbers: Numbers) -> ElasticNet:
        return self

    def record(self) -> dict[str, Any]:
        return {"rho1": self.rho1, "rho2": self.rho2}

    def summary(self, numbers: Numbers) -> dict[str, Any]:
        return {}
