"""Training runs, which compute weights from CRFsuite's parameters and features, and report every iteration."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any, NamedTuple

from sparsecrf._core import Corpus, FeatureSet, Online
from sparsecrf.contrib.compat.features import Features
from sparsecrf.contrib.compat.params import Settings
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.lazy import np
from sparsecrf.model import Model
from sparsecrf.training import fit
from sparsecrf.training.data import TrainingData
from sparsecrf.training.feature_sets import Floats, Numbers
from sparsecrf.training.solvers import SOLVERS
from sparsecrf.training.solvers.choosing import choose_solver
from sparsecrf.training.solvers.solver import Point

# Features that enter at a screening need a few iterations to take effect.
_AFTER_SCREENING = 5


class Stagnation:
    """Whether  P[k - period] - P[k] <= delta P[k],  with the working set up to date."""

    def __init__(self, period: int, delta: float) -> None:
        self.period, self.delta = period, delta
        self.objectives: list[float] = []
        self.screened: int | None = None

    def reached(self, record: dict[str, Any]) -> bool:
        """Process the record of the next iteration."""
        screened, iteration, value = self.screened, record["iter"], record["objective"]
        self.objectives.append(value)
        if record["kkt"] is not None:
            self.screened = iteration
        if self.period == 0 or self.delta == 0 or len(self.objectives) <= self.period:
            return False
        if screened is None or iteration - screened < min(_AFTER_SCREENING, self.period):
            return False
        improvement = self.objectives[-1 - self.period] - value
        return bool(improvement <= self.delta * value)


#: Called with the record of an iteration, its features and its weights.
Each = Callable[[dict[str, Any], "Numbers", "Floats"], None]


class Found(NamedTuple):
    """The result of a run."""

    stopped_by: str
    model: Callable[[Vocabulary], Model | None]


def maximise_likelihood(corpus: Corpus, features: Features, chosen: Settings, each: Each) -> Found:
    """Run `lbfgs` or `l2sgd`, which minimise CRFsuite's objective with sparsecrf's solvers."""
    stagnation = Stagnation(chosen.period, chosen.delta_share * chosen.delta)
    at: list[Point] = []
    began = time.perf_counter()
    before = 0.0  # seconds until the end of the last iteration

    def callback(record: Mapping[str, Any]) -> bool:
        nonlocal before
        point = at[-1]
        if record["iter"] > 0:
            info = {
                "num": record["iter"],
                "scores": {},
                "loss": record["objective"],
                "feature_norm": float(np.linalg.norm(point.w)),
                **({} if certifies else {"error_norm": error_norm(point)}),
                "active_features": record["active_unigram"] + record["active_bigram"],
                "linesearch_trials": point.trials,
                "linesearch_step": point.step,
                "time": time.perf_counter() - began - before,
                **{name: record[name] for name in ("kkt", "gap") if record[name] is not None},
            }
            before += info["time"]
            each(info, point.known.numbers, point.w)
        return stagnation.reached(dict(record))

    def error_norm(point: Point) -> float:
        return float(np.linalg.norm(chosen.penalty.subgradient(point.w, point.g)))

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
        # A solver with its own lower bound stops by that bound, since its objective does not fall steadily enough for
        # `delta`.
        tol=max(chosen.tol, chosen.delta_share * chosen.delta * chosen.period) if certifies else chosen.tol,
        callback=callback,
        watch=watch,
        certify=False,  # the certificate is not needed, and takes more memory than the rest of a run
    )
    if found.stopped_by == "callback":
        found = replace(found, stopped_by="delta")
    elif found.stopped_by == "interrupt":
        raise KeyboardInterrupt
    return Found(found.stopped_by, found.model)


#: The names of the algorithms in the core.
RULES = {"averaged-perceptron": "perceptron", "passive-aggressive": "passive-aggressive", "arow": "arow"}
_WORDS = {
    "averaged-perceptron": "the averaged perceptron",
    "passive-aggressive": "passive-aggressive learning",
    "arow": "AROW",
}
_SEED = 0  # seed of the order of the sequences


def learn_from_mistakes(
    corpus: Corpus, features: Features, algorithm: str, values: Mapping[str, Any], each: Each
) -> Found:
    """Make one pass over the data per iteration, until the mean loss is below `epsilon`."""
    numbers = features.numbers
    assert numbers is not None
    space = FeatureSet.from_numbers(corpus.n_labels, corpus.n_attributes, numbers)
    names = ("type", "c", "error_sensitive", "variance", "gamma")
    options = {name: values[name] for name in names if name in values}
    learner = Online(corpus, space, RULES[algorithm], **options)
    # AROW does not average; the log of a passive-aggressive run shows the norm of the last weights.
    average = algorithm == "averaged-perceptron" or bool(values.get("averaging", False))
    epsilon, stopped_by, done = values["epsilon"], "max_iter", 0
    w = np.zeros(len(numbers))
    for done in range(1, values["max_iterations"] + 1):
        began = time.perf_counter()
        loss = learner.run(learner.order(_SEED, done - 1))
        w = learner.weights(average=average)
        shown = w if algorithm == "averaged-perceptron" else learner.weights(average=False)
        info = {
            "num": done,
            "scores": {},
            "loss": loss,
            "feature_norm": float(np.sqrt((shown * shown).sum())),  # BLAS would start threads on all cores
            "time": time.perf_counter() - began,
        }
        each(info, numbers, w)
        mean = loss / corpus.n_sequences
        if mean < epsilon or (algorithm == "arow" and mean <= epsilon):
            stopped_by = "loss"
            break
    record = _record(corpus, algorithm, stopped_by, done, len(numbers))
    return Found(stopped_by, lambda vocabulary: _model(corpus, vocabulary, numbers, w, record))


def _record(corpus: Corpus, algorithm: str, stopped_by: str, iterations: int, n_features: int) -> dict[str, Any]:
    return {
        "solver": algorithm,
        "certificate": f"none: {_WORDS[algorithm]} does not maximise a likelihood",
        "stopped_by": stopped_by,
        "iterations": iterations,
        "features": n_features,
        "sequences": corpus.n_sequences,
        "tokens": corpus.n_tokens,
        "version": version("sparsecrf"),
    }


def _model(corpus: Corpus, vocabulary: Vocabulary, numbers: Numbers, w: Floats, record: Mapping[str, Any]) -> Model:
    active = w != 0
    features = FeatureSet.from_numbers(corpus.n_labels, corpus.n_attributes, numbers[active])
    return Model(vocabulary.first(corpus.n_labels, corpus.n_attributes), features, w[active], training=record)
