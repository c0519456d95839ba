"""Heat maps: what their cells hold, against the same computed by hand; names that are long, odd or many."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal

from sparsecrf import BIAS, CRF, InputError, Model, Template
from sparsecrf.contrib.plots import (
    ConfusionDisplay,
    MarginalsDisplay,
    TransitionsDisplay,
    WeightsDisplay,
    plot_confusion,
)
from sparsecrf.contrib.plots.display import printable
from sparsecrf.contrib.plots.heatmap import MOST_ROWS, pooled

pytest.importorskip("matplotlib", reason="pictures need the extra `plot`")

UNIGRAM = {("dogs", "N"): 2.0, ("bark", "V"): -0.5, ("bark", "N"): 1.0, ("cats", "V"): -3.0}
BIGRAM = {(BIAS, None, "N"): 2.5, (BIAS, "N", "V"): -1.5, ("dogs", "N", "V"): 0.25, ("dogs", None, "V"): -4.0}


@pytest.fixture
def model():
    return Model.from_weights(["N", "V", "X"], UNIGRAM, BIGRAM)


def cells(ax):
    """What a heat map shows, zeros for cells that are left white."""
    (mesh,) = [drawn for drawn in ax.collections if hasattr(drawn, "get_coordinates")]
    rows, columns = (n - 1 for n in mesh.get_coordinates().shape[:2])
    return np.ma.filled(mesh.get_array(), 0.0).reshape(rows, columns)


def names(labels):
    return [text.get_text() for text in labels]


def estimator(model):
    """What a fitted estimator has; its classes are in another order than the model's labels."""
    order = [2, 0, 1]
    return SimpleNamespace(
        model_=model,
        classes_=np.array(model.labels)[order],
        predict=lambda X: [model.label(x) for x in X],
        predict_marginals=lambda X: [model.marginals(x)[:, order] for x in X],
    )


# ---- Weights


@pytest.mark.slow
def test_weights_by_hand(model):
    attributes = ["cats", "dogs", "bark"]
    display = WeightsDisplay.from_model(model, attributes=attributes).plot()
    mu = [[abs(UNIGRAM.get((x, y), 0.0)) for y in "NVX"] for x in attributes]
    lam = [[sum(abs(w) for (a, _, z), w in BIGRAM.items() if (a, z) == (x, y)) for y in "NVX"] for x in attributes]
    assert len(display.axes_) == 2
    assert_array_equal(cells(display.axes_[0]), mu)
    assert_array_equal(cells(display.axes_[1]), lam)
    assert lam[1] == [0.0, 4.25, 0.0]  # the start counts
    assert display.ax_ is display.axes_[0]
    assert names(display.ax_.get_yticklabels()) == attributes
    assert names(display.axes_[-1].get_xticklabels()) == ["N", "V", "X"]
    twice = WeightsDisplay.from_model(model, attributes=["bark", "dogs", "bark"])
    assert_array_equal(twice.mu, np.array(mu)[[2, 1, 2]])
    only = WeightsDisplay.from_estimator(estimator(model), attributes=attributes, labels=["V"]).plot(kind="lambda")
    assert_array_equal(cells(only.ax_), np.array(lam)[:, [1]])


def test_top_attributes_are_those_of_the_largest_sum(model):
    display = WeightsDisplay.from_model(model, top=2)
    assert display.attributes == ["dogs", "cats"]  # 2 + 4.25, 3; the bias is not among them
    assert BIAS not in WeightsDisplay.from_model(model).attributes


@pytest.mark.slow
def test_attributes_of_a_template_line():
    template = Template("U1:%x[0,0]\nU1:%x[0,0]/%x[1,0]\nU12:%x[0,0]\nU1:x%x[0,0]\n*:%x[0,0]\nB\n")
    given = ["U1:b", "U1:a", "U12:c", "U1:xd", "*:e", "B"]
    model = Model.from_weights(["N", "V"], {(x, "N"): 1.0 for x in given}, {("*:e", "N", "V"): 1.0})
    bare = WeightsDisplay.from_model(model, line="U1:")
    assert bare.attributes == ["U1:a", "U1:b", "U1:xd"]  # without a template, all that begin so
    model = Model(model.vocabulary, model.features, model.w, template=template)
    assert WeightsDisplay.from_model(model, line="U1:%x[0,0]").attributes == ["U1:a", "U1:b"]
    display = WeightsDisplay.from_model(model, line="*:").plot()
    assert names(display.ax_.get_yticklabels()) == ["e"]
    assert display.ax_.get_ylabel() == "attribute *:"
    with pytest.raises(InputError, match="expected a line of the template"):
        WeightsDisplay.from_model(model, line="U7:%x[0,0]")


def test_attributes_of_a_line_in_the_manner_of_wapiti():
    template = Template("*1:%x[0,0]\nU2:%x[0,0]\n", "wapiti")
    model = Model.from_weights(["N"], {("u2:a", "N"): 1.0, ("u2:b", "N"): 2.0, ("*1:a", "N"): 3.0})
    display = WeightsDisplay.from_model(
        Model(model.vocabulary, model.features, model.w, template=template), line="U2:%x[0,0]"
    )
    assert (display.attributes, display.head) == (["u2:a", "u2:b"], "u2:")


@pytest.mark.slow
def test_thousands_of_attributes_share_rows_by_their_largest():
    rng = np.random.default_rng(1)
    mu = np.where(rng.random((20_001, 60)) < 1e-3, rng.exponential(size=(20_001, 60)), 0.0)
    display = WeightsDisplay(mu, mu[::-1], [f"name-{k}" for k in range(len(mu))], [f"l{k}" for k in range(60)]).plot()
    shown = cells(display.ax_)
    assert len(shown) <= MOST_ROWS
    share = -(-len(mu) // MOST_ROWS)
    assert_array_equal(shown, [mu[k : k + share].max(axis=0) for k in range(0, len(mu), share)])
    assert f"the largest of {share}" in display.ax_.get_ylabel()
    ticks = display.ax_.get_yticks()
    assert 10 < len(ticks) < 120
    assert names(display.ax_.get_yticklabels()) == [printable(f"name-{share * k}") for k in ticks.astype(int)]
    assert pooled(mu[:MOST_ROWS])[1] == 1


@pytest.mark.slow
def test_names_do_not_overlap():
    """At the final layout, each name has its own room; as many as fit are shown."""
    labels = [f"B-TYPE{k}" for k in range(57)]
    display = TransitionsDisplay(np.eye(58)[:, :57], labels).plot()
    figure = display.figure_
    figure.draw_without_rendering()
    for axis, side in ((display.ax_.xaxis, "x"), (display.ax_.yaxis, "y")):
        boxes = [text.get_window_extent() for text in axis.get_ticklabels()]
        edges = sorted((getattr(box, f"{side}0"), getattr(box, f"{side}1")) for box in boxes)
        assert len(edges) > 20
        assert all(a[1] <= b[0] + 0.5 for a, b in pairwise(edges))


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("$", r"\$"),
        ("$x$", r"\$x\$"),
        ("a\nb", "a\ufffdb"),
        ("x" * 30, "x" * 11 + "\u2026" + "x" * 11),
        ("", ""),
        ("_", "_"),
    ],
)
def test_odd_names_are_drawn_as_they_are(name, drawn):
    from matplotlib.text import Text

    assert printable(name) == drawn
    assert Text(text=printable(name))._preprocess_math(printable(name)) == (drawn.replace(r"\$", "$"), False)


def test_weights_wrongly_asked_for(model):
    for options in ({"attributes": ["nosuch"]}, {"labels": ["nosuch"]}, {"top": 0}):
        with pytest.raises(InputError, match=r"expected.*found"):
            WeightsDisplay.from_model(model, **options)
    with pytest.raises(InputError, match="expected auto, both, mu or lambda"):
        WeightsDisplay.from_model(model).plot(kind="nu")
    with pytest.raises(InputError, match="expected 2 attributes by 1 labels"):
        WeightsDisplay(np.zeros((1, 2)), np.zeros((2, 1)), ["a", "b"], ["y"])


# ---- Transitions


@pytest.mark.parametrize("numbers", [True, False])
def test_transitions_with_the_start_on_top(model, numbers):
    display = TransitionsDisplay.from_model(model).plot(numbers=numbers)
    expected = np.zeros((4, 3))
    expected[0, 0], expected[1, 1] = 2.5, -1.5  # start > N, N > V
    assert_array_equal(cells(display.ax_), expected)
    mesh = display.ax_.collections[0]
    assert mesh.get_clim() == (-2.5, 2.5)
    assert names(display.ax_.get_yticklabels()) == ["[start]", "N", "V", "X"]
    if numbers:
        assert {text.get_text() for text in display.ax_.texts} == {"", "2.5", "\u22121.5"}
    else:
        assert_array_equal(display.ax_.collections[1].get_offsets(), [[1, 1]])  # a dash where it is negative


def test_transitions_of_some_labels_without_a_start():
    model = Model.from_weights(["N", "V", "X"], {}, {(BIAS, "V", "N"): 2.0, (BIAS, "X", "N"): 1.0}, start=False)
    display = TransitionsDisplay.from_estimator(estimator(model), labels=["V", "N"]).plot()
    assert_array_equal(cells(display.ax_), [[0.0, 2.0], [0.0, 0.0]])
    with pytest.raises(InputError, match="found 'Q'"):
        TransitionsDisplay.from_model(model, labels=["Q"])
    with pytest.raises(InputError, match=r"expected shape \(3, 2\)"):
        TransitionsDisplay(np.zeros((2, 2)), ["a", "b"])


# ---- Marginals


@pytest.mark.parametrize("source", ["model", "estimator"])
def test_marginals_with_the_best_and_the_true_labels(model, source):
    tokens, gold = [["dogs", "other"], "bark", "cats"], ["N", "V", "V"]
    if source == "model":
        display = MarginalsDisplay.from_model(model, tokens, gold=gold)
    else:
        display = MarginalsDisplay.from_estimator(estimator(model), tokens, gold=gold)
    display.plot(least=0.0)
    order = [model.labels.index(name) for name in names(display.ax_.get_xticklabels())]
    assert sorted(order) == [0, 1, 2]
    assert_allclose(cells(display.ax_), model.marginals(tokens)[:, order])
    assert names(display.ax_.get_yticklabels()) == ["dogs", "bark", "cats"]
    best, true = display.ax_.lines
    answer = model.label(tokens)
    shown = names(display.ax_.get_xticklabels())
    assert [shown[int(x)] for x in best.get_xdata()] == answer
    wrong = [t for t in range(3) if answer[t] != gold[t]]
    assert wrong
    assert list(true.get_ydata()) == wrong
    assert [shown[int(x)] for x in true.get_xdata()] == [gold[t] for t in wrong]


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_array])
def test_marginals_of_a_matrix(kind):
    rows = np.array([[1.0, 0.0], [0.0, 2.0]])
    crf = CRF(rho1=0.1).fit([rows] * 5, [["a", "b"]] * 5)
    for display in (
        MarginalsDisplay.from_model(crf.model_, kind(rows)),
        MarginalsDisplay.from_estimator(crf, kind(rows)),
    ):
        assert_allclose(display.marginals, crf.model_.marginals(rows))
        assert (display.tokens, display.best) == (["0", "1"], ["a", "b"])


@pytest.mark.slow
def test_labels_that_are_nowhere_probable_are_left_out():
    p = np.array([[0.7, 0.3, 0.0], [0.995, 0.005, 0.0]])
    display = MarginalsDisplay(p, ["a", "b"], ["A", "B", "C"], ["A", "A"]).plot()
    assert_array_equal(cells(display.ax_), p[:, :2])
    display = MarginalsDisplay(p, ["a", "b"], ["A", "B", "C"], ["A", "A"], ["A", "C"]).plot(least=0.5)
    assert names(display.ax_.get_xticklabels()) == ["A", "C"]
    for wrong in ({"best": ["A"]}, {"best": ["A", "A"], "gold": ["A"]}):
        with pytest.raises(InputError, match="expected 2 labels, one per token, found 1"):
            MarginalsDisplay(p, ["a", "b"], ["A", "B", "C"], **wrong)
    with pytest.raises(InputError, match="found shape"):
        MarginalsDisplay(p, ["a"], ["A", "B", "C"], ["A"])


# ---- Confusions

GOLD = [["a", "a", "b"], [], ["c", "c", "c", None], ["d"]]
FOUND = [["a", "b", "b"], [], ["c", "a", "a", "b"], ["d"]]


@pytest.mark.slow
def test_confusions_by_hand():
    display = ConfusionDisplay.from_predictions(GOLD, FOUND).plot(normalize=False)
    expected = [[1, 1, 0, 0], [0, 1, 0, 0], [2, 0, 1, 0], [0, 0, 0, 1]]
    assert display.labels == ["a", "b", "c", "d"]
    assert_array_equal(cells(display.ax_), expected)
    percent = plot_confusion(GOLD, FOUND)
    assert_allclose(cells(percent.ax_), 100 * np.array(expected) / np.sum(expected, axis=1, keepdims=True))
    texts = [text.get_text() for text in percent.ax_.texts]
    assert texts == ["50", "50", "", "", "", "100", "", "", "67", "", "33", "", "", "", "", "100"]


@pytest.mark.slow
def test_labels_of_many_are_chosen_by_errors():
    """a takes part in 3 errors, c in 2, b in 1, d in none; the rest is one."""
    display = ConfusionDisplay.from_predictions(GOLD, FOUND, top=2)
    assert display.labels == ["a", "c", "(others)"]
    assert_array_equal(display.counts, [[1, 0, 1], [2, 1, 0], [0, 0, 2]])
    chosen = ConfusionDisplay.from_predictions(GOLD, FOUND, labels=["d", "b"])
    assert chosen.labels == ["d", "b", "(others)"]
    assert chosen.counts.sum() == 7
    predicted_alone = ConfusionDisplay.from_predictions([["a", "b", "c", "c"]], [["q", "q", "c", "d"]], top=1)
    assert predicted_alone.labels == ["q", "(others)"]
    rng = np.random.default_rng(0)
    many = [[f"label-{k}" for k in rng.integers(0, 200, 500)] for _ in range(2)]
    assert len(ConfusionDisplay.from_predictions(many[:1], many[1:]).labels) == 21


def test_confusions_of_some_integers():
    display = ConfusionDisplay.from_predictions([[1, 2, 3]], [[1, 3, 3]], labels=[3, 1]).plot()
    assert_array_equal(display.counts, [[1, 0, 0], [0, 1, 0], [1, 0, 0]])


def test_confusions_of_a_model_and_an_estimator(model):
    X, y = [["dogs", "bark"], ["cats"]], [["N", "V"], ["V"]]
    by_hand = ConfusionDisplay.from_predictions(y, [model.label(x) for x in X])
    for display in (ConfusionDisplay.from_model(model, X, y), ConfusionDisplay.from_estimator(estimator(model), X, y)):
        assert_array_equal(display.counts, by_hand.counts)
        assert display.labels == by_hand.labels


@pytest.mark.slow
def test_an_estimator_with_numbers_for_labels():
    X = [[{"w": "dogs"}, {"w": "bark"}], [{"w": "cats"}], []]
    crf = CRF(rho1=0.05, rho2=0.01).fit(X, [[7, 12], [7], []])
    assert ConfusionDisplay.from_estimator(crf, X, [[7, 12], [12], []]).labels == ["12", "7"]
    display = MarginalsDisplay.from_estimator(crf, X[0], gold=[12, 12]).plot(least=0.0)
    assert_allclose(cells(display.ax_), crf.predict_marginals(X[:1])[0])
    assert names(display.ax_.get_yticklabels()) == ["dogs", "bark"]
    assert list(display.ax_.lines[1].get_ydata()) == [0]
    assert_array_equal(
        cells(WeightsDisplay.from_estimator(crf, line="w:").plot(kind="mu").ax_),
        WeightsDisplay.from_model(crf.model_, attributes=["w:bark", "w:cats"]).mu,
    )
    assert_array_equal(TransitionsDisplay.from_estimator(crf).matrix, crf.model_.transitions())


@pytest.mark.parametrize(
    ("gold", "found", "message"),
    [
        ([["a"]], [["a"], ["a"]], "sequence 1: expected as many"),
        ([["a"], ["a", "b"]], [["a"], ["a"]], "sequence 1: expected 2 predictions, one per token, found 1"),
        (["ab"], [["a", "b"]], "sequence 0: expected a list of labels, found the text 'ab'"),
    ],
)
def test_sequences_that_do_not_match(gold, found, message):
    with pytest.raises(InputError, match=message):
        ConfusionDisplay.from_predictions(gold, found)
