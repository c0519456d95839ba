"""class_weight: weights of labels are weights of the tokens that have them."""

import numpy as np
import pytest
from sentences import sentences
from sklearn.model_selection import GridSearchCV
from sklearn.utils.class_weight import compute_class_weight

from sparsecrf import CRF, CRFCV, InputError

WEIGHTS = {"O": 0.5, "B-PER": 3.0}


@pytest.fixture(scope="module")
def data():
    X, y = sentences(20, seed=3)
    return [[list(token) for token in tokens] for tokens in X], [list(labels) for labels in y]


def weights_of(y, by_label=WEIGHTS):
    return [[by_label.get(label, 1.0) for label in labels] for labels in y]


def w(crf):
    return crf.model_.w.tolist()


@pytest.mark.slow
def test_they_are_weights_of_tokens(data):
    X, y = data
    assert set(WEIGHTS) < {label for labels in y for label in labels}
    weighted = CRF(rho1=0.1, class_weight=WEIGHTS).fit(X, y)
    assert w(weighted) == w(CRF(rho1=0.1).fit(X, y, weights_of(y))) != w(CRF(rho1=0.1).fit(X, y))
    assert w(CRF(rho1=0.1, class_weight=WEIGHTS).fit(iter(X), iter(y))) == w(weighted)
    flat = [token for tokens in X for token in tokens], [label for labels in y for label in labels]
    assert w(CRF(rho1=0.1, class_weight=WEIGHTS).fit(*flat, lengths=map(len, X))) == w(weighted)
    grid = {"class_weight": [None, WEIGHTS, "balanced"]}
    assert GridSearchCV(CRF(rho1=0.1), grid, cv=2, error_score="raise").fit(X, y).best_score_ > 0.5


@pytest.mark.slow
def test_cross_validation_takes_them_too(data):
    X, y = data
    weighted = CRFCV([1.0, 0.1], cv=2, class_weight=WEIGHTS).fit(X, y)
    assert w(weighted) == w(CRFCV([1.0, 0.1], cv=2).fit(X, y, weights_of(y)))


@pytest.mark.slow
def test_other_weights_are_multiplied_with_them(data):
    X, y = data
    rng = np.random.default_rng(0)
    by_sequence, by_token = rng.uniform(0.5, 2, len(X)), [rng.uniform(0.5, 2, len(tokens)) for tokens in X]
    weighted = CRF(rho1=0.1, class_weight=WEIGHTS)
    own = weights_of(y)
    expected = [[a * float(s) for a in weights] for s, weights in zip(by_sequence, own, strict=True)]
    assert w(weighted.fit(X, y, by_sequence)) == w(CRF(rho1=0.1).fit(X, y, expected))
    expected = [[a * float(b) for a, b in zip(*both, strict=True)] for both in zip(own, by_token, strict=True)]
    assert w(weighted.fit(X, y, by_token)) == w(CRF(rho1=0.1).fit(X, y, expected))
    with pytest.raises(InputError, match="sample_weight: expected 20 entries, one per sequence, found 3"):
        weighted.fit(X, y, [1.0, 1.0, 1.0])
    with pytest.raises(InputError, match=r"sample_weight, sequence 0: expected \d weights, one per token, found 1"):
        weighted.fit(X, y, [[1.0]] * len(X))


def test_balanced_weights_are_those_of_scikit_learn(data):
    X, y = data
    every = np.array([label for labels in y for label in labels])
    classes = np.unique(every)
    found = dict(zip(classes.tolist(), compute_class_weight("balanced", classes=classes, y=every), strict=True))
    assert w(CRF(rho1=0.1, class_weight="balanced").fit(X, y)) == w(CRF(rho1=0.1, class_weight=found).fit(X, y))


def test_a_weight_makes_a_label_more_probable():
    """For single tokens, a weight acts like repeating the tokens with that label."""
    X, y = [["bank"]] * 8, [[1], [0], [0], [0]] * 2
    crf = CRF(rho1=0.0, rho2=0.01, tol=1e-9)
    rare = crf.fit(X, y).predict_marginals([["bank"]])[0][0, 1]
    assert 0.2 < rare < 0.3
    even = CRF(rho1=0.0, rho2=0.01, tol=1e-9, class_weight={1: 3.0}).fit(X, y).predict_marginals([["bank"]])[0][0, 1]
    assert even == pytest.approx(0.5, abs=1e-4)


def test_missing_labels_have_weight_1(data):
    X, y = data
    some = [[None, *labels[1:]] for labels in y]
    weighted = CRF(rho1=0.1, class_weight=WEIGHTS, max_iter=20).fit(X, some)
    assert w(weighted) == w(CRF(rho1=0.1, max_iter=20).fit(X, some, weights_of(some)))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("auto", "class_weight: expected weights by label .*, 'balanced' or None, found 'auto'"),
        ({"O": -1.0}, r"class_weight, label 'O': expected a finite number >= 0, found -1\.0"),
        ({"O": "2"}, "class_weight, label 'O': expected a finite number >= 0, found '2'"),
        ({"O": float("nan")}, "class_weight, label 'O': expected a finite number >= 0, found nan"),
    ],
)
def test_wrong_weights(data, asked, expected):
    with pytest.raises(InputError, match=expected):
        CRF(class_weight=asked).fit(*data)


def test_weights_that_leave_nothing(data):
    X, y = data
    none = {label: 0 for labels in y for label in labels}
    with pytest.raises(InputError, match=r"class_weight: expected.*weight above 0.*label.*found 0"):
        CRF(class_weight=none).fit(X, y)
    with pytest.raises(InputError, match=r"y, sequence 0, position 0: expected a label, found \['O'\]"):
        CRF(class_weight=none).fit([["a"]], [[["O"]]])


def test_labels_that_do_not_occur_are_named(data):
    """A fold may lack a rare label; a label with a typing error is lacking, too."""
    with pytest.warns(UserWarning, match="class_weight: y does not contain 'PRE'; its labels are 'O'"):
        named = CRF(rho1=0.1, class_weight={"O": 2.0, "PRE": 3.0}).fit(*data)
    assert w(named) == w(CRF(rho1=0.1, class_weight={"O": 2.0}).fit(*data))
    assert w(CRF(rho1=0.1, class_weight={}).fit(*data)) == w(CRF(rho1=0.1).fit(*data))
