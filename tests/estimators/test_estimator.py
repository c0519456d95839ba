"""The estimator: answers, training and its options. See test_estimator_input.py and test_estimator_errors.py too."""

import pickle
import re
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sentences import dicts, sentences
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from estimators import OPTIONS, same
from sparsecrf import CRF, Model, Vocabulary, fit
from sparsecrf.scorers import chunk_f1_score


@pytest.mark.slow
def test_it_is_what_fit_finds(data, fitted):
    vocabulary = Vocabulary()
    found = fit(vocabulary.encode(*data, grow=True), rho1=0.3, rho2=0.01, tol=1e-6)
    assert fitted.objective_ == pytest.approx(found.objective, rel=1e-6)
    assert fitted.n_active_ == np.count_nonzero(fitted.model_.w) > 0
    assert fitted.kkt_ <= 1e-6
    assert 0 <= fitted.gap_ < 1e-2 * fitted.objective_
    assert fitted.loss_ < fitted.objective_
    assert fitted.n_iter_ == fitted.history_[-1].iter
    assert fitted.stopped_by_ == "tol"
    assert fitted.classes_.tolist() == sorted({label for labels in data[1] for label in labels}) == fitted.model_.labels


def test_answers_are_those_of_the_model(data, fitted):
    X = data[0][:7]
    labels, marginals, nbest = fitted.predict(X), fitted.predict_marginals(X), fitted.predict_nbest(X, 3)
    assert labels.dtype == marginals.dtype == nbest.dtype == object
    assert labels.shape == marginals.shape == nbest.shape == (7,)
    for i, tokens in enumerate(X):
        assert labels[i] == fitted.model_.label(tokens)
        assert isinstance(labels[i], list)
        assert all(type(label) is str for label in labels[i])
        assert_allclose(marginals[i], fitted.model_.marginals(tokens), atol=1e-12)
        expected = fitted.model_.nbest(tokens, 3)
        assert [path for path, _ in nbest[i]] == [path for path, _ in expected]
        assert_allclose([p for _, p in nbest[i]], [p for _, p in expected], atol=1e-12)


def test_spans_are_the_chunks_of_the_best_labels_with_their_probabilities(data, fitted):
    X = [tokens for tokens in data[0] if len(tokens) > 3][:10]
    n = 0
    for tokens, labels, spans in zip(X, fitted.predict(X), fitted.predict_spans(X), strict=True):
        for span in spans:
            inside = labels[span.start : span.end]
            assert inside == [f"B-{span.type}"] + [f"I-{span.type}"] * (len(inside) - 1)
            assert span.probability == pytest.approx(fitted.model_.span_prob(tokens, span.start, inside), abs=1e-12)
            n += 1
        assert sum(label[0] == "B" for label in labels) == len(spans)
    assert n > 5
    by_token = fitted.predict_spans(X, scheme="none")
    each = [[(t, t + 1, y) for t, y in enumerate(labels) if y != "O"] for labels in fitted.predict(X)]
    assert [[span[:3] for span in spans] for spans in by_token] == each


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["[-X", "B-X", "O"], [(0, 1, "X")]),  # for conlleval, B after a bracket does not begin a chunk, and O ends it
        (["B-X", "]-X", "O"], [(0, 1, "X"), (1, 2, "X")]),  # a bracket begins, and nothing ended B
        (["B-X", "Y", "Y"], [(0, 1, "X"), (1, 3, "")]),  # no scheme has Y
    ],
)
def test_spans_of_labels_that_no_scheme_has(labels, expected):
    X = [["a", "b", "c"]]
    crf = CRF(rho1=0.01).fit(X * 3, [labels] * 3)
    assert [span[:3] for span in crf.predict_spans(X, scheme="conlleval")[0]] == expected


def test_a_single_label_for_every_sequence_length(fitted):
    """As many tokens as sequences, or all of one length: still an array of lists."""
    tokens = [{"postag": "X"}]
    assert fitted.predict([tokens * 2] * 2).shape == (2,)
    assert fitted.predict([tokens]).shape == (1,)
    assert fitted.predict([]).shape == (0,)


@pytest.mark.slow
def test_warm_start_and_init_model(data, fitted, tmp_path):
    again = clone(fitted).set_params(warm_start=True).fit(*data)
    cold = again.n_iter_
    again.fit(*data)
    assert again.n_iter_ < cold
    assert again.objective_ == pytest.approx(fitted.objective_, rel=1e-9)
    fitted.model_.save(tmp_path / "m.safetensors")
    for init in (fitted.model_, tmp_path / "m.safetensors"):
        assert CRF(**OPTIONS).fit(*data, init_model=init).n_iter_ < cold
    empty = Model.from_weights(fitted.model_.labels, {})
    assert again.fit(*data, init_model=empty).n_iter_ > 1  # this is the requested result, not the last fit
    assert again.history_[0].active_unigram == 0


def test_dev_data_and_patience(data):
    X, y = data
    dev = dicts(sentences(20, seed=9)[0]), [["NEW", *labels[1:]] for labels in sentences(20, seed=9)[1]]
    with pytest.warns(UserWarning, match="dev: 20 of .* tokens have labels .* count as wrong: 'NEW'"):
        crf = CRF(rho1=0.001, rho2=0.0001, tol=1e-9, solver_options={"patience": 2}).fit(X, y, dev=dev)
    errors = [record.dev_error for record in crf.history_]
    assert crf.stopped_by_ == "dev"
    right = sum(
        p == g for tokens, gold in zip(*dev, strict=True) for p, g in zip(crf.predict([tokens])[0], gold, strict=True)
    )
    assert 100 * (1 - right / sum(map(len, dev[1]))) == pytest.approx(min(errors))


def test_progress_and_callback(data, capsys):
    records = []
    crf = CRF(rho1=0.3, verbose=2, solver_options={"callback": records.append}).fit(*data)
    assert [record["iter"] for record in records] == list(range(crf.n_iter_ + 1))
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("objective") == len(records)
    CRF(rho1=0.3, verbose=1).fit(*data)
    assert "objective" in capsys.readouterr().err
    CRF(rho1=0.3).fit(*data)
    assert capsys.readouterr().err == ""


def test_a_callback_ends_training(data):
    crf = CRF(rho1=0.3, tol=1e-9, solver_options={"callback": lambda record: record["objective"] < 100}).fit(*data)
    assert crf.stopped_by_ == "callback"
    assert crf.objective_ < 100 <= crf.history_[-2].objective
    assert CRF(rho1=0.3, solver_options={"callback": lambda record: record}).fit(*data).stopped_by_ == "tol"
    numpy = CRF(
        rho1=0.3, tol=1e-9, solver_options={"callback": lambda record: np.float64(record["objective"]) < 100}
    ).fit(*data)
    assert numpy.stopped_by_ == "callback"


@pytest.mark.slow
def test_threads_and_seeds_give_the_same_model(data, fitted):
    assert same(CRF(**OPTIONS, n_jobs=2).fit(*data), fitted)
    assert_array_equal(clone(fitted).set_params(n_jobs=3).fit(*data).predict(data[0]), fitted.predict(data[0]))
    one, two = (CRF(solver="sgd-l1", random_state=s, max_iter=3).fit(*data) for s in (1, 2))
    assert not same(one, two)
    assert same(one, CRF(solver="sgd-l1", random_state=1, max_iter=3).fit(*data))
    state = np.random.RandomState(1)
    assert same(one, CRF(solver="sgd-l1", random_state=state, max_iter=3).fit(*data))


def test_too_few_iterations_are_said(data):
    with pytest.warns(ConvergenceWarning, match="increase max_iter or tol"):
        crf = CRF(rho1=0.3, max_iter=1).fit(*data)
    assert (crf.n_iter_, crf.stopped_by_) == (1, "max_iter")
    with pytest.warns(ConvergenceWarning, match="relative duality gap of .*, more than gap=1e-09: .* or gap"):
        CRF(rho1=0.3, max_iter=30, solver_options={"gap": 1e-9}).fit(*data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CRF(rho1=0.3, solver="sgd-l1", max_iter=1).fit(*data)


def test_fit_to_one_label_that_may_not_iterate_does_not_warn():
    """The objective is 0, which nothing can improve, and distances are shares of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        crf = CRF(solver="dual", max_iter=0).fit([[["a"]]], [["X"]])
    assert crf.objective_ == 0


def test_ctrl_c_keeps_what_there_is(data):
    def stop(record):
        if record["iter"] == 2:
            raise KeyboardInterrupt

    crf = CRF(rho1=0.3, solver_options={"callback": stop})
    with pytest.raises(KeyboardInterrupt):
        crf.fit(*data)
    assert crf.stopped_by_ == "interrupt"
    assert crf.score(*data) > 0.5


@pytest.mark.slow
def test_path(data):
    X, y = data
    crf = CRF(rho2=0.1)
    path = crf.path(X[:40], y[:40], n_rho=5, rho_min_ratio=0.01, dev=(X[40:], y[40:]), scoring="token_accuracy")
    assert not hasattr(crf, "model_")
    assert len(path.fits[0].w) == 0 < len(path.fits[4].w)
    assert_allclose(path.rho1[1:] / path.rho1[:-1], 0.01**0.25)
    model = path.model(4)
    assert isinstance(model, Model)
    wrong = [p != g for t, gold in zip(X[40:], y[40:], strict=True) for p, g in zip(model.label(t), gold, strict=True)]
    assert path.errors[4] == pytest.approx(100 * np.mean(wrong))
    given = crf.path(X[:40], y[:40], rho1s=[0.1, path.rho1[4]], dev=(X[40:], y[40:]))
    assert given.score == "chunk F1"
    f1 = chunk_f1_score(y[40:], [model.label(tokens) for tokens in X[40:]])
    assert given.scores[0] == pytest.approx(100 * f1, abs=1e-6)
    searched = crf.path(X[:40], y[:40], dev=(X[40:], y[40:]))
    assert searched.searched
    assert searched.edge is None


def test_an_estimator_of_a_model(data, fitted, tmp_path):
    fitted.model_.save(tmp_path / "m.safetensors")
    for model in (fitted.model_, tmp_path / "m.safetensors"):
        crf = CRF.from_model(model, n_jobs=2)
        assert_array_equal(crf.predict(data[0]), fitted.predict(data[0]))
        assert (crf.n_jobs, crf.n_active_) == (2, fitted.n_active_)
        assert crf.score(*data) == fitted.score(*data)


def test_only_attributes_with_weights_are_looked_up():
    """Labelling is several times as fast with a table of them than with that of all training data."""
    X, y = sentences(60, seed=5)
    words = [[word for word, _ in tokens] for tokens in X]
    crf = CRF(features="words", rho1=0.5).fit(words, y)
    assert len(crf.model_.vocabulary.attributes) == crf.model_.n_attributes
    assert crf.n_active_ == crf.model_.n_active == len(crf.model_.features)


def test_short_representations(data, fitted):
    path = fitted.path(*data, n_rho=3, rho_min_ratio=0.1, dev=data)
    assert repr(path).startswith("<Path: 3 fits, rho1 ")
    assert re.search(r"; best: rho1 [\d.]+ \(at the lower edge\), chunk F1 [\d.]+ %, \d+ weights>$", repr(path))
    assert repr(path[1]).startswith("<Fit: rho1 ")
    assert len(repr(path)) < 150
    assert len(repr(path[1])) < 200


def test_spans_of_a_model_are_those_of_the_estimator(data, fitted):
    X, _ = data
    assert [fitted.model_.spans(tokens) for tokens in X[:10]] == fitted.predict_spans(X[:10]).tolist()
    free = fitted.model_.spans(X[0], fixed=["O"] * len(X[0]))
    assert free == []


def test_spans_of_labels_that_are_no_chunks():
    crf = CRF(rho1=0.01).fit([["a", "b"]], [["D", "N"]])
    assert [span[:3] for span in crf.predict_spans([["a", "b"]])[0]] == [(0, 1, "D"), (1, 2, "N")]
    assert [span[:3] for span in crf.predict_spans([["a"]], scheme="none")[0]] == [(0, 1, "D")]


def test_pickles_are_the_same(data, fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.predict(data[0]), fitted.predict(data[0]))
    assert again.get_params() == fitted.get_params()
    assert (again.objective_, again.classes_.tolist()) == (fitted.objective_, fitted.classes_.tolist())


def test_a_model_that_never_saw_an_attribute_answers(fitted):
    assert len(fitted.predict([["never seen", {"nor": "this"}]])[0]) == 2
