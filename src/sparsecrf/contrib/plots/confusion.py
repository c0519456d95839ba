"""Plots the confusion matrix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sparsecrf._core import InputError
from sparsecrf.contrib.plots.display import Display
from sparsecrf.contrib.plots.heatmap import MOST_NUMBERS, add_bar, draw_cells, name_panels, size, write_numbers
from sparsecrf.contrib.plots.predictions import in_step, labelled
from sparsecrf.model import Model

TOP = 20  # default number of labels shown
OTHERS = "(others)"  #: the name of all labels that are not shown


class ConfusionDisplay(Display):
    """Tokens by true and by predicted label."""

    def __init__(self, counts: Any, labels: Sequence[str]) -> None:
        """`counts`: [Y, Y], true label by predicted label."""
        self.counts, self.labels = np.asarray(counts), list(labels)
        if self.counts.shape != (len(self.labels), len(self.labels)):
            raise InputError(
                f"counts: expected a row and a column for each of {len(self.labels)} labels, "
                f"found shape {self.counts.shape}"
            )

    @classmethod
    def from_predictions(
        cls,
        y_true: Iterable[Sequence[str | None]],
        y_pred: Iterable[Sequence[str]],
        *,
        labels: Sequence[str] | None = None,
        top: int | None = None,
    ) -> ConfusionDisplay:
        """Create a display from label sequences; tokens whose true label is None are left out.

        Shows `labels`, or the `top` (default 20) labels that are involved in the most errors, sorted by name. All other
        labels share the last row and column. The cell in both of them counts all tokens whose gold and predicted
        labels are both among the other labels, right or wrong.
        """
        pairs = Counter((str(y), str(z)) for y, z in in_step(y_true, y_pred) if y is not None)
        every = sorted({name for pair in pairs for name in pair})
        if labels is not None:
            shown = [str(name) for name in labels]
        elif top is not None and top < 1:
            raise InputError(f"top: expected at least 1, found {top}")
        else:
            errors: Counter[str] = Counter()
            for (y, z), n in pairs.items():
                if y != z:
                    errors[y] += n
                    errors[z] += n
            most = TOP if top is None else top
            shown = sorted(sorted(every, key=lambda name: -errors[name])[:most])
        names = shown if set(every) <= set(shown) else [*shown, OTHERS]
        place = {name: k for k, name in enumerate(shown)}
        counts = np.zeros((len(names), len(names)), np.int64)
        for (y, z), n in pairs.items():
            counts[place.get(y, -1), place.get(z, -1)] += n
        return cls(counts, names)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Iterable[Sequence[str | None]], **options: Any
    ) -> ConfusionDisplay:
        """Create a display from the predictions of a fitted `CRF` for X."""
        return cls.from_predictions(y, estimator.predict(X), **options)

    @classmethod
    def from_model(
        cls, model: Model, X: Iterable[Iterable[Any]], y: Iterable[Sequence[str | None]], **options: Any
    ) -> ConfusionDisplay:
        """Create a display from the predictions of a model."""
        return cls.from_predictions(y, labelled(model, X), **options)

    def plot(self, ax: Any = None, *, normalize: bool = True, numbers: bool | None = None) -> ConfusionDisplay:
        """Draws percentages of the tokens of each true label or, without `normalize`, numbers of tokens.

        Shades follow the square root, since errors are rare. `numbers` writes the values into the cells (None means
        only for up to 12 labels).
        """
        from matplotlib.colors import PowerNorm

        values = self.counts.astype(float)
        if normalize:
            totals = values.sum(axis=1, keepdims=True)
            values = np.divide(100 * values, totals, out=np.zeros_like(values), where=totals > 0)
        numbers = len(self.labels) <= MOST_NUMBERS if numbers is None else numbers
        largest = 100.0 if normalize else float(values.max(initial=0.0)) or 1.0
        with self._drawing(ax, size=size(self.labels, self.labels, cell=0.3 if numbers else 0.125)) as (panel,):
            mesh = draw_cells(panel, values, norm=PowerNorm(0.5, 0.0, largest))
            if numbers:
                write_numbers(panel, mesh, [[_number(v, normalize) for v in row] for row in values.tolist()])
            panel.set(xlabel="predicted label", ylabel="true label")
            label = "% of the true label's tokens" if normalize else "tokens"
            add_bar(panel, mesh, label, **({"ticks": [0, 1, 5, 20, 50, 100]} if normalize else {"format": "{x:,.0f}"}))
            name_panels([(panel, self.labels, self.labels)])
        return self


def _number(value: float, percent: bool) -> str:
    if value == 0:
        return ""
    if not percent:
        return f"{value:,.0f}" if value < 10_000 else f"{value / 1000:,.0f}k"
    return "<1" if value < 1 else f"{value:.0f}"
