"""The course of a run in the training record and the model file."""

import json
from math import inf

import numpy as np
import pytest

from sparsecrf import Model, Vocabulary, fit
from sparsecrf._core import FeatureSet
from sparsecrf.training.data import virtual_features
from sparsecrf.training.history import POINTS, Record, columns, distance_in_words, thinned


def record(k, kkt=None, gap=None):
    return Record(k, k / 10, float(k), 1000 / (k + 1), 900 / (k + 1), gap, kkt, 3 * k, k)


def test_few_points_are_all_kept():
    history = [record(k) for k in range(POINTS)]
    assert thinned(history) == list(range(POINTS))
    assert thinned([]) == []


@pytest.mark.parametrize("n", [POINTS + 1, 1000, 12345])
def test_many_points_are_thinned(n):
    history = [record(k, kkt=0.5 if k % 97 == 5 and k < 1500 else None) for k in range(n)]
    kept = thinned(history)
    assert kept == sorted(set(kept))
    assert (kept[0], kept[-1]) == (0, n - 1)
    assert POINTS // 2 < len(kept) <= POINTS
    assert {k for k in range(n) if history[k].kkt is not None} <= set(kept)
    assert max(np.diff(kept)) <= 2 * n / POINTS + 1


def test_many_certificates_are_thinned_too():
    kept = thinned([record(k, kkt=0.5) for k in range(5000)])
    assert len(kept) <= POINTS
    assert (kept[0], kept[-1]) == (0, 4999)


def test_columns():
    found = columns([record(0), record(1, kkt=0.123456789, gap=float("inf")), record(2, kkt=1e-9, gap=2.0)])
    assert (found["iter"], found["active"]) == ([0, 1, 2], [0, 4, 8])
    assert found["objective"] == [1000.0, 500.0, 333.3333333]
    assert (found["kkt"], found["gap"]) == ([None, 0.1235, 1e-9], [None, None, 2.0])
    assert "dev_error" not in found  # there was no dev corpus
    assert "time_s" not in found  # two equal runs have equal files


def trained(**options):
    vocabulary = Vocabulary()
    corpus = vocabulary.encode([["a", "b"], ["b", "c"]] * 3, [["X", "Y"], ["Y", "X"]] * 3, grow=True)
    return fit(corpus, rho1=0.1, rho2=0.01, threads=1, **options), vocabulary


def test_a_model_file_has_the_history():
    found, vocabulary = trained()
    training = Model.from_bytes(found.model(vocabulary).to_bytes()).training
    history = training["history"]
    assert history["iter"] == [r.iter for r in found.history]
    assert history["objective"][-1] == pytest.approx(found.objective, rel=1e-9)
    assert history["kkt"][-1] == pytest.approx(found.kkt, rel=1e-3)
    assert training["features"] == virtual_features(found.corpus) == len(FeatureSet.all_virtual(found.corpus))


def test_equal_runs_have_equal_files():
    files = [found.model(vocabulary).to_bytes() for found, vocabulary in (trained(), trained())]
    assert files[0] == files[1]


def test_the_space_may_be_smaller():
    found, _ = trained(observed_only=True)
    assert found.training_record()["features"] == len(FeatureSet.observed(found.corpus))


def test_dev_errors_are_kept():
    vocabulary = Vocabulary()
    corpus = vocabulary.encode([["a", "b"]] * 3, [["X", "Y"]] * 3, grow=True)
    found = fit(corpus, rho1=0.1, dev=corpus, threads=1)
    assert found.training_record()["history"]["dev_error"][-1] == 0.0


def test_show_does_not_print_it(program):
    found, vocabulary = trained()
    found.model(vocabulary).save(program.directory / "m.safetensors")
    done = program("show", "m.safetensors")
    assert done.status == 0
    assert "history" not in done.out
    assert "stopped by" in done.out
    assert "history" in json.loads(program("show", "m.safetensors", "--format", "json").out)["training"]


@pytest.mark.parametrize(
    ("gap", "remaining", "words"),
    [
        (0.04, 1.0, "within 0.041 % of the optimum (certified)"),
        (0.7, 0.2, "an estimated 0.21 % above the optimum (certified: at most 0.71 %)"),
        (5.0, 0.4, "an estimated 0.41 % above the optimum (certified: at most 5.3 %)"),
        (5.0, inf, "within 5.3 % of the optimum (certified)"),
        (99.9, 0.4, "an estimated 0.41 % above the optimum (no certified bound)"),
        (99.9, inf, "an unknown distance above the optimum (no certified bound)"),
        (99.9, 99.9, "an unknown distance above the optimum (no certified bound)"),
        (inf, inf, "an unknown distance above the optimum (no certified bound)"),
    ],
)
def test_the_distance_in_words(gap, remaining, words):
    assert distance_in_words(100.0, gap, remaining) == words
