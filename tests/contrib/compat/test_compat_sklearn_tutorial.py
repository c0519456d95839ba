"""sklearn-crfsuite's tutorial (named entities in CoNLL-2002) with its package and with ours: another import line."""

from collections import Counter
from types import SimpleNamespace

import pytest
import scipy.stats
import sklearn_crfsuite as real
import sklearn_crfsuite.metrics
import sklearn_crfsuite.scorers
from crfsuite_objective import crfsuite_objective
from newswire import print_transitions, sent2labels, sentences
from sklearn.metrics import make_scorer
from sklearn.model_selection import RandomizedSearchCV, cross_val_score

import sparsecrf.contrib.compat as ours
from sparsecrf.contrib.convert.foreign import read_crfsuite

pytestmark = pytest.mark.slow

SENTENCES = sentences(400, seed=1)
TRAIN, TEST = SENTENCES[:240], SENTENCES[240:]
PACKAGES = pytest.mark.parametrize("sklearn_crfsuite", [real, ours], ids=["sklearn-crfsuite", "sparsecrf"])


def word2features(sent, i):
    word, postag, _ = sent[i]
    features = {
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-3:]": word[-3:],
        "word[-2:]": word[-2:],
        "word.isupper()": word.isupper(),
        "word.istitle()": word.istitle(),
        "word.isdigit()": word.isdigit(),
        "postag": postag,
        "postag[:2]": postag[:2],
    }
    for name, j, edge in (("-1", i - 1, "BOS"), ("+1", i + 1, "EOS")):
        if 0 <= j < len(sent):
            word1, postag1, _ = sent[j]
            features.update(
                {
                    f"{name}:word.lower()": word1.lower(),
                    f"{name}:word.istitle()": word1.istitle(),
                    f"{name}:word.isupper()": word1.isupper(),
                    f"{name}:postag": postag1,
                    f"{name}:postag[:2]": postag1[:2],
                }
            )
        else:
            features[edge] = True
    return features


def sent2features(sent):
    return [word2features(sent, i) for i in range(len(sent))]


X_TRAIN, Y_TRAIN = [sent2features(s) for s in TRAIN], [sent2labels(s) for s in TRAIN]
X_TEST, Y_TEST = [sent2features(s) for s in TEST], [sent2labels(s) for s in TEST]


def print_state_features(state_features):
    for (attr, label), weight in state_features:
        print(f"{weight:0.6f} {label:<8} {attr}")


def tutorial(sklearn_crfsuite, max_iterations=100):
    """The first half of the tutorial: fit, evaluate."""
    metrics = sklearn_crfsuite.metrics
    crf = sklearn_crfsuite.CRF(
        algorithm="lbfgs", c1=0.1, c2=0.1, max_iterations=max_iterations, all_possible_transitions=True
    )
    crf.fit(X_TRAIN, Y_TRAIN)
    labels = list(crf.classes_)
    labels.remove("O")
    y_pred = crf.predict(X_TEST)
    f1 = metrics.flat_f1_score(Y_TEST, y_pred, average="weighted", labels=labels, zero_division=0)
    sorted_labels = sorted(labels, key=lambda name: (name[1:], name[0]))
    report = metrics.flat_classification_report(Y_TEST, y_pred, labels=sorted_labels, digits=3, zero_division=0)
    return SimpleNamespace(crf=crf, labels=labels, f1=100 * f1, y_pred=y_pred, report=report)


@PACKAGES
def test_the_tutorial_runs(sklearn_crfsuite, capsys):
    done = tutorial(sklearn_crfsuite)
    crf, metrics, scorers = done.crf, sklearn_crfsuite.metrics, sklearn_crfsuite.scorers
    assert done.f1 > 75
    assert "weighted avg" in done.report
    assert len(done.y_pred) == len(Y_TEST)
    print_transitions(Counter(crf.transition_features_).most_common(20))
    print_transitions(Counter(crf.transition_features_).most_common()[-20:])
    print_state_features(Counter(crf.state_features_).most_common(30))
    print_state_features(Counter(crf.state_features_).most_common()[-30:])
    out = capsys.readouterr().out
    assert out.count(" -> ") == 40
    assert "B-PER  -> I-PER" in out
    assert any(line.endswith("word.istitle()") for line in out.splitlines())

    crf = sklearn_crfsuite.CRF(algorithm="lbfgs", max_iterations=100, all_possible_transitions=True)
    params_space = {"c1": scipy.stats.expon(scale=0.5), "c2": scipy.stats.expon(scale=0.05)}
    f1_scorer = make_scorer(metrics.flat_f1_score, average="weighted", labels=done.labels, zero_division=0)
    rs = RandomizedSearchCV(crf, params_space, cv=3, verbose=1, n_jobs=1, n_iter=2, scoring=f1_scorer, random_state=0)
    rs.fit(X_TRAIN[:90], Y_TRAIN[:90])
    assert set(rs.best_params_) == {"c1", "c2"}
    assert 0.5 < rs.best_score_ <= 1
    assert rs.best_estimator_.size_ / 1_000_000 > 0.001
    assert len(rs.best_estimator_.predict(X_TEST)) == len(X_TEST)
    for scoring in (scorers.flat_accuracy, scorers.sequence_accuracy):
        scores = cross_val_score(rs.best_estimator_, X_TRAIN[:60], Y_TRAIN[:60], cv=2, scoring=scoring)
        assert (scores > 0.1).all()


def test_both_packages_agree():
    theirs, mine = (tutorial(package, max_iterations=None) for package in (real, ours))
    assert mine.labels == theirs.labels
    assert mine.f1 == pytest.approx(theirs.f1, abs=0.3)
    assert mine.crf.training_log_.featgen_num_features == theirs.crf.training_log_.featgen_num_features
    their_model = read_crfsuite(theirs.crf.modelfile.name)
    expected = crfsuite_objective(their_model, X_TRAIN, Y_TRAIN, 0.1, 0.1)
    found = crfsuite_objective(mine.crf.model_, X_TRAIN, Y_TRAIN, 0.1, 0.1)
    assert found == pytest.approx(expected, rel=1e-3)
    assert found <= expected * (1 + 1e-5)
    assert mine.crf.training_log_.last_iteration["loss"] == pytest.approx(found, rel=1e-4)
    for ours_, theirs_ in zip(mine.crf.predict_marginals(X_TEST), theirs.crf.predict_marginals(X_TEST), strict=True):
        for a, b in zip(ours_, theirs_, strict=True):
            assert a == pytest.approx(b, abs=0.02)
