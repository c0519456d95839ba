"""Plots the errors of several models over replications of an experiment, like the paper's box plots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sparsecrf._core import InputError
from sparsecrf.contrib.plots.display import COLOURS, COLUMN, PAGE, Display, printable


class ReplicationsDisplay(Display):
    """A panel for each data set with a box for each model: median, quartiles, and whiskers of 1.5 times the
    interquartile range."""

    def __init__(self, errors: Mapping[str, Mapping[str, Any]]) -> None:
        """errors[data][model]: [replications] errors in percent; every data set contains the same models."""
        self.errors = {
            data: {model: np.asarray(values, float) for model, values in models.items()}
            for data, models in errors.items()
        }
        self.models = list(next(iter(self.errors.values()), {}))
        if not self.models:
            raise InputError("errors: expected at least one data set with a model, found none")
        for data, models in self.errors.items():
            if list(models) != self.models:
                raise InputError(f"{data}: expected the models {', '.join(self.models)}, found {', '.join(models)}")

    def plot(self, ax: Any = None) -> ReplicationsDisplay:
        """The panels, one above the other."""
        n = len(self.errors)
        width = min(PAGE, max(COLUMN, 0.6 + 0.3 * len(self.models)))
        with self._drawing(ax, n, size=(width, 0.5 + 1.6 * n), share=True) as axes:
            ink = {"linewidth": 0.8, "color": "black"}
            for panel, (data, models) in zip(axes, self.errors.items(), strict=True):
                panel.boxplot(
                    list(models.values()),
                    boxprops=ink,
                    whiskerprops=ink,
                    capprops=ink,
                    medianprops={"linewidth": 1.4, "color": COLOURS[1]},
                    flierprops={"marker": ".", "markersize": 2.5, "markeredgecolor": "black"},
                )
                panel.set_ylabel(f"{printable(data)}\nerror (%)")
            upright = max(map(len, self.models)) > 5
            places = range(1, len(self.models) + 1)
            axes[-1].set_xticks(places, [printable(name) for name in self.models], rotation=90 * upright)
        return self
