"""The estimators within scikit-learn: its own checks, searches, pipelines, scorers."""

import io
import pickle

import joblib
import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_predict, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

from sentences import dicts, sentences
from sparsecrf import CRF, CRFCV, InputError, Template
from sparsecrf.metrics import evaluate
from sparsecrf.scorers import (
    chunk_f1,
    chunk_f1_score,
    sequence_accuracy,
    sequence_accuracy_score,
    token_accuracy,
    token_accuracy_score,
)

VERSION = tuple(map(int, sklearn.__version__.split(".")[:2]))
since_1_6 = pytest.mark.skipif(VERSION < (1, 6), reason="scikit-learn has such tags and routing since 1.6")
#: scikit-learn's checks that need no data, as far as its version has them. The others make matrices of their own; their
#: versions for sequences are below and in test_estimator.py.
DATA_FREE = [
    "check_do_not_raise_errors_in_init_or_set_param",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_get_tags_default_keys",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_estimators_unfitted",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
]


@pytest.fixture(scope="module")
def data():
    X, y = sentences(40, seed=1)
    return dicts(X), y


@pytest.mark.parametrize("estimator", [CRF, CRFCV])
@pytest.mark.parametrize("name", [name for name in DATA_FREE if hasattr(estimator_checks, name)])
def test_checks_of_scikit_learn(estimator, name):
    getattr(estimator_checks, name)(estimator.__name__, estimator())


@since_1_6
@pytest.mark.filterwarnings("ignore:Can't test estimator")  # it has no data of this kind
def test_its_own_choice_of_checks_passes():
    estimator_checks.check_estimator(CRF())


@since_1_6
def test_most_checks_were_there():
    assert sum(hasattr(estimator_checks, name) for name in DATA_FREE) >= 8


def test_fitting_again_gives_the_same(data):
    crf = CRF(rho1=0.3).fit(*data)
    first = crf.model_.to_bytes()
    parameters = crf.get_params()
    assert crf.fit(*data).model_.to_bytes() == first
    assert crf.get_params() == parameters


def test_input_is_not_changed(data):
    before = repr(data)
    CRF(rho1=0.3).fit(*data).predict(data[0])
    assert repr(data) == before


def test_answers_do_not_depend_on_the_other_sequences(data):
    X, y = data
    crf = CRF(rho1=0.3).fit(X, y)
    whole = crf.predict_marginals(X)
    order = np.random.default_rng(0).permutation(len(X))
    for i, p in zip(order, crf.predict_marginals([X[i] for i in order]), strict=True):
        assert_array_equal(p, whole[i])
    for i in range(0, len(X), 7):
        assert_array_equal(crf.predict_marginals([X[i]])[0], whole[i])


def test_the_order_of_the_data_does_not_matter(data):
    X, y = data
    one = CRF(rho1=0.3, tol=1e-8).fit(X, y)
    other = CRF(rho1=0.3, tol=1e-8).fit(X[::-1], y[::-1])
    assert_array_equal(one.classes_, other.classes_)
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-9)
    assert_array_equal(one.predict(X), other.predict(X))


def test_it_is_no_classifier():
    """Else labels that are lists would be taken for a multilabel target."""
    assert not is_classifier(CRF())


def test_grid_search(data):
    X, y = data
    search = GridSearchCV(CRF(), {"rho1": [30.0, 0.3]}, scoring=chunk_f1, cv=3).fit(X, y)
    assert search.best_params_ == {"rho1": 0.3}
    assert search.score(X, y) == chunk_f1_score(y, search.predict(X)) > 0.8
    by_accuracy = GridSearchCV(CRF(), {"rho1": [30.0, 0.3]}, cv=3, n_jobs=2).fit(X, y)
    assert by_accuracy.best_params_ == {"rho1": 0.3}


@pytest.mark.parametrize("boundary", ["crf++", "wapiti"])
def test_templates_are_cloned_and_pickled(boundary):
    template = Template("U:%x[0,0]\n*:%x[-1,1]\nB\n", boundary)
    again = pickle.loads(pickle.dumps(clone(CRF(template=template)).template))
    assert (type(again), again.text, again.boundary) == (Template, template.text, boundary)
    X, y = sentences(20, seed=1)
    assert again.attributes(X[0]) == template.attributes(X[0])
    assert cross_val_score(CRF(rho1=0.1, template=template), X, y, cv=2).mean() > 0.7


def test_cross_validation(data):
    X, y = data
    found = cross_validate(
        CRF(rho1=0.3), X, y, cv=3, scoring={"f1": chunk_f1, "token": token_accuracy, "sequence": sequence_accuracy}
    )
    assert found["test_token"].min() > 0.7
    assert (found["test_sequence"] <= found["test_token"]).all()
    predicted = cross_val_predict(CRF(rho1=0.3), X, y, cv=3)
    assert [len(labels) for labels in predicted] == list(map(len, y))
    folds = cross_val_score(CRF(rho1=0.3), X, y, cv=3)
    assert folds == pytest.approx(found["test_token"])


def test_pipeline():
    X, y = sentences(40, seed=1)
    pipeline = make_pipeline(FunctionTransformer(dicts), CRF(rho1=0.3)).fit(X, y)
    assert pipeline.score(X, y) > 0.9
    assert_array_equal(pipeline.predict(X), CRF(rho1=0.3).fit(dicts(X), y).predict(dicts(X)))
    assert clone(pipeline).get_params()["crf__rho1"] == 0.3


@since_1_6
def test_weights_are_routed(data):
    X, y = data
    weights = np.random.default_rng(0).random(len(X))
    with sklearn.config_context(enable_metadata_routing=True):
        crf = CRF(rho1=0.3).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        pipeline = Pipeline([("crf", crf)]).fit(X, y, sample_weight=weights)
        found = cross_validate(crf, X, y, cv=3, params={"sample_weight": weights})
    assert pipeline["crf"].objective_ == CRF(rho1=0.3).fit(X, y, weights).objective_
    train, test = slice(14, None), slice(0, 14)
    first = CRF(rho1=0.3).fit(X[train], y[train], weights[train])
    assert found["test_score"][0] == pytest.approx(first.score(X[test], y[test], weights[test]))


def test_joblib(data):
    crf = CRF(rho1=0.3).fit(*data)
    file = io.BytesIO()
    joblib.dump(crf, file)
    file.seek(0)
    assert_array_equal(joblib.load(file).predict(data[0]), crf.predict(data[0]))
    parts = joblib.Parallel(n_jobs=2)(joblib.delayed(crf.predict)(data[0][i::2]) for i in range(2))
    assert_array_equal(parts[0], crf.predict(data[0][::2]))


def test_representations(data):
    crf = CRF(rho1=0.3)
    assert repr(crf) == "CRF(rho1=0.3)"
    assert "CRF" in crf.fit(*data)._repr_html_()


def test_scores():
    gold = [["B-A", "I-A", "O"], ["O", None], ["B-B"]]
    predicted = [["B-A", "I-A", "O"], ["B-B", "O"], ["B-A"]]
    assert token_accuracy_score(gold, predicted) == 3 / 5
    assert token_accuracy_score(gold, predicted, [1.0, 2.0, 4.0]) == 3 / 9
    assert token_accuracy_score(gold, predicted, [[1, 0, 0], [1, 5], [2]]) == 1 / 4
    assert sequence_accuracy_score(gold, predicted) == 1 / 3
    assert sequence_accuracy_score(gold, predicted, [2.0, 1.0, 1.0]) == 1 / 2
    assert chunk_f1_score(gold, predicted) == pytest.approx(2 * 1 / (3 + 2))
    without = [["O" if y is None else y for y in labels] for labels in gold]
    assert chunk_f1_score(gold, predicted) == evaluate(zip(without, predicted, strict=True)).f1 / 100
    assert token_accuracy_score([], []) == 0.0
    assert chunk_f1_score([["O", "O"]], [["O", "O"]]) == 0.0  # a part of the data may have none


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (token_accuracy_score, ([["a"]], []), "found 1 label sequences and 0 predictions"),
        (
            token_accuracy_score,
            ([["a"]], [["a", "b"]]),
            "sequence 0.*found 1 labels and 2 pred",
        ),
        (sequence_accuracy_score, ([["a"]], [["a"]], [1.0, 2.0]), "found 1 label sequences and 2 sample_weight"),
        (token_accuracy_score, ([["a", "b"]], [["a", "b"]], [[1.0]]), "sequence 0: expected 2 weights, .* found 1"),
        (chunk_f1_score, ([["NOUN"]], [["NOUN"]]), "expected labels that encode chunks"),
        (chunk_f1_score, ([[1, 2]], [[1, 2]]), "expected labels that encode chunks"),
    ],
)
def test_wrong_scores(function, arguments, expected):
    with pytest.raises(InputError, match=expected):
        function(*arguments)


class TestCrossValidated:
    def test_rho1_is_chosen_by_left_out_folds(self, data):
        X, y = data
        crf = CRFCV(n_rho=6, rho_min_ratio=0.01, cv=3, tol=1e-5).fit(X, y)
        assert crf.rho1_ == crf.rho1s_[crf.best_index_]
        assert crf.scores_[crf.best_index_] == crf.scores_.max() > 0.8
        assert crf.n_actives_[0] == 0 < crf.n_active_ == crf.n_actives_[crf.best_index_]
        alone = CRF(rho1=crf.rho1_, tol=1e-5).fit(X, y)
        assert crf.objective_ == pytest.approx(alone.objective_, rel=1e-4)
        assert_array_equal(crf.predict(X), alone.predict(X))

    def test_scores_are_those_of_every_fold(self):
        # With these sentences no fold has two labellings of the same score, between which rounding would choose.
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

    def test_folds_count_sequences_without_tokens(self, data):
        X, y = data[0][:20], data[1][:20]
        groups, options = np.arange(20) // 5, {"rho1s": [0.5, 0.1], "cv": GroupKFold(4)}
        whole = CRFCV(**options).fit(X, y, groups=groups)
        more = CRFCV(**options).fit([[], *X], [[], *y], groups=[0, *groups])
        assert_array_equal(more.scores_, whole.scores_)
        pairs = [([0, *range(6)], range(6, 21)), (range(6, 21), [0, *range(6)])]  # by place in X
        given = CRFCV([0.1], cv=pairs).fit([[], *X], [[], *y])
        first = CRF(rho1=0.1).fit(X[:5], y[:5]).score(X[5:], y[5:])
        second = CRF(rho1=0.1).fit(X[5:], y[5:]).score(X[:5], y[:5])
        assert given.scores_[0] == pytest.approx((first + second) / 2)

    @pytest.mark.parametrize("chunk", [["B-X", "I-X"], ["B", "I"]])
    def test_a_fold_without_chunks(self, chunk):
        X, y = [["a", "b"]] * 4 + [["c", "d"]] * 4, [chunk] * 4 + [["O", "O"]] * 4
        halves = [(range(4), range(4, 8)), (range(1, 8), [0])]
        crf = CRFCV([0.01], cv=halves, scoring="chunk_f1").fit(X, y)
        assert crf.scores_.tolist() == [0.5]  # nothing to find and all of it wrong; one chunk, found

    def test_a_number_of_folds_may_be_that_of_numpy(self, data):
        assert_array_equal(CRFCV([1.0], cv=np.int64(3)).fit(*data).scores_, CRFCV([1.0], cv=3).fit(*data).scores_)

    def test_one_standard_error(self, data):
        best = CRFCV(n_rho=8, cv=3, random_state=0).fit(*data)
        sparser = CRFCV(n_rho=8, cv=3, random_state=0, selection="one_se").fit(*data)
        assert_array_equal(best.scores_, sparser.scores_)
        least = best.scores_.max() - best.standard_errors_[best.best_index_]
        assert sparser.best_index_ == np.argmax(best.scores_ >= least)
        assert sparser.n_active_ <= best.n_active_

    def test_a_score_of_ones_own_and_missing_labels(self, data):
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

    def test_a_scorer(self, data):
        by_name = CRFCV([3.0, 0.3], cv=2, scoring="chunk_f1").fit(*data)
        assert_array_equal(CRFCV([3.0, 0.3], cv=2, scoring=chunk_f1).fit(*data).scores_, by_name.scores_)

    def test_a_scorer_with_a_sign_and_options(self, data):
        def loss(gold, predicted, times):
            return times * (1 - token_accuracy_score(gold, predicted))

        scorer = make_scorer(loss, greater_is_better=False, times=3)
        found, plain = (CRFCV([3.0, 0.3], cv=2, scoring=s).fit(*data) for s in (scorer, "token_accuracy"))
        np.testing.assert_allclose(found.scores_, -3 * (1 - plain.scores_))
        assert found.rho1_ == plain.rho1_

    def test_labels_without_chunks_are_refused_before_training(self):
        with pytest.raises(InputError, match=r"scoring: expected labels that encode chunks .*, found N, V"):
            CRFCV(scoring="chunk_f1", callback=pytest.fail).fit([["a", "b"]] * 5, [["N", "V"]] * 5)

    def test_within_a_search(self, data):
        X, y = data
        search = GridSearchCV(CRFCV([3.0, 0.3], cv=2), {"rho2": [0.01, 10.0]}, cv=2).fit(X, y)
        assert search.best_params_ == {"rho2": 0.01}

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            ({"selection": "worst"}, "selection: expected one of best, one_se"),
            ({"scoring": "bleu"}, "scoring: expected one of token_accuracy"),
            ({"rho1s": []}, "rho1: expected one or more values"),
            ({"cv": 1}, "folds: expected 2 to 40"),
        ],
    )
    def test_wrong_options(self, data, options, expected):
        with pytest.raises(InputError, match=expected):
            CRFCV(**options).fit(*data)
