"""One function per plot: each makes the display, draws it and, if a file is named, writes it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from sparsecrf.contrib.plots.calibration import CalibrationDisplay
from sparsecrf.contrib.plots.confusion import ConfusionDisplay
from sparsecrf.contrib.plots.convergence import ConvergenceDisplay
from sparsecrf.contrib.plots.display import Display
from sparsecrf.contrib.plots.files import check_plot
from sparsecrf.contrib.plots.label_strings import LabelStringsDisplay
from sparsecrf.contrib.plots.marginals import MarginalsDisplay
from sparsecrf.contrib.plots.path import PathDisplay
from sparsecrf.contrib.plots.tradeoff import TradeoffDisplay
from sparsecrf.contrib.plots.transitions import TransitionsDisplay
from sparsecrf.contrib.plots.weights import WeightsDisplay

if TYPE_CHECKING:
    from sparsecrf.encoding.vocabulary import Vocabulary
    from sparsecrf.estimators.answering import BaseCRF
    from sparsecrf.estimators.cv import CRFCV
    from sparsecrf.model import Model
    from sparsecrf.path import Path
    from sparsecrf.training import Fit

File = str | os.PathLike[str]
D = TypeVar("D", bound=Display)


def plot_weights(
    model: Model | BaseCRF, *, ax: Any = None, file: File | None = None, kind: str = "auto", **options: Any
) -> WeightsDisplay:
    """|mu| and sum |lambda| by attribute and label; `options` are those of `WeightsDisplay.from_model`."""
    return _done(WeightsDisplay.from_model(_model(model), **options), file, ax=ax, kind=kind)


def plot_transitions(
    model: Model | BaseCRF, *, ax: Any = None, file: File | None = None, **options: Any
) -> TransitionsDisplay:
    """Plain transitions; `options` are those of `TransitionsDisplay.from_model`."""
    return _done(TransitionsDisplay.from_model(_model(model), **options), file, ax=ax)


def plot_label_strings(
    model: Model | BaseCRF, *, ax: Any = None, file: File | None = None, **options: Any
) -> LabelStringsDisplay:
    """Weights by number of labels, and the longest strings; `options` are those of `LabelStringsDisplay.from_model`."""
    return _done(LabelStringsDisplay.from_model(_model(model), **options), file, ax=ax)


def plot_path(
    path: Path | CRFCV,
    *,
    ax: Any = None,
    file: File | None = None,
    traces: int = 0,
    vocabulary: Vocabulary | None = None,
) -> PathDisplay:
    """Errors and active features along a path (or the path of a fitted `CRFCV`), and the `traces` largest weights."""
    if hasattr(path, "rho1s_"):
        return _done(PathDisplay.from_estimator(path), file, ax=ax)
    return _done(PathDisplay.from_path(path, traces=traces, vocabulary=vocabulary), file, ax=ax)


def plot_tradeoff(
    path: Path | Mapping[str, Path], *, ax: Any = None, file: File | None = None, **options: Any
) -> TradeoffDisplay:
    """Error or time against active features; `options` are those of `TradeoffDisplay.from_path`."""
    return _done(TradeoffDisplay.from_path(path, **options), file, ax=ax)


def plot_convergence(
    fit: Fit | BaseCRF | Mapping[str, Fit],
    *,
    ax: Any = None,
    file: File | None = None,
    x: str = "time",
    log_x: bool = False,
    panels: Sequence[str] | None = None,
    optimum: float | None = None,
) -> ConvergenceDisplay:
    """Convergence of one or several fits, or of an estimator's last fit, against `time`, `passes` or `iter`."""
    make = ConvergenceDisplay.from_estimator if hasattr(fit, "history_") else ConvergenceDisplay.from_fit
    return _done(make(fit, optimum=optimum), file, ax=ax, x=x, log_x=log_x, panels=panels)


def plot_marginals(
    model: Model | BaseCRF, sequence: Iterable[Any], *, ax: Any = None, file: File | None = None, **options: Any
) -> MarginalsDisplay:
    """The probabilities of the labels of one sequence; `options` are those of `MarginalsDisplay.from_model`."""
    return _done(MarginalsDisplay.from_model(_model(model), sequence, **options), file, ax=ax)


def plot_confusion(
    y_true: Iterable[Sequence[str | None]],
    y_pred: Iterable[Sequence[str]],
    *,
    ax: Any = None,
    file: File | None = None,
    normalize: bool = True,
    **options: Any,
) -> ConfusionDisplay:
    """The confusion matrix; `options` are those of `ConfusionDisplay.from_predictions`."""
    display = ConfusionDisplay.from_predictions(y_true, y_pred, **options)
    return _done(display, file, ax=ax, normalize=normalize)


def plot_calibration(
    y_true: Iterable[Sequence[str | None]],
    marginals: Iterable[Any],
    labels: Sequence[str],
    *,
    ax: Any = None,
    file: File | None = None,
    **options: Any,
) -> CalibrationDisplay:
    """Accuracy against confidence; `options` are those of `CalibrationDisplay.from_predictions`."""
    return _done(CalibrationDisplay.from_predictions(y_true, marginals, labels, **options), file, ax=ax)


def _model(model: Any) -> Model:
    """The model itself, or the model of a fitted estimator."""
    return getattr(model, "model_", model)  # type: ignore[no-any-return]


def _done(display: D, file: File | None, **options: Any) -> D:
    if file is not None:
        check_plot(file)
    display.plot(**options)
    if file is not None:
        display.save(file)
    return display
