"""Training: the objective, its lower bound, the solvers, and `fit`, which runs any of them."""

from sparsecrf.training.fitting import fit
from sparsecrf.training.groups import FeatureGroups
from sparsecrf.training.penalties import named
from sparsecrf.training.result import Fit
from sparsecrf.training.solvers import SOLVERS
from sparsecrf.training.starting_weights import Weights, weights_in

__all__ = ["SOLVERS", "FeatureGroups", "Fit", "Weights", "fit", "named", "weights_in"]
