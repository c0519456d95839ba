"""Plots of models, training and predictions (extra `plot`). matplotlib is imported when a plot is drawn.

Displays follow scikit-learn's design. They are made from data, or by a class method from a model, a fit, a path,
predictions or an estimator. `plot(ax=None)` draws, and sets `ax_`, `axes_` and `figure_`; `save(file)` writes .svg,
.png or .pdf, with the same bytes each time. The functions do everything in one call.
"""

from __future__ import annotations

from sparsecrf.contrib.plots.calibration import CalibrationDisplay, expected_calibration_error
from sparsecrf.contrib.plots.confusion import ConfusionDisplay
from sparsecrf.contrib.plots.convergence import ConvergenceDisplay
from sparsecrf.contrib.plots.files import check_plot, save_figure
from sparsecrf.contrib.plots.functions import (
    plot_calibration,
    plot_confusion,
    plot_convergence,
    plot_label_strings,
    plot_marginals,
    plot_path,
    plot_tradeoff,
    plot_transitions,
    plot_weights,
)
from sparsecrf.contrib.plots.label_strings import LabelStringsDisplay
from sparsecrf.contrib.plots.marginals import MarginalsDisplay
from sparsecrf.contrib.plots.path import PathDisplay
from sparsecrf.contrib.plots.replications import ReplicationsDisplay
from sparsecrf.contrib.plots.tradeoff import TradeoffDisplay
from sparsecrf.contrib.plots.transitions import TransitionsDisplay
from sparsecrf.contrib.plots.weights import WeightsDisplay

__all__ = [
    "CalibrationDisplay",
    "ConfusionDisplay",
    "ConvergenceDisplay",
    "LabelStringsDisplay",
    "MarginalsDisplay",
    "PathDisplay",
    "ReplicationsDisplay",
    "TradeoffDisplay",
    "TransitionsDisplay",
    "WeightsDisplay",
    "check_plot",
    "expected_calibration_error",
    "plot_calibration",
    "plot_confusion",
    "plot_convergence",
    "plot_label_strings",
    "plot_marginals",
    "plot_path",
    "plot_tradeoff",
    "plot_transitions",
    "plot_weights",
    "save_figure",
]
