"""The regularisation path: solutions for decreasing rho1, each starting from the previous one, and the choice of rho1.

`path` scores on held-out data, `cross_validate` on folds. Both either follow given values or search (see `grid.py`);
both return a `Path`.
"""

from sparsecrf.path.cross_validation import cross_validate
from sparsecrf.path.folds import documents
from sparsecrf.path.following import Point, path
from sparsecrf.path.grid import rho_max
from sparsecrf.path.result import Path, PathWarning, one_standard_error
from sparsecrf.path.scores import ErrorRate, Score, score_of

__all__ = [
    "ErrorRate",
    "Path",
    "PathWarning",
    "Point",
    "Score",
    "cross_validate",
    "documents",
    "one_standard_error",
    "path",
    "rho_max",
    "score_of",
]
