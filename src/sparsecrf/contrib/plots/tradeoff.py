"""Plots error or time against the number of active features, like the paper's figures of selection and running time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sparsecrf._core import InputError
from sparsecrf.contrib.plots.display import COLUMN, DASHES, QUIET, Display, legend_above, look, plain_log, printable
from sparsecrf.path import Path

QUANTITIES = {"error": "error (%)", "time": "training time (s)"}


class TradeoffDisplay(Display):
    """One line for each way to obtain sparse models. Models without features are left out, since the axis is
    logarithmic."""

    def __init__(
        self,
        curves: Mapping[str, tuple[Any, Any]],
        *,
        baselines: Mapping[str, float] | None = None,
        ylabel: str = QUANTITIES["error"],
    ) -> None:
        """`curves`, by name: numbers of active features, and the values for these numbers. `baselines` are named
        horizontal lines for values that do not depend on the number, such as the time of dense recursions.
        """
        self.curves = {}
        for name, (active, values) in curves.items():
            x, y = np.asarray(active, float), np.asarray(values, float)
            if x.ndim != 1 or x.shape != y.shape:
                raise InputError(
                    f"{name}: expected two lists of equal length (numbers of features and values), found shapes "
                    f"{x.shape} and {y.shape}"
                )
            order = np.argsort(x, kind="stable")
            order = order[x[order] > 0]
            self.curves[name] = x[order], y[order]
        self.baselines, self.ylabel = dict(baselines or {}), ylabel

    @classmethod
    def from_path(
        cls,
        path: Path | Mapping[str, Path],
        *,
        quantity: str = "error",
        baselines: Mapping[str, float] | None = None,
    ) -> TradeoffDisplay:
        """Create a display from a path, or several by name. `quantity`: `error`, or `time`, the training time of each
        fit, which starts from the previous one.
        """
        if quantity not in QUANTITIES:
            raise InputError(f"quantity: expected one of {', '.join(QUANTITIES)}, found {quantity!r}")
        paths = path if isinstance(path, Mapping) else {"": path}
        curves = {}
        for name, found in paths.items():
            values = [fit.history[-1].time_s for fit in found] if quantity == "time" else found.errors
            if values is None:
                raise InputError(f"path {name!r}: expected errors on held-out data, found none")
            curves[name] = [len(fit.w) for fit in found], values
        return cls(curves, baselines=baselines, ylabel=QUANTITIES[quantity])

    def plot(self, ax: Any = None, *, log: bool = False) -> TradeoffDisplay:
        """`log`: also use a logarithmic vertical scale."""
        with self._drawing(ax, size=(COLUMN, 2.5)) as (panel,):
            for k, (name, (x, y)) in enumerate(self.curves.items()):
                panel.plot(x, y, label=printable(name, 40), **look(k))
            for k, (name, value) in enumerate(self.baselines.items()):
                dash = DASHES[(k + 1) % len(DASHES)]
                panel.axhline(value, color=QUIET, linestyle=dash, label=printable(name, 40), zorder=0)
            panel.set_xscale("log")
            every = np.concatenate([np.ones(0), *(x for x, _ in self.curves.values())])
            plain_log(panel.xaxis, every.min(initial=np.inf), every.max(initial=0.0))
            if log:
                panel.set_yscale("log")
            panel.set(xlabel="active features", ylabel=self.ylabel)
            names = [name for name in (*self.curves, *self.baselines) if name]
            if names:
                legend_above(panel, names)
        return self
