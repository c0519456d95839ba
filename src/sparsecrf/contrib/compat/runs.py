"""Training runs: CRFsuite's parameters and features in, weights out, iteration by iteration."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from sparsecrf._core import Corpus
from sparsecrf.contrib.compat.features import Features
from sparsecrf.contrib.compat.params import Settings
from sparsecrf.contrib.compat.stopping import Stagnation
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.model import Model
from sparsecrf.training import fit
from sparsecrf.training.data import TrainingData
from sparsecrf.training.solvers import SOLVERS
from sparsecrf.training.solvers.choosing import choose_solver

if TYPE_CHECKING:
    from sparsecrf.training.feature_sets import Floats, Numbers
    from sparsecrf.training.solvers.solver import Point

#: Called with the record of an iteration, its features and its weights.
Each = Callable[[dict[str, Any], "Numbers", "Floats"], None]


class Found(NamedTuple):
    """The result of a run."""

    stopped_by: str
    model: Callable[[Vocabulary], Model | None]


def maximise_likelihood(corpus: Corpus, features: Features, chosen: Settings, each: Each) -> Found:
    """`lbfgs` and `l2sgd`: minimises CRFsuite's objective with sparsecrf's solvers."""
    from dataclasses import replace

    import numpy as np

    stagnation = Stagnation(chosen.period, chosen.delta_share * chosen.delta)
    at: list[Point] = []
    began = time.perf_counter()
    before = 0.0  # seconds until the last iteration

    def callback(record: Mapping[str, Any]) -> bool:
        nonlocal before
        point = at[-1]
        if record["iter"] > 0:
            info = {
                "num": record["iter"],
                "scores": {},
                "loss": record["objective"],
                "feature_norm": float(np.linalg.norm(point.w)),
                "error_norm": float(np.linalg.norm(chosen.penalty.subgradient(point.w, point.g))),
                "active_features": record["active_unigram"] + record["active_bigram"],
                "linesearch_trials": point.trials,
                "linesearch_step": point.step,
                "time": time.perf_counter() - began - before,
                **{name: record[name] for name in ("kkt", "gap") if record[name] is not None},
            }
            before += info["time"]
            each(info, point.known.numbers, point.w)
        return stagnation.reached(dict(record))

    def watch(point: Point) -> None:
        at[:] = [point]

    prepared = TrainingData.of(corpus, numbers=features.numbers)
    solver, penalty = chosen.solver, chosen.penalty
    if solver == "auto":
        solver = choose_solver(prepared, penalty.rho1, penalty.rho2, prepared.choices)
    certifies = SOLVERS[solver].certifies
    found = fit(
        prepared,
        rho1=penalty.rho1,
        rho2=penalty.rho2,
        solver=solver,
        solver_options={} if certifies else chosen.solver_options,
        max_iter=chosen.max_iter,
        # A solver with its own lower bound stops by that bound: its objective does not fall steadily enough for
        # `delta`.
        tol=max(chosen.tol, chosen.delta_share * chosen.delta * chosen.period) if certifies else chosen.tol,
        callback=callback,
        watch=watch,
        certify=False,  # not needed here, and it takes more memory than the rest of a run
    )
    if found.stopped_by == "callback":
        found = replace(found, stopped_by="delta")
    elif found.stopped_by == "interrupt":
        raise KeyboardInterrupt
    return Found(found.stopped_by, found.model)
