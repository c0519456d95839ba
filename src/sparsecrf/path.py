"""The regularisation path: rho1 from where the first weight appears downwards, each solution starting the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsecrf._core import Corpus, InputError
from sparsecrf.heldout import check_same_vocabulary, token_error
from sparsecrf.objective import Floats, Numbers, Objective
from sparsecrf.training import Fit, fit


@dataclass(frozen=True)
class Path:
    """Fits by falling rho1, with their errors on other data, if there are any."""

    fits: list[Fit]
    errors: Floats | None = None  #: [fits] token error in percent: on the dev corpus, or the mean over the folds
    standard_errors: Floats | None = None  #: [fits] of the mean over the folds

    def __len__(self) -> int:
        return len(self.fits)

    def __iter__(self) -> Iterator[Fit]:
        return iter(self.fits)

    def __getitem__(self, k: int) -> Fit:
        return self.fits[k]

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


def rho_max(corpus: Corpus, *, observed_only: bool = False, features: Numbers | None = None, threads: int = 0) -> float:
    """The smallest rho1 whose solution is w = 0: the largest |gradient| there over all features of the model."""
    every = not observed_only and features is None
    at_zero = Objective(corpus, 0.0, 0.0, observed_only=observed_only or every, features=features, threads=threads)
    known = at_zero.hopeful()
    w = np.zeros(known.size)
    largest = float(np.abs(at_zero.loss_grad(known, w)[1]).max(initial=0.0))
    # Only a feature whose expectation could exceed that is worth a look; none is missed.
    if every and largest > 0:
        bounded = Objective(corpus, largest, 0.0, threads=threads)
        wide = bounded.outside(known, w)
        largest = float(np.abs(bounded.loss_grad(wide, np.zeros(wide.size))[1]).max(initial=0.0))
    return largest


def path(
    corpus: Corpus,
    *,
    n_rho: int = 20,
    rho_min_ratio: float = 1e-3,
    rho2: float = 0.01,
    dev: Corpus | None = None,
    threads: int = 0,
    each: Callable[[int, Fit], None] | None = None,
    **options: Any,
) -> Path:
    """Fits on a geometric grid of `n_rho` values from rho_max to rho_min_ratio times it, each from the last.

    `dev`, encoded by the same vocabulary, gives every fit a token error. `options` are those of `fit`. `each` is told
    of every fit when it is done, with its place on the grid. Ctrl-C ends the path with the fits that there are, the
    last one as far as it came.
    """
    options |= {"rho2": rho2, "threads": threads}
    if dev is not None:
        check_same_vocabulary("dev", dev, corpus)
    fits = _along(corpus, _grid(corpus, n_rho, rho_min_ratio, options), options, each)
    return Path(fits, None if dev is None else _errors(dev, fits, threads))


def cross_validate(
    corpus: Corpus,
    *,
    folds: int = 5,
    seed: int = 0,
    n_rho: int = 20,
    rho_min_ratio: float = 1e-3,
    rho2: float = 0.01,
    threads: int = 0,
    **options: Any,
) -> Path:
    """The path of the whole corpus, with token errors from `folds` parts that are left out of training in turn.

    Sequences are dealt to the folds at random. All paths have the same values of rho1 (and rho2), those of the whole
    corpus: the objective is a sum, so that a penalty weighs a little more on the smaller training sets. The mean and
    its standard error are over the folds.
    """
    if not 2 <= folds <= corpus.n_sequences:
        raise InputError(f"folds: expected 2 to {corpus.n_sequences}, the number of sequences, found {folds}")
    options |= {"rho2": rho2, "threads": threads}
    grid = _grid(corpus, n_rho, rho_min_ratio, options)
    order = np.random.default_rng(seed).permutation(corpus.n_sequences).astype(np.int64)
    errors = np.zeros((folds, n_rho))
    for k in range(folds):
        left_out = np.sort(order[k::folds])
        rest = np.setdiff1d(order, left_out)
        fits = _along(corpus.subset(rest), grid, options)
        if fits[-1].stopped_by == "interrupt":
            raise KeyboardInterrupt
        errors[k] = _errors(corpus.subset(left_out), fits, threads)
    spread = errors.std(axis=0, ddof=1) / np.sqrt(folds)
    return Path(_along(corpus, grid, options), errors.mean(axis=0), spread)


def _grid(corpus: Corpus, n_rho: int, rho_min_ratio: float, options: dict[str, Any]) -> Floats:
    if n_rho < 1:
        raise InputError(f"n_rho: expected at least 1, found {n_rho}")
    if not 0 < rho_min_ratio <= 1:
        raise InputError(f"rho_min_ratio: expected a number above 0 and at most 1, found {rho_min_ratio}")
    space = {name: options[name] for name in ("observed_only", "features", "threads") if name in options}
    return rho_max(corpus, **space) * np.geomspace(1.0, rho_min_ratio, n_rho)


def _along(
    corpus: Corpus, grid: Floats, options: dict[str, Any], each: Callable[[int, Fit], None] | None = None
) -> list[Fit]:
    """A fit for each rho1 of the grid, the first from zero, each other from the one before."""
    fits: list[Fit] = []
    for k, rho1 in enumerate(grid):
        fits.append(fit(corpus, rho1=float(rho1), init=fits[-1] if fits else None, **options))
        if each is not None:
            each(k, fits[-1])
        if fits[-1].stopped_by == "interrupt":
            break
    return fits


def _errors(corpus: Corpus, fits: list[Fit], threads: int) -> Floats:
    return np.array([token_error(corpus, found.numbers, found.w, threads=threads) for found in fits])
