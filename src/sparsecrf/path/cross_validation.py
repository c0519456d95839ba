"""`cross_validate`: runs the same plan of penalties on every fold and scores the fits on the held-out part."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sparsecrf._core import Corpus, InputError
from sparsecrf.defaults import RHO2
from sparsecrf.model import Model
from sparsecrf.path.both import AskedRho2, Plan
from sparsecrf.path.folds import dealt
from sparsecrf.path.following import (
    Each,
    Point,
    error_of,
    falling,
    fit_at,
    neighbour,
    plan_of,
    point_of,
    prepared,
    searches,
    seconds_of,
    solver_of,
    warned,
)
from sparsecrf.path.grid import Penalties
from sparsecrf.path.result import Path
from sparsecrf.path.scores import BY_TOKENS, ErrorRate, name_of
from sparsecrf.training import Fit, Weights, fit
from sparsecrf.training.data import TrainingData
from sparsecrf.training.feature_sets import Floats, Numbers


def cross_validate(
    corpus: Corpus,
    *,
    folds: int | Iterable[tuple[Numbers, Numbers]] = 5,
    groups: Iterable[Any] | None = None,
    shuffle: bool = True,
    seed: int = 0,
    n_rho: int | None = None,
    rho_min_ratio: float | None = None,
    rho1: Floats | None = None,
    rho2: AskedRho2 = RHO2,
    error: ErrorRate = BY_TOKENS,
    threads: int = 0,
    each: Each | None = None,
    make_model: Callable[[Fit], Model] | None = None,
    **options: Any,
) -> Path:
    """The path of the whole corpus, with errors from parts that are held out in turn.

    `folds` is the number of parts, or an iterable of pairs: the sequences to train on, and the sequences to hold out.
    Sequences are assigned to parts at random; `groups` contains a value for each sequence, and sequences with the same
    value stay in one part. Without `shuffle`, parts are consecutive. `seed` determines this assignment and the random
    choices of stochastic solvers.

    All folds use the same penalties, which are given or searched for as in `path`; a search uses the mean error over
    the folds. The objective is a sum, so a penalty has slightly more effect on the smaller training sets. The result
    contains the mean error over the folds and its standard error.

    Folds run one after the other or, with `joblib.parallel_config`, in processes or on a Dask cluster.
    """
    options |= {"threads": threads, "seed": seed}
    data = prepared(corpus, options)
    options["solver"] = solver_of(data, rho2, options)
    values = plan_of(data, rho1, rho2, n_rho, rho_min_ratio, True, options)
    if isinstance(folds, int):
        folds = dealt(corpus.n_sequences, folds, groups=groups, shuffle=shuffle, seed=seed)
    parts = [
        Fold(corpus, np.asarray(train, dtype=np.int64), np.asarray(out, dtype=np.int64), k, error, options)
        for k, (train, out) in enumerate(folds)
    ]
    if len(parts) < 2:
        raise InputError(f"folds: expected at least 2, found {len(parts)}")
    tried, errors, _ = fold_errors(parts, values, each)
    order = sorted(range(len(tried)), key=lambda k: falling(tried[k]))
    fits: list[Fit] = []
    for number, k in enumerate(order):
        fits.append(fit_at(data, tried[k], fits, options))
        if fits[-1].stopped_by == "interrupt":
            raise KeyboardInterrupt
        if each is not None:
            each(point_of(number, fits[-1], None, folds=len(parts), left=len(tried) - number - 1))
    by_fold = np.array(errors)[order]  # [values, folds]
    spread = np.std(by_fold, axis=1, ddof=1) / np.sqrt(len(parts))
    found = Path(fits, by_fold.mean(axis=1), spread, make_model, name_of(error), searches(values))
    return warned(found)


class Tried(NamedTuple):
    """Penalties in the order in which they were tried."""

    penalties: list[Penalties]
    errors: list[list[float]]  #: [penalties][folds]
    weights: list[dict[Penalties, Weights]]  #: [folds]


def fold_errors(parts: list[Fold], values: Plan, each: Each | None, *, warm: bool = True) -> Tried:
    """Run the plan: each step runs on all folds, and each fit starts from a neighbouring fit if `warm`."""
    from joblib import Parallel, delayed

    here = Parallel().n_jobs == 1
    if not here:  # a callback stays in this process
        for part in parts:
            part.options = part.options | {"callback": None}
    tried: list[Penalties] = []
    errors: list[list[float]] = []
    known: list[dict[Penalties, Weights]] = [{} for _ in parts]
    while step := values.next(tried, [float(np.mean(row)) for row in errors]):
        # The number of fits to all data, which come at the end.
        left = len(tried) + values.left(tried, [float(np.mean(row)) for row in errors])
        rounds = _Rounds(each, len(tried), len(step), len(parts), (left - len(tried) - len(step)) * len(parts) + left)
        done = Parallel()(
            delayed(part.run)(
                step,
                neighbour(known[part.number], step[0]) if warm else None,
                rounds.of(part.number) if here else None,
            )
            for part in parts
        )
        for part, solved in zip(parts, done, strict=True):
            known[part.number] |= {value: s.weights for value, s in zip(step, solved, strict=True)}
            if not here:
                for k, s in enumerate(solved):
                    rounds.of(part.number)(k, step[k], s, None)
        tried += step
        errors += [[solved[k].error for solved in done] for k in range(len(step))]
        if not searches(values):
            break
    return Tried(tried, errors, known)


class _Solved(NamedTuple):
    """The summary of a fit to a fold."""

    error: float
    weights: Weights
    seconds: float


#: Called after a fit to a fold with its number within a step, its penalties, the summary, and the fit itself.
Told: TypeAlias = Callable[[int, Penalties, _Solved, Fit | None], None]


class _Rounds(NamedTuple):
    """Reports the fits of one step of all folds to `each`."""

    each: Each | None
    first: int  #: number of penalties tried before
    n_values: int
    folds: int
    later: int  #: minimum number of fits after this step

    def of(self, fold: int) -> Told:
        def told(k: int, penalties: Penalties, solved: _Solved, found: Fit | None) -> None:
            if self.each is None:
                return
            left = (self.folds - fold) * self.n_values - k - 1 + max(0, self.later)
            size = len(solved.weights.w)
            number, where = self.first + k, {"fold": fold, "folds": self.folds, "left": left}
            self.each(Point(number, *penalties, size, solved.seconds, solved.error, found, **where))

        return told


class Fold:
    """One part of a corpus to train on, another to score on. Prepared data are not pickled, so they stay in this
    process."""

    def __init__(
        self, corpus: Corpus, train: Numbers, out: Numbers, number: int, error: ErrorRate, options: dict[str, Any]
    ) -> None:
        self.corpus, self.train, self.out, self.number = corpus, train, out, number
        self.error, self.options = error, options
        self.dev: Corpus | None = None  #: the data to score on, instead of `out`
        self._data: tuple[TrainingData, Corpus] | None = None

    @classmethod
    def held_out(cls, corpus: Corpus, dev: Corpus, error: ErrorRate, options: dict[str, Any]) -> Fold:
        """A fold that trains on a whole corpus and scores on another one."""
        fold = cls(corpus, np.arange(corpus.n_sequences), np.empty(0, np.int64), 0, error, options)
        fold.dev = dev
        return fold

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_data": None}

    def run(self, values: list[Penalties], start: Weights | None, told: Told | None) -> list[_Solved]:
        """Fits for these values: the first starts from `start`, and each later fit starts from the previous fit."""
        if self._data is None:
            train = self.corpus.subset(self.train) if self.dev is None else self.corpus
            self._data = prepared(train, self.options), self.corpus.subset(self.out) if self.dev is None else self.dev
        data, out = self._data
        solved: list[_Solved] = []
        for k, penalties in enumerate(values):
            found = fit(data, **penalties._asdict(), init=start, **self.options)
            if found.stopped_by == "interrupt":
                raise KeyboardInterrupt
            start = Weights(found.numbers, found.w, found.ngrams)
            error = error_of(out, found, self.error, self.options["threads"])
            solved.append(_Solved(error, start, seconds_of(found)))
            if told is not None:
                told(k, penalties, solved[-1], found)
        if len(values) > 1:
            self._data = None  # a grid is a single step, so nothing uses the data afterwards
        return solved
