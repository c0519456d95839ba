"""Estimators that are kept: by a file of the model, pickle, joblib, cloudpickle, skops (which MLflow uses); as JSON."""

import io
import json
import pickle

import cloudpickle
import joblib
import numpy as np
import pytest

from sparsecrf import CRF, CRFCV, InputError, Model, Template

X = [["Ada", "went", "to", "Oslo"], ["the", "cat"], ["Grace", "saw", "Lima"]] * 2
Y = [["P", "O", "O", "L"], ["O", "O"], ["P", "O", "L"]] * 2
NUMBERS = [[["P", "O", "L"].index(label) for label in labels] for labels in Y]
ROWS = [[[word] for word in sentence] for sentence in X]
MATRICES = [np.array([[len(word), word[0].isupper()] for word in sentence], dtype=float) for sentence in X]


def by_skops(crf):
    skops = pytest.importorskip("skops.io", reason="not there for every Python")
    content = skops.dumps(crf)
    types = skops.get_untrusted_types(data=content)
    assert all(name.startswith("sparsecrf.") for name in types)
    return skops.loads(content, trusted=types)


def by_joblib(crf):
    file = io.BytesIO()
    joblib.dump(crf, file)
    return joblib.load(file)


WAYS = {
    "pickle": lambda crf: pickle.loads(pickle.dumps(crf)),
    "joblib": by_joblib,
    "cloudpickle": lambda crf: cloudpickle.loads(cloudpickle.dumps(crf)),
    "skops": by_skops,
}
CASES = {
    "words": (CRF(features="words", rho1=0.1), X, Y),
    "template": (CRF(template=Template("U:%x[0,0]\nB\n"), rho1=0.1), ROWS, Y),
    "integers": (CRF(rho1=0.1, order=3), X, NUMBERS),
    "booleans": (CRF(rho1=0.1), X, [[label == "O" for label in labels] for labels in Y]),
    "matrices": (CRF(rho1=0.1), MATRICES, Y),
    "groups": (CRF(penalty="group:attribute", rho1=0.1), X, Y),
    "cross-validated": (CRFCV(features="words", cv=2, n_rho=3), X, Y),
}


@pytest.fixture(scope="module", params=CASES)
def fitted(request):
    crf, tokens, labels = CASES[request.param]
    return crf.fit(tokens, labels), tokens


def same_answers(kept, crf, tokens):
    assert kept.predict(tokens).tolist() == crf.predict(tokens).tolist()
    assert [type(label) for label in kept.predict(tokens)[0]] == [type(label) for label in crf.predict(tokens)[0]]
    for a, b in zip(kept.predict_proba(tokens), crf.predict_proba(tokens), strict=True):
        np.testing.assert_array_equal(a, b)
    assert kept.classes_.tolist() == crf.classes_.tolist()


@pytest.mark.parametrize("way", WAYS)
def test_round_trips(fitted, way):
    """Everything stays: answers, the file of the model, parameters, the course of training."""
    crf, tokens = fitted
    kept = WAYS[way](crf)
    same_answers(kept, crf, tokens)
    assert kept.model_.to_bytes() == crf.model_.to_bytes()
    assert kept.get_params().keys() == crf.get_params().keys()
    assert (kept.rho1_ if isinstance(crf, CRFCV) else kept.objective_) == (
        crf.rho1_ if isinstance(crf, CRFCV) else crf.objective_
    )


def test_mlflow(tmp_path):
    """As MLflow saves models of scikit-learn if it is not told how."""
    mlflow = pytest.importorskip("mlflow.sklearn", reason="large: the test above is of what it does")
    crf = CRF(features="words", rho1=0.1).fit(X, Y)
    types = ["sparsecrf.estimators.crf.CRF", "sparsecrf.model.model.Model", "sparsecrf.training.history.Record"]
    mlflow.save_model(crf, str(tmp_path / "model"), pip_requirements=[], skops_trusted_types=types)
    same_answers(mlflow.load_model(str(tmp_path / "model")), crf, X)


def test_files(fitted, tmp_path):
    crf, tokens = fitted
    crf.save(tmp_path / "crf.safetensors")
    kept = CRF.load(tmp_path / "crf.safetensors", n_jobs=2)
    assert kept.n_jobs == 2
    same_answers(kept, crf, tokens)
    assert Model.load(tmp_path / "crf.safetensors").to_bytes() == crf.model_.to_bytes()
    assert getattr(kept, "n_features_in_", None) == getattr(crf, "n_features_in_", None)


def test_a_frame(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"s": [0, 0, 1], "word": ["Ada", "went", "Lima"], "more": ["x", "y", "x"]})
    crf = CRF(rho1=0.01).fit(frame, ["P", "O", "L"], sentences="s")
    crf.save(tmp_path / "crf.safetensors")
    kept = CRF.load(tmp_path / "crf.safetensors")
    assert kept.feature_names_in_.tolist() == ["word", "more"]
    assert kept.predict(frame, sentences="s").tolist() == crf.predict(frame, sentences="s").tolist()


def test_json(fitted):
    """Labels are Python's own text, integers or booleans, so that `tolist` is all that it takes."""
    crf, tokens = fitted
    assert json.loads(json.dumps(crf.predict(tokens).tolist())) == crf.predict(tokens).tolist()
    assert json.loads(json.dumps(crf.predict_nbest(tokens, 2).tolist()))[0][0][0] == crf.predict(tokens)[0]
    assert json.dumps([p.tolist() for p in crf.predict_proba(tokens)])


def test_not_fitted_and_forged(tmp_path):
    with pytest.raises(Exception, match="not fitted"):
        CRF().save(tmp_path / "crf.safetensors")
    forged = CRF(rho1=0.1).fit(X, Y).model_.noted(estimator={"labels": "int", "n_features_in": "x"})
    with pytest.raises(InputError, match="expected integer labels"):
        CRF.from_model(forged)
