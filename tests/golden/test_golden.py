"""The golden digests of a part of the cases; `make golden` compares all of them."""

import json
import subprocess
import sys

import numpy as np
import pytest

import cases
import golden
from digest import digest, stable_file

PARTS = [
    "train/plain/",
    "train/order 3/",
    "train/class pairs/",
    "train/dense/",
    "core/labels/",
    "program/label/columns",
]


def test_results_are_those_recorded():
    command = [sys.executable, str(golden.FILE.parent), "check", *PARTS]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 3:
        pytest.skip("digests of a system that rounds differently")
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 differences" in done.stdout


def test_every_case_is_recorded():
    assert [case.name for case in cases.all_cases()] == list(json.loads(golden.FILE.read_text())["cases"])


def test_a_weight_that_differs_in_its_last_bit_is_found(monkeypatch, tmp_path):
    (case,) = [case for case in cases.all_cases() if case.name == "train/plain/auto"]
    content = {"arithmetic": golden.arithmetic(), "cases": {case.name: golden.recorded(case)[0]}}
    monkeypatch.setattr(golden, "FILE", tmp_path / "digests.json")
    golden.FILE.write_text(json.dumps(content))
    assert golden.check([case.name]).status == 0
    trained = cases.trained

    def nudged(crf):
        found = trained(crf)
        w = found["weights"].copy()
        w[0] = np.nextafter(w[0], 9.0)
        return {**found, "weights": w}

    monkeypatch.setattr(cases, "trained", nudged)
    report = golden.check([case.name])
    assert report.status == 1
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
