"""Models that look up the vectors of words, from Python; test_vector_commands.py has the program."""

import copy
import json
import pickle
import random

import numpy as np
import pytest
from animal_vectors import GLOVE, NEW, TABLE, X, Y
from sklearn.base import clone

from sparsecrf import CRF, CRFCV, InputError, Model, Recipe
from sparsecrf._core import StringTable, VectorText
from sparsecrf.contrib.compat import Tagger
from sparsecrf.contrib.convert.foreign import WRITERS
from sparsecrf.contrib.report import make_report
from sparsecrf.encoding.vectors import WordVectors
from sparsecrf.files.container import pack, unpack
from sparsecrf.model.file import FORMAT, VERSION


@pytest.fixture
def glove(tmp_path):
    path = tmp_path / "glove.txt"
    path.write_text(GLOVE)
    return path


def twin(sentences, window=0, scale=1.0):
    """Dense columns in plain NumPy: of the exact form, else of the lower case, standardised; else the last column."""
    table = {word: np.array([float(f"{x:.6f}") for x in row], dtype=np.float32) for word, row in TABLE.items()}
    find = lambda word: table.get(word, table.get(word.lower()))  # noqa: E731
    known = np.array([find(w) for s in X for w in s if find(w) is not None], dtype=np.float64)
    mean, deviation = known.mean(axis=0), known.std(axis=0)
    made = []
    none, beyond = np.array([0, 0, 0, scale]), np.zeros(4)
    for sentence in sentences:
        found = [find(word) for word in sentence]
        row = [none if v is None else np.append(scale * (v - mean) / deviation, 0) for v in found]
        at = [0, *(sign * k for k in range(1, window + 1) for sign in (-1, 1))]
        inside = range(len(sentence))
        made.append(np.array([np.concatenate([row[t + k] if t + k in inside else beyond for k in at]) for t in inside]))
    return made


def test_a_window_is_no_wider_than_sentences_are(glove):
    with pytest.raises(InputError, match="vectors, window: expected at most 10 words, found 11"):
        WordVectors.load(glove, window=11)


@pytest.mark.parametrize("window", [0, 1, 2])
def test_the_same_as_dense(glove, window):
    """Looked up by the model, or given as matrices that NumPy made."""
    vectors = WordVectors.load(glove, window=window)
    crf = CRF(rho1=0.02, vectors=vectors, template=Recipe(vectors_scale=2.0)).fit(X, Y)
    other = CRF(rho1=0.02, template=Recipe(standardize=False)).fit(X, Y, dense=twin(X, window, 2.0))
    assert crf.objective_ == pytest.approx(other.objective_, rel=1e-6)
    for found, expected in zip(
        crf.predict_marginals(NEW), other.predict_marginals(NEW, dense=twin(NEW, window, 2.0)), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_every_answer(glove, tmp_path):
    """From lists of words, and with nothing given but the model, also from its file."""
    crf = CRF(rho1=0.02, vectors=glove).fit(X, Y)
    assert list(crf.predict([["lynx", "eats"], ["RUNS"]])) == [["N", "V"], ["V"]]
    crf.model_.save(tmp_path / "m")
    crf.model_.save(tmp_path / "c", compact="float32")
    glove.unlink()
    for model in (
        crf.model_,
        Model.load(tmp_path / "m"),
        Model.load(tmp_path / "c"),
        pickle.loads(pickle.dumps(crf.model_)),
    ):
        assert model.label(["lynx", "eats"]) == ["N", "V"]
        assert model.label(["lynx", "eats"], fixed=[None, "N"]) == ["N", "N"]
        assert model.nbest(["lynx"], 2)[0][0] == ["N"]
        np.testing.assert_allclose(model.marginals(["lynx"]), crf.predict_marginals([["lynx"]])[0], atol=1e-5)
        why = model.explain(["lynx", "Runs"])
        assert any(term.attribute.startswith("dense[") for term in why.tokens[0].contributions())
        assert sum(token.score for token in why.tokens) == pytest.approx(why.score)
        best = model.nbest(["lynx", "Runs"], 4)
        assert best[0][0] == why.path
        runner_up = next(p for labels, p in best if labels[0] != why.path[0])
        assert why.tokens[0].path_margin == pytest.approx(np.log(best[0][1] / runner_up))
    assert Model.load(tmp_path / "m").to_bytes() == (tmp_path / "m").read_bytes()
    assert list(CRF.from_model(tmp_path / "m").predict(NEW)) == list(crf.predict(NEW))


def test_choosing_rho1(glove):
    """By cross-validation and along a path: the models look words up, too."""
    found = CRFCV(cv=2, vectors=glove, rho1s=[0.3, 0.02]).fit(X * 2, Y * 2)
    assert list(found.predict([["lynx", "RUNS"]])) == [["N", "V"]]
    path = CRF(vectors=glove).path(X, Y, dev=(X, Y), rho1s=[0.3, 0.02])
    assert path.model(1).label(["lynx", "RUNS"]) == ["N", "V"]


def test_parameters(glove):
    """An estimator can be cloned without a copy of the vectors; they go to other processes whole."""
    vectors = WordVectors.load(glove, column=1)
    assert clone(CRF(vectors=vectors)).vectors is vectors
    assert copy.deepcopy(vectors) is vectors
    again = pickle.loads(pickle.dumps(vectors))
    np.testing.assert_array_equal(again.values, vectors.values)
    assert (again.column, len(again), again.width) == (1, 8, 3)
    rows = [[["x", word] for word in words] for words in X]
    assert CRF(rho1=0.02, features="columns", vectors=vectors).fit(rows, Y).model_.label([["x", "lynx"]]) == ["N"]


@pytest.mark.parametrize("options", [{"vectors_scale": 3.0}, {"standardize": False}, {}])
def test_cross_validation_standardises_alike(glove, options):
    """CRFCV has the same columns as CRF, and at the same rho1 the same model."""
    found = CRFCV([0.02], vectors=glove, cv=2, template=Recipe(**options)).fit(X, Y)
    expected = CRF(rho1=0.02, vectors=glove, template=Recipe(**options)).fit(X, Y)
    assert found.model_.dense.to_json() == expected.model_.dense.to_json()
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-6)
    assert clone(found).get_params()["template"] == Recipe(**options)


def test_mistakes_in_python(glove):
    crf = CRF(vectors=glove, rho1=0.02).fit(X, Y)
    with pytest.raises(InputError, match=r"dense: not supported by a model that looks up its own"):
        crf.model_.encode(X, dense=twin(X))
    with pytest.raises(InputError, match=r"vectors: expected tokens without vectors, found tokens with vectors"):
        CRF(vectors=glove).fit(X, Y, dense=twin(X))
    with pytest.raises(InputError, match=r"sequence 0, position 0: expected a word, .* found 2 attributes"):
        CRF(vectors=glove).fit([[["a", "b"]]], [["N"]])
    with pytest.raises(InputError, match=r"expected tokens.*words.*rows of columns.*found other tokens"):
        CRF(vectors=glove).fit([np.ones((1, 2))], [["N"]])
    with pytest.raises(InputError, match="vectors: expected a file or WordVectors, found int"):
        CRF(vectors=3).fit(X, Y)
    with pytest.raises(InputError, match=r"vectors, window: expected an integer >= 0, found -1"):
        WordVectors.load(glove, window=-1)
    with pytest.raises(InputError, match="text files need a model that contains word vectors"):
        CRF().fit(X, Y, dense=twin(X)).model_.label_text(b"a\n", "text")


@pytest.mark.parametrize("record", [{"column": 0}, {"column": 0, "window": 11}, {"column": "0", "window": 0}])
def test_records_that_make_no_sense(record, glove):
    content = CRF(vectors=glove, rho1=0.02).fit(X, Y).model_.to_bytes()
    metadata, arrays = unpack(content, "good", FORMAT, VERSION)
    kept = {name: text for name, text in metadata.items() if name not in ("format", "version")}
    kept["vectors"] = json.dumps(record)
    arrays = {name: np.array(array.data).reshape(array.shape) for name, array in arrays.items()}
    with pytest.raises(InputError, match="model in memory: expected the record of word vectors, found"):
        Model.from_bytes(pack(FORMAT, VERSION, kept, arrays))


def test_other_tools(glove, tmp_path):
    """Where a model cannot say what its vectors are."""
    plain = CRF(vectors=glove, rho1=0.02, start=False).fit(X, Y).model_
    lines = CRF(vectors=glove, rho1=0.02, template="U:%x[0,0]\nB\n", start=False).fit(X, Y).model_
    for tool, model in (("crfsuite", plain), ("crfsuite-binary", plain), ("wapiti", lines), ("crf++", lines)):
        with pytest.raises(InputError, match="models cannot contain vectors, but this model does"):
            WRITERS[tool](model, tmp_path / "m")
    with pytest.raises(InputError, match="tagger: expected a model without vectors, found a model with vectors"):
        Tagger().use(plain)
    for model in (
        CRF(rho1=0.02).fit(X, Y, dense=twin(X)).model_,
        CRF(vectors=WordVectors.load(glove, store=False), rho1=0.02).fit(X, Y).model_,
    ):
        with pytest.raises(InputError, match=r"--try: expected a model that contains word vectors, found"):
            make_report(model, trial=True)


def test_reading_in_pieces():
    """Lines of any kind, cut anywhere between lines, as a plain reader of Python has them."""
    rng = random.Random(3)
    words = ["a", "B", ". . .", "naïve", "東京", "x\u00a0y", "a", "1,000", "B"]
    lines, expected = [], {}
    for word in words * 3:
        row = [rng.uniform(-3, 3) for _ in range(4)]
        between = rng.choice([" ", "\t"])
        lines.append(between.join([word, *(repr(x) for x in row)]) + rng.choice(["\n", " \n", "\r\n"]))
        expected.setdefault(word, row)
    for header in ("", "27 4\n"):
        for wanted in (None, ["A", "東京"]):
            text = VectorText("f", 0, None if wanted is None else table_of(wanted))
            blocks = [header.encode()]
            for line in lines:
                if rng.random() < 0.5:
                    blocks.append(b"")
                blocks[-1] += line.encode()
            for block in blocks:
                text.add(block)
            kept, values = text.take()
            names = [kept[k] for k in range(len(kept))]
            assert names == [w for w in expected if wanted is None or w in ("a", "東京")]
            np.testing.assert_allclose(values, [expected[name] for name in names], rtol=1e-6)
            assert (text.n_lines, text.width) == (27, 4)


def table_of(words):
    table = StringTable()
    for word in words:
        table.intern(word)
    return table
