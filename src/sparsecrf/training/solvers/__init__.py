"""Solvers, one per file, and their names."""

from sparsecrf.training.solvers import dual, fista, lbfgs, owlqn, proximal, sbcd, sgd
from sparsecrf.training.solvers.solver import SolverKind

#: By name; `sparsecrf.defaults.SOLVERS` has the same names.
SOLVERS: dict[str, SolverKind] = {
    "auto": proximal.KIND,  # or dual if that is faster (`choosing`)
    "proximal": proximal.KIND,
    "dual": dual.KIND,
    "sbcd": sbcd.SBCD,
    "cd": sbcd.CD,
    "owlqn": owlqn.KIND,
    "lbfgs": lbfgs.KIND,
    "fista": fista.KIND,
    "sgd": sgd.SGD,
    "sgd-l1": sgd.SGD_L1,
}
