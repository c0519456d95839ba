"""Plots calibration: the accuracy of labels compared with their probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import InputError
from sparsecrf.contrib.plots.display import COLOURS, COLUMN, QUIET, Display
from sparsecrf.contrib.plots.heatmap import Floats
from sparsecrf.contrib.plots.predictions import in_step, probabilities
from sparsecrf.model import Model


class CalibrationDisplay(Display):
    """Accuracy against confidence by bins of confidence, and below it the number of tokens in each bin.

    Confidence is the probability of the most probable label of a token. With n_b of all N tokens in bin b,

        ece = sum_b n_b / N |accuracy_b - confidence_b|

    is the expected calibration error.
    """

    def __init__(self, confidence: Any, accuracy: Any, counts: Any, edges: Any) -> None:
        """`confidence`, `accuracy`: [bins] means, nan for an empty bin; `counts`: [bins] numbers of tokens; `edges`:
        [bins + 1] the edges of the bins."""
        self.confidence, self.accuracy = np.asarray(confidence, float), np.asarray(accuracy, float)
        self.counts, self.edges = np.asarray(counts), np.asarray(edges, float)
        n = len(self.counts)
        for name, values, expected in (
            ("confidence", self.confidence, n),
            ("accuracy", self.accuracy, n),
            ("edges", self.edges, n + 1),
        ):
            if values.shape != (expected,):
                raise InputError(f"{name}: expected {expected} numbers for {n} bins, found shape {values.shape}")

    @property
    def ece(self) -> float:
        """The expected calibration error, 0 to 1."""
        some = self.counts > 0
        if not some.any():
            return 0.0
        return float(np.average(np.abs(self.accuracy - self.confidence)[some], weights=self.counts[some]))

    @classmethod
    def from_predictions(
        cls,
        y_true: Iterable[Sequence[str | None]],
        marginals: Iterable[Any],
        labels: Sequence[str],
        *,
        n_bins: int = 10,
        strategy: str = "uniform",
    ) -> CalibrationDisplay:
        """Create a display from true labels and, for each sequence, float64[T, Y] with a column for each of `labels`.

        Bins are equally wide (`uniform`) or have about the same number of tokens (`quantile`). Tokens whose true label
        is None are left out; a token whose true label is not among `labels` always counts as wrong.
        """
        if n_bins < 1:
            raise InputError(f"n_bins: expected at least 1, found {n_bins}")
        if strategy not in ("uniform", "quantile"):
            raise InputError(f"strategy: expected uniform or quantile, found {strategy!r}")
        names = [str(name) for name in labels]
        known = [(str(y), p) for y, p in in_step(y_true, _checked(marginals, len(names))) if y is not None]
        best = [int(p.argmax()) for _, p in known]
        confidence = np.array([p[k] for (_, p), k in zip(known, best, strict=True)])
        right = np.array([y == names[k] for (y, _), k in zip(known, best, strict=True)], float)
        edges = np.linspace(0.0, 1.0, n_bins + 1)
        if strategy == "quantile" and len(known):
            edges = np.unique(np.quantile(confidence, edges))
            edges = edges if len(edges) > 1 else np.array([0.0, edges[0]])
        return cls(*_binned(confidence, right, edges), edges)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Iterable[Sequence[str | None]], **options: Any
    ) -> CalibrationDisplay:
        """Create a display from the marginals of a fitted `CRF`."""
        return cls.from_predictions(y, estimator.predict_marginals(X), estimator.classes_, **options)

    @classmethod
    def from_model(
        cls, model: Model, X: Iterable[Iterable[Any]], y: Iterable[Sequence[str | None]], **options: Any
    ) -> CalibrationDisplay:
        """Create a display from the marginals of a model."""
        return cls.from_predictions(y, probabilities(model, X), model.labels, **options)

    def plot(self, ax: Any = None) -> CalibrationDisplay:
        """Two panels: the accuracies with the diagonal of perfect calibration, and the token counts of the bins
        below."""
        some = self.counts > 0
        with self._drawing(ax, 2, size=(COLUMN, 4.0), heights=(3, 1), share=True) as (curve, histogram):
            curve.plot([0, 1], [0, 1], color=QUIET, linewidth=0.8, linestyle="--", label="perfect")
            curve.plot(
                self.confidence[some],
                self.accuracy[some],
                "o-",
                color=COLOURS[0],
                label=f"expected calibration error {self.ece:.3f}",
            )
            curve.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), ylabel="accuracy")
            curve.legend(loc="upper left")
            widths = np.diff(self.edges)
            histogram.bar(
                self.edges[:-1], self.counts, widths, align="edge", color="#cccccc", edgecolor="black", linewidth=0.5
            )
            histogram.set(ylabel="tokens", xlabel="probability of the most probable label")
            if some.any() and self.counts.max() > 20 * self.counts[some].min():
                histogram.set_yscale("log")  # nearly all tokens are nearly certain
                histogram.set_ylim(bottom=0.7)
        return self


def expected_calibration_error(
    y_true: Iterable[Sequence[str | None]], marginals: Iterable[Any], labels: Sequence[str], *, n_bins: int = 10
) -> float:
    """sum_b n_b / N |accuracy_b - confidence_b| over `n_bins` equally wide bins of the best labels' probabilities."""
    return CalibrationDisplay.from_predictions(y_true, marginals, labels, n_bins=n_bins).ece


def _checked(marginals: Iterable[Any], n_labels: int) -> Iterable[Floats]:
    for i, given in enumerate(marginals):
        p = np.asarray(given, float)
        if p.ndim != 2 or p.shape[1] != n_labels:
            raise InputError(f"sequence {i}: expected a column for each of {n_labels} labels, found shape {p.shape}")
        yield p


def _binned(confidence: Floats, right: Floats, edges: Floats) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Means of `confidence` and `right` by bin (nan for an empty bin), and counts. A bin includes its upper edge, the
    first bin both edges."""
    n = len(edges) - 1
    # Marginals are sums, so rounding may increase a marginal slightly above 1.
    which = np.clip(np.searchsorted(edges, confidence, side="left") - 1, 0, n - 1)
    counts = np.bincount(which, minlength=n)
    with np.errstate(invalid="ignore"):
        return (
            np.bincount(which, confidence, n) / counts,
            np.bincount(which, right, n) / counts,
            counts,
        )
