"""What the estimator takes: tokens, matrices, frames, weights, labels of every kind."""

import warnings
import weakref

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal
from sentences import sentences

from estimators import OPTIONS, same
from sparsecrf import CRF, InputError, Template


@pytest.mark.slow
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
    found = crf.predict(X, **options)
    assert (found.reshape(40, 3) if options else found).tolist() == expected.predict(tokens).tolist()
    assert crf.score(X, y, **options) == expected.score(tokens, y) > 0.8
    with pytest.raises(InputError, match="sequence 0: expected a matrix of 5 columns, found 4"):
        crf.predict([M[:3, :4]])
    with pytest.raises(InputError, match="expected a matrix of 5 columns, found no matrix"):
        crf.predict([["x0"]])


@pytest.mark.slow
def test_wide_sparse_matrices_cost_what_they_hold():
    M = scipy.sparse.csr_matrix(([1.0, 1.0], ([0, 1], [7, 123_456_789])), shape=(2, 200_000_000))
    crf = CRF(rho1=0.0, rho2=1.0).fit(M, ["a", "b"], lengths=[2])
    assert len(crf.model_.vocabulary.attributes) == 3  # with the bias
    assert crf.predict(M, lengths=[1, 1]).tolist() == ["a", "b"]


def test_flat_labels_and_weights_with_lengths():
    rng = np.random.default_rng(5)
    M, y, lengths = rng.normal(size=(12, 3)), rng.integers(2, size=12), [5, 0, 7]
    weights = rng.random(12)
    flat = CRF(**OPTIONS).fit(M, y, weights, lengths=lengths)
    lists = CRF(**OPTIONS).fit([M[:5], M[5:]], [y[:5], y[5:]], [weights[:5], weights[5:]])
    assert same(flat, lists)
    assert flat.score(M, y, lengths=lengths) == lists.score([M[:5], M[5:]], [y[:5], y[5:]])
    right = flat.predict(M, lengths=lengths) == y
    assert flat.score(M, y, weights, lengths=lengths) == pytest.approx(np.average(right, weights=weights))
    by_sequence = CRF(**OPTIONS).fit(M, y, [1.0, 5.0, 2.0], lengths=lengths)
    assert same(by_sequence, CRF(**OPTIONS).fit([M[:5], M[5:]], [y[:5], y[5:]], [1.0, 2.0]))


def test_the_answer_is_flat_where_the_question_is(data):
    """As labels are given with lengths."""
    rng = np.random.default_rng(5)
    M, y, lengths = rng.normal(size=(12, 3)), rng.integers(2, size=12), [5, 0, 7]
    crf = CRF(**OPTIONS).fit(M, y, lengths=lengths)
    lists = [M[:5], M[5:]]
    found = crf.predict(M, lengths=lengths)
    assert (found.shape, found.dtype) == (y.shape, crf.classes_.dtype)
    assert found.tolist() == [label for labels in crf.predict(lists) for label in labels]
    marginals = crf.predict_marginals(M, lengths=iter(lengths))
    np.testing.assert_array_equal(marginals, np.concatenate(list(crf.predict_marginals(lists))))
    assert (crf.predict(M[:0], lengths=[]).shape, crf.predict_marginals(M[:0], lengths=[0]).shape) == ((0,), (0, 2))
    X, tags = data
    flat = [token for tokens in X for token in tokens]
    named = CRF(**OPTIONS).fit(flat, [tag for own in tags for tag in own], lengths=[len(tokens) for tokens in X])
    assert set(named.predict(flat[:3], lengths=[3])) <= set(named.classes_)
    assert len(crf.predict_spans(M, lengths=lengths, scheme="none")) == 3  # chunks are of sequences


@pytest.mark.slow
def test_weights_of_a_series_whose_index_does_not_begin_at_0(data):
    pandas = pytest.importorskip("pandas", reason="data frames are optional")
    X, y = data
    weights = np.linspace(0.5, 2.0, len(X))
    series = pandas.Series(weights, index=np.arange(len(X)) + 7)  # as train_test_split leaves it
    assert same(CRF(**OPTIONS).fit(X, y, series), CRF(**OPTIONS).fit(X, y, weights))


@pytest.mark.parametrize("kind", [list, np.array])
def test_boolean_labels_come_back_as_booleans(kind):
    y = [[True, False], [False]]
    crf = CRF(rho1=0.01).fit([["a", "b"], ["b"]], [kind(labels) for labels in y])
    assert crf.predict([["a", "b"]])[0] == [True, False]
    assert all(type(label) is bool for label in crf.predict([["a", "b"]])[0])
    assert (crf.classes_.tolist(), crf.classes_.dtype) == ([False, True], bool)
    assert crf.score([["a", "b"], ["b"]], y) == 1.0
    with pytest.raises(InputError, match="all text or all integers, found 1 among booleans"):
        CRF().fit([["a", "b"]], [[True, 1]])


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
            CRF(solver_options={"callback": records.append}).fit(X, y, dev=dev)
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_weight_of_two_is_the_sequence_twice(data):
    X, y = data
    twice = CRF(rho1=0.3, tol=1e-10).fit(X + X[:9], y + y[:9])
    weighted = CRF(rho1=0.3, tol=1e-10).fit(X, y, [2.0] * 9 + [1.0] * (len(X) - 9))
    assert weighted.objective_ == pytest.approx(twice.objective_, rel=1e-8)
    for one, other in zip(weighted.predict_marginals(X), twice.predict_marginals(X), strict=True):
        assert_allclose(one, other, atol=1e-4)


@pytest.mark.slow
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


@pytest.mark.slow
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


def test_lines_of_a_template():
    X, y = sentences(20, seed=2)
    lines = "U1:%x[0,0]\nB\n"
    assert same(CRF(template=lines).fit(X, y), CRF(template=Template(lines)).fit(X, y))


def test_columns_that_ready_made_features_ignore_are_named():
    rows, labels = [[("Ada", "NNP"), ("ran", "VBD")]] * 3, [["B-PER", "O"]] * 3
    said = "features='words' uses 1 of the 2 columns of a token and ignores the others .of the first token: 'NNP'.; "
    with pytest.warns(UserWarning, match=said + "features='columns' uses them all"):
        CRF(features="words").fit(rows, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CRF(features="columns").fit(rows, labels)
        CRF(features="words").fit([["Ada", "ran"]], [["B-PER", "O"]])
