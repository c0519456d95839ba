"""Plots the regularisation path: errors, active features and weights as rho1 falls."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsecrf._core import InputError
from sparsecrf.contrib.explain.weights import START
from sparsecrf.contrib.plots.display import COLOURS, COLUMN, DASHES, QUIET, Display, legend_above, plain_log, printable
from sparsecrf.contrib.plots.heatmap import Floats
from sparsecrf.encoding.label_parts import LabelParts
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.path import Path, one_standard_error
from sparsecrf.path.scores import TOKENS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_RHO = r"$\rho_1$"
_NAMED = 8  # maximum number of traces that are named in the plot


class PathDisplay(Display):
    """Panels from top to bottom: the number of active features, the error, and the weights of some features, against
    rho1.

    rho1 decreases from left to right.
    """

    def __init__(
        self,
        rho1: Any,
        active: Any,
        *,
        errors: Any = None,
        standard_errors: Any = None,
        best: int | None = None,
        one_se: int | None = None,
        traces: Any = None,
        names: Sequence[str] | None = None,
        score: str = TOKENS,
        edge: str | None = None,
    ) -> None:
        """`rho1`, `active`, `errors` and `standard_errors` are arrays [fits]: penalties, numbers of active features,
        errors in percent, and their standard errors. `best`: the fit that was chosen (None means the fit with the
        smallest error; ties go to the largest rho1); `one_se`: the fit chosen by the one-standard-error rule. `traces`:
        float64[features, fits], weights; `names`: the names of these features. `score`: the score whose difference from
        100 is the error; `edge`: the edge of the search at which the best fit lies (`Path.edge`), noted in the plot.
        """
        self.rho1, self.active = np.asarray(rho1, float), np.asarray(active)
        self.errors = None if errors is None else np.asarray(errors, float)
        self.standard_errors = None if standard_errors is None else np.asarray(standard_errors, float)
        self.traces = None if traces is None else np.asarray(traces, float)
        self._best, self.one_se, self.names = best, one_se, None if names is None else list(names)
        self.score, self.edge = score, edge
        n = len(self.rho1)
        for name in ("active", "errors", "standard_errors", "traces"):
            values = getattr(self, name)
            if values is not None and values.shape[-1] != n:
                raise InputError(f"{name}: expected {n} numbers, one for each rho1, found shape {values.shape}")

    @property
    def best(self) -> int | None:
        """The index of the chosen fit."""
        if self._best is not None:
            return self._best
        return None if self.errors is None else int(np.argmin(self.errors))

    @classmethod
    def from_path(cls, path: Path, *, traces: int = 0, vocabulary: Vocabulary | None = None) -> PathDisplay:
        """Create a display from a result of `sparsecrf.path.path` or `cross_validate`.

        `traces`: number of weights to draw, the largest in absolute value anywhere on the path. Pass the `vocabulary`
        of the corpus to show their names; the path of an estimator already contains it. For a search over both
        penalties, the fits with the rho2 of the best fit are drawn.
        """
        if not len(path):
            raise InputError("path: expected at least one fit, found none")
        best = None
        if path.both and path.best is not None:
            chosen = path[path.best]
            path = path.along(chosen.rho2)
            best = path.rho1.tolist().index(chosen.rho1)
        numbers, weights = _largest(path, traces) if traces else (None, None)
        names = None
        if vocabulary is None and path.make_model is not None:
            vocabulary = path.model(0).vocabulary
        if numbers is not None and vocabulary is not None:
            found, expected = len(vocabulary.attributes), path[0].corpus.n_attributes
            if found != expected:
                raise InputError(
                    f"vocabulary: expected the vocabulary that encoded the corpus, with {expected} attributes, found "
                    f"{found}"
                )
            names = [_feature_name(int(k), vocabulary, path[0].parts) for k in numbers]
        return cls(
            path.rho1,
            [len(found.w) for found in path],
            errors=path.errors,
            standard_errors=path.standard_errors,
            best=best,
            one_se=path.one_se,
            traces=weights,
            names=names,
            score=path.score,
            edge=path.edge,
        )

    @classmethod
    def from_estimator(cls, estimator: Any) -> PathDisplay:
        """Create a display from a fitted `CRFCV`; errors are 1 minus the scores. For a search over both penalties, the
        fits with the chosen rho2 are drawn."""
        line = estimator.rho2s_ == estimator.rho2_
        errors, spread = 100 * (1 - estimator.scores_[line]), 100 * estimator.standard_errors_[line]
        return cls(
            estimator.rho1s_[line],
            estimator.n_actives_[line],
            errors=errors,
            standard_errors=spread,
            one_se=one_standard_error(errors, spread),
            score=estimator.score_name_,
            edge=estimator.edge_,
        )

    def plot(self, ax: Any = None, *, log_error: bool | None = None) -> PathDisplay:
        """Draws one panel per known quantity. `log_error`: use a logarithmic error axis (by default, if errors span a
        factor of 5)."""
        heights = {"active": 1.0, "errors": 2.0, "traces": 1.8}
        panels = [name for name in heights if getattr(self, name) is not None]
        ratios = [heights[name] for name in panels]
        size = (COLUMN, 0.9 + 1.0 * sum(ratios))
        main = panels.index("errors") if "errors" in panels else 0
        with self._drawing(ax, len(panels), size=size, heights=ratios, share=True, main=main) as axes:
            marked: list[Any] = []
            for name, panel in zip(panels, axes, strict=True):
                if name == "active":
                    self._draw_active(panel)
                elif name == "errors":
                    marked = self._draw_errors(panel, log_error)
                else:
                    self._draw_traces(panel)
                for _, k, line in self._marked():
                    panel.axvline(self.rho1[k], color=QUIET, linewidth=0.7, linestyle=line, zorder=0)
                self._scale_rho1(panel)
            axes[-1].set_xlabel(f"penalty {_RHO}, falling")
            if marked:
                legend_above(axes[0], [mark.get_label() for mark in marked], handles=marked, handletextpad=0.2)
        return self

    def _marked(self) -> list[tuple[str, int, str]]:
        """Fits to mark: name, index, and line style."""
        if self.best is None:
            return []
        best = "best (at the edge)" if self.edge is not None or self._at_edge(self.best) else "best"
        if self.one_se is None or self.one_se == self.best:
            return [(best if self.one_se is None else f"{best}, one SE", self.best, ":")]
        return [(best, self.best, ":"), ("one SE", self.one_se, "--")]

    def _at_edge(self, k: int) -> bool:
        """Whether a choice is the first or the last of the path, so that a better one may lie beyond it."""
        # a search over both penalties reports its own edges; the plot shows only the few values of rho1 for one rho2
        if self._best is not None:
            return self.edge is not None
        return len(self.rho1) > 1 and self.rho1[k] in (self.rho1.min(), self.rho1.max())

    def _scale_rho1(self, panel: Axes) -> None:
        from matplotlib.ticker import FuncFormatter, NullFormatter

        low, high = float(self.rho1.min()), float(self.rho1.max())
        if low <= 0:  # all penalties are 0 for a corpus that no feature explains
            return
        panel.set_xscale("log")
        panel.set_xlim(high * 1.25, low / 1.25)
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
        panel.xaxis.set_minor_formatter(NullFormatter())

    def _draw_active(self, panel: Axes) -> None:
        from matplotlib.ticker import FuncFormatter, NullLocator

        panel.plot(self.rho1, self.active, "o-", color="black", markersize=2.5)
        most = max(1.0, float(self.active.max(initial=0)))
        if self.active.min(initial=1) > 0:
            panel.set_yscale("log")
            panel.set_ylim(0.5 * float(self.active.min(initial=1)), 2.0 * most)
        else:  # place 0 at a sixth of all decades, to leave room for its number
            panel.set_yscale("symlog", linthresh=1.0, linscale=max(0.4, log10(most) / 6))
            panel.set_ylim(-0.2, 2.0 * most)
        panel.yaxis.set_major_formatter(FuncFormatter(lambda n, _: f"{n:,.0f}"))
        panel.yaxis.set_minor_locator(NullLocator())
        panel.set_ylabel("active\nfeatures")

    def _draw_errors(self, panel: Axes, log_error: bool | None) -> list[Any]:
        """Draw the errors. Returns the marks."""
        errors: Floats = self.errors if self.errors is not None else np.empty(0)
        panel.errorbar(
            self.rho1,
            errors,
            self.standard_errors,
            fmt="o-",
            color=COLOURS[0],
            markersize=2.5,
            elinewidth=0.7,
            capsize=1.5,
        )
        marked: list[Any] = []
        for (name, k, _), mark in zip(self._marked(), ("o", "D"), strict=False):
            values = f"{_RHO} = {self.rho1[k]:.3g}, {self.active[k]:,} features, {errors[k]:.2f} %"
            edge = self._at_edge(k)
            look: dict[str, Any] = {"color": COLOURS[1], "markersize": 5, "markerfacecolor": "white" if edge else None}
            label = f"{name}: {values}"
            marked += panel.plot(self.rho1[k], errors[k], mark, label=label, **look)
        positive = errors.min() > 0
        if positive and (errors.max() > 5 * errors.min() if log_error is None else log_error):
            panel.set_yscale("log")
            plain_log(panel.yaxis, errors.min(), errors.max())
        panel.set_ylabel("error (%)" if self.score == TOKENS else f"100 - {self.score} (%)")
        return marked

    def _draw_traces(self, panel: Axes) -> None:
        traces = self.traces if self.traces is not None else np.empty((0, len(self.rho1)))
        named = len(traces) <= _NAMED and self.names is not None
        for k, trace in enumerate(traces):
            look: dict[str, Any] = {
                "color": COLOURS[k % len(COLOURS)],
                "linestyle": DASHES[k % len(DASHES)],
            }
            label = printable(self.names[k], 36) if named and self.names is not None else None
            panel.plot(self.rho1, trace, linewidth=0.9, label=label, **look)
        panel.axhline(0.0, color=QUIET, linewidth=0.6, zorder=0)
        panel.set_ylabel("weight")
        if named:
            panel.legend(loc="best", handlelength=2.2, labelspacing=0.2)


def _largest(path: Path, n: int) -> tuple[Any, Floats]:
    """The numbers of the n features with the largest absolute weights on the path, the largest first, and these
    weights. Label n-grams are excluded, since every fit numbers them differently."""
    pairs = [len(found.numbers) - found.n_ngram for found in path]
    numbers = np.unique(np.concatenate([found.numbers[:m] for found, m in zip(path, pairs, strict=True)]))
    weights = np.zeros((len(numbers), len(path)))
    for k, (found, m) in enumerate(zip(path, pairs, strict=True)):
        weights[np.searchsorted(numbers, found.numbers[:m]), k] = found.w[:m]
    order = np.argsort(-np.abs(weights).max(axis=1), kind="stable")[:n]
    return numbers[order], weights[order]


def _feature_name(number: int, vocabulary: Vocabulary, parts: LabelParts | None) -> str:
    """ "attribute, label" or "attribute, previous > label" for a feature number."""
    numbering = Numbering.with_parts(len(vocabulary.labels), len(vocabulary.attributes), parts)
    attribute = vocabulary.attributes[int(numbering.attribute(number))]
    y, previous = int(numbering.label(number)), int(numbering.previous(number))
    labels = [vocabulary.labels[k] for k in range(numbering.n_labels)]
    of_parts = () if parts is None else parts.names
    label = [*labels, *of_parts][y]
    if previous < 0:
        return f"{attribute}, {label}"
    return f"{attribute}, {[*labels, START, *of_parts][previous]} > {label}"
