"""Defaults that several functions, estimators and commands share. This module imports nothing, because the command line
loads it at startup.

tests/estimators/test_defaults.py compares every signature and every command-line option with these defaults.
"""

# benchmarks/record/penalties.md lists the data on which the penalties were chosen and checked.
RHO1 = 0.05  #: absolute (l1) penalty
RHO2 = 0.1  #: squared (l2) penalty
SMALL = "small"  #: rho1="small" selects the penalties of a small model
SMALL_RHO1, SMALL_RHO2 = 1.0, 0.01
AUTO = "auto"  #: rho1="auto" chooses rho1 on held-out data
SEARCH = "search"  #: rho2="search" searches for the best pair of penalties
TOL = 5e-3  #: training stops when the objective is above the optimum by at most this fraction
SOLVER = "auto"
PENALTY = "elastic-net"
GROUP_WEIGHT = 1.0  #: weight of groups of features relative to single features
ORDER = 2  #: maximum number of labels of a feature
ORDER_FACTOR = 1.0  #: factor on rho1 for each label beyond two
CHECKPOINT_EVERY = 60.0  #: seconds between two checkpoints

# For a path without a search:
N_RHO = 20  #: number of values of rho1
RHO_MIN_RATIO = 1e-3  #: smallest rho1, relative to the largest; if the user gives no ratio, it is at most RHO1

#: The solvers by name, with their declarations in `training/solvers/`. `registered` imports them, which is slow.
SOLVERS = {
    "auto": "proximal.KIND",  # dual is used instead if it is faster (`training/solvers/choosing.py`)
    "proximal": "proximal.KIND",
    "dual": "dual.KIND",
    "sbcd": "sbcd.SBCD",
    "cd": "sbcd.CD",
    "owlqn": "owlqn.KIND",
    "lbfgs": "lbfgs.KIND",
    "fista": "fista.KIND",
    "sgd": "sgd.SGD",
    "sgd-l1": "sgd.SGD_L1",
}
#: The penalties by name, with their classes in `training/`.
PENALTIES = {
    PENALTY: "order_penalty.ElasticNetKind",
    "group:attribute": "groups.ByAttribute",
    "group:line": "groups.ByLine",
    "group:label": "groups.ByLabel",
    "tree": "groups.Tree",
}
