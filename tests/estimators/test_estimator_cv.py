"""CRFCV: rho1 by cross-validation; folds, groups, scores, progress."""

import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sentences import dicts, sentences
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score

from sparsecrf import CRF, CRFCV, InputError
from sparsecrf.scorers import chunk_f1, token_accuracy_score


@pytest.fixture(scope="module")
def data():
    X, y = sentences(40, seed=1)
    return dicts(X), y


@pytest.mark.slow
def test_rho1_is_chosen_by_left_out_folds(data):
    X, y = data
    crf = CRFCV(n_rho=6, rho_min_ratio=0.01, cv=3, tol=1e-5).fit(X, y)
    assert crf.rho1_ == crf.rho1s_[crf.best_index_]
    assert crf.scores_[crf.best_index_] == crf.scores_.max() > 0.8
    assert crf.n_actives_[0] == 0 < crf.n_active_ == crf.n_actives_[crf.best_index_]
    alone = CRF(rho1=crf.rho1_, tol=1e-5).fit(X, y)
    assert crf.objective_ == pytest.approx(alone.objective_, rel=1e-4)
    assert_array_equal(crf.predict(X), alone.predict(X))


@pytest.mark.slow
def test_scores_are_those_of_every_fold():
    # With these sentences, no fold has two labellings with the same score, where rounding would decide.
    X, y = sentences(40, seed=3)
    X = dicts(X)
    groups = np.arange(len(X)) % 4
    folds = GroupKFold(4)
    crf = CRFCV([0.1, 0.5], cv=folds, scoring="chunk_f1", tol=1e-7).fit(X, y, groups=groups)
    assert crf.rho1s_.tolist() == [0.5, 0.1]
    for rho1, score, error in zip(crf.rho1s_, crf.scores_, crf.standard_errors_, strict=True):
        alone = cross_val_score(CRF(rho1=rho1, tol=1e-7), X, y, cv=folds, groups=groups, scoring=chunk_f1)
        assert score == pytest.approx(alone.mean(), abs=1e-9)
        assert error == pytest.approx(alone.std(ddof=1) / 2, abs=1e-9)


@pytest.mark.slow
def test_folds_count_sequences_without_tokens(data):
    X, y = data[0][:20], data[1][:20]
    groups, options = np.arange(20) // 5, {"rho1s": [0.5, 0.1], "cv": GroupKFold(4)}
    whole = CRFCV(**options).fit(X, y, groups=groups)
    more = CRFCV(**options).fit([[], *X], [[], *y], groups=[0, *groups])
    assert_array_equal(more.scores_, whole.scores_)
    pairs = [([0, *range(6)], range(6, 21)), (range(6, 21), [0, *range(6)])]  # by place in X
    given = CRFCV([0.1], cv=pairs, scoring="token_accuracy").fit([[], *X], [[], *y])
    first = CRF(rho1=0.1).fit(X[:5], y[:5]).score(X[5:], y[5:])
    second = CRF(rho1=0.1).fit(X[5:], y[5:]).score(X[:5], y[:5])
    assert given.scores_[0] == pytest.approx((first + second) / 2)


@pytest.mark.parametrize("chunk", [["B-X", "I-X"], ["B", "I"]])
def test_a_fold_without_chunks(chunk):
    X, y = [["a", "b"]] * 4 + [["c", "d"]] * 4, [chunk] * 4 + [["O", "O"]] * 4
    halves = [(range(4), range(4, 8)), (range(1, 8), [0])]
    crf = CRFCV([0.01], cv=halves, scoring="chunk_f1").fit(X, y)
    assert crf.scores_.tolist() == [0.5]  # no gold chunk but predicted ones; one chunk, which is found


@pytest.mark.slow
def test_a_number_of_folds_may_be_that_of_numpy(data):
    assert_array_equal(CRFCV([1.0], cv=np.int64(3)).fit(*data).scores_, CRFCV([1.0], cv=3).fit(*data).scores_)


@pytest.mark.slow
def test_one_standard_error(data):
    best = CRFCV(n_rho=8, cv=3, random_state=0).fit(*data)
    sparser = CRFCV(n_rho=8, cv=3, random_state=0, selection="one_se").fit(*data)
    assert_array_equal(best.scores_, sparser.scores_)
    least = best.scores_.max() - best.standard_errors_[best.best_index_]
    assert sparser.best_index_ == np.argmax(best.scores_ >= least)
    assert sparser.n_active_ <= best.n_active_


def test_a_score_of_ones_own_and_missing_labels(data):
    X, y = data
    seen = []

    def count(gold, predicted):
        gold, predicted = list(gold), list(predicted)
        seen.append(sum(map(len, gold)))
        assert {label for labels in gold for label in labels} <= {None, "O", "B-PER", "I-PER", "B-LOC"}
        return token_accuracy_score(gold, predicted)

    partly = [[None, *labels[1:]] for labels in y]
    CRFCV([1.0], cv=2, scoring=count).fit(X, partly)
    assert sum(seen) == sum(map(len, y))


@pytest.mark.slow
def test_a_scorer(data):
    by_name = CRFCV([3.0, 0.3], cv=2, scoring="chunk_f1").fit(*data)
    assert_array_equal(CRFCV([3.0, 0.3], cv=2, scoring=chunk_f1).fit(*data).scores_, by_name.scores_)


@pytest.mark.slow
def test_a_scorer_with_a_sign_and_options(data):
    def loss(gold, predicted, times):
        return times * (1 - token_accuracy_score(gold, predicted))

    scorer = make_scorer(loss, greater_is_better=False, times=3)
    found, plain = (CRFCV([3.0, 0.3], cv=2, scoring=s).fit(*data) for s in (scorer, "token_accuracy"))
    np.testing.assert_allclose(found.scores_, -3 * (1 - plain.scores_))
    assert found.rho1_ == plain.rho1_


@pytest.mark.slow
def test_the_score_suits_the_labels(data):
    by_default = CRFCV([3.0, 0.3], cv=2).fit(*data)
    assert_array_equal(by_default.scores_, CRFCV([3.0, 0.3], cv=2, scoring="chunk_f1").fit(*data).scores_)
    X, y = data[0], [[f"{label}?" for label in labels] for labels in data[1]]
    others = CRFCV([3.0, 0.3], cv=2).fit(X, y)
    assert_array_equal(others.scores_, CRFCV([3.0, 0.3], cv=2, scoring="token_accuracy").fit(X, y).scores_)


@pytest.mark.slow
def test_scores_of_scikit_learn_see_single_labels(data):
    X, y = data
    partly = [[None, *labels[1:]] for labels in y]
    for scoring in ("accuracy", make_scorer(accuracy_score)):
        found, plain = (CRFCV([3.0, 0.3], cv=2, scoring=s).fit(X, partly) for s in (scoring, "token_accuracy"))
        np.testing.assert_allclose(found.scores_, plain.scores_)


def test_groups_are_left_out_together(data):
    X, y = [[], *data[0]], [[], *data[1]]
    groups = ["none", *(f"document {k // 7}" for k in range(40))]
    seen = {}

    def spy(gold, predicted):
        seen.setdefault(len(seen) % 3, []).append([tuple(labels) for labels in gold])
        return 0.5

    CRFCV([1.0], cv=3, scoring=spy, random_state=1).fit(X, y, groups=groups)
    left_out = [fold for folds in seen.values() for fold in folds]
    assert sum(map(len, left_out)) == 40
    by_group = [[tuple(labels) for labels in data[1][7 * g : 7 * g + 7]] for g in range(6)]
    for whole in by_group:
        assert sum(any(fold[k : k + len(whole)] == whole for k in range(len(fold))) for fold in left_out) == 1
    with pytest.raises(InputError, match=r"groups: expected 41 values.*sequence.*found 3"):
        CRFCV([1.0], cv=3).fit(X, y, groups=[1, 2, 3])


@pytest.mark.slow
def test_consecutive_folds(data):
    blocks = [(np.r_[20:40], np.r_[:20]), (np.r_[:20], np.r_[20:40])]
    found, by_hand = (CRFCV([1.0], **how).fit(*data) for how in ({"cv": 2, "shuffle": False}, {"cv": blocks}))
    assert found.scores_[0] == by_hand.scores_[0] != CRFCV([1.0], cv=2).fit(*data).scores_[0]


@pytest.mark.slow
def test_progress_names_fold_and_point(data, capsys):
    crf = CRFCV(cv=2, verbose=2).fit(*data)
    lines = capsys.readouterr().err.splitlines()
    assert any(re.match(r"fold 2 of 2, point 1: rho1 .* weights  chunk F1 .* %  at least \d+ s left", x) for x in lines)
    assert any(re.match(r"iteration \d+ ", line) for line in lines)
    done = [line for line in lines if re.match(r"fold \d of 2, |all data, ", line)]
    assert len(done) == crf.n_fits_ == 3 * len(crf.rho1s_)
    assert done[-1].startswith("all data, point")
    CRFCV([3.0, 0.3], cv=2, verbose=1).fit(*data)
    assert "path  all data, point 2: rho1 0.3" in capsys.readouterr().err


def test_labels_without_chunks_are_refused_before_training():
    with pytest.raises(InputError, match=r"scoring: expected labels that encode chunks .*, found N, V"):
        CRFCV(scoring="chunk_f1", solver_options={"callback": pytest.fail}).fit([["a", "b"]] * 5, [["N", "V"]] * 5)


@pytest.mark.slow
def test_within_a_search(data):
    X, y = data
    search = GridSearchCV(CRFCV([3.0, 0.3], cv=2), {"rho2": [0.01, 10.0]}, cv=2).fit(X, y)
    assert search.best_params_ == {"rho2": 0.01}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"selection": "worst"}, "selection: expected one of best, one_se"),
        (
            {"scoring": "bleu"},
            "scoring: expected one of auto, token_accuracy, sequence_accuracy, chunk_f1, label_f1_macro, ",
        ),
        ({"rho1s": []}, "rho1: expected one or more decreasing values"),
        ({"scoring": "roc_auc"}, "scoring: expected a score that compares labels, found a score that needs"),
        ({"scoring": lambda crf, X, y: 0.0}, "scoring: expected a function of gold and predicted label sequences"),
        ({"cv": 1}, "folds: expected 2 to 40"),
    ],
)
def test_wrong_options(data, options, expected):
    with pytest.raises(InputError, match=expected):
        CRFCV(**options).fit(*data)
