"""The estimator: kinds of input, answers, weights, missing labels, options. Errors are in test_estimator_errors.py."""

import pickle
import warnings
import weakref

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from sentences import dicts, sentences
from sparsecrf import CRF, InputError, Model, Template, Vocabulary, fit

OPTIONS = {"rho1": 0.3, "tol": 1e-6}


@pytest.fixture(scope="module")
def data():
    X, y = sentences(60, seed=1)
    return dicts(X), y


@pytest.fixture(scope="module")
def fitted(data):
    return CRF(**OPTIONS).fit(*data)


def same(one, other):
    """Two estimators with the same weights."""
    return one.model_.to_bytes() == other.model_.to_bytes()


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
    assert fitted.predict_spans(X, scheme="none").tolist() == [[]] * 10


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["[-X", "B-X", "O"], [(0, 1, "X")]),  # by conlleval, B after a bracket begins nothing, and O ends it
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


def test_sequences_without_tokens(data, fitted):
    X, y = data
    gaps = CRF(**OPTIONS).fit([[], *X, []], [[], *y, []])
    assert same(gaps, fitted)
    X = [[], X[0], [], X[1], []]
    assert [len(labels) for labels in fitted.predict(X)] == list(map(len, X))
    assert [p.shape for p in fitted.predict_marginals(X)] == [(len(tokens), len(fitted.classes_)) for tokens in X]
    assert fitted.predict_nbest([[]], 2)[0] == [([], 1.0)]
    first, second = fitted.predict([[], []])
    assert first == second == []
    assert first is not second


def test_generators_are_read_once_and_let_go(data, fitted):
    class Tokens(list):
        """A list that can be watched."""

        __hash__ = object.__hash__

    alive, most = weakref.WeakSet(), 0

    def stream():
        nonlocal most
        for tokens in data[0]:
            tokens = Tokens(dict(token) for token in tokens)
            alive.add(tokens)
            yield tokens
            most = max(most, len(alive))

    assert same(CRF(**OPTIONS).fit(stream(), (iter(labels) for labels in data[1])), fitted)
    assert most <= 2
    assert_array_equal(fitted.predict(stream()), fitted.predict(data[0]))


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")  # SciPy's todense still makes it
@pytest.mark.parametrize("kind", ["array", "csr", "csr_array", "csc", "list of arrays", "list of csr", "3-d", "matrix"])
def test_matrices(kind):
    rng = np.random.default_rng(3)
    lengths = np.full(40, 3)
    M = rng.normal(size=(120, 5)) * (rng.random((120, 5)) < 0.6)
    y = np.where(M[:, 0] > M[:, 1], "a", "b").reshape(40, 3).tolist()
    tokens = [[{f"x{k}": M[t, k] for k in range(5)} for t in range(i, i + 3)] for i in range(0, 120, 3)]
    expected = CRF(**OPTIONS).fit(tokens, y)
    split = [M[i : i + 3] for i in range(0, 120, 3)]
    X, options = {
        "array": (M, {"lengths": lengths}),
        "csr": (scipy.sparse.csr_matrix(M), {"lengths": lengths}),
        "csr_array": (scipy.sparse.csr_array(M), {"lengths": iter(lengths)}),
        "csc": (scipy.sparse.csc_matrix(M), {"lengths": lengths.tolist()}),
        "list of arrays": (split, {}),
        "list of csr": ([scipy.sparse.csr_matrix(part) for part in split], {}),
        "3-d": (M.reshape(40, 3, 5), {}),
        "matrix": ([np.asmatrix(part) for part in split], {}),
    }[kind]
    crf = CRF(**OPTIONS).fit(X, y, **options)
    assert crf.n_features_in_ == 5
    assert crf.objective_ == pytest.approx(expected.objective_, rel=1e-9)
    if options:
        options = {"lengths": lengths}
    assert crf.predict(X, **options).tolist() == expected.predict(tokens).tolist()
    assert crf.score(X, y, **options) == expected.score(tokens, y) > 0.8
    with pytest.raises(InputError, match="sequence 0: expected a matrix of 5 columns, found 4"):
        crf.predict([M[:3, :4]])
    with pytest.raises(InputError, match="expected a matrix of 5 columns, found no matrix"):
        crf.predict([["x0"]])


def test_wide_sparse_matrices_cost_what_they_hold():
    M = scipy.sparse.csr_matrix(([1.0, 1.0], ([0, 1], [7, 123_456_789])), shape=(2, 200_000_000))
    crf = CRF(rho1=0.0, rho2=1.0).fit(M, ["a", "b"], lengths=[2])
    assert len(crf.model_.vocabulary.attributes) == 3  # with the bias
    assert crf.predict(M, lengths=[1, 1]).tolist() == [["a"], ["b"]]


def test_flat_labels_and_weights_with_lengths():
    rng = np.random.default_rng(5)
    M, y, lengths = rng.normal(size=(12, 3)), rng.integers(2, size=12), [5, 0, 7]
    weights = rng.random(12)
    flat = CRF(**OPTIONS).fit(M, y, weights, lengths=lengths)
    lists = CRF(**OPTIONS).fit([M[:5], M[5:]], [y[:5], y[5:]], [weights[:5], weights[5:]])
    assert same(flat, lists)
    assert flat.score(M, y, lengths=lengths) == lists.score([M[:5], M[5:]], [y[:5], y[5:]])
    right = np.concatenate(flat.predict(M, lengths=lengths)) == y
    assert flat.score(M, y, weights, lengths=lengths) == pytest.approx(np.average(right, weights=weights))
    by_sequence = CRF(**OPTIONS).fit(M, y, [1.0, 5.0, 2.0], lengths=lengths)
    assert same(by_sequence, CRF(**OPTIONS).fit([M[:5], M[5:]], [y[:5], y[5:]], [1.0, 2.0]))


def test_weights_of_a_series_whose_index_does_not_begin_at_0(data):
    pandas = pytest.importorskip("pandas", reason="data frames are optional")
    X, y = data
    weights = np.linspace(0.5, 2.0, len(X))
    series = pandas.Series(weights, index=np.arange(len(X)) + 7)  # as train_test_split leaves it
    assert same(CRF(**OPTIONS).fit(X, y, series), CRF(**OPTIONS).fit(X, y, weights))


def test_integer_labels():
    X = [["a", "b"], ["b", "a", "a"]]
    for y in ([[10, 2], [2, 10, 10]], [np.array([10, 2]), np.array([2, 10, 10])]):
        crf = CRF(rho1=0.01).fit(X, y)
        predicted = crf.predict(X).tolist()
        assert predicted == [[10, 2], [2, 10, 10]]
        assert all(type(label) is int for labels in predicted for label in labels)
        assert crf.score(X, y) == 1.0


def test_labels_of_two_kinds_are_refused_before_training():
    X, text = [["a", "b"], ["b", "a"]], [["1", "2"], ["2", "1"]]
    records = []
    for y, dev, where in (
        ([["1", "2"], ["2", 1]], None, "y, sequence 1, position 1"),  # 1 and "1" have the same name
        ([[1, "b"], ["b", 1]], None, "y, sequence 0, position 1"),
        (text, (X, [[1, 2], [2, 1]]), "dev y, sequence 0, position 0"),
    ):
        with pytest.raises(InputError, match=f"^{where}: expected labels that are all text or all integers"):
            CRF(callback=records.append).fit(X, y, dev=dev)
    assert records == []


def test_raw_columns_with_a_template(tmp_path):
    X, y = sentences(40, seed=2)
    file = tmp_path / "template.txt"
    file.write_text("U1:%x[0,0]\nU2:%x[-1,0]/%x[0,1]\n*\nB3:%x[0,1]\n")
    crf = CRF(rho1=0.1, tol=1e-6, template=file).fit(X, y)
    template = Template.load(file)
    assert crf.model_.template.text == template.text
    assert crf.model_.n_columns == 2
    assert crf.score(X, y) > 0.9
    # The same attributes by hand; those of B lines condition pairs only, those of U lines labels only.
    names = [crf.model_.vocabulary.attributes[k] for k in range(len(crf.model_.vocabulary.attributes))]
    features = crf.model_.features
    assert {names[x][0] for x in features.unigram_attribute} <= {"U", "*"}
    assert {names[x][0] for x in features.bigram_attribute} <= {"B", "*"}
    assert "B3:NNP" in {names[x] for x in features.bigram_attribute}
    tokens = X[0]
    assert crf.predict(iter([iter(tokens)]))[0] == crf.model_.label(tokens)
    with pytest.raises(InputError, match=r"sequence 1.*position 1: expected 2 columns"):
        CRF(template=template).fit([[("a", "b")], [("a", "b"), ("a",)]], [["O"], ["O", "O"]])


def test_data_frames():
    pandas = pytest.importorskip("pandas", reason="data frames are optional")
    X, y = sentences(30, seed=4)
    frames = [pandas.DataFrame(tokens, columns=["word", "tag"]) for tokens in X]
    expected = CRF(**OPTIONS).fit([[{"word": w, "tag": t} for w, t in tokens] for tokens in X], y)
    crf = CRF(**OPTIONS).fit(frames, [pandas.Series(labels) for labels in y])
    assert same(crf, expected)
    whole = pandas.concat(frames, ignore_index=True)
    lengths = list(map(len, frames))
    flat = [label for labels in y for label in labels]
    assert same(CRF(**OPTIONS).fit(whole, pandas.Series(flat), lengths=lengths), expected)
    template = Template("U1:%x[0,0]\nU2:%x[0,1]\nB\n")
    assert same(CRF(template=template).fit(frames, y), CRF(template=template).fit(X, y))


def test_a_weight_of_two_is_the_sequence_twice(data):
    X, y = data
    twice = CRF(rho1=0.3, tol=1e-8).fit(X + X[:9], y + y[:9])
    weighted = CRF(rho1=0.3, tol=1e-8).fit(X, y, [2.0] * 9 + [1.0] * (len(X) - 9))
    assert weighted.objective_ == pytest.approx(twice.objective_, rel=1e-8)
    for one, other in zip(weighted.predict_marginals(X), twice.predict_marginals(X), strict=True):
        assert_allclose(one, other, atol=1e-4)


def test_a_weight_of_zero_leaves_a_sequence_out(data):
    X, y = data
    without = CRF(rho1=0.3, tol=1e-8).fit(X[9:], y[9:])
    weighted = CRF(rho1=0.3, tol=1e-8).fit(X, y, [0.0] * 9 + [1.0] * (len(X) - 9))
    assert weighted.objective_ == pytest.approx(without.objective_, rel=1e-8)


def test_missing_labels(data):
    X, y = data
    partly = [[None if (i + t) % 3 == 0 else label for t, label in enumerate(labels)] for i, labels in enumerate(y)]
    crf = CRF(rho1=0.3).fit(X, partly)
    assert None not in crf.classes_.tolist()
    assert crf.gap_ == np.inf
    assert crf.score(X, y) > 0.8
    assert crf.score(X, partly) > 0.8


def test_bigrams(data):
    X, y = data

    def conditioning(bigrams):
        model = CRF(rho1=0.05, bigrams=bigrams).fit(X, y).model_
        return {
            model.vocabulary.attributes[x]
            for x in model.features.bigram_attribute[model.w[model.features.n_unigram :] != 0]
        }

    assert conditioning("bias") == {"[bias]"}
    assert conditioning(["postag:NNP"]) == {"[bias]", "postag:NNP"}
    assert conditioning(lambda x: x.startswith("postag:N")) == {"[bias]", "postag:NNP"}
    assert len(conditioning("all")) > 5


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
    assert again.fit(*data, init_model=empty).n_iter_ > 1  # it is what was asked for, not the last fit
    assert again.history_[0].active_unigram == 0


def test_dev_data_and_patience(data):
    X, y = data
    dev = dicts(sentences(20, seed=9)[0]), [["NEW", *labels[1:]] for labels in sentences(20, seed=9)[1]]
    crf = CRF(rho1=0.001, rho2=0.0001, tol=1e-9, patience=2).fit(X, y, dev=dev)
    errors = [record.dev_error for record in crf.history_]
    assert crf.stopped_by_ == "dev"
    right = sum(
        p == g for tokens, gold in zip(*dev, strict=True) for p, g in zip(crf.predict([tokens])[0], gold, strict=True)
    )
    assert 100 * (1 - right / sum(map(len, dev[1]))) == pytest.approx(min(errors))


def test_progress_and_callback(data, capsys):
    records = []
    crf = CRF(rho1=0.3, verbose=2, callback=records.append).fit(*data)
    assert [record["iter"] for record in records] == list(range(crf.n_iter_ + 1))
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("objective") == len(records)
    CRF(rho1=0.3, verbose=1).fit(*data)
    assert "objective" in capsys.readouterr().err
    CRF(rho1=0.3).fit(*data)
    assert capsys.readouterr().err == ""


def test_a_callback_ends_training(data):
    crf = CRF(rho1=0.3, tol=1e-9, callback=lambda record: record["objective"] < 100).fit(*data)
    assert crf.stopped_by_ == "callback"
    assert crf.objective_ < 100 <= crf.history_[-2].objective
    assert CRF(rho1=0.3, callback=lambda record: record).fit(*data).stopped_by_ == "tol"
    numpy = CRF(rho1=0.3, tol=1e-9, callback=lambda record: np.float64(record["objective"]) < 100).fit(*data)
    assert numpy.stopped_by_ == "callback"


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
    with pytest.warns(ConvergenceWarning, match="duality gap of .* times the objective, above 1e-09: .* or gap"):
        CRF(rho1=0.3, max_iter=30, gap=1e-9).fit(*data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CRF(rho1=0.3, solver="sgd-l1", max_iter=1).fit(*data)


def test_ctrl_c_keeps_what_there_is(data):
    def stop(record):
        if record["iter"] == 2:
            raise KeyboardInterrupt

    crf = CRF(rho1=0.3, callback=stop)
    with pytest.raises(KeyboardInterrupt):
        crf.fit(*data)
    assert crf.stopped_by_ == "interrupt"
    assert crf.score(*data) > 0.5


def test_path(data):
    X, y = data
    crf = CRF(rho2=0.1)
    path = crf.path(X[:40], y[:40], n_rho=5, rho_min_ratio=0.01, dev=(X[40:], y[40:]))
    assert not hasattr(crf, "model_")
    assert len(path.fits[0].w) == 0 < len(path.fits[4].w)
    assert_allclose(path.rho1[1:] / path.rho1[:-1], 0.01**0.25)
    model = path.model(4)
    assert isinstance(model, Model)
    wrong = [p != g for t, gold in zip(X[40:], y[40:], strict=True) for p, g in zip(model.label(t), gold, strict=True)]
    assert path.errors[4] == pytest.approx(100 * np.mean(wrong))


def test_an_estimator_of_a_model(data, fitted, tmp_path):
    fitted.model_.save(tmp_path / "m.safetensors")
    for model in (fitted.model_, tmp_path / "m.safetensors"):
        crf = CRF.from_model(model, n_jobs=2)
        assert_array_equal(crf.predict(data[0]), fitted.predict(data[0]))
        assert (crf.n_jobs, crf.n_active_) == (2, fitted.n_active_)
        assert crf.score(*data) == fitted.score(*data)


def test_lines_of_a_template():
    X, y = sentences(20, seed=2)
    lines = "U1:%x[0,0]\nB\n"
    assert same(CRF(template=lines).fit(X, y), CRF(template=Template(lines)).fit(X, y))


def test_short_representations(data, fitted):
    path = fitted.path(*data, n_rho=3, rho_min_ratio=0.1, dev=data)
    assert repr(path).startswith("<Path: 3 fits, rho1 ")
    assert "best " in repr(path)
    assert repr(path[1]).startswith("<Fit: rho1 ")
    assert len(repr(path)) < 100 < len(repr(path[1])) < 200


def test_spans_need_labels_of_chunks():
    crf = CRF().fit([["a", "b"]], [["D", "N"]])
    with pytest.raises(InputError, match="expected ones that encode chunks"):
        crf.predict_spans([["a"]])
    assert crf.predict_spans([["a"]], scheme="none")[0] == []


def test_pickles_are_the_same(data, fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(again.predict(data[0]), fitted.predict(data[0]))
    assert again.get_params() == fitted.get_params()
    assert (again.objective_, again.classes_.tolist()) == (fitted.objective_, fitted.classes_.tolist())


def test_a_model_that_never_saw_an_attribute_answers(fitted):
    assert len(fitted.predict([["never seen", {"nor": "this"}]])[0]) == 2
