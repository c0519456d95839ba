"""Answers over HTTP are those of the model, whatever sentences are given as and whatever is asked for."""

import json

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="the server needs the extra `serve`")

from served import ask, word_model

from sparsecrf import CRF, Model, with_mentions
from sparsecrf.contrib.serve import ServedModels, make_app

SENTENCES = [["Ada", "saw", "Oslo"], [], ["the", "cat"], ["Grace", "in", "New", "Kyoto"]]
FILLED = [sentence for sentence in SENTENCES if sentence]


@pytest.fixture(scope="module")
def model():
    return word_model()


@pytest.fixture(scope="module")
def app(model, tmp_path_factory):
    return app_of(model, tmp_path_factory.mktemp("words"))


def app_of(model, folder):
    model.save(folder / "m.safetensors")
    return make_app(ServedModels({"m": folder / "m.safetensors"}))


def test_labels(app, model):
    expected = [model.label(sentence) if sentence else [] for sentence in SENTENCES]
    for given in ({"tokens": SENTENCES}, {"columns": [[[word] for word in sentence] for sentence in SENTENCES]}):
        answer = ask(app, given)
        assert (answer.status, answer.content) == (200, {"labels": expected, "model": "m"})
    assert ask(app, {"tokens": ["Ada", "went"]}).content["labels"] == [model.label(["Ada", "went"])]
    assert ask(app, {"tokens": []}).content["labels"] == []
    assert ask(app, {"tokens": SENTENCES, "model": "m"}).content["labels"] == expected


def test_many_sentences_on_a_thread(app, model):
    """More than one block, and a body that is not read on the event loop."""
    many = FILLED * 700
    assert ask(app, {"tokens": many}).content["labels"] == [model.label(sentence) for sentence in FILLED] * 700


def test_text(app, model):
    answer = ask(app, {"text": ["Ada saw Oslo, Norway.", "Grace"]}).content
    words = ["Ada", "saw", "Oslo", ",", "Norway", "."]
    assert answer["tokens"] == [words, ["Grace"]]
    assert answer["offsets"][0] == [[0, 3], [4, 7], [8, 12], [12, 13], [14, 20], [20, 21]]
    assert answer["labels"] == [model.label(words), model.label(["Grace"])]
    assert ask(app, {"text": "Grace"}).content["labels"] == [model.label(["Grace"])]


def test_text_is_cut_as_the_training_data_were(tmp_path):
    model = Model.from_weights(["A", "B"], {("Ave,", "A"): 1.0, ("Rome.", "B"): 1.0})
    app = app_of(model.noted(tokenizer={"name": "blanks"}), tmp_path)
    answer = ask(app, {"text": "Ave, Rome."}).content
    assert (answer["tokens"], answer["labels"]) == ([["Ave,", "Rome."]], [["A", "B"]])


def test_more_than_labels(app, model):
    asked = {"tokens": SENTENCES, "nbest": 3, "marginals": True, "scores": True, "explain": True}
    answer = ask(app, asked).content
    assert answer["classes"] == model.labels
    for i, sentence in enumerate(SENTENCES):
        if not sentence:
            assert (answer["labels"][i], answer["marginals"][i], answer["probabilities"][i]) == ([], [], 1.0)
            continue
        best = model.nbest(sentence, 3)
        assert answer["labels"][i] == model.label(sentence)
        assert [(one["labels"], one["probability"]) for one in answer["nbest"][i]] == best
        np.testing.assert_array_equal(answer["marginals"][i], model.marginals(sentence))
        why = model.explain(sentence)
        assert answer["scores"][i] == why.score
        assert answer["probabilities"][i] == pytest.approx(best[0][1], abs=1e-15)
        amounts = [reason["value"] * reason["weight"] for reason in answer["reasons"][i]]
        assert sum(amounts) == pytest.approx(why.score)


def test_sets(model, tmp_path):
    """As JSON has them: tuples are lists."""
    calibrated = model.calibrated(FILLED * 20, [model.label(sentence) for sentence in FILLED] * 20)
    app = app_of(calibrated, tmp_path)
    for of in ("sequences", "tokens", "spans"):
        found = ask(app, {"tokens": SENTENCES, "coverage": 0.9, "coverage_of": of}).content["sets"]
        expected = json.loads(json.dumps(calibrated.predict_set(FILLED, 0.9, of=of)))
        assert [one for one, sentence in zip(found, SENTENCES, strict=True) if sentence] == expected
        assert found[1] == ([[[], 1.0]] if of == "sequences" else [])


@pytest.mark.parametrize(
    "limits",
    [
        {"constrain": "iob2"},
        {"fixed": [["I-LOC", None], [None, "B-PER"]]},
        {"allowed": [[["O"], None], [None, ["B-PER", "I-LOC"]]], "constrain": "iob2"},
        {"forbidden": [[None, "O"], ["O", "O"]]},
    ],
)
def test_constraints(app, model, limits):
    asked = [["Ada", "went"], ["in", "Oslo"]]
    answer = ask(app, {"tokens": asked, **limits, "marginals": True}).content
    for i, sentence in enumerate(asked):
        own = {key: value[i] if key in ("fixed", "allowed") else value for key, value in limits.items()}
        if "forbidden" in own:
            own["forbidden"] = [tuple(pair) for pair in own["forbidden"]]
        assert answer["labels"][i] == model.label(sentence, **own)
        np.testing.assert_array_equal(answer["marginals"][i], model.marginals(sentence, **own))
    alone = {key: value[0] if key in ("fixed", "allowed") else value for key, value in limits.items()}
    assert ask(app, {"tokens": asked[0], **alone}).content["labels"] == answer["labels"][:1]


def test_attributes(tmp_path):
    model = Model.from_weights(["A", "B"], {("x", "A"): 1.0, ("y", "B"): 2.0, ("n", "B"): 0.5})
    app = app_of(model, tmp_path)
    asked = [[["x"], ["y", "unknown"]], [{"n": 3, "x": 1}]]
    assert ask(app, {"attributes": asked}).content["labels"] == [["A", "B"], ["B"]]
    assert ask(app, {"attributes": [{"n": 1.5, "x": 1}]}).content["labels"] == [["A"]]
    assert ask(app, {"tokens": ["x", "y"]}).content["labels"] == [["A", "B"]]


def test_a_request_is_a_document(tmp_path):
    document = with_mentions([["Mr", "Blair"], ["Blair", "left"]])
    crf = CRF(features="documents", rho1=0.01).fit(document, [["O", "P"], ["P", "O"]])
    app = app_of(crf.model_, tmp_path)
    sentences = [["Blair"], ["Mr", "Blair", "left"]]
    expected = [crf.model_.label(sentence) for sentence in with_mentions(sentences)]
    assert ask(app, {"tokens": sentences}).content["labels"] == expected
