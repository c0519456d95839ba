"""Draws matrices of weights, transitions, probabilities or confusions as grids of named cells."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sparsecrf.contrib.plots.display import PAGE, SMALL, TALLEST, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]

CELL = 0.125  # size of a cell with a legible name, in inches
_CHARACTER = 0.058  # width of a character of a name, in inches
_NAME = 1.12 * SMALL  # height of a line of names, in points
MOST_ROWS = 400  # maximum number of rows drawn; if there are more, several share a row
_VECTOR = 10_000  # maximum number of cells drawn as vector graphics
MOST_NUMBERS = 12  # numbers are written into the cells if there are at most this many rows and columns


def size(
    rows: Sequence[str], columns: Sequence[str], *, across: int = 1, down: int = 1, cell: float = CELL
) -> tuple[float, float]:
    """Size in inches of a figure of heat maps next to and below each other, with colour bars."""
    left, below = 0.3 + _CHARACTER * longest(rows), 0.35 + _CHARACTER * longest(columns)
    width = left + across * (cell * len(columns) + 0.75)
    height = below + down * (cell * len(rows) + 0.3)
    return min(max(width, 2.4), PAGE), min(max(height, 1.8), TALLEST)


def longest(names: Sequence[str]) -> int:
    return max((len(printable(name)) for name in names), default=0)


def draw_cells(
    ax: Axes,
    values: Floats,
    *,
    colours: str = "Greys",
    low: float | None = None,
    high: float | None = None,
    **mesh: Any,
) -> Any:
    """Draw a cell for each value [rows, columns], with the first row on top. Returns the mesh.

    Zeros are left white, so that sparsity is visible. Without `low`, the scale starts at 0 and the smallest nonzero
    value is already grey.
    """
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    shades, values = colormaps[colours], np.ma.masked_equal(values, 0.0)
    if low is None:
        shades, low = ListedColormap(shades(np.linspace(0.2, 1.0, 256))), 0.0
    rows, columns = values.shape
    if high is None:
        high = float(values.max()) if np.ma.count(values) else 1.0
    if "norm" not in mesh:
        mesh |= {"vmin": low, "vmax": high}
    drawn = ax.pcolormesh(
        np.arange(columns + 1) - 0.5,
        np.arange(rows + 1) - 0.5,
        values,
        cmap=shades,
        rasterized=values.size > _VECTOR,
        **mesh,
    )
    ax.set_ylim(rows - 0.5, -0.5)
    ax.spines[:].set_visible(True)
    return drawn


def pooled(values: Floats, most: int = MOST_ROWS) -> tuple[Floats, int]:
    """At most `most` rows, each the maximum of several neighbouring rows; also returns the number of rows per result
    row.

    A mean would hide a single weight among thousands of zeros, which is typical of a sparse model.
    """
    share = max(1, ceil(len(values) / most))
    return (values if share == 1 else np.maximum.reduceat(values, np.arange(0, len(values), share))), share


def name_panels(panels: Sequence[tuple[Axes, Sequence[str], Sequence[str]]], share: int = 1) -> None:
    """Write as many names of rows and columns of the heat maps on one figure as there is room for.

    The room depends on the length of the names, so it is computed again after the layout.
    """
    figure: Any = panels[0][0].figure
    engine = figure.get_layout_engine() if hasattr(figure, "get_layout_engine") else None
    for _ in range(1 if engine is None else 2):
        for ax, rows, columns in panels:
            _name_rows(ax, rows, share)
            _name_columns(ax, columns)
        if engine is not None:
            engine.execute(figure)


def _name_rows(ax: Axes, names: Sequence[str], share: int = 1) -> None:
    """Write as many names at the left as there is room for; `share` names share one row."""
    room = ax.bbox.height / ax.figure.dpi * 72
    rows = ceil(len(names) / share)
    step = max(1, ceil(rows * _NAME / room))
    ax.set_yticks(range(0, rows, step), [printable(name) for name in names[:: share * step]])
    ax.tick_params(axis="y", length=0 if step == 1 else 2)


def _name_columns(ax: Axes, names: Sequence[str]) -> None:
    """Write as many names below as there is room for, vertically unless they have one or two characters."""
    room = ax.bbox.width / ax.figure.dpi * 72
    upright = longest(names) > 2
    needed = _NAME if upright else max(_NAME, 0.75 * SMALL * longest(names))
    step = max(1, ceil(len(names) * needed / room))
    ax.set_xticks(range(0, len(names), step), [printable(name) for name in names[::step]], rotation=90 * upright)
    ax.tick_params(axis="x", length=0 if step == 1 else 2)


def add_bar(ax: Axes, mesh: Any, label: str, **bar: Any) -> None:
    """Draw the colour bar."""
    slender = max(20.0, 28.0 * ax.bbox.height / ax.bbox.width)  # as tall as the panel
    drawn: Any = ax.figure.colorbar(mesh, ax=ax, label=label, fraction=0.05, pad=0.02, aspect=slender, **bar)
    drawn.outline.set_linewidth(0.6)


def write_numbers(ax: Axes, mesh: Any, texts: Sequence[Sequence[str]]) -> None:
    """Write a text into each cell, in a light colour on dark cells."""
    colours = mesh.to_rgba(mesh.get_array()).reshape(len(texts), -1, 4)
    for r, row in enumerate(texts):
        for c, text in enumerate(row):
            ink = "white" if luminance(colours[r, c]) < 0.5 else "black"
            ax.text(c, r, text, ha="center", va="center", fontsize=SMALL - 1, color=ink)


def luminance(rgba: Any) -> float:
    """The luminance of a colour on white paper, 0 to 1."""
    r, g, b, alpha = (float(part) for part in rgba)
    return alpha * (0.2126 * r + 0.7152 * g + 0.0722 * b) + 1.0 - alpha
