"""The result of a path: its fits, their scores, the best one, and whether it lies at an edge of the values tried."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sparsecrf._core import InputError
from sparsecrf.model import Model
from sparsecrf.path.scores import TOKENS
from sparsecrf.training import SOLVERS, Fit
from sparsecrf.training.feature_sets import Floats

_LIMITS = ("max_iter", "time_limit")
#: After a search over both penalties, errors that exceed the smallest by at most this share count as equal: one
#: standard error on data with 2,500 errors.
CLOSE = 0.02


class PathWarning(UserWarning):
    """An unreliable choice of penalties: the best is the last value tried, fits stopped at a limit, or the path was
    interrupted."""


@dataclass(frozen=True, repr=False)
class Path:
    """Fits by decreasing rho1, then by increasing rho2 if there are several values, with errors on held-out data, if
    any."""

    fits: list[Fit]
    #: [fits] in percent, smaller is better: 100 - `scores`, on the dev corpus or averaged over the folds
    errors: Floats | None = None
    standard_errors: Floats | None = None  #: [fits] standard errors of the mean over the folds
    make_model: Callable[[Fit], Model] | None = None  #: makes a model from a fit, if given
    score: str = TOKENS  #: name of the score: token accuracy, chunk F1, or another
    searched: bool = False  #: whether a search found the penalties; otherwise they were given
    interrupted: bool = False  #: whether the path ended early: the last fit may be unfinished, others are missing

    def __repr__(self) -> str:
        from sparsecrf.tables import counted

        rho1 = f", rho1 {self.fits[0].rho1:.4g} to {self.fits[-1].rho1:.4g}" if self.fits else ""
        return f"<Path: {counted(len(self.fits), 'fit')}{rho1}{self._best_text()}>"

    def _best_text(self) -> str:
        if self.best is None or self.scores is None:
            return ""
        from sparsecrf.tables import counted

        found, edge = self.fits[self.best], f" (at the {self.edge} edge)" if self.edge else ""
        spread = "" if self.standard_errors is None else f" +- {self.standard_errors[self.best]:.2f}"
        return (
            f"; best: {self.text_of(self.best)}{edge}, {self.score} {self.scores[self.best]:.2f} %{spread}, "
            f"{counted(len(found.w), 'weight')}"
        )

    def text_of(self, k: int) -> str:
        """The penalties of a fit that differ between fits."""
        found = self.fits[k]
        return f"rho1 {found.rho1:.4g}" + (f", rho2 {found.rho2:.4g}" if self.both else "")

    def text(self) -> str:
        """A table of the fits."""
        from sparsecrf.tables import text_table

        return text_table(self._head(), [self._row(k) for k in range(len(self))])

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        from sparsecrf.tables import html_table

        note = "" if self.advice is None else f"Note: {self.advice}."
        return html_table(f"Path of {len(self)} fits", self._head(), [self._row(k) for k in range(len(self))], note)

    def _head(self) -> list[str]:
        scores = [] if self.scores is None else [f"{self.score} (%)", ""]
        return ["rho1", *(["rho2"] if self.both else []), "weights", "objective", *scores]

    def _row(self, k: int) -> list[str]:
        """A row of the table: a fit, its score, and whether it is the best."""
        found = self.fits[k]
        cells = [f"{found.rho1:.4g}", *([f"{found.rho2:.4g}"] if self.both else [])]
        cells += [f"{len(found.w):,}", f"{found.objective:,.6g}"]
        if self.scores is None:
            return cells
        spread = "" if self.standard_errors is None else f" ± {self.standard_errors[k]:.2f}"
        marks = [name for name, chosen in (("best", self.best), ("one standard error", self.one_se)) if chosen == k]
        return [*cells, f"{self.scores[k]:.2f}{spread}", ", ".join(marks)]

    def __len__(self) -> int:
        return len(self.fits)

    def __iter__(self) -> Iterator[Fit]:
        return iter(self.fits)

    def __getitem__(self, k: int) -> Fit:
        return self.fits[k]

    def model(self, k: int) -> Model:
        """The model of the k-th fit."""
        if self.make_model is None:
            raise InputError("path: give make_model=, a function that makes a model")
        return self.make_model(self.fits[k])

    @property
    def rho1(self) -> Floats:
        return np.array([found.rho1 for found in self.fits])

    @property
    def rho2(self) -> Floats:
        return np.array([found.rho2 for found in self.fits])

    @property
    def both(self) -> bool:
        """Whether there are several values of rho2."""
        return len({found.rho2 for found in self.fits}) > 1

    def along(self, rho2: float) -> Path:
        """Only the fits with this rho2, by decreasing rho1."""
        chosen = np.flatnonzero(self.rho2 == rho2)
        errors, spread = (None if x is None else x[chosen] for x in (self.errors, self.standard_errors))
        return replace(self, fits=[self.fits[k] for k in chosen], errors=errors, standard_errors=spread)

    @property
    def scores(self) -> Floats | None:
        """The scores of the fits, [fits], in percent; larger is better."""
        return None if self.errors is None else 100 - self.errors

    @property
    def best(self) -> int | None:
        """The fit with the smallest error; ties go to the largest rho1. With several values of rho2, it is the fit with
        the fewest weights among those whose errors are at most 2 % above the smallest (for example, 10.2 and 10). A fit
        that was interrupted is not chosen unless there is no other."""
        if self.errors is None:
            return None
        errors = self._judged(self.errors)
        return self._fewest(errors.min() * (1 + CLOSE)) if self.both else int(np.argmin(errors))

    def _judged(self, errors: Floats) -> Floats:
        """The errors by which fits are chosen: infinite for an interrupted fit, unless there is no other."""
        unfinished = np.array([found.stopped_by == "interrupt" for found in self.fits])
        return errors if unfinished.all() else np.where(unfinished, np.inf, errors)

    def _fewest(self, most: float) -> int:
        """The fit with the fewest weights whose error is at most this; ties go to the smallest error."""
        errors = self._judged(np.asarray(self.errors))
        return int(min(np.flatnonzero(errors <= most), key=lambda k: (len(self.fits[k].w), errors[k])))

    @property
    def one_se(self) -> int | None:
        """The fit with the largest rho1 (the fewest weights, if there are several values of rho2) whose error is at
        most the smallest error plus its standard error."""
        if self.errors is None or self.standard_errors is None:
            return None
        if self.both:
            least = int(np.argmin(self.errors))
            return self._fewest(self.errors[least] + self.standard_errors[least])
        return one_standard_error(self.errors, self.standard_errors)

    @property
    def edge(self) -> Literal["lower", "upper"] | None:
        """The edge of the tried values of rho1 at which the best value lies, if any; a better value may lie beyond it.

        None if the best model has no weights or makes no errors, or if only one value was tried. With several values of
        rho2, only the fits with the same rho2 as the fit with the smallest error are considered, and the result is None
        unless the best fit has the same rho1 as that fit.
        """
        if self.best is None or self.errors is None or self.errors[self.best] == 0:
            return None
        tried = np.flatnonzero(np.isfinite(self._judged(self.errors)))
        if len(tried) <= 1:
            return None
        if self.both:
            least = self.fits[int(np.argmin(self._judged(self.errors)))]
            return self.along(least.rho2).edge if self.fits[self.best].rho1 == least.rho1 else None
        if self.best == tried[-1]:
            return "lower"
        return "upper" if self.best == tried[0] and len(self.fits[self.best].w) > 0 else None

    @property
    def edge_rho2(self) -> Literal["lower", "upper"] | None:
        """The edge of the tried values of rho2 at which the value with the smallest error lies, if any; None if only
        one value was tried."""
        if self.errors is None or not self.both:
            return None
        errors = self._judged(self.errors)
        if errors.min() == 0:
            return None
        tried, errors = self.rho2[np.isfinite(errors)], errors[np.isfinite(errors)]
        if len(set(tried)) <= 1:
            return None
        # if several errors tie, it is enough that one of them lies inside the range
        least = tried[errors == errors.min()]
        return "lower" if (least == tried.min()).all() else "upper" if (least == tried.max()).all() else None

    @property
    def advice(self) -> str | None:
        """Advice if the choice of penalties is unreliable, else None."""
        if self.interrupted:
            unfinished = [k for k, found in enumerate(self.fits) if found.stopped_by == "interrupt"]
            which = (
                f"; the fit with {self.text_of(unfinished[-1])} is unfinished" if unfinished else " between two fits"
            )
            return f"interrupted{which}"
        if self.best is None:
            return None
        rho1, said = self.fits[self.best].rho1, list[str]()
        if self.edge is not None:
            beyond = "smaller" if self.edge == "lower" else "larger"
            said.append(f"the best rho1, {rho1:.4g}, is the {beyond[:-1]}st value tried: {_way_on(self, beyond)}")
        if self.edge_rho2 is not None:
            beyond = "smaller" if self.edge_rho2 == "lower" else "larger"
            rho2 = self.rho2.min() if self.edge_rho2 == "lower" else self.rho2.max()
            said.append(f"the best rho2, {rho2:.4g}, is the {beyond[:-1]}st value tried: give {beyond} values")
        limited = sum(found.stopped_by in _LIMITS and not SOLVERS[found.solver].is_stochastic for found in self.fits)
        if limited:
            said.append(
                f"{limited} of {len(self)} fits stopped at a limit before reaching the optimum: their scores and "
                "numbers of weights may change with a larger max_iter or time_limit"
            )
        return "; ".join(said) or None


def _way_on(path: Path, beyond: str) -> str:
    if path.both:
        return f"give {beyond} values of rho1" + ("; these data need almost no l1 penalty" * (beyond == "smaller"))
    if path.searched and beyond == "smaller":
        return (
            "these data need almost no l1 penalty; try a larger rho2 (rho2 = search finds one), or give smaller "
            "values of rho1"
        )
    return f"try {beyond} values, or give neither values nor a grid: the search continues until the score gets worse"


def one_standard_error(errors: Floats, standard_errors: Floats) -> int:
    """The first of the errors, ordered by decreasing rho1, that is within one standard error of the smallest."""
    best = int(np.argmin(errors))
    return int(np.argmax(errors <= errors[best] + standard_errors[best]))
