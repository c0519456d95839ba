"""Requests that cannot be met: what was wrong, where, and what to send instead; never another answer."""

import time

import pytest

pytest.importorskip("uvicorn", reason="the server needs the extra `serve`")

from served import ask, word_model

from sparsecrf import CRF, Model
from sparsecrf.contrib.serve import Limits, ServedModels, answer, make_app
from sparsecrf.contrib.serve.limits import BODIES


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    word_model().save(folder / "words.safetensors")
    rows = CRF(features="columns", rho1=0.05).fit([[["a", "D"], ["b", "N"]]], [["X", "Y"]])
    rows.model_.save(folder / "rows.safetensors")
    return {name: folder / f"{name}.safetensors" for name in ("words", "rows")}


@pytest.fixture(scope="module")
def app(files):
    return make_app(ServedModels(files), limits=Limits(body=2000, tokens=100, seconds=20.0))


WRONG = [
    (b"", 400, "body"),
    (b"{", 400, "body"),
    (b"[1]", 400, "body"),
    (b"\xff\xfe", 400, "body"),
    (b"[" * 1500, 400, "body"),
    (b'{"tokens": [["a"]], "model": 1e999}', 422, "model"),
    (b'{"nbest": ' + b"9" * 1000 + b', "tokens": ["a"], "model": "words"}', 422, "nbest"),
    ({}, 422, "the request"),
    ({"tokens": ["a"], "text": "a", "model": "words"}, 422, "the request"),
    ({"token": ["a"]}, 422, "the request"),
    ({"tokens": "a b", "model": "words"}, 422, "tokens"),
    ({"tokens": [["a"], "b"], "model": "words"}, 422, "tokens[1]"),
    ({"tokens": [["a"], ["b", 3]], "model": "words"}, 422, "tokens[1][1]"),
    ({"tokens": [["a"], ["b", ["c"]]], "model": "words"}, 422, "tokens[1][1]"),
    ({"text": 7, "model": "words"}, 422, "text"),
    ({"text": ["a", None], "model": "words"}, 422, "text[1]"),
    ({"columns": [[["a", "D"], "b"]], "model": "rows"}, 422, "columns[0][1]"),
    ({"columns": [[["a", "D"]], [["a"]]], "model": "rows"}, 422, "columns[1], position 0"),
    ({"tokens": ["a"], "model": "rows"}, 422, "the request"),
    ({"attributes": [["a"]], "model": "words"}, 422, "the request"),
    ({"tokens": ["\ud800"], "model": "words"}, 422, "tokens[0], position 0"),
    ({"tokens": ["a"]}, 422, "model"),
    ({"tokens": ["a"], "model": "../words"}, 404, "model"),
    ({"tokens": ["a"], "model": "words", "nbest": 0}, 422, "nbest"),
    ({"tokens": ["a"], "model": "words", "nbest": 101}, 422, "nbest"),
    ({"tokens": ["a"], "model": "words", "nbest": True}, 422, "nbest"),
    ({"tokens": ["a"], "model": "words", "marginals": "yes"}, 422, "marginals"),
    ({"tokens": ["a"], "model": "words", "constrain": "bio"}, 422, "constrain"),
    ({"tokens": ["a"], "model": "words", "fixed": ["O", "O"]}, 422, "tokens[0], fixed"),
    ({"tokens": [["a"]], "model": "words", "fixed": ["O"]}, 422, "fixed[0]"),
    ({"tokens": [["a"]], "model": "words", "fixed": []}, 422, "fixed"),
    ({"tokens": ["a"], "model": "words", "fixed": ["\ud800"]}, 422, "tokens[0]"),
    ({"tokens": [["a"]], "model": "words", "allowed": [[["O"], 1]]}, 422, "allowed[0][1]"),
    ({"tokens": [["a"], ["a"]], "model": "words", "fixed": [None, ["Q"]]}, 422, "tokens[1]"),
    ({"tokens": ["a"], "model": "words", "forbidden": [["O"]]}, 422, "forbidden[0]"),
    ({"tokens": ["a"], "model": "words", "coverage": 1}, 422, "coverage"),
    ({"tokens": ["a"], "model": "words", "coverage": 0.9, "constrain": "iob2"}, 422, "coverage"),
    ({"tokens": ["a"], "model": "words", "coverage": 0.9, "coverage_of": []}, 422, "coverage_of"),
    ({"tokens": ["a"], "model": "words", "coverage_of": "spans"}, 422, "coverage_of"),
    ({"tokens": ["a"], "model": "words", "coverage": 0.9}, 422, "tokens, coverage"),
    ({"tokens": ["a"] * 101, "model": "words"}, 413, "tokens"),
    ({"tokens": ["a"] * 100, "model": "words", "marginals": True, "nbest": 100}, 413, "the request"),
]


@pytest.mark.parametrize(("body", "status", "where"), WRONG, ids=lambda value: str(value)[:40])
def test_wrong_requests(app, body, status, where):
    refused = ask(app, body)
    error = refused.content["error"]
    assert (refused.status, error["status"], error["where"]) == (status, status, where)
    assert error["expected"]
    assert error["found"]
    assert error["message"].endswith(f"expected {error['expected']}, found {error['found']}")


@pytest.mark.parametrize("more", [{}, {"marginals": True}])
def test_sentences_before_a_wrong_one_are_not_labelled_again(files, monkeypatch, more):
    app, labelled = make_app(ServedModels(files)), []
    label = Model.label
    monkeypatch.setattr(Model, "label", lambda *given, **how: (labelled.append(1), label(*given, **how))[1])
    refused = ask(app, {"columns": [[["a", "D"]]] * 2500 + [[["a"]]], "model": "rows", **more})
    assert refused.content["error"]["where"].startswith("columns[2500]")
    assert len(labelled) <= 501


def test_what_to_send_instead(app):
    assert ask(app, {"token": ["a"]}).content["error"]["instead"] == '"tokens"'
    assert '"columns"' in ask(app, {"tokens": ["a"], "model": "rows"}).content["error"]["instead"]
    assert "rows" in ask(app, {"tokens": ["a"]}).content["error"]["expected"]


def test_bodies_that_are_too_large(app):
    """Announced, or found out while they come in."""
    body = b'{"tokens": ["' + b"a" * 2000 + b'"], "model": "words"}'
    for asked in (
        {"headers": [("Content-Length", str(len(body)))], "parts": [b""]},
        {"parts": [body[:999], body[999:]]},
    ):
        refused = ask(app, **asked)
        assert (refused.status, refused.content["error"]["where"]) == (413, "body")
    assert ask(app, b"x", headers=[("Content-Encoding", "gzip")]).status == 415


def test_all_bodies_together(app):
    labelling = app.state.labelling
    labelling._bytes += BODIES * 2000 - 10
    try:
        refused = ask(app, {"tokens": ["a"], "model": "words"})
        assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    finally:
        labelling._bytes -= BODIES * 2000 - 10
    assert ask(app, {"tokens": ["a"], "model": "words"}).status == 200
    assert labelling._bytes == 0


def test_time(files, monkeypatch):
    """A body that does not come in; work that takes too long; a request that waits too long."""
    app = make_app(ServedModels({"words": files["words"]}), limits=Limits(seconds=0.05), threads=1)
    late = ask(app, b'{"tokens": ', more=True)
    assert (late.status, late.headers["connection"]) == (408, "close")
    long = {"tokens": [["Ada"]] * 50, "scores": True}
    monkeypatch.setattr(answer, "_of_sentence", lambda *_: time.sleep(0.02))
    refused = ask(app, long)
    assert (refused.status, refused.content["error"]["where"]) == (413, "time")
    app.state.labelling._pool.submit(time.sleep, 0.1)
    assert ask(app, long).status == 503
    assert app.state.labelling._bytes == 0


def test_addresses(app):
    assert ask(app, path="/nowhere").status == 404
    refused = ask(app, path="/label", method="GET")
    assert (refused.status, refused.headers["allow"]) == (405, "POST")
    assert refused.content["error"]["expected"] == "POST /label"


def test_token(files):
    app = make_app(ServedModels({"words": files["words"]}), token="s3cret")
    right = [("Authorization", "Bearer s3cret")]
    body = {"tokens": ["Ada"]}
    for path in ("/label", "/models", "/metrics", "/openapi.json"):
        for headers in ([], [("Authorization", "Bearer s3cre")], [("Authorization", "s3cret")]):
            refused = ask(app, body, path=path, headers=headers)
            assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert ask(app, body, path=path, headers=right).status == 200
    assert ask(app, path="/health").content == {"status": "ok"}
    assert "words" in ask(app, path="/health", headers=right).content["models"]
    assert '"words"' not in ask(app, path="/").content


def test_an_error_of_the_server_is_no_answer(files, monkeypatch):
    app = make_app(ServedModels({"words": files["words"]}))

    def fail(*_):
        raise RuntimeError("secret")

    monkeypatch.setattr("sparsecrf.contrib.serve.labelling.answer", fail)
    with pytest.raises(RuntimeError):  # which uvicorn logs, after the answer
        ask(app, {"tokens": ["Ada"]})
    assert app.state.labelling._bytes == 0
