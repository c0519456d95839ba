"""`install`: the originals' names for programs, libraries and pickles. Each test has a process of its own, which does
not see the originals.
"""

import json
import pickle
import subprocess
import sys

import pycrfsuite
import pytest
import sklearn_crfsuite

pytestmark = pytest.mark.slow

X = [[{"w": "walk", "n": 1.0}, {"w": "shop", "n": 0.5}, {"w": "clean"}]] * 4
Y = [["sunny", "sunny", "rainy"]] * 4
INSTALL = "import sys, sparsecrf.contrib.compat as c; c.install()\n"


def run(code, *arguments, install=INSTALL):
    command = [sys.executable, "-c", install + code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout


# ---- Modules


def test_a_program_that_only_tags_imports_no_scikit_learn(tmp_path):
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.append(X[0], Y[0])
    trainer.train(str(tmp_path / "model"))
    run(
        "from pycrfsuite import *\n"
        "import pycrfsuite\n"
        "tagger = Tagger()\n"
        "tagger.open(sys.argv[1])\n"
        f"assert tagger.tag({X[0]!r}) == {Y[0]!r}\n"
        "assert 'sklearn' not in sys.modules and 'scipy' not in sys.modules\n"
        "assert not hasattr(pycrfsuite, 'CRF')\n",
        tmp_path / "model",
    )


def test_modules_are_found_and_reloaded_and_imported_as_the_originals():
    run(
        "from importlib import import_module, reload\n"
        "from importlib.util import find_spec\n"
        "names = ['pycrfsuite', 'pycrfsuite._pycrfsuite', 'pycrfsuite._logparser', 'pycrfsuite._dumpparser',\n"
        "         'sklearn_crfsuite', *(f'sklearn_crfsuite.{name}' for name in ('compat', 'estimator', 'trainer',\n"
        "         '_fileresource', 'metrics', 'scorers', 'utils'))]\n"
        "for name in names:\n"
        "    assert find_spec(name) is not None\n"
        "    module = import_module(name)\n"
        "    assert find_spec(name) is module.__spec__\n"
        "    assert reload(module) is module\n"
        "import pycrfsuite, sklearn_crfsuite.compat, sklearn.base\n"
        "assert pycrfsuite.Tagger is pycrfsuite._pycrfsuite.Tagger is c.Tagger\n"
        "assert sklearn_crfsuite.CRF is c.CRF\n"
        "assert sklearn_crfsuite.compat.BaseEstimator is sklearn.base.BaseEstimator\n"
        "assert find_spec('pycrfsuite.other') is None and find_spec('sklearn_crfsuite.other') is None\n"
        "from sklearn_crfsuite import CRF, metrics, scorers, utils\n"
        "from pycrfsuite._logparser import TrainLogParser\n"
        "from sklearn_crfsuite.trainer import LinePerIterationTrainer\n"
        "assert CRF is c.CRF and sklearn_crfsuite.metrics is c.metrics\n"
        "assert issubclass(LinePerIterationTrainer, pycrfsuite.Trainer)\n"
    )


def test_submodules_without_an_import_of_their_own():
    """As in sklearn-crfsuite, which imports them itself."""
    run(
        "import sklearn_crfsuite\n"
        "assert sklearn_crfsuite.estimator.CRF is c.CRF\n"
        "assert sklearn_crfsuite._fileresource.FileResource is sklearn_crfsuite.estimator.FileResource\n"
        "assert not hasattr(sklearn_crfsuite, 'Trainer')\n"
    )


def test_originals_that_were_imported_before():
    run(
        "import pycrfsuite, sklearn_crfsuite.metrics\n"
        "import sparsecrf.contrib.compat as c\n"
        "c.install()\n"
        "before = pycrfsuite\n"
        "import pycrfsuite, sklearn_crfsuite.metrics\n"
        "assert pycrfsuite.Tagger is c.Tagger is not before.Tagger\n"
        "assert sklearn_crfsuite.metrics is c.metrics\n"
        "now = pycrfsuite\n"
        "c.install()\n"
        "import pycrfsuite\n"
        "assert pycrfsuite is now\n",
        install="",
    )


def test_eli5():
    """`explain_weights` takes what is registered as sklearn_crfsuite.CRF."""
    pytest.importorskip("eli5")
    run(
        "import eli5, json\n"
        f"crf = c.CRF(c2=0.1).fit({X!r}, {Y!r})\n"
        "found = eli5.explain_weights(crf)\n"
        "assert found.error is None, found.error\n"
        "assert {t.target for t in found.targets} == {'sunny', 'rainy'}\n"
        "assert 'w:walk' in eli5.format_as_text(found)\n"
    )


# ---- Pickles

OPEN = """
import json, pickle
X = json.loads(sys.argv[1])
for path in sys.argv[2:]:
    with open(path, "rb") as file:
        crf = pickle.load(file)
    assert type(crf) is c.CRF, type(crf)
    last, weight = crf.training_log_.last_iteration, crf.state_features_["n", "sunny"]
    print(json.dumps([crf.predict(X).tolist(), crf.get_params()["c2"], last["loss"], weight]))
    again = pickle.loads(pickle.dumps(crf))
    assert again.predict(X).tolist() == crf.predict(X).tolist()
"""


def test_pickles_of_sklearn_crfsuite(tmp_path):
    all_of_theirs, pickles = [], [tmp_path / "named.pickle", tmp_path / "unnamed.pickle"]
    for path, options in zip(pickles, ({"model_filename": str(tmp_path / "model")}, {}), strict=True):
        theirs = sklearn_crfsuite.CRF(c2=0.25, max_iterations=20, **options).fit(X, Y, X[:1], Y[:1])
        path.write_bytes(pickle.dumps(theirs))
        all_of_theirs.append(theirs)
    answers = run(OPEN, json.dumps(X), *pickles).splitlines()
    for theirs, answer in zip(all_of_theirs, answers, strict=True):
        labels, c2, loss, weight = json.loads(answer)
        assert labels == theirs.predict(X).tolist()
        assert c2 == 0.25
        assert loss == theirs.training_log_.last_iteration["loss"]
        assert weight == pytest.approx(theirs.state_features_["n", "sunny"], abs=1e-6)


OPEN_OLD = """
import json, os, pickle, pycrfsuite
X, Y = json.loads(sys.argv[1])
for path in sys.argv[2:]:
    with open(path, "rb") as file:
        crf = pickle.load(file)
    labels = crf.predict(X).tolist()
    name = crf.modelfile.name
    print(json.dumps([name, crf.get_params()["keep_tempfiles"], labels]))
    tagger = pycrfsuite.Tagger()
    tagger.open(name)
    assert [tagger.tag(x) for x in X] == labels
    crf.fit(X, [y[::-1] for y in Y])
    assert crf.predict(X).tolist() == [y[::-1] for y in Y]
"""


def test_pickles_of_older_versions(tmp_path, monkeypatch):
    """Up to 0.3.6 estimators kept two of their parameters in `modelfile` alone."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    all_of_theirs, pickles = [], [tmp_path / "named.pickle", tmp_path / "unnamed.pickle"]  # their files must stay
    for path, options in zip(
        pickles, ({"model_filename": str(tmp_path / "model")}, {"keep_tempfiles": True}), strict=True
    ):
        theirs = sklearn_crfsuite.CRF(c2=0.25, max_iterations=20, **options).fit(X, Y)
        del theirs.keep_tempfiles, theirs.model_filename
        path.write_bytes(pickle.dumps(theirs))
        all_of_theirs.append(theirs)
    answers = run(OPEN_OLD, json.dumps([X, Y]), *pickles).splitlines()
    for named, answer in zip((True, False), answers, strict=True):
        name, keep, labels = json.loads(answer)
        assert labels == Y
        assert keep is not named
        assert (name == str(tmp_path / "model")) is named
