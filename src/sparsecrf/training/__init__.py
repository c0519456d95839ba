"""Training: the objective, its lower bound, the solvers, and `fit`, one call for all of them."""

from sparsecrf.training.fitting import (
    DETERMINISTIC,
    OVER_GROUPS,
    OVER_SHARDS,
    SOLVERS,
    STOCHASTIC,
    Fit,
    Weights,
    fit,
    weights_in,
)
from sparsecrf.training.groups import FeatureGroups, named

__all__ = [
    "DETERMINISTIC",
    "OVER_GROUPS",
    "OVER_SHARDS",
    "SOLVERS",
    "STOCHASTIC",
    "FeatureGroups",
    "Fit",
    "Weights",
    "fit",
    "named",
    "weights_in",
]
