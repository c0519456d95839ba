"""Checks certificates of training with a prior against SciPy, on tiny random problems.

    PYTHONPATH=src:tests:tests/support:tests/training:. python benchmarks/uncertain/prior_certificates.py [N]

Prints how many problems had an objective that differs from its definition, a lower bound above the minimum, or an
objective below it; and how tight the bounds were when training stopped by its tolerance.
"""

from __future__ import annotations

import sys

import numpy as np
from test_prior import tiny

from sparsecrf import fit

n, wrong, gaps = int(sys.argv[1]) if len(sys.argv) > 1 else 1000, 0, []
for seed in range(n):
    explicit, prior, max_iter = tiny(seed)
    options = {"rho1": explicit.rho1, "rho2": explicit.rho2, "prior": prior, "max_iter": max_iter, "threads": 1}
    found = fit(explicit.problem.corpus(), **options)
    value, slack = explicit.value(explicit.weights(found)), 1e-8 * (1 + abs(explicit.minimum))
    is_right = abs(value - found.objective) <= slack
    is_right &= found.objective - found.gap - slack <= explicit.minimum <= found.objective + slack
    wrong += not is_right
    if found.stopped_by == "tol":
        gaps.append(found.gap / max(found.objective, 1e-12))
print(f"{wrong} of {n} wrong; relative gap: median {np.median(gaps):.2g}, 90 % {np.quantile(gaps, 0.9):.2g}")
