"""The first extension that the paper announces: the regularisation path, with each solution as the start of the next,
compared with fits that all start from zero."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from experiments import figures
from experiments.common import Experiment, Job, Relation, Report, Result, duration, number, scientific, table
from experiments.data import TASKS, read
from experiments.training import active, ending, fit_alone
from sparsecrf import Fit
from sparsecrf.training.heldout import token_error

RHO1 = [float(f"{value:.3g}") for value in np.geomspace(50, 0.1, 10)]
RHO2 = 0.001
SOLVERS = ("auto", "sbcd")
TOL = 1e-3


def follow(data: Path, *, task: str, solver: str, warm: bool, rho1: list[float], tol: float) -> Result:
    """A fit for each rho1, in decreasing order, starting from the previous fit or from zero."""
    corpora = read(data, task)
    rows: list[Result] = []
    before: Fit | None = None
    for value in rho1:
        start = before if warm else None
        found = fit_alone(corpora.train, rho1=value, rho2=RHO2, solver=solver, tol=tol, max_iter=2000, init=start)
        rows.append(
            {
                "rho1": value,
                **ending(found),
                "test_error": token_error(corpora.test, found.numbers, found.w, threads=1),
            }
        )
        before = found
    return {"rows": rows}


def jobs(quick: bool) -> dict[str, Job]:
    grid = RHO1[4::3] if quick else RHO1
    minutes = {"auto": 2.0, "sbcd": 4.0}
    return {
        f"{solver}, {'warm' if warm else 'cold'}": Job(
            "experiments.path:follow",
            {"task": "letters", "solver": solver, "warm": warm, "rho1": grid, "tol": 5e-3 if quick else TOL},
            TASKS["letters"].files,
            minutes[solver],
        )
        for solver in SOLVERS
        for warm in (True, False)
    }


def report(results: dict[str, Result]) -> Report:
    total = {n: {q: sum(row[q] for row in r["rows"]) for q in ("passes", "time_s")} for n, r in results.items()}
    took = {n: f"{number(t['passes'])} passes and {duration(t['time_s'])}" for n, t in total.items()}
    saved = {s: total[f"{s}, cold"]["passes"] / total[f"{s}, warm"]["passes"] for s in SOLVERS}
    differences = {s: _difference(results, s) for s in SOLVERS}
    return Report(
        numbers={"rows": {name: r["rows"] for name, r in results.items()}, "total": total, "saved": saved},
        tables={
            "The path with warm starts (`auto`), and the passes of cold ones": _table(results),
            "All values of rho1 together": table(
                ["solver, starts", "passes", "time"],
                [[name, number(t["passes"]), duration(t["time_s"])] for name, t in total.items()],
            ),
        },
        figures={"path": _figure(results)},
        relations=[
            Relation(
                "Warm starts save passes (the paper, of blocks)", saved["sbcd"] > 1, f"{saved['sbcd']:.2f} times fewer"
            ),
            Relation(
                "and so they do with `auto`, which begins its memory of curvature anew at each start",
                saved["auto"] > 1,
                f"{saved['auto']:.2f} times fewer",
                full_only=True,
            ),
            Relation(
                "Warm and cold starts lead to the same objectives (1 %)",
                all(value < 0.01 for value in differences.values()),
                ", ".join(f"{solver}: {scientific(value)}" for solver, value in differences.items()),
            ),
        ],
        headline=(
            f"{len(results['auto, warm']['rows'])} values of rho1 on letters: with `auto`, warm starts take "
            f"{took['auto, warm']}, cold ones {took['auto, cold']}; with `sbcd` {took['sbcd, warm']}, and "
            f"{took['sbcd, cold']}."
        ),
    )


def _difference(results: dict[str, Result], solver: str) -> float:
    """The largest relative difference in the objective between warm and cold starts."""
    warm, cold = (results[f"{solver}, {start}"]["rows"] for start in ("warm", "cold"))
    return float(max(abs(a["objective"] / b["objective"] - 1) for a, b in zip(warm, cold, strict=True)))


def _table(results: dict[str, Result]) -> list[str]:
    rows = []
    for warm, cold in zip(results["auto, warm"]["rows"], results["auto, cold"]["rows"], strict=True):
        rows.append(
            [
                f"{warm['rho1']:g}",
                f"{active(warm):,}",
                f"{warm['test_error']:.2f}",
                number(warm["objective"], 1),
                scientific(warm["kkt"]),
                number(warm["passes"]),
                number(cold["passes"]),
            ]
        )
    return table(["rho1", "active", "test %", "objective", "kkt", "passes, warm", "passes, cold"], rows)


def _figure(results: dict[str, Result]) -> figures.Panels:
    passes = {
        name: ([row["rho1"] for row in r["rows"]], np.cumsum([row["passes"] for row in r["rows"]]))
        for name, r in results.items()
    }
    rows = results["auto, warm"]["rows"]
    errors = {"test error": ([active(row) for row in rows], [row["test_error"] for row in rows])}
    return figures.Panels(
        figures.curves(passes, xlabel="rho1", ylabel="passes so far", log_x=True, falling=True),
        figures.curves(errors, xlabel="active features", ylabel="test error (%)", log_x=True),
    )


EXPERIMENT = Experiment("path", "The path with warm starts", "announced in section 7", jobs, report)
