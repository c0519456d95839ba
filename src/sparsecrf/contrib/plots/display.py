"""Shared code of all plots: axes, style, and saving to files.

Figures are made without pyplot, so no display is needed, and pyplot keeps no figure alive. matplotlib is imported when
something is drawn.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsecrf._core import InputError
from sparsecrf.contrib.plots.files import check_matplotlib, rendered, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from typing_extensions import Self

COLUMN, PAGE = 3.5, 7.2  # the widths of a column and of a page of a journal, in inches
TALLEST = 9.0  # inches

#: Series are told apart by colour (Okabe and Ito, safe for the colour-blind), by dashes and by markers, so they also
#: differ in grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#000000", "#CC79A7", "#56B4E9", "#E69F00")
DASHES = ("-", "--", "-.", ":")
MARKS = ("o", "s", "^", "D", "v", "P", "X")
QUIET = "#888888"  # the colour of elements shown for comparison

SMALL = 7  # font size of the names and numbers on the axes, in points
_STYLE: Any = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "legend.fontsize": SMALL,
    "legend.frameon": False,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.1,
    "lines.markersize": 3.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
}


class Display:
    """A plot. It is made from data; `plot` draws it and sets `ax_` (the main axes), `axes_` (all axes) and
    `figure_`."""

    ax_: Axes
    axes_: tuple[Axes, ...]
    figure_: Figure

    def plot(self, ax: Any = None) -> Display:
        """Draw on `ax`, one axes for each panel, or on a new figure. Returns the display itself."""
        raise NotImplementedError

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the figure to an .svg, .png or .pdf file; draws it first if necessary."""
        save_figure(self._drawn(), file)

    def _repr_png_(self) -> bytes:
        """The picture that notebooks show."""
        return rendered(self._drawn(), ".png")

    def _drawn(self) -> Figure:
        if not hasattr(self, "figure_"):
            self.plot()
        return self.figure_

    @contextmanager
    def _drawing(
        self,
        ax: Axes | Sequence[Axes] | None,
        rows: int = 1,
        columns: int = 1,
        *,
        size: tuple[float, float],
        heights: Sequence[float] | None = None,
        share: bool = False,
        main: int = 0,
    ) -> Iterator[tuple[Axes, ...]]:
        """The axes to draw on: the caller's axes, or `rows` by `columns` new axes on a figure of `size` inches.

        With `share`, panels in one column share their x axis. `main` is the index of the panel for `ax_`.
        """
        check_matplotlib()
        import matplotlib
        from matplotlib.figure import Figure

        if ax is not None:
            self._keep(_given(ax, rows * columns), main)
            yield self.axes_
            return
        with matplotlib.rc_context(_STYLE):
            figure = Figure(figsize=size, layout="constrained")
            grid = figure.subplots(
                rows,
                columns,
                squeeze=False,
                sharex="col" if share else False,
                gridspec_kw=None if heights is None else {"height_ratios": list(heights)},
            )
            self._keep(tuple(grid.ravel()), main)
            yield self.axes_
        for panel in figure.axes:  # ticks are created when they are drawn, with other settings in force
            panel.tick_params(which="both", labelsize=SMALL, width=0.6)

    def _keep(self, axes: tuple[Axes, ...], main: int) -> None:
        figure: Any = axes[main].figure
        self.axes_, self.ax_, self.figure_ = axes, axes[main], figure


class ModelDisplay(Display):
    """A plot of a model, made by `from_model`."""

    @classmethod
    def from_estimator(cls, estimator: Any, **options: Any) -> Self:
        """Like `from_model`, for a fitted `CRF`."""
        return cls.from_model(estimator.model_, **options)  # type: ignore[attr-defined, no-any-return]


def _given(ax: Any, n: int) -> tuple[Axes, ...]:
    """The axes in one axes, a list, or an array."""
    axes = np.asarray(ax, dtype=object).ravel()
    if len(axes) != n:
        raise InputError(f"ax: expected {n} axes, one for each panel, found {len(axes)}")
    return tuple(axes)


def look(k: int) -> dict[str, Any]:
    """The style of the k-th of several series."""
    return {
        "color": COLOURS[k % len(COLOURS)],
        "linestyle": DASHES[k % len(DASHES)],
        "marker": MARKS[k % len(MARKS)],
    }


def legend_above(ax: Axes, names: Sequence[str], **legend: Any) -> None:
    """A legend above the axes, where no curve is in the way; right-aligned, so that long names fit."""
    columns = 2 if max(map(len, names)) <= 14 else 1
    ax.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=columns, borderaxespad=0.2, **legend)


def printable(name: str, longest: int = 24) -> str:
    """A name from the data as text for matplotlib: one line, shortened in the middle if it is long, with dollar signs
    escaped."""
    text = "".join(c if c.isprintable() else "\ufffd" for c in name)
    if len(text) > longest:
        half = (longest - 1) // 2
        text = f"{text[:half]}\u2026{text[len(text) - half :]}"
    return text.replace("$", r"\$")


def plain_log(axis: Any, low: float, high: float) -> None:
    """Write the ticks of a logarithmic axis as plain numbers, with more ticks per decade if there are few decades."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

    if high < 3 * low:
        axis.set_major_locator(MaxNLocator(4))
    else:
        within = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0) if high < 10 * low else (1.0, 2.0, 5.0) if high < 100 * low else (1.0,)
        axis.set_major_locator(LogLocator(subs=within))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.7g}"))
    axis.set_minor_locator(NullLocator())
