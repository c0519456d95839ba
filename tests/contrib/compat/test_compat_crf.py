"""compat.CRF as a scikit-learn estimator, and its metrics against sklearn-crfsuite's."""

import inspect
import pickle

import joblib
import numpy as np
import pycrfsuite
import pytest
import sklearn_crfsuite
from newswire import sentences
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score

from sparsecrf import InputError
from sparsecrf.contrib.compat import CRF, ItemSequence, metrics
from sparsecrf.contrib.compat.trainer import Trainer


def tokens(sentence):
    return [{"word": word.lower(), "title": word.istitle(), "tags": {"pos": pos}} for word, pos, _ in sentence]


SENTENCES = sentences(60, seed=2)
X, Y = [tokens(s) for s in SENTENCES], [[label for _, _, label in s] for s in SENTENCES]


@pytest.fixture(scope="module")
def fitted():
    return CRF(c1=0.1, c2=0.1).fit(X, Y)


def test_same_constructor():
    ours, theirs = (inspect.signature(cls).parameters for cls in (CRF, sklearn_crfsuite.CRF))
    assert [(p.name, p.default) for p in ours.values()] == [(p.name, p.default) for p in theirs.values()]


def test_same_public_names(fitted):
    theirs = sklearn_crfsuite.CRF(c1=0.1, c2=0.1).fit(X, Y)
    names = [name for name in dir(theirs) if not name.startswith("_")]
    assert not [name for name in names if not hasattr(fitted, name)]
    assert fitted.classes_ == theirs.classes_
    assert fitted.predict(X).tolist() == theirs.predict(X).tolist()
    assert fitted.score(X, Y) == theirs.score(X, Y)
    assert set(fitted.attributes_) <= {f"word:{w}" for s in X for w in (t["word"] for t in s)} | {
        "title",
        *(f"tags:pos:{pos}" for s in SENTENCES for _, pos, _ in s),
    }
    assert fitted.num_attributes_ == len(fitted.attributes_) == len({a for a, _ in fitted.state_features_})
    assert fitted.training_log_.last_iteration["active_features"] == len(fitted.state_features_) + len(
        fitted.transition_features_
    )


def test_before_fit():
    crf = CRF()
    assert (crf.classes_, crf.tagger_, crf.size_, crf.attributes_, crf.modelfile.name) == (None,) * 5
    with pytest.raises(NotFittedError, match="call fit"):
        crf.predict(X)
    assert repr(CRF(c1=0.5)) == "CRF(c1=0.5)"


@pytest.mark.parametrize(
    ("sequences", "shape"),
    [
        ([x[:2] for x in X], (60, 2)),
        (X[:1], (1, len(X[0]))),
        ([X[0][:3], X[0][:2]], (2,)),
        ([[], []], (2, 0)),
        ([], (0,)),
    ],
)
def test_arrays_have_the_shape_of_the_originals(fitted, sequences, shape):
    """Two dimensions where all sequences are equally long, one of lists otherwise."""
    theirs = sklearn_crfsuite.CRF(c1=0.1, c2=0.1).fit(X, Y)
    for method in ("predict", "predict_marginals"):
        ours, original = (getattr(crf, method)(sequences) for crf in (fitted, theirs))
        assert type(ours) is type(original) is np.ndarray
        assert ours.dtype == original.dtype == object
        assert ours.shape == original.shape == shape
    assert fitted.predict(sequences).tolist() == theirs.predict(sequences).tolist()
    for token in (token for row in fitted.predict_marginals(sequences) for token in row):
        assert list(token) == fitted.classes_
        assert sum(token.values()) == pytest.approx(1)


def test_item_sequences_are_answered(fitted):
    items = [ItemSequence(x) for x in X[:2]]
    assert fitted.predict(items).tolist() == fitted.predict(X[:2]).tolist()
    assert fitted.predict_marginals(items).tolist() == fitted.predict_marginals(X[:2]).tolist()


@pytest.mark.slow
def test_search_clone_pickle(fitted, tmp_path):
    with joblib.parallel_backend("threading"):
        grid = GridSearchCV(CRF(max_iterations=20), {"c1": [0.0, 1.0], "c2": [0.1]}, cv=2, n_jobs=2).fit(X, Y)
    assert grid.best_params_["c2"] == 0.1
    assert cross_val_score(CRF(c2=0.1, max_iterations=20), X, Y, cv=3).mean() > 0.5
    assert cross_val_predict(CRF(c2=0.1, max_iterations=20), X, Y, cv=2).shape == (len(X),)
    assert clone(fitted).get_params() == fitted.get_params()
    assert clone(fitted).classes_ is None
    joblib.dump(fitted, tmp_path / "crf")
    for copy in (pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "crf")):
        assert copy.predict(X).tolist() == fitted.predict(X).tolist()
        assert copy.state_features_ == fitted.state_features_
        assert copy.training_log_.iterations == fitted.training_log_.iterations


def test_model_filename(fitted, tmp_path):
    path = str(tmp_path / "model")
    CRF(c1=0.1, c2=0.1, model_filename=path).fit(X, Y)
    again = CRF(model_filename=path)
    assert again.modelfile.name == path
    assert again.score(X, Y) == fitted.score(X, Y)
    assert again.size_ == (tmp_path / "model").stat().st_size
    assert pickle.loads(pickle.dumps(again)).classes_ == fitted.classes_
    theirs = sklearn_crfsuite.CRF(c1=0.1, c2=0.1, model_filename=str(tmp_path / "theirs")).fit(X, Y)
    assert CRF(model_filename=tmp_path / "theirs").predict(X).tolist() == theirs.predict(X).tolist()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model", "theirs"]


def test_no_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    crf = CRF(c2=0.1, max_iterations=5).fit(X[:5], Y[:5])
    assert crf.score(X, Y) > 0
    assert crf.state_features_
    assert not list(tmp_path.iterdir())


def test_dev_data(capsys):
    crf = CRF(c2=0.1, verbose=True).fit(X[:40], Y[:40], X[40:], Y[40:])
    out = capsys.readouterr().out
    last = crf.training_log_.last_iteration
    assert last["item_accuracy_float"] == pytest.approx(crf.score(X[40:], Y[40:]))
    assert last["instance_accuracy_float"] == metrics.sequence_accuracy_score(Y[40:], crf.predict(X[40:]))
    assert all(0 <= info["item_accuracy_float"] <= 1 for info in crf.training_log_.iterations)
    gold, found = np.concatenate(Y[40:]), np.concatenate(crf.predict(X[40:]).tolist())
    for label, score in last["scores"].items():
        assert (score.model, score.ref) == ((found == label).sum(), (gold == label).sum())
    assert out.count("Iter ") == len(crf.training_log_.iterations)
    assert f"Acc(item/seq)={last['item_accuracy_float']:.3f} {last['instance_accuracy_float']:.3f}" in out
    assert "Support" in out
    # The scores by label are those that CRFsuite computes for the same weights, nearly at its own optimum.
    theirs = sklearn_crfsuite.CRF(c2=0.1).fit(X[:40], Y[:40], X[40:], Y[40:]).training_log_.last_iteration
    assert theirs["item_accuracy"] == last["item_accuracy"]
    assert theirs["instance_accuracy"] == last["instance_accuracy"]
    assert theirs["avg_f1"] == pytest.approx(last["avg_f1"], abs=1e-5)
    assert {k: s[:3] for k, s in theirs["scores"].items()}.items() <= {
        k: s[:3] for k, s in last["scores"].items()
    }.items()
    with pytest.raises(ValueError, match="expected both X_dev and y_dev"):
        CRF().fit(X, Y, X)


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"algorithm": "ap", "pa_type": 1}, "found 'type'"),
        ({"algorithm": "pa", "pa_type": 3}, "type: expected one of 0, 1, 2, found 3"),
        ({"algorithm": "svm"}, "expected one of lbfgs, l2sgd, ap, pa, arow, found 'svm'"),
        ({"pa_type": 1}, "found 'type'"),
        ({"algorithm": "l2sgd", "c1": 1.0}, "found 'c1'"),
        ({"c1": -1.0}, r"c1: expected.*number.*least 0.*found -1.0"),
    ],
)
def test_wrong_parameters(params, expected):
    with pytest.raises(InputError, match=expected):
        CRF(**params).fit(X, Y)


def test_every_parameter_reaches_the_trainer():
    given = {
        "algorithm": "l2sgd",
        "min_freq": 1,
        "all_possible_states": True,
        "calibration_max_trials": 3,
        "delta": 1e-3,
    }

    class Noted(Trainer):
        def train(self, model, holdout=-1):
            Noted.seen = self.get_params()
            super().train(model, holdout)

    CRF(trainer_cls=Noted, **given).fit(X[:5], Y[:5])
    assert Noted.seen["feature.minfreq"] == 1.0
    assert Noted.seen["feature.possible_states"] is True
    assert Noted.seen["calibration.max_trials"] == 3
    assert Noted.seen["delta"] == 1e-3


def test_metrics_are_those_of_sklearn_crfsuite():
    rng = np.random.default_rng(0)
    names = np.array(["A", "B", "C", "O"])
    lengths = rng.integers(1, 6, 30)
    y_true = [names[rng.integers(0, 3, n)].tolist() for n in lengths]
    y_pred = [row if rng.random() < 0.3 else names[rng.integers(0, 4, len(row))].tolist() for row in y_true]
    y_pred_array = np.array([*y_pred, None], dtype=object)[:-1]
    theirs = sklearn_crfsuite.metrics
    options = {"labels": ["A", "B", "nowhere"], "zero_division": 0}
    for name in ("flat_precision_score", "flat_recall_score", "flat_f1_score"):
        for more in ({"average": "weighted"}, {"average": None}):
            found = getattr(metrics, name)(y_true, y_pred_array, **options, **more)
            assert found == pytest.approx(getattr(theirs, name)(y_true, y_pred, **options, **more))
    beta = {"beta": 2.0, "average": "micro", **options}
    assert metrics.flat_fbeta_score(y_true, y_pred, **beta) == theirs.flat_fbeta_score(y_true, y_pred, **beta)
    assert metrics.flat_accuracy_score(y_true, y_pred) == theirs.flat_accuracy_score(y_true, y_pred)
    assert metrics.sequence_accuracy_score(y_true, y_pred) == theirs.sequence_accuracy_score(y_true, y_pred)
    assert metrics.sequence_accuracy_score([], []) == 0
    report = metrics.flat_classification_report(y_true, y_pred, digits=3, **options)
    assert report == theirs.flat_classification_report(y_true, y_pred, digits=3, **options)


def test_not_the_trainer_of_another_package():
    with pytest.raises(InputError, match="trainer_cls: expected a subclass"):
        CRF(trainer_cls=pycrfsuite.Trainer).fit(X, Y)
