"""Simple implementations of two earlier methods for sparse models that the paper cites, compared with screening.

*Bound optimisation* (Krishnapuram, Carin, Figueiredo & Hartemink 2005): the curvature is replaced by a constant bound,
so that each update is a soft threshold and the objective cannot rise. The original method is for logistic regression.
Here, let v_j be the values of the occurrences j of attributes in sequence i, and n_i = sum_j |v_j|. The variance of
F . d is at most a quarter of its squared range, so

    d' H d <= sum_i w_i/4 (sum_j |v_j| range_j(d))^2 <= sum_i w_i/4 n_i sum_j |v_j| 2 sum_cells d^2  =  sum_k b_k d_k^2
    b_k = 1/2 sum_i w_i n_i c_i(x),      c_i(x) = sum of |v| over the occurrences of the attribute of k in sequence i

    w_k <- S(b_k w_k - g_k, rho1) / (b_k + rho2)                for all features at once, one pass each

*Feature induction* (McCallum 2003): begin without features; add the features with the largest estimated gain, train for
a few iterations with an l2 penalty, and repeat. The gain of a feature is the gain from changing its weight alone, with
its expectation spread evenly over the mass m of its attribute:

    gain_k = max_w { C w - m log(1 - E/m + (E/m) exp w) } = m KL(C/m || E/m)
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import rel_entr
from threadpoolctl import threadpool_limits

from experiments import figures
from experiments.common import Experiment, Job, Relation, Report, Result, duration, number, table
from experiments.data import TASKS, read
from experiments.training import fit_alone
from sparsecrf import Corpus, fit
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.training.data import TrainingData
from sparsecrf.training.feature_sets import Floats, Numbers, WorkingSet, union
from sparsecrf.training.heldout import token_error
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import ElasticNet
from sparsecrf.training.solvers.solver import Point, point_at
from sparsecrf.training.solvers.working_set import Run
from sparsecrf.training.stopping import Stopping

RHO2 = 0.01
RHO1 = 1.0  # for bound optimisation
PATH = (10.0, 3.0, 1.0, 0.3)
ROUNDS, PER_ROUND, TRAINED = 12, {"letters": 250}, 10  # induction: iterations after each round


# ---- Bound optimisation


def bound(corpus: Corpus) -> Floats:
    """b [2 X] of each attribute: first for its features of single labels, then for its features of pairs."""
    arrays, X = corpus.to_arrays(), corpus.n_attributes
    sequence = np.repeat(np.arange(len(arrays["lengths"])), arrays["lengths"])
    weight = np.ones(len(arrays["lengths"])) if arrays["sequence_weight"] is None else arrays["sequence_weight"]
    where, attribute, size = [], [], []
    for first, kind in ((0, "unigram"), (X, "bigram")):
        where.append(np.repeat(sequence, np.diff(arrays[f"{kind}_ptr"])))
        attribute.append(first + arrays[f"{kind}_id"])
        size.append(np.abs(arrays[f"{kind}_value"]))
    i, x, v = (np.concatenate(parts) for parts in (where, attribute, size))
    n = np.bincount(i, v, minlength=len(weight))
    return np.asarray(0.5 * np.bincount(x, weight[i] * n[i] * v, minlength=2 * X), dtype=np.float64)


class BoundOptimisation:
    """A solver with the package's interface; it does not learn any curvature."""

    def __init__(self, objective: Objective) -> None:
        self.objective, self.b = objective, bound(objective.corpus)

    def step(self, point: Point) -> Point:
        penalty = self.objective.elastic_net
        b = self.b[Numbering.of(point.known.feature_set).block(point.known.numbers)]
        target = b * point.w - point.g
        w = np.sign(target) * np.maximum(np.abs(target) - penalty.rho1, 0.0) / (b + penalty.rho2)
        return Point(point.known, w, *self.objective.loss_grad(point.known, w))

    def move(self, new: WorkingSet, old: WorkingSet) -> None:
        pass

    def forget(self) -> None:
        pass

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        pass


def bounded(data: Path, *, passes: int, screening: bool) -> Result:
    """Bound optimisation on letters, over working sets or over all features, compared with `auto` at the optimum."""
    train = read(data, "letters").train
    objective = Objective(train, ElasticNet(RHO1, RHO2), threads=1)
    solver, records = BoundOptimisation(objective), list[dict[str, Any]]()
    start = None
    if not screening:  # the working set contains all features, so there is nothing to screen
        everything = objective.working_set(objective.prepared.oracle.virtual())
        start = Point(
            everything, np.zeros(everything.size), *objective.loss_grad(everything, np.zeros(everything.size))
        )
        objective.screen = lambda known, w: (known, w, *objective.loss_grad(known, w))  # type: ignore[method-assign]
    began = time.process_time()
    with threadpool_limits(limits=1, user_api="blas"):
        limits = Stopping(tol=0.0, max_iter=passes)
        Run(objective, solver, limits, records.append).run(start or point_at(objective))
    spent = time.process_time() - began
    best = fit_alone(train, rho1=RHO1, rho2=RHO2, tol=1e-5)
    auto = [(record.passes, record.objective) for record in best.history]
    return {
        "screening": screening,
        "time_s": spent,
        "passes": [record["passes"] for record in records],
        "objective": [record["objective"] for record in records],
        "active": records[-1]["active_unigram"] + records[-1]["active_bigram"],
        "optimum": best.objective,
        "auto": {"passes": [p for p, _ in auto], "objective": [o for _, o in auto], "active": len(best.w)},
        "auto_s": best.history[-1].time_s,
    }


# ---- Feature induction


def gains(known: WorkingSet, expected: Floats, mass: Floats) -> Floats:
    """m KL(C/m || E/m) of each feature; `mass`: the mass m of its attribute."""
    c, e = (np.clip(x / mass, 0.0, 1.0) for x in (known.counts, expected))
    found: Floats = mass * (rel_entr(c, e) + rel_entr(1 - c, 1 - e))
    return found


def induced(data: Path, *, task: str, rounds: int, per_round: int) -> Result:
    """Feature induction among the observed features: number of features, test error and seconds after each round."""
    corpora = read(data, task)
    began, rows = time.process_time(), list[Result]()
    objective = Objective(corpora.train, ElasticNet(0.0, RHO2), threads=1)
    everything = objective.working_set(objective.prepared.observed)
    mass = _masses(objective.prepared, everything)
    chosen, found = np.empty(0, dtype=np.int64), None
    for _ in range(rounds):
        w = (
            np.zeros(everything.size)
            if found is None
            else everything.carry(found.w, objective.working_set(found.numbers))
        )
        _, g = objective.loss_grad(everything, w)
        gain = np.where(np.isin(everything.numbers, chosen), -1.0, gains(everything, g + everything.counts, mass))
        best: Numbers = np.sort(everything.numbers[np.argsort(-gain, kind="stable")[:per_round]])
        chosen = union(chosen, best)
        how: dict[str, Any] = {"rho1": 0.0, "rho2": RHO2, "solver": "owlqn", "max_iter": TRAINED, "threads": 1}
        found = fit(corpora.train, numbers=chosen, init=found, **how)
        spent = time.process_time() - began
        error = token_error(corpora.test, found.numbers, found.w, threads=1)
        rows.append({"features": len(found.w), "error": error, "time_s": spent})
        began += time.process_time() - began - spent  # testing does not count
    return {"rows": rows}


def _masses(data: TrainingData, known: WorkingSet) -> Floats:
    """The mass of each feature's attribute, counted separately for pairs after the start and for all other pairs."""
    unigram, start, inner = data.oracle.masses()
    numbering = Numbering.of(known.feature_set)
    x, previous = numbering.attribute(known.numbers), numbering.previous(known.numbers)
    pairs = np.where(previous == numbering.n_labels, start[x], inner[x])
    found: Floats = np.where(previous < 0, unigram[x], pairs)
    return found


def screened(data: Path, *, task: str, rho1: list[float]) -> Result:
    """The same numbers with `auto`, which screens all virtual features, for decreasing rho1."""
    corpora, rows = read(data, task), list[Result]()
    for value in rho1:
        found = fit_alone(corpora.train, rho1=value, rho2=RHO2)
        error = token_error(corpora.test, found.numbers, found.w, threads=1)
        rows.append({"features": len(found.w), "error": error, "time_s": found.history[-1].time_s, "rho1": value})
    return {"rows": rows}


# ---- The report


def jobs(quick: bool) -> dict[str, Job]:
    made = {
        f"bound, {'working sets' if screening else 'all features'}": Job(
            "experiments.earlier:bounded",
            {"passes": 40 if quick else 100, "screening": screening},
            TASKS["letters"].files,
            2.0,
        )
        for screening in (True, False)
    }
    for task in PER_ROUND:
        options = {"task": task, "rounds": 3 if quick else ROUNDS, "per_round": PER_ROUND[task]}
        made[f"induction, {task}"] = Job("experiments.earlier:induced", options, TASKS[task].files, 1.0)
        options = {"task": task, "rho1": list(PATH[1:3] if quick else PATH)}
        made[f"screening, {task}"] = Job("experiments.earlier:screened", options, TASKS[task].files, 1.0)
    return made


def report(results: dict[str, Result]) -> Report:
    with_sets, all_of_them = results["bound, working sets"], results["bound, all features"]
    tasks = [name.removeprefix("induction, ") for name in results if name.startswith("induction")]
    above = {name: r["objective"][-1] / r["optimum"] - 1 for name, r in results.items() if name.startswith("bound")}
    falling = np.diff(all_of_them["objective"]).max() <= 1e-9 * all_of_them["optimum"]
    beside = {task: _beside(results, task) for task in tasks}
    return Report(
        numbers={
            "above the optimum": above,
            "bound": {
                name: {k: v for k, v in r.items() if k != "auto"} for name, r in results.items() if "bound" in name
            },
            "errors": {name: r["rows"] for name, r in results.items() if "rows" in r},
        },
        tables={
            "Bound optimisation on letters": _bound_table(with_sets, all_of_them),
            **{f"Induction and screening, {task}": _induction_table(results, task) for task in tasks},
        },
        figures={"earlier": _figure(results, tasks)},
        relations=[
            Relation(
                "Bound optimisation never raises the objective",
                bool(falling),
                f"from {all_of_them['objective'][0]:,.0f} to {all_of_them['objective'][-1]:,.0f}",
            ),
            Relation(
                "but it is far from the optimum where `auto` has reached it",
                min(above.values()) > 0.01,
                ", ".join(f"{name}: {100 * share:.0f} % above" for name, share in above.items()),
            ),
            Relation(
                "Screening has smaller errors than induction with as many features",
                all(ours < theirs for pairs in beside.values() for _, ours, theirs in pairs),
                "; ".join(
                    f"{task}: "
                    + ", ".join(f"{n:,} features {ours:.1f} and {theirs:.1f} %" for n, ours, theirs in pairs)
                    for task, pairs in beside.items()
                ),
                full_only=True,
            ),
        ],
        headline=(
            f"Bound optimisation is {100 * above['bound, all features']:.0f} % above the optimum after "
            f"{number(all_of_them['passes'][-1])} passes and {duration(all_of_them['time_s'])} (`auto` at it after "
            f"{duration(all_of_them['auto_s'])}). Errors at equal numbers of features, screening and induction: "
            + "; ".join(
                f"{task} " + ", ".join(f"{ours:.1f} and {theirs:.1f} % ({n:,})" for n, ours, theirs in pairs)
                for task, pairs in beside.items()
            )
            + "."
        ),
    )


def _beside(results: dict[str, Result], task: str) -> list[tuple[int, float, float]]:
    """For each model by induction that lies between two models by screening: its number of features, the error of
    screening with as many features (interpolated on the logarithmic scale), and its own error."""
    ours = sorted((row["features"], row["error"]) for row in results[f"screening, {task}"]["rows"])
    sizes, errors = np.log([n for n, _ in ours]), [error for _, error in ours]
    rows = [row for row in results[f"induction, {task}"]["rows"] if ours[0][0] <= row["features"] <= ours[-1][0]]
    chosen = rows if len(rows) < 3 else [rows[0], rows[len(rows) // 2], rows[-1]]
    at = [float(np.interp(np.log(row["features"]), sizes, errors)) for row in chosen]
    return [(row["features"], error, row["error"]) for row, error in zip(chosen, at, strict=True)]


def _bound_table(*both: Result) -> list[str]:
    rows = []
    for r in both:
        share = 100 * (r["objective"][-1] / r["optimum"] - 1)
        name = "working sets" if r["screening"] else "all features"
        rows.append([name, number(r["passes"][-1]), duration(r["time_s"]), f"{share:.1f}", f"{r['active']:,}"])
    auto = both[0]["auto"]
    rows.append(["`auto`", number(auto["passes"][-1]), duration(both[0]["auto_s"]), "0.0", f"{auto['active']:,}"])
    return table(["bound optimisation over", "passes", "time", "% above the optimum", "active"], rows)


def _induction_table(results: dict[str, Result], task: str) -> list[str]:
    rows = [
        [name, f"{row['features']:,}", f"{row['error']:.2f}", duration(row["time_s"])]
        for name in ("induction", "screening")
        for row in results[f"{name}, {task}"]["rows"]
    ]
    return table(["", "features", "test %", "time"], rows)


def _figure(results: dict[str, Result], tasks: list[str]) -> figures.Panels:
    r = results["bound, all features"]
    lines = {
        name: (of["passes"], np.maximum(np.array(of["objective"]) / r["optimum"] - 1, 1e-6))
        for name, of in (("bound", r), ("bound, working sets", results["bound, working sets"]), ("auto", r["auto"]))
    }
    panels = [figures.curves(lines, xlabel="passes", ylabel="above the optimum", log_x=True, log_y=True)]
    for task in tasks:
        rows = {name: results[f"{name}, {task}"]["rows"] for name in ("induction", "screening")}
        curves = {name: ([x["features"] for x in of], [x["error"] for x in of]) for name, of in rows.items()}
        panels.append(figures.curves(curves, xlabel="features", ylabel=f"test error, % ({task})", log_x=True))
    return figures.Panels(*panels)


EXPERIMENT = Experiment("earlier", "Bound optimisation and feature induction", "cited in the paper", jobs, report)
