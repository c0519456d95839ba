"""Models with label n-grams: files, answers, tables, the command line, the estimator."""

import json

import numpy as np
import pytest
from ngram_sentences import WORDS, sentences
from numpy.testing import assert_allclose

from sparsecrf import CRF, InputError, Model, Template
from sparsecrf.contrib.convert.foreign import write_crfpp
from sparsecrf.files.container import unpack
from sparsecrf.model.file import FORMAT, VERSION


@pytest.fixture(scope="module")
def crf():
    return CRF(rho1=0.5, order=4, bigrams="all").fit(*sentences())


@pytest.mark.slow
def test_estimator(crf):
    X, _ = sentences(seed=1)
    assert crf.model_.features.n_ngram > 0
    assert crf.objective_ < CRF(rho1=0.5, bigrams="all").fit(*sentences()).objective_
    assert len(crf.predict(X)) == len(X)
    assert_allclose(np.asarray(crf.predict_marginals(X)[0]).sum(axis=1), 1.0)
    path = crf.path(*sentences(), rho1s=[2.0, 0.5], dev=sentences(seed=2))
    assert path.fits[-1].n_ngram > 0
    assert_allclose(path.fits[-1].objective, crf.objective_, rtol=0.01)


@pytest.mark.slow
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
        unpack(model.to_bytes(), "new", FORMAT, VERSION)


def test_files_without_ngrams_are_as_before():
    model = CRF(rho1=0.5).fit(*sentences()).model_
    metadata, arrays = unpack(model.to_bytes(), "old", FORMAT, VERSION)
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


def test_explained(crf):
    """Contributions add up, n-grams included; margins are those of all paths."""
    model, seen = crf.model_, 0
    for tokens in sentences(1)[0][:8]:
        found = model.explain(tokens)
        assert_allclose(sum(token.score for token in found.tokens), found.score, rtol=1e-9, atol=1e-9)
        terms = [term for token in found.tokens for term in token.contributions() if term.kind == "n-gram"]
        seen += len(terms)
        assert all("[" in term.attribute and term.amount == term.value * term.weight for term in terms)
        best = model.nbest(tokens, len(model.labels) ** len(tokens))
        scores = {tuple(path): np.log(p) for path, p in best}
        for t, token in enumerate(found.tokens):
            same = max(value for path, value in scores.items() if path[t] == token.label)
            other = max(value for path, value in scores.items() if path[t] != token.label)
            assert_allclose(token.path_margin, same - other, rtol=1e-9, atol=1e-9)
    assert seen > 0


@pytest.mark.slow
def test_template_says_which_attributes(tmp_path):
    """Lines T...; without them plain n-grams; without a plain line all attributes that condition pairs."""
    X, y = sentences()
    conditioned = {}
    for lines in ("U:%x[0,0]\nT:%x[0,0]\nB\n", "*:%x[0,0]\nB\n", "*:%x[0,0]\nT\n", "*:%x[0,0]\n"):
        crf = CRF(rho1=0.3, order=3, template=lines).fit(X, y)
        attribute = crf.model_.features.ngrams[0].tolist()
        conditioned[lines] = {crf.model_.vocabulary.attributes[x] for x in attribute}
        crf.model_.save(tmp_path / "m.safetensors")
        assert Model.load(tmp_path / "m.safetensors").label(X[0]) == list(crf.predict(X[:1])[0])
    words = {f"*:{word}" for word in WORDS}
    assert list(conditioned.values()) == [{f"T:{word}" for word in WORDS}, {"B"}, {"T"}, words]
    template = Template("U:%x[0,0]\nT:%x[0,0]\nt\n")
    assert template.kinds == ["U", "T", "T"]
    two = CRF(rho1=0.3, template=template).fit(X, y).model_
    assert {two.vocabulary.attributes[x] for x in two.features.bigram_attribute.tolist()} <= {"T:a", "T:b", "t"}
    with pytest.raises(InputError, match=r"CRF\+\+ does not support T... lines"):
        write_crfpp(two, tmp_path / "x")


@pytest.mark.slow
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
        assert "expected an integer >= 2" in wrong.err
    wrong = program(*common, "--order", "3", "--solver", "sbcd")
    assert wrong.status == 2
    assert "--order 3 is not supported by --solver sbcd; use auto, owlqn" in wrong.err
