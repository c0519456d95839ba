"""Calibration: bins, accuracies and the expected error against the same computed by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sparsecrf import CRF, InputError
from sparsecrf.contrib.plots import CalibrationDisplay, expected_calibration_error
from sparsecrf.contrib.simulate import paper_hmm

pytest.importorskip("matplotlib", reason="pictures need the extra `plot`")

P = [np.array([[0.95, 0.05], [0.6, 0.4], [0.25, 0.75]]), np.array([[0.05, 0.95], [1.0 + 1e-15, 0.0], [0.5, 0.5]])]
Y = [["a", "b", None], ["b", "a", "z"]]


def test_calibration_by_hand():
    """Best probabilities .95 right, .6 wrong, .95 right, 1 right, .5 wrong: its label is known to no model."""
    display = CalibrationDisplay.from_predictions(Y, P, ["a", "b"]).plot()
    curve = display.axes_[0].lines[1].get_data()
    assert_allclose(curve, [[0.5, 0.6, (0.95 + 0.95 + 1.0) / 3], [0.0, 0.0, 1.0]])
    heights = [bar.get_height() for bar in display.axes_[1].patches]
    assert heights == [0, 0, 0, 0, 1, 1, 0, 0, 0, 3]
    ece = (0.5 + 0.6 + abs(3 - 2.9)) / 5
    assert_allclose(display.ece, ece)
    assert_allclose(expected_calibration_error(Y, P, ["a", "b"]), ece)
    assert f"{ece:.3f}" in display.axes_[0].get_legend().get_texts()[1].get_text()
    assert_allclose(expected_calibration_error(Y, P, ["a", "b"], n_bins=1), abs(0.6 - 4.0 / 5))


def test_bins_of_equal_numbers():
    rng = np.random.default_rng(4)
    best = rng.uniform(0.5, 1.0, 1000)
    p = np.stack([best, 1 - best], axis=1)
    y = np.where(rng.random(1000) < best, "a", "b").tolist()
    display = CalibrationDisplay.from_predictions([y], [p], ["a", "b"], n_bins=8, strategy="quantile")
    assert display.counts.tolist() == [125] * 8
    assert display.ece < 0.05  # labels are drawn by these probabilities
    same = CalibrationDisplay.from_predictions([y], [np.tile([0.7, 0.3], (1000, 1))], ["a", "b"], strategy="quantile")
    assert same.counts.tolist() == [1000]
    assert_allclose(same.ece, abs(0.7 - y.count("a") / 1000))


def test_calibration_of_a_model_and_an_estimator():
    X, y = paper_hmm().sample(50, np.random.default_rng(3))
    model = CRF(rho1=0.1, bigrams="all").fit(X[:20], y[:20]).model_
    display = CalibrationDisplay.from_model(model, X, y, n_bins=5)
    best = np.concatenate([model.marginals(x) for x in X])
    right = np.array(model.labels)[best.argmax(axis=1)] == np.concatenate(y)
    assert display.counts.sum() == len(right)
    assert_allclose(np.nansum(display.accuracy * display.counts), right.sum())
    which = np.minimum((best.max(axis=1) * 5).astype(int), 4)
    some = np.unique(which)
    assert_allclose(display.confidence[some], [best.max(axis=1)[which == b].mean() for b in some])
    order = list(range(len(model.labels)))[::-1]
    estimator = SimpleNamespace(
        classes_=np.array(model.labels)[order],
        predict_marginals=lambda X: [model.marginals(x)[:, order] for x in X],
    )
    assert_allclose(CalibrationDisplay.from_estimator(estimator, X, y, n_bins=5).ece, display.ece)


def test_calibration_wrongly_asked_for():
    for options in ({"n_bins": 0}, {"strategy": "equal"}):
        with pytest.raises(InputError, match=r"expected.*found"):
            CalibrationDisplay.from_predictions(Y, P, ["a", "b"], **options)
    with pytest.raises(InputError, match="sequence 0: expected a column for each of 3 labels"):
        CalibrationDisplay.from_predictions(Y, P, ["a", "b", "c"])
    assert CalibrationDisplay.from_predictions([], [], ["a"]).plot().ece == 0.0
