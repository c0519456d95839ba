"""Missing labels together with token weights, on tiny problems. Enumeration of all label sequences checks every
solver's loss at its result and, for solvers that converge, the optimality conditions."""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np

from sparsecrf import InputError, fit
from sparsecrf.training import SOLVERS
from torture.common import ROOT, Outcome

sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "support")]

from problems import make_problem  # noqa: E402

from reference import enumeration  # noqa: E402

_CONVERGE = ("auto", "owlqn", "fista", "cd", "sbcd")
_RHO1, _RHO2 = 0.1, 0.05


def run(minutes: float, out: Path) -> Outcome:
    """Try problems until time is up."""
    outcome, end = Outcome(0, []), time.monotonic() + 60 * minutes
    for seed in range(10**6):
        if time.monotonic() > end:
            break
        problem = make_problem(
            seed=seed,
            n_labels=2 + seed % 3,
            lengths=[1 + seed % 5, 3, 2],
            n_attributes=3 + seed % 4,
            density=0.5,
            real_values=seed % 2 == 0,
            missing=0.4,
            token_weights=True,
            sequence_weights=seed % 3 == 0,
        )
        for solver in SOLVERS:
            try:
                finding = _compare(problem, solver)
            except InputError as error:  # all labels are missing, or the solver does not support such data
                refused = f"{solver}: {str(error)[:60]}"
                outcome.detail[refused] = outcome.detail.get(refused, 0) + 1
                continue
            outcome.executions += 1
            if finding:
                outcome.findings.append(f"seed {seed}, {solver}: {finding}")
    return outcome


def _compare(problem, solver: str) -> str:
    rho1 = 0.0 if solver == "sgd" else _RHO1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fit(problem.corpus(), solver=solver, rho1=rho1, rho2=_RHO2, tol=1e-10, max_iter=300, threads=1)
    w = np.zeros(problem.w.size)
    w[found.numbers] = found.w  # the reference's concatenated arrays have the same numbering as features
    mu, lam = w[: problem.mu.size].reshape(problem.mu.shape), w[problem.mu.size :].reshape(problem.lam.shape)
    loss, g = 0.0, np.zeros_like(w)
    for sequence in problem.sequences:
        part, g_mu, g_lam = enumeration.loss_gradient(sequence, mu, lam)
        loss, g = loss + part, g + np.concatenate([g_mu.ravel(), g_lam.ravel()])
    if abs(loss - found.loss) > 1e-9 * (1 + abs(loss)):
        return f"loss {found.loss!r}, by enumeration {loss!r}"
    smooth = g + _RHO2 * w
    residual = np.where(w != 0, np.abs(smooth + rho1 * np.sign(w)), np.maximum(np.abs(smooth) - rho1, 0.0))
    if solver in _CONVERGE and found.stopped_by in ("tol", "precision") and residual.max() > 1e-3:
        return f"not optimal, {found.stopped_by}: KKT residual {residual.max():.2g}"
    return ""
