"""The regularisation path: rho1 from where the first weight appears downwards, each solution starting the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from sparsecrf._core import Corpus, InputError
from sparsecrf.defaults import N_RHO, RHO2, RHO_MIN_RATIO
from sparsecrf.shards import Shards
from sparsecrf.training import Fit, fit
from sparsecrf.training.data import TrainingData
from sparsecrf.training.feature_sets import Floats, Numbers
from sparsecrf.training.heldout import Labels, best_labels, check_same_vocabulary, wrong_tokens
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import ElasticNet

if TYPE_CHECKING:
    from sparsecrf.model import Model

#: Of a corpus and its predicted labels, in percent.
ErrorRate: TypeAlias = Callable[[Corpus, Labels], float]

_SPACE = ("observed_only", "features", "threads")  # options of `fit` that say how data are prepared


@dataclass(frozen=True, repr=False)
class Path:
    """Fits by falling rho1, with their errors on other data, if there are any."""

    fits: list[Fit]
    errors: Floats | None = None  #: [fits] in percent: on the dev corpus, or the mean over the folds
    standard_errors: Floats | None = None  #: [fits] of the mean over the folds
    make_model: Callable[[Fit], Model] | None = None  #: how a fit becomes a model, if that was said

    def __repr__(self) -> str:
        rho1 = f", rho1 {self.fits[0].rho1:.4g} to {self.fits[-1].rho1:.4g}" if self.fits else ""
        best = "" if self.errors is None else f", best {self.best} with an error of {self.errors[self.best]:.2f} %"
        return f"<Path: {len(self.fits)} fits{rho1}{best}>"

    def __len__(self) -> int:
        return len(self.fits)

    def __iter__(self) -> Iterator[Fit]:
        return iter(self.fits)

    def __getitem__(self, k: int) -> Fit:
        return self.fits[k]

    def model(self, k: int) -> Model:
        """The model of the k-th fit."""
        if self.make_model is None:
            raise InputError("path: expected to be told how to make a model (make_model=), found nothing")
        return self.make_model(self.fits[k])

    @property
    def rho1(self) -> Floats:
        return np.array([found.rho1 for found in self.fits])

    @property
    def best(self) -> int | None:
        """Which fit has the smallest error; of several the one with the largest rho1."""
        return None if self.errors is None else int(np.argmin(self.errors))

    @property
    def one_se(self) -> int | None:
        """The fit of the largest rho1 whose error is at most the smallest one plus the standard error of that."""
        if self.errors is None or self.standard_errors is None:
            return None
        return one_standard_error(self.errors, self.standard_errors)


def one_standard_error(errors: Floats, standard_errors: Floats) -> int:
    """The first of the errors, given by falling rho1, that is within one standard error of the smallest."""
    best = int(np.argmin(errors))
    return int(np.argmax(errors <= errors[best] + standard_errors[best]))


def rho_max(
    corpus: Corpus | Shards | TrainingData,
    *,
    observed_only: bool = False,
    features: Numbers | None = None,
    threads: int = 0,
) -> float:
    """The smallest rho1 whose solution is w = 0: the largest |gradient| there over all features of the model."""
    data = TrainingData.of(corpus, observed_only=observed_only, features=features, threads=threads)
    at_zero = Objective(data, ElasticNet(0.0, 0.0))
    known = data.working_set(data.observed if data.allowed is None else data.allowed)
    w = np.zeros(known.size)
    largest = float(np.abs(at_zero.loss_grad(known, w)[1]).max(initial=0.0))
    if data.allowed is None:
        # Only a feature whose expectation could exceed that is worth a look; none is missed. Where nothing observed has
        # a gradient, everything is.
        bounded = Objective(data, ElasticNet(largest, 0.0))
        wide = bounded.outside(known, w) if largest > 0 else bounded.hopeful()
        largest = float(np.abs(bounded.loss_grad(wide, np.zeros(wide.size))[1]).max(initial=0.0))
    return largest


def path(
    corpus: Corpus | Shards,
    *,
    n_rho: int = N_RHO,
    rho_min_ratio: float = RHO_MIN_RATIO,
    rho1: Floats | None = None,
    rho2: float = RHO2,
    dev: Corpus | None = None,
    error: ErrorRate = wrong_tokens,
    threads: int = 0,
    each: Callable[[int, Fit], None] | None = None,
    make_model: Callable[[Fit], Model] | None = None,
    **options: Any,
) -> Path:
    """Fits on a geometric grid of `n_rho` values from rho_max to rho_min_ratio times it, each from the last.

    `rho1` gives other values, falling. `dev`, encoded by the same vocabulary, gives every fit an `error`. `options` are
    those of `fit`. `each` is told of every fit when it is done, with its place on the grid. Ctrl-C ends the path with
    the fits that there are, the last one as far as it came. `make_model` is what `Path.model` calls.
    """
    options |= {"rho2": rho2, "threads": threads}
    if dev is not None:
        check_same_vocabulary("dev", dev, corpus)
    data = _prepared(corpus, options)
    fits = _along(data, _grid(data, rho1, n_rho, rho_min_ratio), options, each)
    return Path(fits, None if dev is None else _errors(dev, fits, error, threads), make_model=make_model)


def cross_validate(
    corpus: Corpus,
    *,
    folds: int | Iterable[tuple[Numbers, Numbers]] = 5,
    seed: int = 0,
    n_rho: int = N_RHO,
    rho_min_ratio: float = RHO_MIN_RATIO,
    rho1: Floats | None = None,
    rho2: float = RHO2,
    error: ErrorRate = wrong_tokens,
    threads: int = 0,
    make_model: Callable[[Fit], Model] | None = None,
    **options: Any,
) -> Path:
    """The path of the whole corpus, with errors from parts that are left out of training in turn.

    `folds` is a number of parts, to which sequences are dealt at random, or gives the sequences to train on and those
    to leave out. `seed` is that of the deal and of the stochastic solvers. All paths have the same values of rho1 (and
    rho2), those of the whole corpus: the objective is a sum, so that a penalty weighs a little more on the smaller
    training sets. The mean and its standard error are over the folds.

    Folds run one after the other, or wherever `joblib.parallel_config` says: on processes, or on a Dask cluster.
    """
    from joblib import Parallel, delayed, parallel

    options |= {"rho2": rho2, "threads": threads, "seed": seed}
    data = _prepared(corpus, options)
    grid = _grid(data, rho1, n_rho, rho_min_ratio)
    parts = _random_folds(corpus, folds, seed) if isinstance(folds, int) else folds
    # A callback is for who started this, not for another process.
    of_folds = options if parallel.get_active_backend()[1] == 1 else options | {"callback": None}
    errors = Parallel()(
        delayed(_fold_errors)(corpus, train, left_out, grid, of_folds, error) for train, left_out in parts
    )
    if len(errors) < 2:
        raise InputError(f"folds: expected at least 2, found {len(errors)}")
    spread = np.std(errors, axis=0, ddof=1) / np.sqrt(len(errors))
    fits = _along(data, grid, options)
    if fits[-1].stopped_by == "interrupt":
        raise KeyboardInterrupt
    return Path(fits, np.mean(errors, axis=0), spread, make_model)


def _fold_errors(
    corpus: Corpus, train: Numbers, left_out: Numbers, grid: Floats, options: dict[str, Any], error: ErrorRate
) -> Floats:
    """The errors along the path of one part of a corpus on another."""
    fits = _along(_prepared(corpus.subset(np.asarray(train, dtype=np.int64)), options), grid, options)
    if fits[-1].stopped_by == "interrupt":
        raise KeyboardInterrupt
    return _errors(corpus.subset(np.asarray(left_out, dtype=np.int64)), fits, error, options["threads"])


def _random_folds(corpus: Corpus, folds: int, seed: int) -> Iterator[tuple[Numbers, Numbers]]:
    if not 2 <= folds <= corpus.n_sequences:
        raise InputError(f"folds: expected 2 to {corpus.n_sequences}, the number of sequences, found {folds}")
    order = np.random.default_rng(seed).permutation(corpus.n_sequences)
    for k in range(folds):
        left_out = np.sort(order[k::folds])
        yield np.setdiff1d(order, left_out), left_out


def _prepared(corpus: Corpus | Shards, options: dict[str, Any]) -> TrainingData:
    """The data for all fits of a path, which differ in the penalty alone."""
    return TrainingData(corpus, **{name: options[name] for name in _SPACE if name in options})


def _grid(data: TrainingData, rho1: Floats | None, n_rho: int, rho_min_ratio: float) -> Floats:
    if rho1 is not None:
        given = np.asarray(rho1, dtype=np.float64)
        if given.ndim != 1 or len(given) == 0 or not (np.diff(given) < 0).all():
            raise InputError(f"rho1: expected one or more values, each below the last, found {rho1}")
        return given
    if n_rho < 1:
        raise InputError(f"n_rho: expected at least 1, found {n_rho}")
    if not 0 < rho_min_ratio <= 1:
        raise InputError(f"rho_min_ratio: expected a number above 0 and at most 1, found {rho_min_ratio}")
    return rho_max(data) * np.geomspace(1.0, rho_min_ratio, n_rho)


def _along(
    data: TrainingData, grid: Floats, options: dict[str, Any], each: Callable[[int, Fit], None] | None = None
) -> list[Fit]:
    """A fit for each rho1 of the grid, the first from zero, each other from the one before."""
    fits: list[Fit] = []
    for k, rho1 in enumerate(grid):
        fits.append(fit(data, rho1=float(rho1), init=fits[-1] if fits else None, **options))
        if each is not None:
            each(k, fits[-1])
        if fits[-1].stopped_by == "interrupt":
            break
    return fits


def _errors(corpus: Corpus, fits: list[Fit], error: ErrorRate, threads: int) -> Floats:
    return np.array([error(corpus, best_labels(corpus, found.numbers, found.w, threads=threads)) for found in fits])
