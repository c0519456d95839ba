"""Training: the objective, its lower bound, the solvers, and `fit`, one call for all of them."""

from sparsecrf.training.fitting import DETERMINISTIC, OVER_GROUPS, OVER_SHARDS, SOLVERS, STOCHASTIC, fit
from sparsecrf.training.groups import FeatureGroups, named
from sparsecrf.training.result import Fit
from sparsecrf.training.starting_weights import Weights, weights_in

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
