"""Curves: their points against the same computed by hand, what is marked, what is left out."""

import json
from dataclasses import asdict, replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sparsecrf import CRF, CRFCV, InputError, Vocabulary, fit
from sparsecrf.contrib.plots import (
    ConvergenceDisplay,
    PathDisplay,
    ReplicationsDisplay,
    TradeoffDisplay,
    plot_convergence,
    plot_path,
    plot_transitions,
)
from sparsecrf.contrib.simulate import paper_hmm
from sparsecrf.path import Path, cross_validate, path
from sparsecrf.training.history import Record

pytest.importorskip("matplotlib", reason="pictures need the extra `plot`")

GRID = {"n_rho": 6, "rho_min_ratio": 0.01, "rho2": 0.1, "threads": 1}


@pytest.fixture(scope="module")
def task():
    vocabulary, rng = Vocabulary(bigrams="all"), np.random.default_rng(3)
    return vocabulary, vocabulary.encode(*paper_hmm().sample(30, rng), grow=True), paper_hmm().sample(50, rng)


@pytest.fixture(scope="module")
def dev_path(task):
    vocabulary, corpus, dev = task
    return path(corpus, dev=vocabulary.encode(*dev), **GRID)


def lines(ax):
    """The points of each line with marks or a name, as lists of x and of y."""
    return [
        (list(line.get_xdata()), list(line.get_ydata()))
        for line in ax.lines
        if line.get_marker() not in ("None", None, "|", "_") or not line.get_label().startswith("_")
    ]


# ---- Path


@pytest.mark.parametrize(("errors", "at_edge"), [([9, 8, 7], True), ([9, 7, 8], False), ([7, 8, 9], True)])
def test_a_choice_at_the_edge_of_the_path_is_marked(errors, at_edge):
    """Beyond the edge there may be a better one."""
    display = PathDisplay([4.0, 2.0, 1.0], [1, 5, 9], errors=errors).plot()
    (entry,) = display.axes_[0].get_legend().get_texts()
    assert entry.get_text().startswith("best (at the edge): " if at_edge else "best: ")
    mark = display.ax_.lines[-2] if display.ax_.lines[-1].get_marker() in ("None", None) else display.ax_.lines[-1]
    assert (mark.get_markerfacecolor() == "white") == at_edge


def test_path_on_a_dev_corpus(dev_path):
    display = plot_path(dev_path)
    active, errors = display.axes_
    assert display.ax_ is errors
    assert lines(active) == [(dev_path.rho1.tolist(), [len(found.w) for found in dev_path])]
    curve, mark = lines(errors)
    assert curve == (dev_path.rho1.tolist(), dev_path.errors.tolist())
    best = int(np.argmin(dev_path.errors))
    assert mark == ([dev_path.rho1[best]], [dev_path.errors[best]])
    (entry,) = active.get_legend().get_texts()
    assert f"{len(dev_path[best].w):,} features, {dev_path.errors[best]:.2f} %" in entry.get_text()
    left, right = errors.get_xlim()
    assert left > right  # rho1 falls


@pytest.mark.slow
def test_path_with_standard_errors_and_the_rule_of_one(task):
    found = cross_validate(task[1], folds=3, **GRID)
    display = PathDisplay.from_path(found).plot(log_error=False)
    (bars,) = display.ax_.containers
    segments = np.array(bars[2][0].get_segments())
    assert_allclose(segments[:, 0, 1], found.errors - found.standard_errors)
    assert_allclose(segments[:, 1, 1], found.errors + found.standard_errors)
    other = replace(found, errors=np.array([50.0, 20, 11, 10, 12, 13]), standard_errors=np.full(6, 1.5))
    display = PathDisplay.from_path(other).plot()
    _, best, one = lines(display.ax_)
    assert (best, one) == (([other.rho1[3]], [10.0]), ([other.rho1[2]], [11.0]))
    assert [text.get_text()[:6] for text in display.axes_[0].get_legend().get_texts()] == ["best: ", "one SE"]


def test_an_edge_and_another_score_are_said(dev_path):
    falling = replace(dev_path, errors=np.array([50.0, 20, 14, 13, 12, 11]), score="chunk F1")
    display = plot_path(falling)
    (entry,) = display.axes_[0].get_legend().get_texts()
    assert entry.get_text().startswith("best (at the edge): ")
    assert display.ax_.get_ylabel() == "100 - chunk F1 (%)"
    inside = plot_path(replace(falling, errors=np.array([50.0, 20, 14, 11, 12, 13]), score="token accuracy"))
    (entry,) = inside.axes_[0].get_legend().get_texts()
    assert entry.get_text().startswith("best: ")
    assert inside.ax_.get_ylabel() == "error (%)"


def test_traces_are_the_largest_weights(task, dev_path):
    vocabulary = task[0]
    bare = Path(dev_path.fits)
    display = PathDisplay.from_path(bare, traces=30, vocabulary=vocabulary).plot()
    assert len(display.axes_) == 2
    models = [found.model(vocabulary) for found in bare]
    weights = {}
    for k, model in enumerate(models):
        f = model.features
        keys = [
            *zip(f.unigram_attribute.tolist(), f.unigram_label.tolist(), strict=True),
            *zip(f.bigram_attribute.tolist(), f.bigram_previous.tolist(), f.bigram_label.tolist(), strict=True),
        ]
        for key, w in zip(keys, model.w.tolist(), strict=True):
            weights.setdefault(key, [0.0] * len(models))[k] = w
    largest = sorted(weights, key=lambda key: -max(map(abs, weights[key])))[:30]
    assert any(len(key) == 3 for key in largest)
    assert any(min(weights[key]) < 0 for key in largest)
    drawn = [line.get_ydata().tolist() for line in display.axes_[1].lines if len(line.get_xdata()) == len(bare)]
    assert drawn == [weights[key] for key in largest]

    def name(key):
        x, *pair = key
        names = [*(vocabulary.labels[y] for y in range(len(vocabulary.labels))), "[start]"]
        return f"{vocabulary.attributes[x]}, {' > '.join(names[y] for y in pair)}"

    assert display.names == list(map(name, largest))
    assert display.axes_[1].get_legend() is None  # too many
    few = PathDisplay.from_path(bare, traces=5, vocabulary=vocabulary).plot()
    assert [text.get_text() for text in few.axes_[1].get_legend().get_texts()] == list(map(name, largest[:5]))


@pytest.mark.slow
def test_path_of_estimators(task):
    X, y = task[2]
    search = CRFCV(n_rho=5, cv=3, rho_min_ratio=0.01).fit(X, y)
    display = PathDisplay.from_estimator(search).plot()
    curve, best, *_ = lines(display.ax_)
    assert_allclose(curve, [search.rho1s_, 100 - 100 * search.scores_])
    assert best[0] == [search.rho1_]
    found = CRF().path(X, y, n_rho=3)
    largest = max(zip(np.abs(found[-1].w), found[-1].numbers, strict=True))[1]
    model = found.model(2)
    features = model.features
    assert largest < features.n_attributes * features.n_labels
    x, label = divmod(int(largest), features.n_labels)
    shown = PathDisplay.from_path(found, traces=1)
    assert shown.names == [f"{model.vocabulary.attributes[x]}, {model.labels[label]}"]
    with pytest.raises(InputError, match="vocabulary: expected the vocabulary that encoded the corpus"):
        PathDisplay.from_path(found, traces=1, vocabulary=Vocabulary())


@pytest.mark.slow
def test_a_path_of_large_models_fits_on_the_figure():
    """Legend and numbers of the axes lie within the figure and not on each other."""
    display = PathDisplay(
        [30000.0, 300.0, 3.0, 0.03333],
        [0, 1_000, 100_000, 10_000_000],
        errors=[95.0, 22.22, 21.11, 20.11],
        standard_errors=[1.0, 1.5, 1.0, 1.5],
        one_se=2,
    ).plot()
    display.figure_.draw_without_rendering()
    active = display.axes_[0]
    box, figure = active.get_legend().get_window_extent(), display.figure_.bbox
    assert figure.x0 <= box.x0 < box.x1 <= figure.x1
    assert box.y1 <= figure.y1
    shown = [
        text.get_window_extent() for text in active.get_yticklabels() if active.bbox.y0 <= text.get_window_extent().y1
    ]
    heights = sorted((text.y0, text.y1) for text in shown)
    assert len(heights) > 3
    assert all(a[1] <= b[0] for a, b in pairwise(heights))


def test_path_of_one_fit_and_wrong_data(dev_path):
    one = Path(dev_path.fits[:1], dev_path.errors[:1])
    assert lines(plot_path(one).axes_[0]) == [([one.rho1[0]], [0])]
    with pytest.raises(InputError, match="found none"):
        PathDisplay.from_path(Path([]))
    with pytest.raises(InputError, match="errors: expected 2 numbers"):
        PathDisplay([2.0, 1.0], [0, 3], errors=[1.0])


# ---- Error or time against features


def test_tradeoff(dev_path):
    display = TradeoffDisplay.from_path({"l1": dev_path}, baselines={"all": 12.0}).plot()
    points = sorted(
        (len(found.w), error) for found, error in zip(dev_path, dev_path.errors, strict=True) if len(found.w)
    )
    curve, baseline = lines(display.ax_)
    assert list(zip(*curve, strict=True)) == points
    assert baseline[1] == [12.0, 12.0]
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["l1", "all"]
    times = TradeoffDisplay.from_path(dev_path, quantity="time").plot()
    assert sorted(lines(times.ax_)[0][1]) == sorted(found.history[-1].time_s for found in dev_path if len(found.w))
    assert times.ax_.get_ylabel() == "training time (s)"
    with pytest.raises(InputError, match="expected errors on held-out data"):
        TradeoffDisplay.from_path(Path(dev_path.fits))


# ---- Convergence


def records(*objectives, **fields):
    return [
        Record(
            k,
            0.5 * k,
            2.0 * k,
            value,
            value,
            **{"gap": None, "kkt": None, "active_unigram": k, "active_bigram": 2, **fields},
        )
        for k, value in enumerate(objectives)
    ]


def test_convergence_of_several_runs():
    runs = {"a": records(10.0, 6.0, 5.0), "b": records(9.0, 5.5)}
    display = ConvergenceDisplay(runs).plot(x="passes")
    above, active = display.axes_  # no gap, kkt or dev error
    assert lines(above) == [([0.0, 2.0], [5.0, 1.0]), ([0.0, 2.0], [4.0, 0.5])]
    assert lines(active) == [([0.0, 2.0, 4.0], [2.0, 3.0, 4.0]), ([0.0, 2.0], [2.0, 3.0])]
    assert [text.get_text() for text in above.get_legend().get_texts()] == ["a", "b"]
    known = ConvergenceDisplay(runs, optimum=4.0).plot(x="iter", panels=["above_best", "objective"])
    assert lines(known.axes_[0])[0] == ([0.0, 1.0, 2.0], [6.0, 2.0, 1.0])
    assert lines(known.axes_[1])[1] == ([0.0, 1.0], [9.0, 5.5])


def test_values_that_are_not_known_or_not_finite_are_left_out():
    run = records(4.0, 3.0, 2.0)
    run[0], run[1] = replace(run[0], gap=float("inf")), replace(run[1], gap=0.5, kkt=1e-3, dev_error=20.0)
    display = ConvergenceDisplay.from_history(run).plot()
    assert [ax.get_ylabel().split()[0] for ax in display.axes_] == ["objective", "duality", "KKT", "active", "dev"]
    for ax, value in zip(display.axes_[1:3], (0.5, 1e-3), strict=True):
        assert lines(ax) == [([0.5], [value])]
    assert display.axes_[-1].get_xlabel() == "time (s)"


def test_convergence_of_a_fit_a_log_and_an_estimator(task, tmp_path):
    found = fit(task[1], rho1=1.0, threads=1)
    expected = lines(plot_convergence(found).axes_[0])
    values = np.array([record.objective for record in found.history])
    keep = values > values.min()
    assert_array_equal(expected[0][1], (values - values.min())[keep])
    assert_array_equal(expected[0][0], np.array([record.time_s for record in found.history])[keep])
    log = tmp_path / "run.jsonl"
    log.write_text("".join(json.dumps(asdict(record)) + "\n" for record in found.history))
    assert lines(ConvergenceDisplay.from_log(log).plot().axes_[0]) == expected
    estimator = SimpleNamespace(history_=found.history)
    assert lines(ConvergenceDisplay.from_estimator(estimator).plot().axes_[0]) == expected
    log.write_text(log.read_text() + '{"iter": 3, "obj')
    with pytest.raises(InputError, match=rf"run.jsonl, line {len(found.history) + 1}: expected a JSON object"):
        ConvergenceDisplay.from_log({"broken": log})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ConvergenceDisplay({}), "found none"),
        (lambda: ConvergenceDisplay({"a": []}), "run 'a': expected at least one iteration"),
        (lambda: ConvergenceDisplay({"a": [3]}), "expected records of iterations, found 3"),
        (lambda: ConvergenceDisplay({"a": records(1.0)}).plot(x="epochs"), "expected one of time, passes, iter"),
        (lambda: ConvergenceDisplay({"a": records(1.0)}).plot(panels=["loss"]), "found 'loss'"),
    ],
)
def test_convergence_wrongly_asked_for(make, message):
    with pytest.raises(InputError, match=message):
        make()


# ---- Replications


def test_boxes():
    rng = np.random.default_rng(2)
    errors = {data: {name: rng.normal(20, 3, 101) for name in ("M1", "M2", "M3")} for data in ("train", "test")}
    display = ReplicationsDisplay(errors).plot()
    for ax, models in zip(display.axes_, errors.values(), strict=True):
        medians = [line.get_ydata()[0] for line in ax.lines if line.get_linewidth() == 1.4]
        assert_allclose(medians, [np.median(values) for values in models.values()])
    assert [text.get_text() for text in display.axes_[1].get_xticklabels()] == ["M1", "M2", "M3"]
    with pytest.raises(InputError, match="test: expected the models M1"):
        ReplicationsDisplay({"train": {"M1": [1.0]}, "test": {"M2": [1.0]}})


@pytest.mark.slow
def test_pictures_of_estimators(task):
    X, y = task[2]
    crf, chosen = CRF(rho1=0.5).fit(X, y), CRFCV([3.0, 0.3], cv=2).fit(X, y)
    assert plot_convergence(crf).lowest == ConvergenceDisplay.from_estimator(crf).lowest
    assert_array_equal(plot_path(chosen).rho1, chosen.rho1s_)
    assert plot_transitions(crf).matrix.shape == plot_transitions(crf.model_).matrix.shape
