"""`path`: fits along a plan of penalties. Each fit starts from a neighbour and is scored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from math import log
from typing import Any, TypeAlias

import numpy as np

from sparsecrf._core import Corpus
from sparsecrf.compatibility import Choice, Named, OptionError, Trait, check_compatible, has
from sparsecrf.defaults import RHO1, RHO2, SEARCH, SOLVER
from sparsecrf.model import Model
from sparsecrf.path.both import AskedRho2, Plan, SearchBoth
from sparsecrf.path.grid import GivenValues, Penalties, Search, plan
from sparsecrf.path.result import Path, PathWarning
from sparsecrf.path.scores import BY_TOKENS, ErrorRate, name_of
from sparsecrf.shards import Shards
from sparsecrf.shards.dataset import Dataset
from sparsecrf.training import Fit, fit
from sparsecrf.training.choices import choices_of
from sparsecrf.training.data import TrainingData
from sparsecrf.training.feature_sets import Floats
from sparsecrf.training.heldout import check_same_vocabulary
from sparsecrf.training.solvers.choosing import choose_solver
from sparsecrf.warn import warn_caller

# Options of `fit` for preparing data.
_SPACE = ("observed_only", "numbers", "order", "ngram_attributes", "parts", "threads")
_PENALTY = ("penalty", "group_weight", "order_factor")  # Options of `fit` for the penalty, besides rho1.


@dataclass(frozen=True)
class Point:
    """A finished fit, as reported to `each`."""

    number: int  #: number in the order of the fits: 0, 1, ...; for a fold, the index of rho1
    rho1: float
    rho2: float
    n_weights: int
    seconds: float
    error: float | None  #: in percent, on the dev corpus or the held-out part of the fold
    fit: Fit | None  #: None if the fit was made in another process
    fold: int | None = None  #: counted from 0; None if trained on all data
    folds: int = 0  #: number of folds
    left: int = 0  #: minimum number of fits still to come


Each: TypeAlias = Callable[[Point], None]


def path(
    corpus: Corpus | Shards,
    *,
    n_rho: int | None = None,
    rho_min_ratio: float | None = None,
    rho1: Floats | None = None,
    rho2: AskedRho2 = RHO2,
    dev: Corpus | Dataset | None = None,
    error: ErrorRate = BY_TOKENS,
    threads: int = 0,
    each: Each | None = None,
    make_model: Callable[[Fit], Model] | None = None,
    **options: Any,
) -> Path:
    """Fits for decreasing rho1, each starting from its neighbour.

    With `dev`, a corpus encoded by the same vocabulary, and without given values, a search decreases rho1 until the
    score gets worse, then refines around the best value (`sparsecrf.path.grid`). `n_rho` or `rho_min_ratio` select a
    geometric grid instead: `n_rho` values (default 20) from rho_max to rho_max times `rho_min_ratio` (default 1e-3, or
    down to the default rho1 if that is lower). This grid is also the default without `dev`. `rho1` gives the values
    themselves, in decreasing order. A `PathWarning` is issued if the best value is at an edge. With `rho2="search"`,
    the search is over both penalties (`sparsecrf.path.both`).

    `error` scores the fits: a result of `score_of`, or a function of a corpus and its predicted labels. `options` are
    options of `fit`; with `patience`, every fit also stops when its token error on `dev` no longer improves. `each` is
    called after every fit. Ctrl-C ends the path and issues a `PathWarning`; the path then contains the fits so far, the
    last of which is unfinished. `Path.model` calls `make_model`.
    """
    options["threads"] = threads
    if options.get("patience") is not None:
        options["dev"] = dev
    held_out = dev.corpus if isinstance(dev, Dataset) else dev
    if held_out is not None:
        check_same_vocabulary("dev", held_out, corpus)
    data = prepared(corpus, options)
    options["solver"] = solver_of(data, rho2, options)
    values = plan_of(data, rho1, rho2, n_rho, rho_min_ratio, dev is not None, options)
    fits: list[Fit] = []
    errors: list[float] = []
    for number, penalties in enumerate(_following(values, fits, errors)):
        fits.append(fit_at(data, penalties, fits, options))
        errors.append(np.nan if held_out is None else error_of(held_out, fits[-1], error, threads))
        if each is not None:
            left = values.left([penalties_of(found) for found in fits], errors)
            each(point_of(number, fits[-1], None if dev is None else errors[-1], left=left))
        if fits[-1].stopped_by == "interrupt":
            break
    order = sorted(range(len(fits)), key=lambda k: falling(penalties_of(fits[k])))
    return warned(
        Path(
            [fits[k] for k in order],
            None if dev is None else np.array(errors)[order],
            make_model=make_model,
            score=name_of(error),
            searched=searches(values),
            interrupted=fits[-1].stopped_by == "interrupt",
        )
    )


def plan_of(
    data: TrainingData,
    rho1: Floats | None,
    rho2: AskedRho2,
    n_rho: int | None,
    rho_min_ratio: float | None,
    scored: bool,
    options: dict[str, Any],
) -> Plan:
    """The plan: values of rho1, given or searched for, at one rho2, or a search over both."""
    check_search(rho2, scored, {"rho1": rho1, "n_rho": n_rho, "rho_min_ratio": rho_min_ratio})
    at = RHO2 if isinstance(rho2, str) else rho2
    of_rho1 = plan(data, rho1, at, n_rho, rho_min_ratio, scored=scored, **_among(_PENALTY, options))
    return SearchBoth(of_rho1.largest) if isinstance(rho2, str) and isinstance(of_rho1, Search) else of_rho1


def check_search(rho2: AskedRho2, scored: bool, grid: Mapping[str, Any]) -> None:
    """Reject a search over both penalties without scores, or with given values of rho1."""
    if not isinstance(rho2, str):
        return
    if rho2 != SEARCH:
        raise OptionError(Named("rho2"), f": expected a number or {SEARCH!r}, found {rho2!r}")
    given = [Choice(name, value, has(Trait.GRID)) for name, value in grid.items() if value is not None]
    scores = [Choice("", "scores", has(Trait.DEV))] if scored else []
    check_compatible([Choice("rho2", rho2, SearchBoth.capabilities), *given, *scores])


def searches(values: Plan) -> bool:
    return not isinstance(values, GivenValues)


def _following(values: Plan, fits: list[Fit], errors: list[float]) -> Iterable[Penalties]:
    """The penalties of a plan. The caller appends to `fits` and `errors` between steps."""
    while step := values.next([penalties_of(found) for found in fits], errors):
        yield from step
        if not searches(values):
            return


def penalties_of(found: Fit) -> Penalties:
    return Penalties(found.rho1, found.rho2)


def falling(penalties: Penalties) -> tuple[float, float]:
    """A key that sorts by decreasing rho1, then by increasing rho2."""
    return -penalties.rho1, penalties.rho2


def prepared(corpus: Corpus | Shards, options: dict[str, Any]) -> TrainingData:
    """The data for all fits of a path, which differ only in the penalty."""
    return TrainingData(corpus, **_among(_SPACE, options))


def solver_of(data: TrainingData, rho2: AskedRho2, options: dict[str, Any]) -> str:
    """The solver of all fits: `auto` chooses the same solver as for a single fit to these data with the default rho1.
    (`fit` itself would choose `proximal` for all warm starts, and parts of the data can be too small for `dual`.)"""
    given = str(options.get("solver", SOLVER))
    if given != SOLVER or options.get("solver_options"):
        return given
    at = RHO2 if isinstance(rho2, str) else rho2
    return choose_solver(data, RHO1, at, [*choices_of({**options, "rho2": at}), *data.choices])


def _among(names: tuple[str, ...], options: dict[str, Any]) -> dict[str, Any]:
    """The given options with these names."""
    return {name: options[name] for name in names if name in options}


def fit_at(data: TrainingData, penalties: Penalties, fits: list[Fit], options: dict[str, Any]) -> Fit:
    start = neighbour({penalties_of(found): found for found in fits}, penalties)
    return fit(data, **penalties._asdict(), init=start, **options)


def neighbour(known: Mapping[Penalties, Any], wanted: Penalties) -> Any:
    """The earlier fit to start from; None if there is none. It has the same rho2 if possible, otherwise the nearest
    rho2. Among these fits, it has the next larger rho1 (or the same rho1, at another rho2), otherwise the next smaller
    rho1."""
    if not known:
        return None
    rho2 = min({other.rho2 for other in known}, key=lambda other: _distance(other, wanted.rho2))
    line = [other for other in known if other.rho2 == rho2]
    above = [p for p in line if p.rho1 > wanted.rho1 or (p.rho1 == wanted.rho1 and rho2 != wanted.rho2)]
    return known[min(above) if above else max(line)]


def _distance(rho2: float, other: float) -> float:
    """The absolute log ratio of two penalties. Only a search uses several values of rho2, and none of them is 0."""
    return 0.0 if rho2 == other else abs(log(rho2 / other))


def error_of(corpus: Corpus, found: Fit, error: ErrorRate, threads: int) -> float:
    return error(corpus, found.chain(threads).viterbi(corpus)[0])


def seconds_of(found: Fit) -> float:
    return found.history[-1].time_s if found.history else 0.0


def point_of(number: int, found: Fit, error: float | None, **where: Any) -> Point:
    return Point(number, *penalties_of(found), len(found.w), seconds_of(found), error, found, **where)


def warned(found: Path) -> Path:
    if found.advice is not None:
        warn_caller(found.advice, PathWarning)
    return found
