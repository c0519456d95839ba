"""The regularisation path, its errors on other data, and the choice of rho1."""

from dataclasses import replace

import numpy as np
import pytest
from explicit_objective import Explicit, larger
from numpy.testing import assert_allclose, assert_array_equal

from sparsecrf import InputError, Vocabulary, fit
from sparsecrf.contrib.simulate import paper_hmm
from sparsecrf.path import PathWarning, cross_validate, one_standard_error, path, rho_max
from sparsecrf.training.heldout import token_error


def test_rho_max_is_where_the_first_weight_appears():
    problem = larger()
    corpus = problem.corpus()
    largest = rho_max(corpus)
    g = Explicit(problem, 0.0, 0.0).loss_grad(np.zeros(problem.w.size))[1]
    assert_allclose(largest, np.abs(g).max(), rtol=1e-12)
    assert len(fit(corpus, rho1=largest * 1.0001, rho2=0.0).numbers) == 0
    assert len(fit(corpus, rho1=largest * 0.999, rho2=0.0, tol=1e-9, max_iter=200).numbers) > 0


@pytest.mark.slow
def test_path_is_the_same_as_cold_starts_and_cheaper():
    corpus = larger().corpus()
    warm = path(corpus, n_rho=8, rho_min_ratio=0.02, rho2=0.01, tol=1e-7, threads=1)
    cold = [fit(corpus, rho1=f.rho1, rho2=0.01, tol=1e-7, threads=1) for f in warm]
    assert_allclose([f.objective for f in warm], [f.objective for f in cold], rtol=1e-6)
    assert len(warm[0].numbers) == 0
    assert sum(f.history[-1].passes for f in warm) < sum(f.history[-1].passes for f in cold)


def test_rho_max_of_some_features():
    problem = larger()
    corpus = problem.corpus()
    g = np.abs(Explicit(problem, 0.0, 0.0).loss_grad(np.zeros(problem.w.size))[1])
    some = np.sort(np.random.default_rng(0).permutation(len(g))[:40])
    assert_allclose(rho_max(corpus, numbers=some), g[some].max(), rtol=1e-12)
    assert rho_max(corpus, numbers=some) < rho_max(corpus)
    found = path(corpus, n_rho=3, rho_min_ratio=0.1, numbers=some, threads=1)
    assert found[0].rho1 == rho_max(corpus, numbers=some)
    assert np.isin(found[2].numbers, some).all()
    assert len(found[2].numbers) > 0


@pytest.fixture(scope="module")
def task():
    vocabulary, rng = Vocabulary(bigrams="all"), np.random.default_rng(3)
    X, y = paper_hmm().sample(30, rng)
    return vocabulary, X, y, vocabulary.encode(X, y, grow=True), vocabulary.encode(*paper_hmm().sample(100, rng))


GRID = {"n_rho": 6, "rho_min_ratio": 0.01, "rho2": 0.1, "tol": 1e-5, "threads": 1}


@pytest.mark.slow
def test_errors_on_a_dev_corpus(task):
    _, _, _, corpus, dev = task
    found = path(corpus, dev=dev, **GRID)
    assert_array_equal(found.errors, [token_error(dev, f.numbers, f.w) for f in found])
    assert found.errors[found.best] == found.errors.min() < found.errors[0]
    assert found.one_se is found.standard_errors is None
    assert_array_equal(found.rho1, [f.rho1 for f in found.fits])
    bare = path(corpus, **GRID)
    assert bare.errors is bare.best is None
    assert_array_equal(bare[-1].w, found[-1].w)


@pytest.mark.slow
def test_cross_validation_by_hand(task):
    """The folds again, from the Python tokens and from cold starts."""
    vocabulary, X, y, corpus, _ = task
    folds, seed = 4, 8  # a split in which no two labels score equally
    found = cross_validate(corpus, folds=folds, seed=seed, **GRID)
    whole = path(corpus, **GRID)
    assert_array_equal(found.rho1, whole.rho1)
    assert_array_equal(found[-1].w, whole[-1].w)
    order = np.random.default_rng(seed).permutation(len(X))
    errors = np.zeros((folds, len(found)))
    for k in range(folds):
        out = set(order[k::folds].tolist())
        train = vocabulary.encode(
            [x for i, x in enumerate(X) if i not in out], [v for i, v in enumerate(y) if i not in out]
        )
        test = vocabulary.encode([X[i] for i in sorted(out)], [y[i] for i in sorted(out)])
        for r, rho1 in enumerate(found.rho1):
            cold = fit(train, rho1=rho1, rho2=GRID["rho2"], tol=1e-6, threads=1)
            errors[k, r] = token_error(test, cold.numbers, cold.w)
    assert_allclose(found.errors, errors.mean(axis=0), rtol=1e-12)
    assert_allclose(found.standard_errors, errors.std(axis=0, ddof=1) / np.sqrt(folds), rtol=1e-9)
    assert found.one_se <= found.best
    assert found.one_se == one_standard_error(found.errors, found.standard_errors)


def test_the_seed_reaches_the_solver(task):
    corpus, n = task[3], task[3].n_sequences
    halves = [(np.arange(0, n, 2), np.arange(1, n, 2)), (np.arange(1, n, 2), np.arange(0, n, 2))]
    options = {"rho1": [1.0], "solver": "sgd-l1", "max_iter": 2, "threads": 1}
    found = cross_validate(corpus, folds=halves, seed=3, **options)
    assert_array_equal(found[0].w, path(corpus, seed=3, **options)[0].w)
    assert not np.array_equal(found[0].w, cross_validate(corpus, folds=halves, seed=4, **options)[0].w)


def test_every_sequence_is_left_out_once_and_never_trained_on_then(task):
    corpus, parts = task[3], []
    trained = []

    def spy(part, predicted):
        parts.append(part.labels)
        return 50.0

    def each(point):
        if point.fold is not None:
            trained.append(point.fit.corpus.n_sequences)

    cross_validate(corpus, folds=4, error=spy, each=each, **{**GRID, "n_rho": 1})
    length = corpus.n_tokens // corpus.n_sequences  # all are of one length
    assert sorted(len(labels) // length for labels in parts) == [7, 7, 8, 8]
    assert [len(labels) // length + n for labels, n in zip(parts, trained, strict=True)] == [corpus.n_sequences] * 4
    assert_array_equal(np.sort(np.concatenate(parts)), np.sort(corpus.labels))


def test_one_standard_error():
    errors = np.array([30.0, 12.0, 11.0, 10.0, 10.0, 13.0])
    assert one_standard_error(errors, np.full(6, 0.5)) == 3
    assert one_standard_error(errors, np.full(6, 1.0)) == 2
    assert one_standard_error(errors, np.array([9.0, 9.0, 9.0, 2.5, 9.0, 9.0])) == 1
    assert one_standard_error(errors, np.zeros(6)) == 3


@pytest.mark.parametrize("options", [{"folds": 1}, {"folds": 31}, {"n_rho": 0}, {"rho_min_ratio": 0.0}])
def test_wrong_options(task, options):
    with pytest.raises(InputError, match=r"expected.*found"):
        cross_validate(task[3], **options)


def test_dev_of_another_vocabulary(task):
    problem = larger()
    with pytest.raises(InputError, match=r"dev: expected.*found"):
        path(task[3], dev=replace(problem, sequences=problem.sequences[:1]).corpus())


def test_interrupted_path_keeps_what_there_is():
    corpus = larger().corpus()
    done = []

    def interrupt(record):
        if len(done) == 2 and record["iter"] == 1:
            raise KeyboardInterrupt

    with pytest.warns(PathWarning, match="interrupted"):
        found = path(corpus, n_rho=6, callback=interrupt, each=lambda point: done.append((point.number, point.rho1)))
    assert len(found) == 3
    assert found[-1].stopped_by == "interrupt"
    assert done == list(enumerate(fit.rho1 for fit in found))


@pytest.mark.parametrize("n_before", [0, 2])
def test_an_unfinished_fit_is_the_best_only_if_it_is_alone(task, n_before):
    """The others have no weights here, so that the unfinished one has the smallest error."""
    corpus, done = task[3], []

    def interrupt(record):
        if len(done) == n_before and record["iter"] == 3:
            raise KeyboardInterrupt

    largest = rho_max(corpus)
    values = np.array([3 * largest, 2 * largest, 0.01 * largest][2 - n_before :])
    with pytest.warns(PathWarning, match=r"^interrupted; the fit with rho1 [0-9.e+]+ is unfinished$"):
        found = path(corpus, rho1=values, dev=corpus, callback=interrupt, each=done.append)
    assert found.interrupted
    assert found[-1].stopped_by == "interrupt"
    assert np.argmin(found.errors) == n_before
    assert found.best == 0
    assert found.edge is None
