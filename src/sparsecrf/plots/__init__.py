"""Pictures of models, training and predictions (extra `plot`). matplotlib is imported when one is drawn.

Displays are made as scikit-learn's are: from data, or by a class method from a model, a fit, a path, predictions or an
estimator; `plot(ax=None)` draws, and sets `ax_`, `axes_` and `figure_`; `save(file)` writes .svg, .png or .pdf, the
same bytes each time. The functions do all of it in one call.
"""

from __future__ import annotations

from sparsecrf.plots.calibration import CalibrationDisplay, expected_calibration_error
from sparsecrf.plots.confusion import ConfusionDisplay
from sparsecrf.plots.convergence import ConvergenceDisplay
from sparsecrf.plots.files import check_plot, save_figure
from sparsecrf.plots.functions import (
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
from sparsecrf.plots.label_strings import LabelStringsDisplay
from sparsecrf.plots.marginals import MarginalsDisplay
from sparsecrf.plots.path import PathDisplay
from sparsecrf.plots.replications import ReplicationsDisplay
from sparsecrf.plots.tradeoff import TradeoffDisplay
from sparsecrf.plots.transitions import TransitionsDisplay
from sparsecrf.plots.weights import WeightsDisplay

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
