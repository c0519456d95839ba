"""Training: the objective, its lower bound, the solvers, and `fit`, one call for all of them."""

from sparsecrf.training.fitting import (
    DETERMINISTIC,
    OVER_SHARDS,
    SOLVERS,
    STOCHASTIC,
    Fit,
    Weights,
    fit,
    weights_in,
)

__all__ = ["DETERMINISTIC", "OVER_SHARDS", "SOLVERS", "STOCHASTIC", "Fit", "Weights", "fit", "weights_in"]
