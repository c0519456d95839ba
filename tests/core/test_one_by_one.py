"""One sentence a call: labels without a corpus are those of Viterbi over one; blocks and threads change nothing."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sentences import sentences

from sparsecrf import BIAS, CRF, InputError, Model
from sparsecrf.contrib.compat import Tagger
from sparsecrf.estimators import blocks


def by_corpus(model, tokens):
    path, _ = model.chain.viterbi(model.encode([tokens]))
    return [model.labels[y] for y in path]


@st.composite
def models(draw):
    """Small ones with ties: weights of few sizes, some of them zero."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels = [f"y{k}" for k in range(draw(st.integers(1, 11)))]
    attributes = [f"x{k}" for k in range(6)]
    size = [-1.0, 0.0, 0.0, 0.5, 1.0]
    unigram = {(x, y): rng.choice(size) for x in attributes for y in labels}
    pairs = draw(st.sampled_from([[], [BIAS], [BIAS, "x0"], attributes]))
    bigram = {(x, a, b): rng.choice(size) for x in pairs for a in [None, *labels] for b in labels if rng.random() < 0.5}
    model = Model.from_weights(labels, unigram, bigram, start=draw(st.booleans()))
    sequences = [
        [
            [
                (str(rng.choice([*attributes, "new"])), float(rng.choice([1.0, 2.0, -1.0])))
                for _ in range(rng.integers(4))
            ]
            for _ in range(rng.integers(1, 9))
        ]
        for _ in range(12)  # enough to detect that a model's pairs differ between positions
    ]
    return model, sequences


@pytest.mark.slow
@given(models())
def test_labels_are_those_of_a_corpus(case):
    model, sequences = case
    expected = [by_corpus(model, tokens) for tokens in sequences]
    assert [model.label(tokens) for tokens in sequences] == expected
    assert model.label_each(sequences, model.labels) == expected
    assert CRF.from_model(model).predict(sequences).tolist() == expected
    assert [CRF.from_model(model).predict([tokens])[0] for tokens in sequences] == expected


def test_label_ngrams():
    X, y = sentences(30, seed=3)
    model = CRF(order=3, rho1=0.1, bigrams="all").fit(X, y).model_
    assert model.features.n_ngram > 0
    assert [model.label(tokens) for tokens in X] == [by_corpus(model, tokens) for tokens in X]


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e101])
def test_errors_are_those_of_a_corpus(value):
    model = Model.from_weights(["A", "B"], {("x", "A"): 1.0}, {(BIAS, "A", "B"): 1.0})
    for ask in (model.label, lambda tokens: CRF.from_model(model).predict([["x"], tokens])):
        with pytest.raises(InputError, match=r"sequence [01], position 1: expected a finite unigram attribute value"):
            ask(["x", [("x", value)]])
    with pytest.raises(InputError, match="sequence 0: expected at least one position, found none"):
        model.label([])
    assert model.label(["x"]) == ["A"]  # what was wrong is forgotten


def test_a_label_may_be_a_number():
    crf = CRF(rho1=0.01).fit([["a", "b"], ["b"]], [[1, 2], [2]])
    assert crf.predict([["a", "b"]])[0] == [1, 2]
    assert crf.predict([["a"], ["b"]]).tolist() == [[1], [2]]


@pytest.mark.slow
def test_blocks_and_threads(monkeypatch):
    X, y = sentences(120, seed=1)
    for options in ({}, {"bigrams": "all"}):
        crf = CRF(rho1=0.1, **options).fit(X, y)
        assert crf.model_.has_plain_transitions == (not options)
        labels, p = crf.predict(X).tolist(), np.concatenate(list(crf.predict_marginals(X)))
        with_gaps = [*X[:60], [], *X[60:]]
        monkeypatch.setattr("sparsecrf.estimators.answering.QUICK_TOKENS", 7)
        monkeypatch.setattr("sparsecrf.estimators.answering.CORPUS_TOKENS", 50)
        found = {}
        for n_jobs in (1, 2, 5):
            crf.set_params(n_jobs=n_jobs)
            assert crf.predict(X).tolist() == labels
            assert crf.predict(iter(with_gaps)).tolist() == [*labels[:60], [], *labels[60:]]
            found[n_jobs] = np.concatenate(list(crf.predict_marginals(X)))
        assert np.array_equal(found[1], found[2])
        assert np.array_equal(found[1], found[5])
        assert np.allclose(found[1], p, rtol=0, atol=1e-12)
        monkeypatch.undo()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_errors_in_later_blocks(n_jobs, monkeypatch):
    X, y = sentences(40, seed=1)
    crf = CRF(rho1=0.1, n_jobs=n_jobs).fit(X, y)
    monkeypatch.setattr("sparsecrf.estimators.answering.QUICK_TOKENS", 7)
    with pytest.raises(InputError, match="sequence 33, position 1: expected a token"):
        crf.predict([*X[:33], [X[0][0], 7], *X[34:]])


def test_unknown_mappings_are_told_once(monkeypatch):
    crf = CRF(rho1=0.1).fit([[{"w": "a"}, {"w": "b"}]] * 20, [["A", "B"]] * 20)
    again = CRF.from_model(crf.model_)
    monkeypatch.setattr("sparsecrf.estimators.answering.QUICK_TOKENS", 3)
    with pytest.warns(UserWarning, match="expected attributes of the model") as told:
        again.predict([[{"v": "a"}]] * 20)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again.predict([[{"v": "a"}]] * 19 + [[{"w": "a"}]])


def test_blocks_end_where_they_are_full():
    found = [(block.first, block.sequences) for block in blocks.blocks_of(["ab", "c", "def", "g"], 3)]
    assert found == [(0, ["ab", "c"]), (2, ["def"]), (3, ["g"])]


def test_a_tagger_knows_what_it_tagged(tmp_path):
    X, y = sentences(30, seed=2)
    model = CRF(rho1=0.1).fit([[list(token) for token in tokens] for tokens in X], y).model_
    tagger, other = Tagger(), Tagger()
    tagger.use(model)
    other.use(model)
    for tokens in X:
        items = [list(token) for token in tokens]
        other.set(items)
        labels = tagger.tag(items)
        assert labels == other.tag() == tagger.tag()
        assert tagger.probability(labels) == other.probability(labels)
        assert tagger.marginal(labels[0], 0) == other.marginal(labels[0], 0)
    assert tagger.tag([]) == []
    assert tagger.tag(["ab"]) == other.tag([["a", "b"]])
