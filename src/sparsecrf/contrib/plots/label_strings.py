"""Plots longer dependencies: the number of weights by number of labels, and the longest strings of labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.contrib.explain.label_strings import LabelString, longest_strings, weights_by_length
from sparsecrf.contrib.plots.display import COLOURS, PAGE, TALLEST, ModelDisplay, printable
from sparsecrf.model import Model

TOP = 30  # number of strings drawn by default
_LONGEST = 48  # maximum number of characters of a string of labels


class LabelStringsDisplay(ModelDisplay):
    """Weights by number of labels, and a bar for each of the longest strings of three labels or more."""

    def __init__(self, strings: Sequence[LabelString], by_length: Sequence[int]) -> None:
        """`strings` from the top down; `by_length`: the numbers of weights with one label, two labels, ..."""
        self.strings, self.by_length = list(strings), list(by_length)
        if not self.by_length:
            raise InputError("by_length: expected at least one number, found none")

    @classmethod
    def from_model(cls, model: Model, *, top: int | None = TOP) -> LabelStringsDisplay:
        """Create a display of the `top` longest strings of a model (None means all); ties go to the largest sum of
        |w|."""
        return cls(longest_strings(model, top), weights_by_length(model))

    def plot(self, ax: Any = None) -> LabelStringsDisplay:
        """Two panels. The upper one shows the number of weights, on a logarithmic scale. The lower one shows, for each
        string, the sum of its positive weights over all attributes, to the right, and the sum of its negative weights,
        to the left and hatched.
        """
        n = max(1, len(self.strings))
        below = 0.5 + 0.15 * n
        heights = [1.3, min(below, TALLEST - 1.3)]
        with self._drawing(ax, 2, size=(PAGE, sum(heights)), heights=heights, main=1) as (counts, bars):
            self._draw_counts(counts)
            self._draw_strings(bars)
        return self

    def _draw_counts(self, panel: Any) -> None:
        lengths = range(1, len(self.by_length) + 1)
        panel.bar(lengths, self.by_length, color=COLOURS[0], width=0.6)
        panel.set_yscale("symlog", linthresh=1)
        panel.set_ylim(bottom=0, top=4 * max(1, *self.by_length))
        for x, value in zip(lengths, self.by_length, strict=True):
            panel.annotate(f"{value:,}", (x, value), ha="center", va="bottom", fontsize=7)
        panel.set_xticks(list(lengths))
        panel.set(xlabel="labels of a weight", ylabel="weights")

    def _draw_strings(self, panel: Any) -> None:
        places = range(len(self.strings))
        panel.barh(places, [s.positive for s in self.strings], color=COLOURS[0], height=0.7)
        panel.barh(places, [s.negative for s in self.strings], color=COLOURS[1], height=0.7, hatch="////", alpha=0.8)
        panel.axvline(0, color="black", linewidth=0.6)
        panel.set_yticks(list(places), [printable(" ".join(s.labels), _LONGEST) for s in self.strings])
        panel.set_ylim(max(1, len(self.strings)) - 0.5, -0.5)
        panel.set_xlabel("sums of positive and negative weights")
        if not self.strings:
            panel.text(0.5, 0.5, "no weights for three or more labels", ha="center", transform=panel.transAxes)
