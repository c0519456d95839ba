"""Plots the convergence of training: objective, certificate, active features and dev error against time or passes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsecrf._core import InputError
from sparsecrf.contrib.plots.display import COLUMN, Display, legend_above, look, plain_log, printable
from sparsecrf.contrib.plots.heatmap import Floats
from sparsecrf.training import Fit

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: The quantities that can be drawn: their names, and whether their scales are logarithmic.
PANELS = {
    "above_best": ("objective\nabove the best", True),
    "objective": ("objective", False),
    "gap": ("duality gap", True),
    "kkt": ("KKT residual\n(relative)", True),
    "active": ("active features", False),
    "dev_error": ("dev error (%)", False),
}
_DEFAULT = ("above_best", "gap", "kkt", "active", "dev_error")
AXES = {"time": ("time_s", "time (s)"), "passes": ("passes", "passes over the data"), "iter": ("iter", "iteration")}
_MARKED = 40  # maximum number of values that get a marker each

#: A record of an iteration, or its fields.
History = Sequence[Any]


class ConvergenceDisplay(Display):
    """One panel for each quantity, with one line for each run."""

    def __init__(self, histories: Mapping[str, History], *, optimum: float | None = None) -> None:
        """Runs by name: lists of `Record`, or of its fields. `optimum`: the smallest objective, if it is known."""
        if not histories:
            raise InputError("histories: expected at least one run, found none")
        self.histories = {name: [_fields(record) for record in run] for name, run in histories.items()}
        for name, run in self.histories.items():
            if not run:
                raise InputError(f"run {name!r}: expected at least one iteration, found none")
        self.optimum = optimum

    @classmethod
    def from_fit(cls, fit: Fit | Mapping[str, Fit], *, optimum: float | None = None) -> ConvergenceDisplay:
        """Create a display from a fit, or several by name."""
        fits = fit if isinstance(fit, Mapping) else {"": fit}
        return cls({name: found.history for name, found in fits.items()}, optimum=optimum)

    @classmethod
    def from_history(cls, history: History, **options: Any) -> ConvergenceDisplay:
        """Create a display from one run."""
        return cls({"": history}, **options)

    @classmethod
    def from_log(
        cls, file: str | os.PathLike[str] | Mapping[str, str | os.PathLike[str]], **options: Any
    ) -> ConvergenceDisplay:
        """Create a display from a file that `sparsecrf train --log` wrote, or several by name."""
        files = file if isinstance(file, Mapping) else {"": file}
        return cls({name: _read_log(path) for name, path in files.items()}, **options)

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> ConvergenceDisplay:
        """Create a display from a fitted `CRF`."""
        return cls.from_history(estimator.history_, **options)

    @property
    def lowest(self) -> float:
        """The reference for objectives: the optimum if it is known, else the smallest value of all runs."""
        if self.optimum is not None:
            return self.optimum
        return min(float(record["objective"]) for run in self.histories.values() for record in run)

    def curve(self, name: str, quantity: str, x: str = "time") -> tuple[Floats, Floats]:
        """Both coordinates of a line, for iterations at which the quantity is known and finite.

        On logarithmic scales, only positive values are included, so the best point of the best run is not drawn.
        """
        run = self.histories[name]
        xs = np.array([record[AXES[x][0]] for record in run], float)
        if quantity == "active":
            ys = np.array(
                [sum(record.get(f"active_{kind}", 0) for kind in ("unigram", "bigram", "ngram")) for record in run],
                float,
            )
        elif quantity == "above_best":
            ys = np.array([record["objective"] for record in run], float) - self.lowest
        else:
            values = (record.get(quantity) for record in run)
            ys = np.array([np.nan if value is None else value for value in values], float)
        known = np.isfinite(ys) & (ys > 0 if PANELS[quantity][1] else True)
        return xs[known], ys[known]

    def plot(
        self, ax: Any = None, *, x: str = "time", log_x: bool = False, panels: Sequence[str] | None = None
    ) -> ConvergenceDisplay:
        """`x`: `time`, `passes` or `iter`. `log_x`: use a logarithmic x axis. `panels`: some of `above_best`,
        `objective`, `gap`, `kkt`, `active` and `dev_error`; by default, all quantities that any run contains, except
        `objective`.
        """
        if x not in AXES:
            raise InputError(f"x: expected one of {', '.join(AXES)}, found {x!r}")
        for name in panels or ():
            if name not in PANELS:
                raise InputError(f"panels: expected names from {', '.join(PANELS)}, found {name!r}")
        if panels is None:
            panels = [q for q in _DEFAULT if any(len(self.curve(name, q, x)[0]) for name in self.histories)]
        size = (COLUMN, 0.5 + 1.15 * len(panels))
        with self._drawing(ax, len(panels), size=size, share=True) as axes:
            for panel, quantity in zip(axes, panels, strict=True):
                self._draw(panel, quantity, x)
                if log_x:
                    panel.set_xscale("log")
            axes[-1].set_xlabel(AXES[x][1])
            if len(self.histories) > 1:
                legend_above(axes[0], list(self.histories))
        return self

    def _draw(self, panel: Axes, quantity: str, x: str) -> None:
        label, logarithmic = PANELS[quantity]
        everything = []
        for k, name in enumerate(self.histories):
            xs, ys = self.curve(name, quantity, x)
            style = look(k)
            if len(xs) > _MARKED:
                style["markevery"] = len(xs) // 10
            panel.plot(xs, ys, label=printable(name), markersize=2.5, **style)
            everything += ys.tolist()
        panel.set_ylabel(label)
        low, high = min(everything, default=1.0), max(everything, default=1.0)
        if logarithmic or (quantity == "dev_error" and high > 5 * low > 0):
            panel.set_yscale("log")
            if high < 100 * low:
                plain_log(panel.yaxis, low, high)
        else:
            from matplotlib.ticker import MaxNLocator

            panel.yaxis.set_major_locator(MaxNLocator(4))
            if quantity != "dev_error":
                panel.yaxis.set_major_formatter("{x:,.0f}")


def _fields(record: Any) -> dict[str, Any]:
    if is_dataclass(record) and not isinstance(record, type):
        return asdict(record)
    if isinstance(record, Mapping) and "objective" in record:
        return dict(record)
    raise InputError(f"history: expected records of iterations, found {record!r}")


def _read_log(file: str | os.PathLike[str]) -> list[dict[str, Any]]:
    records = []
    with open(file, encoding="utf-8") as lines:
        for n, line in enumerate(lines, 1):
            try:
                records.append(_fields(json.loads(line)))
            except (ValueError, InputError):
                where = f"{os.fspath(file)}, line {n}"
                raise InputError(
                    f"{where}: expected a JSON object as written by --log, found {line.strip()[:60]!r}"
                ) from None
    return records
