"""Section 6.3: named entities of CoNLL-2003, and five ways to choose features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments import figures, paper
from experiments.common import Experiment, Job, Relation, Report, Result, duration, number, table
from experiments.data import TASKS, Corpora, read
from experiments.training import active, fit_alone, history
from sparsecrf import Fit, InputError
from sparsecrf.contrib.selection import frequency_cutoff, mutual_information, threshold
from sparsecrf.metrics import Evaluation
from sparsecrf.training.heldout import best_labels

RHO1 = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
AT_LEAST = (2, 3, 5, 10, 20, 50, 100, 300)
TOP_N = (10, 30, 100, 300, 1000, 3000, 10_000)
KEEP = (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000)
RHO2 = 0.001  # for models without an l1 penalty: the best of 0.5, 0.1, 0.02, 0.005, 0.001 on the dev part
L1 = ("SBCD", "OWL-QN")
#: Plain L-BFGS: OWL-QN without an l1 penalty. If features are given, they are the virtual space.
RIDGE: dict[str, Any] = {"rho1": 0, "rho2": RHO2, "solver": "owlqn", "tol": 1e-3}
CLOSE = 0.1  # points: a run has converged when its error is this close to its last error


# ---- The jobs


def l1(data: Path, *, solver: str, rho1: float, max_iter: int | None) -> Result:
    """SBCD (elastic net, rho2 = 0.001) or OWL-QN (l1 alone), tested at each iteration."""
    corpora = read(data, "entities")
    rho2 = 0.001 if solver == "sbcd" else 0.0
    found = fit_alone(corpora.train, rho1=rho1, rho2=rho2, solver=solver, max_iter=max_iter, dev=corpora.test)
    return {**scores(found, corpora), "history": history(found), "rho1": rho1}


def preselected(data: Path, *, by: str, at: int, max_iter: int) -> Result:
    """Select features that occur often enough, or the blocks that tell most about the label, then train with l2."""
    corpora = read(data, "entities")
    choose = frequency_cutoff if by == "cut-off" else mutual_information
    numbers = choose(corpora.train, at)
    found = fit_alone(corpora.train, numbers=numbers, max_iter=max_iter, **RIDGE)
    return {**scores(found, corpora), "at": at, "time_s": found.history[-1].time_s}


def thresholded(data: Path, *, keep: list[int], max_iter: int) -> Result:
    """The full model with an l2 penalty, and the same model reduced to its largest weights."""
    corpora = read(data, "entities")
    found = fit_alone(corpora.train, max_iter=max_iter, dev=corpora.test, **RIDGE)
    rows = [scores(found, corpora)]
    rows += [scores(threshold(found, keep=n, threads=1), corpora) for n in keep if n < len(found.w)]
    return {"rows": rows, "history": history(found)}


def stochastic(data: Path, *, epochs: int) -> Result:
    corpora = read(data, "entities")
    found = fit_alone(corpora.train, rho1=0, rho2=RHO2, solver="sgd", max_iter=epochs, dev=corpora.test)
    return {**scores(found, corpora), "history": history(found)}


def scores(found: Fit, corpora: Corpora) -> Result:
    """Token error and F1 (conlleval's) on test part B, with the number of features."""
    test = corpora.test
    if (test.labels < 0).any():
        raise InputError("test part: expected labels of the training part only, found others")
    predicted = best_labels(test, found.numbers, found.w, threads=1)
    evaluation = Evaluation()
    names = [corpora.vocabulary.labels[k] for k in range(test.n_labels)]
    for begin, end in zip(test.offsets[:-1], test.offsets[1:], strict=True):
        gold, ours = ([names[k] for k in labels[begin:end]] for labels in (test.labels, predicted))
        evaluation.add(gold, ours)
    return {"features": len(found.w), "error": evaluation.token_error, "f1": evaluation.f1}


def jobs(quick: bool) -> dict[str, Job]:
    def entities(function: str, minutes: float, **options: Any) -> Job:
        return Job(f"experiments.entities:{function}", options, TASKS["entities"].files, minutes)

    rho1, at_least, top_n = (RHO1[::2], AT_LEAST[::3], TOP_N[:4]) if quick else (RHO1, AT_LEAST, TOP_N)
    keep = [10, 30, 100, 300] if quick else list(KEEP)
    limit = 30 if quick else 60
    found = {"L-BFGS": entities("thresholded", 1.2, keep=keep, max_iter=limit)}
    found["SGD"] = entities("stochastic", 1.0, epochs=5 if quick else 15)
    for value in rho1:
        found[f"SBCD {value:g}"] = entities("l1", 0.2, solver="sbcd", rho1=value, max_iter=30)
        found[f"OWL-QN {value:g}"] = entities("l1", 0.3, solver="owlqn", rho1=value, max_iter=200)
    found |= {f"cut-off {n}": entities("preselected", 0.2, by="cut-off", at=n, max_iter=limit) for n in at_least}
    found |= {f"MI {n}": entities("preselected", 0.2, by="MI", at=n, max_iter=limit) for n in top_n}
    return found


# ---- The report


def report(results: dict[str, Result]) -> Report:
    curves = {m: _curve(results, m) for m in (*L1, "cut-off", "MI")}
    curves["a posteriori"] = sorted(results["L-BFGS"]["rows"], key=lambda row: row["features"])
    times = _times(results)
    sbcd, seconds = results["SBCD 1"], {name: duration(t["arrived_s"]) for name, t in times.items()}
    return Report(
        numbers={"curves": curves, "times": times},
        tables={
            "Test part B by way of selection: features, token error in %, F1": _table(curves),
            f"Time until the test error is within {CLOSE} points of its last value": _time_table(times),
        },
        figures={"entities": _figure(curves)},
        relations=_relations(curves, times),
        headline=(
            f"SBCD at rho1 = 1: {sbcd['error']:.2f} % token error, F1 {number(sbcd['f1'], 1)} with "
            f"{sbcd['features']:,} features (paper: 6,656); within {CLOSE} points of that after {seconds['SBCD']} "
            f"(paper: 42 minutes), OWL-QN {seconds['OWL-QN']} (5), SGD {seconds['SGD']} (4), L-BFGS "
            f"{seconds['L-BFGS']} (25)."
        ),
    )


def _curve(results: dict[str, Result], method: str) -> list[Result]:
    rows = [{k: v for k, v in r.items() if k != "history"} for n, r in results.items() if n.rsplit(" ", 1)[0] == method]
    return sorted(rows, key=lambda row: row["features"])


def _times(results: dict[str, Result]) -> dict[str, dict[str, float]]:
    runs = {"SBCD": "SBCD 1", "OWL-QN": "OWL-QN 1", "SGD": "SGD", "L-BFGS": "L-BFGS"}
    times = {}
    for name, run in runs.items():
        records = results[run]["history"]
        last = records[-1]["dev_error"]
        away = [k for k, record in enumerate(records) if abs(record["dev_error"] - last) > CLOSE]
        arrived = records[min(away[-1] + 1 if away else 0, len(records) - 1)]
        times[name] = {
            "arrived_s": arrived["time_s"],
            "iterations": arrived["iter"],
            "total_s": records[-1]["time_s"],
            "error": last,
            "features": active(records[-1]),
        }
    return times


def _table(curves: dict[str, list[Result]]) -> list[str]:
    rows = [
        [name, f"{row['features']:,}", f"{row['error']:.2f}", number(row["f1"], 1)]
        for name, points in curves.items()
        for row in points
    ]
    return table(["selection", "features", "error %", "F1"], rows)


def _time_table(times: dict[str, dict[str, float]]) -> list[str]:
    rows = [
        [
            name,
            f"{paper.ENTITIES_MINUTES[name]} min",
            duration(t["arrived_s"]),
            number(t["iterations"]),
            f"{t['error']:.2f}",
            f"{t['features']:,}",
        ]
        for name, t in times.items()
    ]
    return table(["solver", "paper", "ours", "iterations", "error %", "features"], rows)


def _interpolated(points: list[Result], features: float) -> float:
    """The error with this number of features, interpolated on the logarithmic scale."""
    x = np.log([max(row["features"], 1) for row in points])
    return float(np.interp(np.log(features), x, [row["error"] for row in points]))


def _relations(curves: dict[str, list[Result]], times: dict[str, dict[str, float]]) -> list[Relation]:
    sbcd = curves["SBCD"]
    few = sbcd[len(sbcd) // 2]["features"]
    at_few = {name: _interpolated(points, few) for name, points in curves.items()}
    shown = f"with {few:,} features: " + ", ".join(f"{name} {error:.2f}" for name, error in at_few.items())
    best = {name: min(row["error"] for row in points) for name, points in curves.items()}
    fewest = min(row["features"] for row in sbcd)
    sparsest = {name: _interpolated(curves[name], fewest) for name in ("SBCD", "a posteriori")}
    return [
        Relation("SBCD beats the frequency cut-off", at_few["SBCD"] < at_few["cut-off"], shown),
        Relation("and mutual information", at_few["SBCD"] < at_few["MI"], shown),
        Relation(
            "Mutual information beats the frequency cut-off", at_few["MI"] < at_few["cut-off"], shown, full_only=True
        ),
        Relation(
            "Thresholding a posteriori gives no good model that is very sparse",
            sparsest["a posteriori"] > sparsest["SBCD"],
            f"with {fewest:,} features: " + ", ".join(f"{name} {error:.2f}" for name, error in sparsest.items()),
            full_only=True,
        ),
        Relation(
            "SBCD and OWL-QN are as good as each other (0.2 points)",
            abs(best["SBCD"] - best["OWL-QN"]) <= 0.2,
            ", ".join(f"{name} {error:.2f}" for name, error in best.items()),
        ),
        Relation(
            "OWL-QN is faster than SBCD, SGD the fastest without sparsity",
            times["OWL-QN"]["arrived_s"] < times["SBCD"]["arrived_s"]
            and times["SGD"]["arrived_s"] < times["L-BFGS"]["arrived_s"],
            ", ".join(f"{name} {duration(t['arrived_s'])}" for name, t in times.items()),
            full_only=True,
        ),
    ]


def _figure(curves: dict[str, list[Result]]) -> figures.Panels:
    draw = []
    for quantity, label in (("error", "token error, test B (%)"), ("f1", "F1, test B (%)")):
        lines = {n: ([r["features"] for r in rows], [r[quantity] or 0.0 for r in rows]) for n, rows in curves.items()}
        draw.append(figures.curves(lines, xlabel="features", ylabel=label, log_x=True))
    return figures.Panels(*draw)


EXPERIMENT = Experiment("entities", "CoNLL-2003, named entities", "section 6.3, figure 6", jobs, report)
