"""The numbers in the paper, by table, for comparison with ours."""

from __future__ import annotations

BAYES_ERROR = 15.4  # %, section 6.1
#: Section 6.1, errors in %: train, test. The paper shows all others only in box plots.
SIMULATED_ERRORS = {"M1": (6.4, 18.5), "M7": (10.3, 17.9)}
#: Table 1: rho1, active mu, active lambda.
SIMULATED_ACTIVE = {
    "M4": (0.001, 28.5, 50.6),
    "M5": (0.01, 15.0, 26.0),
    "M6": (0.1, 10.9, 17.2),
    "M7": (1.0, 6.2, 4.9),
    "M8": (2.5, 5.8, 1.3),
}
BLOCK_SPEED = 50.0  # how many times faster a sweep by blocks is than a sweep by coordinates, section 6.1

#: Table 2: iterations, minutes, train error, test error, K_mu, K_lambda.
LETTERS = {
    "SBCD, rho1 = 0": (30, 125, 13.3, 14.0, 1378, 73034),
    "SBCD, rho1 = 0.1": (30, 76, 13.5, 14.2, 1155, 4171),
    "SBCD, rho1 = 0.2": (30, 70, 14.0, 14.2, 1089, 3598),
    "SBCD, rho1 = 0.5": (30, 63, 13.7, 14.3, 957, 3077),
    "SBCD, rho1 = 1": (30, 55, 16.3, 16.8, 858, 3111),
    "SBCD, rho1 = 2": (30, 43, 16.4, 16.9, 760, 2275),
    "SBCD, rho1 = 10": (30, 25, 17.3, 17.7, 267, 997),
    "OWL-QN, rho1 = 0.1": (50, 165, 13.5, 14.2, 1864, 4079),
    "L-BFGS": (90, 302, 13.5, 14.1, 1378, 73034),
    "SGD": (30, 17, 18.5, 19.1, 1378, 73034),
}

#: Table 3: millions of features; test error and thousands of active features after 20 and after 30 iterations.
CONTEXT: dict[str, tuple[float, tuple[float, float], tuple[float, float]]] = {
    "pseudo 3-gram": (0.236, (8.98, 12.5), (8.67, 10.9)),
    "pseudo 5-gram": (0.399, (6.77, 19.8), (6.65, 17.1)),
    "3-gram": (14.2, (8.22, 12.8), (8.04, 11.7)),
    "5-gram": (121.0, (6.51, 21.7), (6.50, 20.1)),
}
CONTEXT_HOURS = 5.0  # for 20 iterations of the 5-gram model

#: Section 6.3, minutes; 6,656 active features with SBCD at rho1 = 1.
ENTITIES_MINUTES = {"SBCD": 42, "OWL-QN": 5, "SGD": 4, "L-BFGS": 25}
ENTITIES_ACTIVE = 6656
