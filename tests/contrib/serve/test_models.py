"""Several models, files that change while they are served, and what the server says of itself."""

import re

import numpy as np
import pytest

pytest.importorskip("uvicorn", reason="the server needs the extra `serve`")

from served import ask, word_model

from sparsecrf import CRF, InputError, Model
from sparsecrf.compatibility import OptionError
from sparsecrf.contrib.serve import ServedModels, make_app
from sparsecrf.contrib.serve.models import named_files
from sparsecrf.contrib.serve.request import INPUTS, OPTIONS


def model_of(label):
    """Answers this label, whatever it is asked."""
    return Model.from_weights([label, "other"], {("x", label): 1.0})


def answered(app, name=None):
    return ask(app, {"tokens": ["x"], **({} if name is None else {"model": name})}).content["labels"][0][0]


def test_names(tmp_path):
    for name in ("one", "two"):
        model_of(name).save(tmp_path / f"{name}.safetensors")
    app = make_app(ServedModels(named_files([f"{tmp_path}/one.safetensors", f"b={tmp_path}/two.safetensors"])))
    assert (answered(app, "one"), answered(app, "b")) == ("one", "two")
    listed = ask(app, path="/models").content["models"]
    assert [(one["name"], one["labels"]) for one in listed] == [("one", ["one", "other"]), ("b", ["two", "other"])]
    with pytest.raises(OptionError, match="'m' twice; give one of them as NAME=FILE"):
        named_files(["a/m.safetensors", "b/m.safetensors"])


def test_a_changed_file(tmp_path):
    """The next request is answered by the new model; one that cannot be read is reported, and the old one stays."""
    file = tmp_path / "m.safetensors"
    model_of("old").save(file)
    models = ServedModels({"m": file})
    app = make_app(models)
    assert models.reload_changed() == []
    model_of("new").save(file)
    assert answered(app) == "old"
    assert models.reload_changed() == [f"m: reloaded from {file}"]
    assert (answered(app), metric(app, "sparsecrf_model_reloads_total")) == ("new", 1)

    whole = model_of("third").to_bytes()
    for broken in (whole[:-10], b"", b"no model"):
        file.write_bytes(broken)
        assert "still using the previous model" in models.reload_changed()[0]
        assert models.reload_changed() == []
        health = ask(app, path="/health").content
        assert (health["status"], health["models"]["m"]["status"]) == ("degraded", "stale")
        assert "expected" in health["models"]["m"]["error"]
        assert (answered(app), metric(app, "sparsecrf_model_stale")) == ("new", 1)
    file.unlink()
    assert len(models.reload_changed()) == 1
    assert metric(app, "sparsecrf_model_reload_failures_total") == 4
    file.write_bytes(whole)
    models.reload_changed()
    assert answered(app) == "third"
    assert ask(app, path="/health").content["status"] == "ok"
    assert metric(app, "sparsecrf_model_stale") == 0


def test_models_that_cannot_be_served(tmp_path):
    (tmp_path / "m").write_text("lCRF")
    with pytest.raises(InputError, match=r"/m: expected .* found a model of CRFsuite; `sparsecrf convert .*/m NEW"):
        ServedModels({"m": tmp_path / "m"})
    fitted = CRF(rho1=0.01).fit([[["a"], ["b"]]], [["A", "B"]], dense=[np.array([[1.0], [2.0]])])
    fitted.model_.save(tmp_path / "v")
    with pytest.raises(InputError, match="tokens must come with vectors"):
        ServedModels({"v": tmp_path / "v"})


SAMPLE = re.compile(r'[a-z_]+(\{[a-z]+="([^"\\]|\\.)*"\})? [-+0-9.e]+|[a-z_]+_bucket\{le="\+Inf"\} \d+')


def metric(app, name, labels='{model="m"}'):
    found = re.search(rf"^{name}{re.escape(labels)} (\S+)$", ask(app, path="/metrics").content, re.M)
    return float(found[1])


def test_metrics(tmp_path):
    word_model().save(tmp_path / "m")
    app = make_app(ServedModels({"m": tmp_path / "m"}))
    for body in ({"tokens": [["Ada", "went"], ["Oslo"]]}, {"tokens": ["Ada"], "marginals": True}, {"tokens": 3}):
        ask(app, body)
    text = ask(app, path="/metrics").content
    for line in text.splitlines():
        assert line.startswith(("# HELP ", "# TYPE ")) or SAMPLE.fullmatch(line), line
    assert metric(app, "sparsecrf_requests_total", '{status="200"}') == 2
    assert metric(app, "sparsecrf_requests_total", '{status="422"}') == 1
    assert (metric(app, "sparsecrf_sentences_total"), metric(app, "sparsecrf_tokens_total")) == (3, 4)
    assert metric(app, "sparsecrf_request_seconds_bucket", '{le="+Inf"}') == 3
    assert metric(app, "sparsecrf_requests_in_flight", "") == 0


def test_description(tmp_path):
    """Every key of a request and of an answer is described, and no other."""
    model_of("a").calibrated([["x"]] * 30, [["a"]] * 30).save(tmp_path / "m")
    app = make_app(ServedModels({"m": tmp_path / "m"}))
    schemas = ask(app, path="/openapi.json").content["components"]["schemas"]
    assert set(schemas["LabelRequest"]["properties"]) == {*INPUTS, *OPTIONS}
    answer = ask(
        app, {"text": "x", "nbest": 1, "marginals": True, "scores": True, "explain": True, "coverage": 0.9}
    ).content
    assert set(schemas["LabelAnswer"]["properties"]) == set(answer)
    assert set(schemas["LabelAnswer"]["required"]) <= set(ask(app, {"tokens": ["x"]}).content)
    error = ask(app, {}).content["error"]
    assert set(schemas["Error"]["properties"]["error"]["properties"]) == set(error)
