"""The regularisation path: rho1 from where the first weight appears downwards, each solution starting the next."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsecrf._core import Corpus, InputError
from sparsecrf.objective import Objective
from sparsecrf.training import Fit, fit


def rho_max(corpus: Corpus, *, threads: int = 0) -> float:
    """The smallest rho1 whose solution is w = 0: the largest |gradient| there over all virtual features."""
    at_zero = Objective(corpus, 0.0, 0.0, observed_only=True, threads=threads)
    known = at_zero.working_set(at_zero.observed)
    w = np.zeros(known.size)
    largest = float(np.abs(at_zero.loss_grad(known, w)[1]).max(initial=0.0))
    # Only a feature whose expectation could exceed that is worth a look; none is missed.
    if largest > 0:
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
    threads: int = 0,
    **options: Any,
) -> list[Fit]:
    """Fits on a geometric grid of `n_rho` values from rho_max to rho_min_ratio times it, each from the last."""
    if n_rho < 1:
        raise InputError(f"n_rho: expected at least 1, found {n_rho}")
    if not 0 < rho_min_ratio <= 1:
        raise InputError(f"rho_min_ratio: expected a number above 0 and at most 1, found {rho_min_ratio}")
    largest = rho_max(corpus, threads=threads)
    fits: list[Fit] = []
    for rho1 in largest * np.geomspace(1.0, rho_min_ratio, n_rho):
        init = fits[-1] if fits else None
        fits.append(fit(corpus, rho1=float(rho1), rho2=rho2, init=init, threads=threads, **options))
    return fits
