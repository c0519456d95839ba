"""Solvers, one per file, by the names in `sparsecrf.defaults.SOLVERS`."""

from sparsecrf.defaults import SOLVERS as PLACES
from sparsecrf.lazy import registered
from sparsecrf.training.solvers.solver import SolverKind

SOLVERS: dict[str, SolverKind] = registered(__name__, PLACES)
