"""Figures of the experiments: displays of `contrib.plots` if there is a suitable one, else panels in the same style."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparsecrf.contrib.plots.display import COLUMN, PAGE, QUIET, Display, look, plain_log, printable
from sparsecrf.contrib.plots.heatmap import add_bar, draw_cells, name_panels

#: By name: x and y of each point.
Curves = Mapping[str, tuple[Any, Any]]


def save(display: Display, path: Path) -> None:
    """Write the display as .svg and .png, with the same bytes each time."""
    for suffix in (".svg", ".png"):
        display.save(path.with_suffix(suffix))


class Panels(Display):
    """Panels side by side, each drawn by a function of its axes."""

    def __init__(self, *draw: Callable[[Any], None], height: float = 2.5) -> None:
        self.draw, self.height = draw, height

    def plot(self, ax: Any = None) -> Panels:
        width = PAGE if len(self.draw) > 1 else COLUMN
        with self._drawing(ax, 1, len(self.draw), size=(width, self.height)) as axes:
            for panel, draw in zip(axes, self.draw, strict=True):
                draw(panel)
        return self


def curves(
    lines: Curves,
    *,
    xlabel: str,
    ylabel: str,
    log_x: bool = False,
    log_y: bool = False,
    top: float | None = None,
    falling: bool = False,
    levels: Mapping[str, float] | None = None,
) -> Callable[[Any], None]:
    """Draws a line for each series, and horizontal lines at `levels`. Log scales leave out values that are 0 or less.

    `top`: the vertical axis goes from 0 to this value; `falling`: the horizontal axis goes from right to left.
    """

    def draw(ax: Any) -> None:
        shown = {name: _sorted(x, y, log_x, log_y) for name, (x, y) in lines.items()}
        for k, (name, (x, y)) in enumerate(shown.items()):
            ax.plot(x, y, label=printable(name), markevery=max(1, len(x) // 10), **look(k))
        for name, value in (levels or {}).items():
            ax.axhline(value, color=QUIET, linestyle="--", label=printable(name), zorder=0)
        ax.set(xlabel=xlabel, ylabel=ylabel)
        for axis, logarithmic, k in ((ax.xaxis, log_x, 0), (ax.yaxis, log_y, 1)):
            if logarithmic:
                every = np.concatenate([line[k] for line in shown.values()])
                (ax.set_xscale if k == 0 else ax.set_yscale)("log")
                plain_log(axis, every.min(initial=np.inf), every.max(initial=0.0))
        if top is not None:
            ax.set_ylim(0, top)
        if falling:
            ax.invert_xaxis()
        if len(lines) + len(levels or {}) > 1:
            ax.legend()

    return draw


def _sorted(x: Any, y: Any, log_x: bool, log_y: bool) -> tuple[Any, Any]:
    xs, ys = np.asarray(x, float), np.asarray(y, float)
    order = np.argsort(xs, kind="stable")
    order = order[~(log_x & (xs[order] <= 0)) & ~(log_y & (ys[order] <= 0))]
    return xs[order], ys[order]


def heat(values: Any, rows: Sequence[str], columns: Sequence[str], label: str) -> Callable[[Any], None]:
    """Draws a cell for each value, with zeros in white, so that sparsity is visible."""

    def draw(ax: Any) -> None:
        mesh = draw_cells(ax, np.asarray(values, float))
        mesh.set_rasterized(True)  # otherwise thousands of cells would become thousands of lines of SVG
        add_bar(ax, mesh, label)
        name_panels([(ax, rows, columns)])

    return draw
