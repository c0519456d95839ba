"""Plots the probabilities of all labels at all tokens of one sequence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sparsecrf._core import InputError
from sparsecrf.contrib.plots.display import COLOURS, Display
from sparsecrf.contrib.plots.heatmap import add_bar, draw_cells, name_panels, size
from sparsecrf.encoding.names import named_tokens
from sparsecrf.model import Model

LEAST = 0.01  # labels that never reach this probability are not shown


class MarginalsDisplay(Display):
    """Tokens by labels; marks the labels of the best sequence and, if known, the gold labels it misses."""

    def __init__(
        self,
        marginals: Any,
        tokens: Sequence[str],
        labels: Sequence[str],
        best: Sequence[str],
        gold: Sequence[str | None] | None = None,
    ) -> None:
        """`marginals`: float64[T, Y]; `best` and `gold`: T labels each."""
        self.marginals, self.labels = np.asarray(marginals, float), list(labels)
        self.tokens, self.best = list(tokens), list(best)
        self.gold = None if gold is None else [None if name is None else str(name) for name in gold]
        T, Y = len(self.tokens), len(self.labels)
        if self.marginals.shape != (T, Y):
            raise InputError(f"marginals: expected {T} tokens by {Y} labels, found shape {self.marginals.shape}")
        for name, given in (("best", self.best), ("gold", self.gold)):
            if given is not None and len(given) != T:
                raise InputError(f"{name}: expected {T} labels, one per token, found {len(given)}")

    @classmethod
    def from_model(
        cls,
        model: Model,
        sequence: Iterable[Any],
        *,
        tokens: Sequence[str] | None = None,
        gold: Sequence[str | None] | None = None,
    ) -> MarginalsDisplay:
        """Create a display from a sequence that `Model.label` accepts. `tokens`: row names, by default the token or its
        first column."""
        given, names = named_tokens(sequence)
        shown = names if tokens is None else tokens
        return cls(model.marginals(given), shown, model.labels, model.label(given), gold)

    @classmethod
    def from_estimator(cls, estimator: Any, sequence: Iterable[Any], **options: Any) -> MarginalsDisplay:
        """Like `from_model`, for a fitted `CRF` and one sequence of tokens."""
        given, names = named_tokens(sequence)
        tokens = options.pop("tokens", None) or names
        (marginals,), (best,) = estimator.predict_marginals([given]), estimator.predict([given])
        return cls(marginals, tokens, [str(name) for name in estimator.classes_], list(map(str, best)), **options)

    def plot(self, ax: Any = None, *, least: float = LEAST) -> MarginalsDisplay:
        """Draws the labels that reach probability `least` somewhere, or are among the best or the gold labels."""
        named = {*self.best, *(self.gold or [])}
        peaks = self.marginals.max(axis=0, initial=0.0).tolist()
        shown = [k for k, name in enumerate(self.labels) if peaks[k] >= least or name in named]
        labels = [self.labels[k] for k in shown]
        inches = size(self.tokens, labels, cell=0.15)
        with self._drawing(ax, size=(max(inches[0], 2.8), inches[1] + 0.2)) as (panel,):
            mesh = draw_cells(panel, self.marginals[:, shown], low=0.0, high=1.0)
            room = min(panel.bbox.width / max(1, len(shown)), panel.bbox.height / max(1, len(self.tokens)))
            points = min(6.0, max(1.5, 0.5 * room / panel.figure.dpi * 72))
            place = {name: c for c, name in enumerate(labels)}
            marks: dict[str, Any] = {"markersize": points, "linestyle": "none"}
            best = [place[name] for name in self.best]
            rows = range(len(self.tokens))
            panel.plot(best, rows, "o", color=COLOURS[1], markeredgecolor="white", label="best", **marks)
            wrong = [t for t in rows if self.gold is not None and self.gold[t] not in (None, self.best[t])]
            if self.gold is not None and wrong:
                there = [place.get(str(self.gold[t]), np.nan) for t in wrong]
                panel.plot(there, wrong, "X", color=COLOURS[0], markeredgecolor="white", label="true", **marks)
            for marked in panel.lines:
                marked.set_markeredgewidth(0.4)
            panel.set(xlabel="label", ylabel="token")
            panel.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2, borderaxespad=0.2, handletextpad=0.2)
            add_bar(panel, mesh, "probability")
            name_panels([(panel, self.tokens, labels)])
        return self
