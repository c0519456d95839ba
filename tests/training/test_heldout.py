"""The error on a dev corpus, and stopping by it."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from problems import make_problem
from stopped_runs import assert_same

from sparsecrf import InputError, Vocabulary, fit
from sparsecrf.contrib.simulate import paper_hmm
from sparsecrf.training.heldout import token_error

OPTIONS = {"rho1": 0.001, "rho2": 0.0, "tol": 1e-9, "max_iter": 60, "threads": 1}


@pytest.fixture(scope="module")
def task():
    """A training set that is too small for its model, so that the dev error rises again; and a dev set."""
    vocabulary, rng = Vocabulary(bigrams="all"), np.random.default_rng(1)
    train = vocabulary.encode(*paper_hmm().sample(20, rng), grow=True)
    return vocabulary, train, vocabulary.encode(*paper_hmm().sample(150, rng))


def test_token_error_is_that_of_the_model(task):
    vocabulary, train, dev = task
    found = fit(train, rho1=0.5, threads=1)
    model = found.model(vocabulary)
    expected = 100 * np.mean(model.chain.viterbi(dev)[0] != dev.labels)
    assert 0 < expected < 100
    assert token_error(dev, found.numbers, found.w) == expected


@pytest.mark.parametrize(
    ("labels", "n_unknown", "expected"),
    [((0, 0, 0, 0), 0, 0.0), ((0, 0, 1, -1), 0, 100 / 3), ((0, 0, 1, -1), 1, 50.0), ((-1, -1, -1, -1), 0, 100.0)],
)
def test_a_token_without_label_does_not_count(labels, n_unknown, expected):
    """But one whose label the training data do not have is wrong."""
    problem = make_problem(seed=0, n_labels=2, lengths=[4], n_attributes=2)
    corpus = replace(problem, sequences=(replace(problem.sequences[0], labels=labels),)).corpus()
    none = np.zeros(0, dtype=np.int64), np.zeros(0)
    assert token_error(corpus, *none, n_unknown) == pytest.approx(expected)


@pytest.mark.slow
def test_dev_alone_only_reports(task):
    _, train, dev = task
    found = fit(train, dev=dev, **OPTIONS)
    plain = fit(train, **OPTIONS)
    assert_array_equal(found.w, plain.w)
    assert [r.objective for r in found.history] == [r.objective for r in plain.history]
    errors = [r.dev_error for r in found.history]
    assert errors[0] > min(errors)
    assert errors[-1] == token_error(dev, found.numbers, found.w)
    assert all(r.dev_error is None for r in plain.history)


def best_objective(corpus, options):
    return fit(corpus, **{**options, "tol": 1e-6, "max_iter": 500}).objective


@pytest.mark.slow
@pytest.mark.parametrize(("patience", "rho1"), [(2, 0.001), (7, 0.001), (7, 0.0)])
def test_patience_returns_the_best_point_with_its_certificate(task, patience, rho1):
    _, train, dev = task
    options = {**OPTIONS, "rho1": rho1, "rho2": 0.001}
    found = fit(train, dev=dev, patience=patience, **options)
    errors = [r.dev_error for r in found.history]
    best = int(np.argmin(errors))
    assert found.stopped_by == "dev"
    assert found.history[-1].iter == best + patience
    assert token_error(dev, found.numbers, found.w) == errors[best] < errors[-1]
    # The certificate, from another run that ends at that point.
    there = fit(train, **{**options, "max_iter": best})
    assert_array_equal(found.w, there.w)
    np.testing.assert_allclose(
        (found.objective, found.loss, found.kkt), (there.objective, there.loss, there.kkt), rtol=1e-9
    )
    # The bound on the optimum is that of the whole run, so it is at least as tight.
    assert found.objective - best_objective(train, options) - 1e-6 <= found.gap <= there.gap * (1 + 1e-9)


def test_every_end_but_the_optimum_returns_the_best_point(task):
    _, train, dev = task
    early = fit(train, dev=dev, patience=30, **{**OPTIONS, "max_iter": 20})
    errors = [r.dev_error for r in early.history]
    assert early.stopped_by == "max_iter"
    assert token_error(dev, early.numbers, early.w) == min(errors) < errors[-1]
    there = fit(train, **{**OPTIONS, "max_iter": int(np.argmin(errors))})
    np.testing.assert_allclose(early.kkt, there.kkt, rtol=1e-9)
    assert early.gap <= there.gap * (1 + 1e-9)
    optimum = fit(train, dev=dev, patience=1000, **{**OPTIONS, "rho1": 0.1, "tol": 1e-3, "max_iter": None})
    assert optimum.stopped_by == "tol"
    assert optimum.kkt <= 1e-3
    assert token_error(dev, optimum.numbers, optimum.w) == optimum.history[-1].dev_error


@pytest.mark.parametrize("solver", ["auto", "owlqn", "sbcd"])
def test_patience_across_checkpoints(task, solver, tmp_path):
    """The best point is before the checkpoint, the end of patience after it."""
    _, train, dev = task
    options = {**OPTIONS, "solver": solver, "dev": dev, "patience": 5}
    whole = fit(train, **options)
    assert whole.stopped_by == "dev"
    last = whole.history[-1].iter
    for n in (1, last - 2, last - 1):
        fit(train, checkpoint=tmp_path / "run", resume=True, **{**options, "max_iter": n})
    found = fit(train, checkpoint=tmp_path / "run", resume=True, **options)
    assert_same(found, whole)
    longer = fit(train, checkpoint=tmp_path / "run", resume=True, **{**options, "patience": 8})
    assert longer.history[-1].iter > last


def test_wrong_options(task):
    _, train, dev = task
    other = make_problem(seed=0, n_labels=2, lengths=[4], n_attributes=2).corpus()
    unlabelled = Vocabulary(labels=task[0].labels, attributes=task[0].attributes).encode(
        paper_hmm().sample(2, np.random.default_rng(0))[0]
    )
    for options in ({"patience": 3}, {"dev": dev, "patience": 0}, {"dev": other}, {"dev": unlabelled}):
        with pytest.raises(InputError, match=r"expected.*found|patience=3 needs dev|dev: the data have no labels"):
            fit(train, **options)
