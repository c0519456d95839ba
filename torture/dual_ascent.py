"""Random problems for the solver dual: compares its optimum, and every gap, with SciPy's optimum on explicit features.

usage: PYTHONPATH=tests:tests/support python torture/dual_ascent.py [N [FIRST]]

N problems from seed FIRST on. Prints faults and counts.
"""

from __future__ import annotations

import sys

import numpy as np
from explicit_objective import Explicit
from problems import make_problem

from sparsecrf.training import fit


def faults(seed: int) -> list[str]:
    """The faults in the runs of one problem."""
    rng = np.random.default_rng(seed)
    lengths = [int(n) for n in rng.integers(1, 6, rng.integers(1, 6))]
    problem = make_problem(
        seed,
        int(rng.integers(1, 5)),
        lengths,
        int(rng.integers(1, 5)),
        real_values=bool(rng.integers(2)),
        sequence_weights=bool(rng.integers(2)),
    )
    rho1, rho2 = float(rng.choice([0.0, 0.01, 0.1, 0.5])), float(rng.choice([0.01, 0.1, 1.0]))
    best = Explicit(problem, rho1, rho2).minimum
    scale = max(abs(best), 1.0)
    found = fit(problem.corpus(), rho1=rho1, rho2=rho2, solver="dual", tol=1e-8, max_iter=3000, threads=1)
    wrong = []
    if abs(found.objective - best) > 1e-6 * scale:
        wrong.append(f"objective {found.objective!r}, SciPy {best!r}, stopped by {found.stopped_by}")
    wrong += [
        f"iteration {at.iter}: bound {at.objective - at.gap!r} above {best!r}"
        for at in found.history
        if at.gap is not None and at.objective - at.gap > best + 1e-7 * scale
    ]
    if found.gap < 0 or found.objective - found.gap > best + 1e-7 * scale:
        wrong.append(f"gap {found.gap!r} at {found.objective!r}, SciPy {best!r}")
    return [f"seed {seed}, rho1 {rho1}, rho2 {rho2}: {fault}" for fault in wrong]


def main() -> int:
    n, first = (int(x) for x in (sys.argv[1:] + ["3000", "0"][len(sys.argv) - 1 :]))
    found = [fault for seed in range(first, first + n) for fault in faults(seed)]
    print(*found, sep="\n")
    print(f"{n} problems, {len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
