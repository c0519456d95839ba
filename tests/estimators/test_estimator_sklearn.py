"""The estimators within scikit-learn: its own checks, searches, pipelines, scorers."""

import io
import pickle
from functools import partial

import joblib
import numpy as np
import pytest
import sklearn
from numpy.testing import assert_array_equal
from sentences import dicts, sentences
from sklearn.base import clone, is_classifier
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, cross_validate
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import estimator_checks

from sparsecrf import CRF, CRFCV, InputError, Template
from sparsecrf.metrics import evaluate
from sparsecrf.scorers import (
    chunk_f1,
    chunk_f1_score,
    label_f1_macro,
    label_f1_score,
    label_f1_weighted,
    sequence_accuracy,
    sequence_accuracy_score,
    token_accuracy,
    token_accuracy_score,
)

VERSION = tuple(map(int, sklearn.__version__.split(".")[:2]))
since_1_6 = pytest.mark.skipif(VERSION < (1, 6), reason="scikit-learn has such tags and routing since 1.6")
#: scikit-learn's checks that need no data, if the installed version has them. The others generate matrices; versions
#: for sequences are below and in test_estimator.py.
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_f1_of_labels_is_that_of_scikit_learn(average):
    rng = np.random.default_rng(0)
    gold, predicted = (
        [rng.choice(names, n).tolist() for n in (3, 1, 7, 20)] for names in (["N", "V", "D"], ["N", "V", "X"])
    )

    def flat(sequences):
        return [label for labels in sequences for label in labels]

    assert label_f1_score(gold, predicted, average=average) == pytest.approx(
        f1_score(flat(gold), flat(predicted), average=average, zero_division=0)
    )
    for some in (["N", "D"], ["N", "never"]):  # one that neither side has counts 0
        assert label_f1_score(gold, predicted, average=average, labels=some) == pytest.approx(
            f1_score(flat(gold), flat(predicted), average=average, labels=some, zero_division=0)
        )
    missing = [[None, *labels] for labels in gold]  # such tokens do not count
    again = label_f1_score(missing, [["X", *labels] for labels in predicted], average=average)
    assert again == label_f1_score(gold, predicted, average=average)
    assert label_f1_score([[1, 2]], [[1, 2]], average=average) == 1.0
    assert label_f1_score([], [], average=average) == 0.0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "scorer"), [("label_f1_macro", label_f1_macro), ("label_f1_weighted", label_f1_weighted)]
)
def test_searches_by_f1_of_labels(name, scorer):
    X, y = sentences(40)
    search = GridSearchCV(CRF(), {"rho1": [30.0, 0.3]}, scoring=scorer, cv=3).fit(X, y)
    assert search.best_params_ == {"rho1": 0.3}
    average = name.rsplit("_", 1)[1]
    assert search.score(X, y) == label_f1_score(y, search.predict(X), average=average) > 0.8
    by_name = CRFCV([30.0, 0.3], cv=3, scoring=name).fit(X, y)
    assert by_name.score_name_ == name.replace("_", " ")
    assert by_name.scores_.tolist() == CRFCV([30.0, 0.3], cv=3, scoring=scorer).fit(X, y).scores_.tolist()


@pytest.mark.parametrize(
    ("function", "arguments", "expected"),
    [
        (token_accuracy_score, ([["a"]], []), "found 1 label sequences and 0 predictions"),
        (
            token_accuracy_score,
            ([["a"]], [["a", "b"]]),
            "sequence 0.*found 1 label and 2 pred",
        ),
        (sequence_accuracy_score, ([["a"]], [["a"]], [1.0, 2.0]), "found 1 label sequences and 2 sample_weight"),
        (token_accuracy_score, ([["a", "b"]], [["a", "b"]], [[1.0]]), "sequence 0: expected 2 weights, .* found 1"),
        (chunk_f1_score, ([["NOUN"]], [["NOUN"]]), "expected labels that encode chunks"),
        (chunk_f1_score, ([[1, 2]], [[1, 2]]), "expected labels that encode chunks"),
        (
            partial(label_f1_score, average="micro"),
            ([["a"]], [["a"]]),
            "average: expected one of macro, weighted, found 'micro'",
        ),
    ],
)
def test_wrong_scores(function, arguments, expected):
    with pytest.raises(InputError, match=expected):
        function(*arguments)
