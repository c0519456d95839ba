"""Section 6.2: the running time of SBCD by the number of active features, with dense recursions as the baseline."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from experiments import figures
from experiments.common import Experiment, Job, Relation, Report, Result, number, table
from experiments.data import TASKS, read
from experiments.training import fit_alone
from sparsecrf import Fit
from sparsecrf._core import Oracle, Sbcd
from sparsecrf.training.feature_sets import WorkingSet
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import ElasticNet

RHO1 = (100, 50, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02)
KERNELS = ("auto", "sparse", "dense")
RHO2 = 0.001


def kernels(data: Path, *, task: str, rho1: list[float], sequences: int | None = None, rounds: int = 3) -> Result:
    """Seconds for a sweep of SBCD and for a pass (loss and gradient) over the active features, by kernel.

    The weights come from a path with warm starts and from a model with all features; they are the same for all kernels.
    """
    train = read(data, task, sequences=sequences).train
    rows, before = [], None
    for value in rho1:
        before = fit_alone(train, rho1=value, rho2=RHO2, tol=3e-3, max_iter=40, init=before)
        rows.append(_row(before, rounds))
    everything = fit_alone(train, rho1=0, rho2=0.02, solver="owlqn", max_iter=15, tol=0.0)
    rows.append(_row(everything, 1))  # sparse recursions on dense matrices are slow
    return {"rows": rows, "labels": train.n_labels, "tokens": train.n_tokens}


def _row(found: Fit, rounds: int) -> dict[str, Any]:
    known = Objective(found.corpus, ElasticNet(found.rho1, RHO2), threads=1).working_set(found.numbers)
    seconds: dict[str, list[float]] = {f"{what} {kernel}": [] for what in ("sweep", "pass") for kernel in KERNELS}
    for _ in range(rounds):  # in turns, so that a busy moment of the machine affects all of them
        for kernel in KERNELS:
            seconds[f"sweep {kernel}"].append(_sweep(found, known, kernel))
            seconds[f"pass {kernel}"].append(_pass(found, known, kernel))
    return {"rho1": found.rho1, "active": known.size, **{name: min(values) for name, values in seconds.items()}}


def _sweep(found: Fit, known: WorkingSet, kernel: str) -> float:
    sweeper = Sbcd(found.corpus, 1, kernel)
    began = time.process_time()
    sweeper.sweep(
        known.feature_set, found.w, known.counts, rho1=found.rho1, rho2=RHO2, as_printed=0.0, coordinatewise=False
    )
    return time.process_time() - began


def _pass(found: Fit, known: WorkingSet, kernel: str) -> float:
    oracle = Oracle(found.corpus, 1, kernel)
    oracle.loss_grad(known.feature_set, found.w, known.counts)  # the first pass builds the tables that passes share
    began = time.process_time()
    oracle.loss_grad(known.feature_set, found.w, known.counts)
    return time.process_time() - began


def jobs(quick: bool) -> dict[str, Job]:
    options = {"task": "letters", "rho1": [5, 1, 0.2] if quick else list(RHO1), "rounds": 2 if quick else 3}
    return {"letters": Job("experiments.running_time:kernels", options, TASKS["letters"].files, minutes=8.0)}


def report(results: dict[str, Result]) -> Report:
    found = results["letters"]
    rows = found["rows"]
    return Report(
        numbers=found,
        tables={
            "Milliseconds of a sweep of SBCD, and of a pass (loss and gradient) over the data, by kernel": kernel_table(
                rows
            )
        },
        figures={"running_time": figure(rows, "sweep", "pass")},
        relations=relations(rows),
        headline=(
            f"A sweep over {rows[0]['active']:,} active features takes {1e3 * rows[0]['sweep auto']:.0f} ms, over all "
            f"{rows[-1]['active']:,} {1e3 * rows[-1]['sweep auto']:.0f} ms; with dense recursions "
            f"{1e3 * rows[0]['sweep dense']:.0f} and {1e3 * rows[-1]['sweep dense']:.0f} ms."
        ),
    )


def kernel_table(rows: list[dict[str, Any]]) -> list[str]:
    head = ["rho1", "active", *(f"{what} {kernel}" for what in ("sweep", "pass") for kernel in KERNELS)]
    body = [
        [f"{row['rho1']:g}", f"{row['active']:,}", *(number(1e3 * row[name], 1) for name in head[2:])] for row in rows
    ]
    return table(head, body)


def figure(rows: list[dict[str, Any]], *quantities: str) -> figures.Panels:
    """Seconds against active features; the paper's horizontal line is the dense curve."""
    x = [row["active"] for row in rows]
    draw = []
    for what in quantities:
        lines = {kernel: (x, [row[f"{what} {kernel}"] for row in rows]) for kernel in KERNELS}
        label = f"seconds of a {what}"
        top = 2.0 * max(row[f"{what} dense"] for row in rows)  # sparse recursions on dense matrices take far longer
        draw.append(figures.curves(lines, xlabel="active features", ylabel=label, log_x=True, top=top))
    return figures.Panels(*draw)


def relations(rows: list[dict[str, Any]]) -> list[Relation]:
    first, last = rows[0], rows[-1]
    worst = max(row["pass auto"] / min(row["pass dense"], row["pass sparse"]) for row in rows)
    ranks = [np.argsort(np.argsort([row[name] for row in rows])) for name in ("active", "sweep auto")]
    correlation = float(np.corrcoef(ranks[0], ranks[1])[0, 1])
    return [
        Relation(
            "The time of a sweep grows with the active features (rank correlation above 0.8)",
            correlation > 0.8,
            f"{correlation:.2f}",
            full_only=True,
        ),
        Relation(
            "The sparsest model is at least twice as fast with sparse recursions as with dense ones (a pass)",
            first["pass dense"] > 2 * first["pass auto"],
            f"{first['pass dense'] / first['pass auto']:.1f} times",
            full_only=True,
        ),
        Relation(
            "Where sparse recursions would be slower than dense ones, dense ones are taken (25 % for noise)",
            worst < 1.25,
            f"at worst {worst:.2f} times the better kernel; on the full model sparse ones take "
            f"{last['pass sparse'] / last['pass dense']:.1f} times as long as dense ones",
            full_only=True,
        ),
    ]


EXPERIMENT = Experiment("running-time", "NETtalk, time against sparsity", "section 6.2, figure 5", jobs, report)
