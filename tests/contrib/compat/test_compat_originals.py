"""What programs of python-crfsuite and sklearn-crfsuite import, catch, open and pass besides training and tagging."""

import gc
import json
import os
import pickle
import subprocess
import sys
import warnings

import joblib
import pycrfsuite
import pytest
import sklearn_crfsuite

from sparsecrf import InputError, Model
from sparsecrf.contrib import compat

X = [[{"w": "walk", "n": 1.0}, {"w": "shop", "n": 0.5}, {"w": "clean"}]] * 4
Y = [["sunny", "sunny", "rainy"]] * 4


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where temporary files are made."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def test_names():
    assert pycrfsuite.CRFSUITE_VERSION == compat.CRFSUITE_VERSION
    assert {name for name in dir(pycrfsuite) if name[0].isupper()} <= set(dir(compat))
    assert issubclass(compat.Trainer, compat.BaseTrainer)
    assert compat.utils.flatten([[1, 2], [], [3]]) == [1, 2, 3]
    with pytest.raises(compat.CRFSuiteError, match="-2147483645") as caught:
        raise compat.CRFSuiteError(-2147483645)
    assert caught.value.code == -2147483645


def test_base_trainer(capsys):
    """It prints the log and reads nothing of it."""
    trainer = compat.BaseTrainer("lbfgs", {"max_iterations": 3})
    trainer.append(X[0], Y[0])
    trainer.train("")
    assert "***** Iteration #1 *****\nLoss: " in capsys.readouterr().out
    assert not hasattr(trainer, "logparser")


# ---- The model's file


def test_the_file_of_a_model(folder):
    crf = compat.CRF(c2=0.1)
    assert crf.modelfile.name is None
    crf.fit(X, Y)
    assert not list(folder.iterdir())  # nobody asked for it
    name = crf.modelfile.name
    assert crf.modelfile.name == name
    assert [str(path) for path in folder.iterdir()] == [name]
    assert name.endswith(".crfsuite")
    theirs = pycrfsuite.Tagger()
    with theirs.open(name):
        assert [theirs.tag(x) for x in X] == crf.predict(X)
    crf.fit(X[:2], Y[:2])
    assert not os.path.exists(name)
    second = crf.modelfile.name
    crf.modelfile.cleanup()
    assert crf.modelfile.name is None
    assert not os.path.exists(second)
    assert crf.predict(X) == Y  # the model is in memory


@pytest.mark.parametrize("keep", [True, False])
def test_the_file_when_the_estimator_is_gone(folder, keep):
    crf = compat.CRF(c2=0.1, keep_tempfiles=keep).fit(X, Y)
    name = crf.modelfile.name
    copy = pickle.loads(pickle.dumps(crf))
    assert copy.modelfile.name != name
    if keep:
        crf.modelfile.cleanup()
    del crf, copy
    gc.collect()
    assert os.path.exists(name) == keep
    assert len(list(folder.iterdir())) == (2 if keep else 0)


def test_a_file_of_the_users_stays(tmp_path):
    crf = compat.CRF(c2=0.1, model_filename=str(tmp_path / "mine")).fit(X, Y)
    crf.modelfile.cleanup()
    assert crf.modelfile.name == str(tmp_path / "mine")
    assert (tmp_path / "mine").exists()
    resource = compat.estimator.FileResource()
    resource.refresh()
    assert os.path.exists(resource.name)
    resource.cleanup()


# ---- Pickles of the originals

OPEN = """
import json, pickle, sys, sparsecrf.contrib.compat
sparsecrf.contrib.compat.install()
with open(sys.argv[1], "rb") as file:
    crf = pickle.load(file)
from sparsecrf.contrib.compat import CRF
assert type(crf) is CRF, type(crf)
X = json.loads(sys.argv[2])
last = crf.training_log_.last_iteration
print(json.dumps([crf.predict(X).tolist(), crf.get_params()["c2"], last["loss"], crf.state_features_["n", "sunny"]]))
again = pickle.loads(pickle.dumps(crf))
assert again.predict(X) == crf.predict(X).tolist()
"""


@pytest.mark.parametrize("named", [True, False])
def test_pickles_of_sklearn_crfsuite(tmp_path, named):
    """In a process of its own, which does not see the originals."""
    options = {"model_filename": str(tmp_path / "model")} if named else {}
    theirs = sklearn_crfsuite.CRF(c2=0.25, max_iterations=20, **options).fit(X, Y, X[:1], Y[:1])
    with open(tmp_path / "pickle", "wb") as file:
        pickle.dump(theirs, file)
    command = [sys.executable, "-c", OPEN, str(tmp_path / "pickle"), json.dumps(X)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    labels, c2, loss, weight = json.loads(done.stdout)
    assert labels == theirs.predict(X).tolist()
    assert c2 == 0.25
    assert loss == theirs.training_log_.last_iteration["loss"]
    assert weight == pytest.approx(theirs.state_features_["n", "sunny"], abs=1e-6)


def test_libraries_that_import_the_originals():
    code = (
        "import sparsecrf.contrib.compat as c; c.install()\n"
        "import pycrfsuite, sklearn_crfsuite, sklearn_crfsuite.metrics\n"
        "from sklearn_crfsuite import CRF, metrics, scorers, utils\n"
        "from pycrfsuite._logparser import TrainLogParser\n"
        "from sklearn_crfsuite.trainer import LinePerIterationTrainer\n"
        "assert CRF is c.CRF and pycrfsuite.Tagger is c.Tagger and sklearn_crfsuite.metrics is c.metrics\n"
        "assert issubclass(LinePerIterationTrainer, pycrfsuite.Trainer)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr


def test_eli5():
    """`explain_weights` takes what is registered as sklearn_crfsuite.CRF."""
    pytest.importorskip("eli5")
    code = (
        "import sparsecrf.contrib.compat as c; c.install()\n"
        "import eli5, json\n"
        f"crf = c.CRF(c2=0.1).fit({X!r}, {Y!r})\n"
        "found = eli5.explain_weights(crf)\n"
        "assert found.error is None, found.error\n"
        "assert {t.target for t in found.targets} == {'sunny', 'rainy'}\n"
        "assert 'w:walk' in eli5.format_as_text(found)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr


# ---- Bytes

BYTES = [
    {b"a": b"b", "c": True},
    [b"d", "e"],
    {"f": {b"g": 2.0, "h": b"i"}, b"k": [b"l", "m"]},
    {"солнце": "не светит".encode()},
]


def test_bytes_are_text(tmp_path):
    labels, found = [b"x", "y", b"x", "солнце".encode()], []
    for package in (pycrfsuite, compat):
        trainer = package.Trainer(params={"c2": 0.1}, verbose=False)
        trainer.append(BYTES, labels)
        trainer.append(package.ItemSequence(BYTES), labels)
        trainer.train(str(tmp_path / "model"))
        tagger = package.Tagger()
        with tagger.open(str(tmp_path / "model")):
            tagged = tagger.tag(BYTES), tagger.tag(package.ItemSequence(BYTES))
            assert tagger.marginal(b"x", 0) == tagger.marginal("x", 0)
            assert tagger.probability(labels) == tagger.probability([*"xyx", "солнце"])
            found.append((tagged, set(tagger.info().attributes), package.ItemSequence(BYTES).items()))
    assert found[0] == found[1]
    crf = compat.CRF(c2=0.1).fit([BYTES], [labels])
    assert crf.predict([BYTES]) == [[*"xyx", "солнце"]]


def test_bytes_that_are_no_text():
    for item in ({"a": b"\xff"}, [b"\xff"], {b"\xff": 1}):
        with pytest.raises(InputError, match=r"expected bytes in UTF-8, found b'\\xff'"):
            compat.Trainer(verbose=False).append([item], ["x"])
    with pytest.raises(InputError, match="position 0: expected an attribute's value"):
        compat.Trainer(verbose=False).append([{"a": None}], ["x"])


# ---- Answers


def test_predictions_compare_as_lists_and_as_arrays():
    found = compat.CRF(c2=0.1).fit(X, Y).predict(X)
    assert found == Y
    assert (found != Y).tolist() is False
    assert found != [*Y, Y[0]]
    assert (found == found.copy()).all()
    assert [len(row) for row in found[1:]] == [3, 3, 3]


def test_joblib(tmp_path):
    crf = compat.CRF(c2=0.1).fit(X, Y)
    joblib.dump(crf, tmp_path / "crf")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert joblib.load(tmp_path / "crf").predict(X) == Y
    assert isinstance(crf.model_, Model)
