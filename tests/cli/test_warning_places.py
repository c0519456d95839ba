"""Warnings name the line of the program that called the library."""

import warnings

import pytest

from sparsecrf import CRF, CRFCV
from sparsecrf.contrib.report import make_report

X = [["the", "dog", "barks"], ["a", "cat", "sleeps"]] * 6
y = [["D", "N", "V"]] * 12


@pytest.fixture(scope="module")
def crf():
    return CRF(rho1=0.1).fit(X, y)


CALLS = {
    "max_iter": lambda crf, file: CRF(max_iter=1, tol=1e-9).fit(X, y),
    "max_iter, cv": lambda crf, file: CRFCV(cv=2, rho1s=[1.0, 0.5], max_iter=1, tol=1e-9).fit(X, y),
    "class_weight": lambda crf, file: CRF(class_weight={"Z": 2.0}).fit(X, y),
    "path": lambda crf, file: CRF().path(X, y, dev=(X, [["D", "N", "N"]] * 12), rho1s=[2.0, 1.0]),
    "dev": lambda crf, file: CRF().fit(X, y, dev=(X, [["D", "N", "Z"]] * 12)),
    "predict": lambda crf, file: crf.predict([["new"] * 30]),
    "label": lambda crf, file: crf.model_.label(["new"] * 30),
    "report": lambda crf, file: make_report(crf.model_, data=file),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_the_place_is_that_of_the_caller(crf, call, tmp_path):
    file = tmp_path / "data.crfsuite"
    file.write_text("N\tdog\nZ\tcat\n\n")
    crf.model_.save(tmp_path / "m")
    fresh = CRF.from_model(tmp_path / "m")  # it has not warned yet
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call(fresh, str(file))
    assert found
    assert {warning.filename for warning in found} == {__file__}
