"""Section 6.1: updates one weight at a time or one block at a time, on simulated data (the paper's figure 3)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from experiments import figures, paper
from experiments.common import Experiment, Job, Relation, Report, Result, duration, number, table
from experiments.simulated import READINGS, TEST, TRAIN, vocabulary_of
from experiments.training import BLOCKWISE, fit_alone
from sparsecrf._core import Sbcd
from sparsecrf.training.heldout import token_error
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import ElasticNet

RHO1, RHO2 = 1.0, 0.001  # M7
SWEEPS = 30
SMALL, LARGE = "small sample", "large sample"
KINDS = {"coordinate-wise": True, "blockwise": False}


def sweeps(data: Path, *, reading: str, sequences: int, n: int, test: int = TEST) -> Result:
    """Objective, test error and time after each of n sweeps over all 210 weights (240 with the start label)."""
    hmm = READINGS[reading]()
    vocabulary, rng = vocabulary_of(hmm), np.random.default_rng([2010, 0])
    train, unseen = vocabulary.encode(*hmm.sample(sequences, rng)), vocabulary.encode(*hmm.sample(test, rng))
    objective = Objective(train, ElasticNet(RHO1, RHO2), threads=1)
    n_weights = train.n_attributes * (train.n_labels + (train.n_labels + 1) * train.n_labels)
    known = objective.working_set(np.arange(n_weights))
    result: dict[str, Any] = {}
    for kind, coordinatewise in KINDS.items():
        sweeper, w = Sbcd(train, 1), np.zeros(known.size)
        rows = []
        for _ in range(n):
            began = time.process_time()
            w, passes = sweeper.sweep(
                known.feature_set, w, known.counts, rho1=RHO1, rho2=RHO2, as_printed=0.0, coordinatewise=coordinatewise
            )
            seconds = time.process_time() - began
            value = objective.loss_grad(known, w)[0] + objective.penalty.value(w)
            rows.append([seconds, passes, value, token_error(unseen, known.numbers, w, threads=1)])
        result[kind] = rows
    best = fit_alone(train, rho1=RHO1, rho2=RHO2, tol=1e-9, max_iter=2000)
    blocks = fit_alone(train, rho1=RHO1, rho2=RHO2, tol=1e-6, max_iter=2000, **BLOCKWISE)
    return {
        **result,
        "optimum": best.objective,
        "weights": n_weights,
        "blocks": len(hmm.symbols),
        "sbcd": blocks.objective,
        "sequences": sequences,
    }


def jobs(quick: bool) -> dict[str, Job]:
    # Ten sequences as in the paper, and a larger number, so that the recursions dominate the times.
    sizes = {SMALL: TRAIN, LARGE: 50 if quick else 1000}
    return {
        name: Job(
            "experiments.coordinatewise:sweeps",
            {"reading": "two rows", "sequences": size, "n": SWEEPS},
            minutes=size / 1000,
        )
        for name, size in sizes.items()
    }


def report(results: dict[str, Result]) -> Report:
    small, large = results[SMALL], results[LARGE]
    ratios = {name: _ratio(found) for name, found in results.items()}
    passes = {name: _ratio(found, column=1) for name, found in results.items()}
    rows = [
        [str(found["sequences"]), kind, duration(_median(found[kind], 0)), number(_median(found[kind], 1), 1)]
        + [f"{found[kind][-1][2] - found['optimum']:.1e}"]
        for found in results.values()
        for kind in KINDS
    ]
    ends = [small[kind][-1][2] for kind in KINDS]
    errors = [small[kind][-1][3] for kind in KINDS]
    return Report(
        numbers={**results, "time_ratio": ratios, "pass_ratio": passes},
        tables={
            f"A sweep over all {small['weights']} weights, medians": table(
                ["sequences", "sweep", "time", "passes", "objective above the optimum, at the end"], rows, left=2
            )
        },
        figures={"coordinatewise": _figure(small)},
        relations=[
            Relation(
                "Both come to the same objective",
                abs(ends[0] - ends[1]) < 0.01 * small["optimum"],
                ", ".join(number(value, 3) for value in [*ends, small["optimum"]]) + " (the last is the optimum)",
            ),
            Relation(
                "and to the same test error",
                abs(errors[0] - errors[1]) < 1.0,
                ", ".join(f"{value:.1f} %" for value in errors),
            ),
            Relation(
                "A block sweep takes at least ten times fewer passes over the data",
                min(passes.values()) > 10,
                ", ".join(f"{name}: {ratio:.0f} times" for name, ratio in passes.items()),
            ),
            Relation(
                "and at least ten times less time (paper: about 50)",
                ratios[LARGE] > 10,
                ", ".join(f"{name}: {ratio:.0f} times" for name, ratio in ratios.items()),
                full_only=True,
            ),
        ],
        headline=(
            f"A block sweep is {ratios[SMALL]:.0f} times faster than a coordinate sweep on the paper's 10 sequences, "
            f"{ratios[LARGE]:.0f} times on {large['sequences']} (paper: about {paper.BLOCK_SPEED:.0f}), and takes "
            f"{passes[LARGE]:.0f} times fewer passes; after {SWEEPS} sweeps the objectives are "
            f"{abs(ends[0] - ends[1]):.1g} apart."
        ),
    )


def _median(rows: list[list[float]], column: int) -> float:
    return float(np.median([row[column] for row in rows]))


def _ratio(found: Result, column: int = 0) -> float:
    return _median(found["coordinate-wise"], column) / _median(found["blockwise"], column)


def _figure(found: Result) -> figures.Panels:
    x = range(1, len(found["blockwise"]) + 1)
    above = {kind: (x, [row[2] - found["optimum"] for row in found[kind]]) for kind in KINDS}
    errors = {kind: (x, [row[3] for row in found[kind]]) for kind in KINDS}
    return figures.Panels(
        figures.curves(above, xlabel="iteration", ylabel="objective above the optimum", log_y=True),
        figures.curves(errors, xlabel="iteration", ylabel="test error (%)"),
    )


EXPERIMENT = Experiment("coordinatewise", "Weights against blocks of weights", "section 6.1, figure 3", jobs, report)
