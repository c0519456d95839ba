"""Plots plain transitions, which are the weights of label pairs that apply at every position."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsecrf._core import InputError
from sparsecrf.contrib.explain.weights import START
from sparsecrf.contrib.plots.display import ModelDisplay
from sparsecrf.contrib.plots.heatmap import (
    MOST_NUMBERS,
    add_bar,
    draw_cells,
    luminance,
    name_panels,
    size,
    write_numbers,
)
from sparsecrf.model import Model


class TransitionsDisplay(ModelDisplay):
    """A matrix of weights, previous label by label, with the row of the start label on top."""

    def __init__(self, matrix: Any, labels: Sequence[str], *, start: bool = True) -> None:
        """`matrix`: float64[Y + 1, Y], as `Model.transitions` returns it, with the start label in the last row; without
        `start`, [Y, Y]."""
        self.matrix, self.labels, self.start = np.asarray(matrix, float), list(labels), start
        expected = (len(self.labels) + start, len(self.labels))
        if self.matrix.shape != expected:
            raise InputError(f"matrix: expected shape {expected}, found {self.matrix.shape}")

    @classmethod
    def from_model(cls, model: Model, *, labels: Sequence[str] | None = None) -> TransitionsDisplay:
        """Create a display from a model; `labels` selects some labels and sets their order."""
        start, Y = model.vocabulary.start, len(model.labels)
        unknown = [name for name in labels or [] if name not in model.labels]
        if unknown:
            raise InputError(f"labels: expected labels of the model, found {unknown[0]!r}")
        chosen = list(range(Y)) if labels is None else [model.labels.index(name) for name in labels]
        matrix = model.transitions()[np.ix_([*chosen, Y] if start else chosen, chosen)]
        return cls(matrix, [model.labels[k] for k in chosen], start=start)

    def plot(self, ax: Any = None, *, numbers: bool | None = None) -> TransitionsDisplay:
        """Blue is positive, red negative, white zero. `numbers` writes the weights into the cells (None means only for
        up to 12 labels); without numbers, negative cells contain a dash, so that signs are also visible in grey.
        """
        values = np.roll(self.matrix, 1, axis=0) if self.start else self.matrix
        rows = [START, *self.labels] if self.start else self.labels
        numbers = len(self.labels) <= MOST_NUMBERS if numbers is None else numbers
        largest = float(np.abs(values).max(initial=0.0)) or 1.0
        inches = size(rows, self.labels, cell=0.3 if numbers else 0.125)
        with self._drawing(ax, size=inches) as (panel,):
            mesh = draw_cells(panel, values, colours="RdBu", low=-largest, high=largest)
            if numbers:
                write_numbers(panel, mesh, [[_number(w) for w in row] for row in values.tolist()])
            else:
                r, c = np.nonzero(values < 0)
                room = panel.bbox.width / panel.figure.dpi * 72 / max(1, len(self.labels))
                ink = ["white" if luminance(rgba) < 0.5 else "black" for rgba in mesh.to_rgba(values[r, c])]
                panel.scatter(c, r, s=(0.45 * min(room, 8.0)) ** 2, marker="_", color=ink, linewidths=0.5)
            if self.start:
                panel.axhline(0.5, color="black", linewidth=0.6)
            panel.set(xlabel="label", ylabel="previous label")
            add_bar(panel, mesh, "weight")
            name_panels([(panel, rows, self.labels)])
        return self


def _number(weight: float) -> str:
    text = f"{weight:.1f}".replace("-", "\u2212")
    return "" if weight == 0 else "0.0" if text == "\u22120.0" else text
