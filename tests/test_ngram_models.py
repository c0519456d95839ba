"""Models with label n-grams: files, answers, tables, the command line, the estimator."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sparsecrf import CRF, InputError, Model
from sparsecrf.files.container import unpack
from sparsecrf.model.file import FORMAT, VERSION

WORDS = ["a", "b"]


def sentences(n=60, seed=0):
    """The label of a token depends on the two labels before it."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        labels = ["P", "Q"]
        for _ in range(int(rng.integers(2, 8))):
            same = labels[-1] == labels[-2]
            labels.append("R" if same else ("P" if rng.random() < 0.8 else "Q"))
        y.append(labels[2:])
        X.append([[str(rng.choice(WORDS))] for _ in y[-1]])
    return X, y


@pytest.fixture(scope="module")
def crf():
    return CRF(rho1=0.5, order=4, bigrams="all").fit(*sentences())


def test_estimator(crf):
    X, _ = sentences(seed=1)
    assert crf.model_.features.n_ngram > 0
    assert crf.objective_ < CRF(rho1=0.5, bigrams="all").fit(*sentences()).objective_
    assert len(crf.predict(X)) == len(X)
    assert_allclose(np.asarray(crf.predict_marginals(X)[0]).sum(axis=1), 1.0)
    with pytest.raises(InputError, match="order: expected 2 for a path"):
        crf.path(*sentences())


def test_file_keeps_everything(crf, tmp_path):
    model = crf.model_
    model.save(tmp_path / "m.safetensors")
    again = Model.load(tmp_path / "m.safetensors")
    assert again.to_bytes() == model.to_bytes()
    assert again.features.n_ngram == int(np.count_nonzero(model.w[-model.features.n_ngram :]))
    for X in sentences(20, seed=2)[0]:
        assert again.label(X) == model.label(X)
        assert_allclose(again.marginals(X), model.marginals(X), rtol=1e-10)
    with pytest.raises(InputError, match="of version 1, found version '2'"):
        unpack(memoryview(model.to_bytes()), "new", FORMAT, VERSION)


def test_files_without_ngrams_are_as_before():
    model = CRF(rho1=0.5).fit(*sentences()).model_
    metadata, arrays = unpack(memoryview(model.to_bytes()), "old", FORMAT, VERSION)
    assert metadata["version"] == "1"
    assert not any(name.startswith("ngrams") for name in arrays)


def test_attribute_that_has_ngrams_only(crf):
    """An attribute conditions n-grams at labelling, even if none of its weights is of a pair."""
    model = crf.model_
    features, w = model.features, model.w.copy()
    w[features.n_unigram : features.n_unigram + features.n_bigram] = 0.0
    bare = Model(model.vocabulary, features, w).compacted()
    assert bare.features.n_bigram == 0
    X = sentences(1, seed=3)[0][0]
    corpus = bare.encode([X])
    assert len(corpus.to_arrays()["bigram_id"]) > 0
    assert_allclose(bare.marginals(X), Model(model.vocabulary, features, w).marginals(X), rtol=1e-10)


def test_warm_start(crf):
    again = CRF(rho1=0.5, order=4, bigrams="all").fit(*sentences(), init_model=crf.model_)
    assert again.history_[0].objective == pytest.approx(crf.objective_, rel=1e-9)


def test_shown(crf):
    explained = crf.model_.explain(top=None)
    assert explained.summary["active_ngram"] > 0
    longer = [weight for weight in explained.largest() if weight.previous and " " in weight.previous]
    assert len(longer) == explained.summary["active_ngram"]
    assert "longer label n-grams" in str(explained)
    with pytest.raises(InputError, match="expected a model of order 2"):
        crf.model_.explain(sentences(1)[0][0])
    with pytest.raises(InputError, match="n-best"):
        crf.model_.nbest(sentences(1)[0][0], 2)


def test_command_line(program):
    X, y = sentences()
    text = "\n".join("".join(f"{t[0]} {label}\n" for t, label in zip(*s, strict=True)) for s in zip(X, y, strict=True))
    program.write(data_txt=text, template_txt="U:%x[0,0]\nB\n")
    common = ["train", "data.txt", "-m", "m", "-t", "template.txt", "--rho1", "0.5"]
    found = program(*common, "--order", "none", "--json", "--quiet")
    assert found.status == 0, found.err
    assert json.loads(found.out.splitlines()[-1])["active_ngram"] > 0
    shown = program("show", "m", "--format", "json")
    assert json.loads(shown.out)["active_ngram"] > 0
    assert program("label", "-m", "m", "data.txt").status == 0
    for option in ("1", "x"):
        wrong = program(*common, "--order", option)
        assert wrong.status == 2
        assert "expected 2 or more" in wrong.err
    wrong = program(*common, "--order", "3", "--solver", "sbcd")
    assert wrong.status == 1
    assert "order: expected 2 for the solver sbcd" in wrong.err
