"""What programs of python-crfsuite and sklearn-crfsuite import, catch, open and pass besides training and tagging."""

import gc
import os
import pickle
import warnings

import joblib
import pycrfsuite
import pytest

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
        assert [theirs.tag(x) for x in X] == crf.predict(X).tolist()
    crf.fit(X[:2], Y[:2])
    assert not os.path.exists(name)
    second = crf.modelfile.name
    crf.modelfile.cleanup()
    assert crf.modelfile.name is None
    assert not os.path.exists(second)
    assert crf.predict(X).tolist() == Y  # the model is in memory


@pytest.mark.slow
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


def test_the_descriptor_of_a_temporary_file(folder):
    crf = compat.CRF(c2=0.1)
    with pytest.raises(AttributeError, match="expected a temporary file, found none"):
        crf.modelfile.fd  # noqa: B018
    crf.fit(X, Y)
    descriptor = crf.modelfile.fd
    assert crf.modelfile.fd == descriptor
    assert os.path.samestat(os.fstat(descriptor), os.stat(crf.modelfile.name))
    crf.modelfile.cleanup()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(descriptor)
    crf.fit(X, Y)
    os.close(crf.modelfile.fd)  # as in programs that remove the file themselves
    os.unlink(crf.modelfile.name)
    crf.modelfile.cleanup()
    assert not list(folder.iterdir())
    assert not hasattr(compat.CRF(model_filename="m").modelfile, "fd")


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
    assert crf.predict([BYTES]).tolist() == [[*"xyx", "солнце"]]


def test_bytes_that_are_no_text():
    for item in ({"a": b"\xff"}, [b"\xff"], {b"\xff": 1}):
        with pytest.raises(InputError, match=r"expected bytes in UTF-8, found b'\\xff'"):
            compat.Trainer(verbose=False).append([item], ["x"])
    with pytest.raises(InputError, match="position 0: expected an attribute's value"):
        compat.Trainer(verbose=False).append([{"a": None}], ["x"])


def test_joblib(tmp_path):
    crf = compat.CRF(c2=0.1).fit(X, Y)
    joblib.dump(crf, tmp_path / "crf")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert joblib.load(tmp_path / "crf").predict(X).tolist() == Y
    assert isinstance(crf.model_, Model)
