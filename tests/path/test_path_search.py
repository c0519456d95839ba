"""The search for rho1: where it goes, when it ends, what it says at an edge."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sparsecrf import InputError, fit
from sparsecrf.defaults import RHO1
from sparsecrf.path import Path, PathWarning, cross_validate, path, rho_max
from sparsecrf.path.grid import FACTOR, FIRST, PATIENCE, GivenValues, Penalties, Search


def follow(error, largest=1e5):
    """All values of rho1 that a search tries, in its order, where `error` is a function of rho1."""
    search, tried, errors = Search(largest, 0.1), [], []
    while step := search.next(tried, errors):
        left = search.left(tried, errors)
        assert left >= len(step) == 1
        tried += step
        errors += [error(p.rho1) for p in step]
        assert len(tried) < 60
    assert search.left(tried, errors) == 0
    assert {p.rho2 for p in tried} == {0.1}
    return [p.rho1 for p in tried], errors


@pytest.mark.parametrize("best", [1.0, 0.3, 0.1, 0.03])
def test_a_search_finds_the_best_and_looks_closer(best):
    tried, errors = follow(lambda rho1: 10 + abs(np.log(rho1 / best)))
    found = tried[int(np.argmin(errors))]
    assert FACTOR**-0.5 <= found / best <= FACTOR**0.5
    below = [rho1 for rho1 in tried if rho1 < found]
    assert len(below) >= PATIENCE
    beside = sorted(tried, key=lambda rho1: abs(np.log(rho1 / found)))[1:3]
    assert_allclose(sorted(beside), [found / FACTOR**0.5, found * FACTOR**0.5])
    assert len(tried) <= np.log(10 / best) / np.log(FACTOR) + PATIENCE + 4


def test_a_search_goes_up_if_the_best_is_its_first():
    tried, errors = follow(lambda rho1: abs(np.log(rho1 / 2000)))
    found = tried[int(np.argmin(errors))]
    assert FACTOR**-0.5 <= found / 2000 <= FACTOR**0.5
    highest, _ = follow(lambda rho1: -np.log(rho1))
    assert max(highest) == 1e5  # and not beyond the rho1 at which all weights are zero


def test_a_search_does_not_take_a_plateau_for_a_turn():
    """Above some rho1 no chunk is found, and all scores are the same."""
    tried, errors = follow(lambda rho1: 100.0 if rho1 > 1 else 20 + abs(np.log(rho1 / 0.2)))
    assert FACTOR**-0.5 <= tried[int(np.argmin(errors))] / 0.2 <= FACTOR**0.5


def test_a_search_passes_the_default_before_it_turns():
    """Dev scores can fall and rise again: two worse values above the default do not end the search."""
    tried, errors = follow(lambda rho1: 20.0 if rho1 > 2 else 25.0 if rho1 > RHO1 else 19 + abs(np.log(rho1 / 0.02)))
    assert FACTOR**-0.5 <= tried[int(np.argmin(errors))] / 0.02 <= FACTOR**0.5


def test_a_search_ends_at_its_floor_or_without_errors():
    tried, _ = follow(lambda rho1: 50 + np.log(rho1))
    assert 0.001 <= min(tried) < FACTOR * 0.001
    tried, errors = follow(lambda rho1: 0.0 if rho1 < 0.5 else 1.0)
    assert min(tried) > 0.3  # nothing is better than no errors
    assert min(errors) == 0


def test_where_a_search_begins():
    assert Search(1e6, 0.1).next([], []) == [(3.0, 0.1)]
    assert Search(6.0, 0.1).next([], []) == [(2.0, 0.1)]


def test_given_values():
    given = GivenValues([3.0, 2.0, 1.0], 0.2)
    every = given.next([], [])
    assert every == [(3.0, 0.2), (2.0, 0.2), (1.0, 0.2)]
    assert given.next(every, [1.0, 1.0, 1.0]) == []
    assert given.left([Penalties(3.0, 0.2)], [1.0]) == 2


OPTIONS = {"rho2": 0.01, "tol": 1e-5, "threads": 1}


@pytest.mark.slow
def test_default_path_of_a_dev_corpus(task):
    corpus, dev = task
    points = []
    with warnings.catch_warnings():
        warnings.simplefilter("error", PathWarning)
        found = path(corpus, dev=dev, each=points.append, **OPTIONS)
    assert found.searched
    assert found.edge is found.advice is None
    assert 0 < found.best < len(found) - 1
    assert (np.diff(found.rho1) < 0).all()
    assert sorted(p.rho1 for p in points) == sorted(found.rho1)
    assert [p.number for p in points] == list(range(len(found)))
    assert points[0].rho1 == min(FIRST, rho_max(corpus) / FACTOR)
    assert points[-1].left == 0 < points[0].left
    errors = {p.rho1: p.error for p in points}
    assert_array_equal(found.errors, [errors[rho1] for rho1 in found.rho1])
    fine = path(corpus, dev=dev, rho1=np.geomspace(20, 0.02, 25), **OPTIONS)
    assert found.errors.min() <= fine.errors.min() + 0.3


@pytest.mark.slow
def test_every_point_is_that_of_a_fresh_fit(task):
    """A number of weights that is right: not what earlier points of the path left behind."""
    for found in path(task[0], dev=task[1], **OPTIONS):
        alone = fit(task[0], rho1=found.rho1, **OPTIONS)
        assert found.objective == pytest.approx(alone.objective, rel=1e-4)
        assert abs(len(found.w) - len(alone.w)) <= max(1, 0.02 * len(alone.w))


@pytest.mark.slow
def test_cross_validation_searches_by_the_mean_of_the_folds(task):
    points = []
    found = cross_validate(task[0], folds=3, each=points.append, **OPTIONS)
    assert 0 < found.best < len(found) - 1
    for rho1, error in zip(found.rho1, found.errors, strict=True):
        assert error == pytest.approx(np.mean([p.error for p in points if p.fold is not None and p.rho1 == rho1]))
    assert {p.fold for p in points} == {None, 0, 1, 2}
    assert all(p.folds == 3 for p in points)
    assert len(points) == 4 * len(found)
    lefts = [p.left for p in points]
    assert lefts[-1] == 0
    assert all(len(points) - k - 1 >= left for k, left in enumerate(lefts))  # never more than there were


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rho1", "edge", "advice"),
    [([4.9, 2.8], "lower", "try smaller values"), ([0.01, 0.001], "upper", "try larger values")],
)
def test_an_edge_is_not_silent(task, rho1, edge, advice):
    corpus, dev = task
    with pytest.warns(PathWarning, match=rf"the best rho1, .*{advice}.* score gets worse$"):
        found = path(corpus, dev=dev, rho1=rho1, **OPTIONS)
    assert found.edge == edge
    assert f"(at the {edge} edge)" in repr(found)
    with pytest.warns(PathWarning, match="the best rho1"):
        cross_validate(corpus, folds=2, rho1=[0.01, 0.001], **OPTIONS)


@pytest.mark.slow
def test_a_floor_is_not_silent(task):
    n, calls = len(follow(lambda rho1: 50 + np.log(rho1), rho_max(task[0]))[0]) - 1, []

    def never_turns(corpus, predicted):
        calls.append(0)
        return 100.0 - len(calls) if len(calls) <= n else 100.0  # then one between the last two

    with pytest.warns(PathWarning, match="almost no l1 penalty"):
        found = path(task[0], dev=task[1], error=never_turns, **{**OPTIONS, "tol": 0.1})
    assert found.edge == "lower"
    assert found.rho1[-1] < FACTOR * 1e-5 * rho_max(task[0])


def test_a_limit_is_not_silent(task):
    with pytest.warns(PathWarning, match="4 of 4 fits stopped at a limit"):
        path(task[0], dev=task[1], rho1=[4.0, 1.0, 0.5, 0.01], **OPTIONS, max_iter=1)


@pytest.mark.slow
def test_patience_ends_the_fits_of_a_path_early(task):
    corpus, dev = task
    values = {"rho1": [0.3, 0.03], "rho2": 0.0, "tol": 1e-9, "threads": 1}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PathWarning)
        early = path(corpus, dev=dev, patience=2, **values)
        late = path(corpus, dev=dev, **values)
    assert [found.stopped_by for found in early] == ["dev", "dev"]
    assert early.errors[0] == min(record.dev_error for record in early[0].history)
    assert all(early.errors <= late.errors)
    with pytest.raises(InputError, match="patience=2 needs dev"):
        path(corpus, patience=2, **values)


def test_no_edges_where_nothing_lies_beyond(task):
    fits = path(task[0], rho1=[1e6, 1.0, 0.1], threads=1).fits
    assert Path(fits, np.array([1.0, 2.0, 3.0])).edge is None  # the first has no weights
    assert Path(fits, np.array([2.0, 1.0, 3.0])).edge is None
    assert Path(fits, np.array([2.0, 1.0, 0.0])).edge is None  # no error at all
    assert Path(fits[1:2], np.array([2.0])).edge is None
    assert Path(fits, np.array([3.0, 2.0, 1.0])).edge == "lower"
    assert Path(fits).edge is Path(fits).advice is None


@pytest.mark.slow
def test_what_a_path_says_of_itself(task):
    found = path(task[0], dev=task[1], **OPTIONS)
    best = found[found.best]
    assert repr(found) == (
        f"<Path: {len(found)} fits, rho1 {found.rho1[0]:.4g} to {found.rho1[-1]:.4g}; best: rho1 {best.rho1:.4g}, "
        f"token accuracy {100 - found.errors.min():.2f} %, {len(best.w):,} weights>"
    )
    assert_allclose(found.scores, 100 - found.errors)
    assert repr(Path([])) == "<Path: 0 fits>"


@pytest.mark.slow
def test_without_dev_the_grid_reaches_the_default_penalty(task):
    corpus = task[0]
    found = path(corpus, **OPTIONS)
    assert not found.searched
    assert len(found) == 20
    assert found.rho1[0] == rho_max(corpus)
    assert found.rho1[-1] == pytest.approx(min(RHO1, 1e-3 * found.rho1[0]))


@pytest.mark.parametrize("options", [{"n_rho": 0}, {"rho_min_ratio": 2.0}, {"rho1": [1.0, 2.0]}])
def test_wrong_values(task, options):
    with pytest.raises(InputError, match=r"expected.*found"):
        path(task[0], dev=task[1], **options)
