"""Sentences, and an estimator that is fitted to them."""

import pytest
from sentences import dicts, sentences

from estimators import OPTIONS
from sparsecrf import CRF


@pytest.fixture(scope="module")
def data():
    X, y = sentences(60, seed=1)
    return dicts(X), y


@pytest.fixture(scope="module")
def fitted(data):
    return CRF(**OPTIONS).fit(*data)
