"""The golden digests of a part of the cases; `make golden` compares all of them."""

import json

import numpy as np
import pytest

import cases
import golden
from digest import digest, stable_file

RECORDED = json.loads(golden.FILE.read_text())
same_arithmetic = pytest.mark.skipif(
    RECORDED["arithmetic"] != golden.arithmetic(), reason="digests of a machine that rounds differently"
)


@same_arithmetic
@pytest.mark.parametrize(
    "name",
    ["train/plain/", "train/order 3/", "train/class pairs/", "train/dense/", "core/labels/", "program/label/columns"],
)
def test_results_are_those_recorded(name):
    report = golden.check([name])
    assert report.lines == []


def test_every_case_is_recorded():
    assert [case.name for case in cases.all_cases()] == list(RECORDED["cases"])


@same_arithmetic
def test_a_weight_that_differs_in_its_last_bit_is_found(monkeypatch):
    trained = cases.trained

    def nudged(crf):
        found = trained(crf)
        w = found["weights"].copy()
        w[0] = np.nextafter(w[0], 9.0)
        return {**found, "weights": w}

    monkeypatch.setattr(cases, "trained", nudged)
    report = golden.check(["train/plain/auto"])
    assert not report.good
    assert len(report.lines) == len(golden.internals.instruction_sets())
    assert all("train/plain/auto" in line and "weights changed" in line for line in report.lines)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (0.0, -0.0),
        (1.0, np.nextafter(1.0, 2.0)),
        ([1, 2], [12]),
        (["a", "b"], ["ab"]),
        (["a", ["b"]], [["a"], "b"]),
        (np.zeros(2), np.zeros(2, dtype=np.float32)),
        (np.zeros((1, 2)), np.zeros((2, 1))),
        ({"a": 1}, {"b": 1}),
        (1, 1.0),
    ],
)
def test_digests_tell_values_apart(one, other):
    assert digest(one) != digest(other)
    assert digest(one) == digest(one)


def test_times_and_versions_do_not_count():
    def file(time, version, objective):
        header = {"__metadata__": {"digest": "ab12", "state": json.dumps({"elapsed": time, "objective": objective})}}
        header["__metadata__"]["training"] = json.dumps({"version": version})
        text = json.dumps(header, separators=(",", ":")).encode()
        return len(text).to_bytes(8, "little") + text + b"arrays"

    assert stable_file(file(0.25, "0.1", 7.5)) == stable_file(file(1e-05, "2.0.dev1", 7.5))
    assert stable_file(file(0.25, "0.1", 7.5)) != stable_file(file(0.25, "0.1", 7.25))
