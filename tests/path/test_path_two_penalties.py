"""The search for both penalties: where it goes, when it ends, what it chooses, what it says at an edge."""

import warnings
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sparsecrf import CRF, CRFCV, InputError, fit
from sparsecrf.contrib.plots import PathDisplay
from sparsecrf.contrib.simulate import paper_hmm
from sparsecrf.path import Path, PathWarning, cross_validate, path
from sparsecrf.path.both import RHO2S, START, SearchBoth
from sparsecrf.path.following import neighbour
from sparsecrf.path.grid import FACTOR, FIRST, Penalties, Search


def follow(error, largest=1e5):
    """All that a search tries, in its order, and the errors, a function of both penalties."""
    search, tried, errors, lefts = SearchBoth(largest), [], [], []
    while step := search.next(tried, errors):
        assert len(step) == 1
        lefts.append(search.left(tried, errors))
        tried += step
        errors += [error(*step[0])]
        assert len(tried) < 60
    assert search.left(tried, errors) == 0
    if min(errors) > 0:  # which ends a search at once
        assert all(left <= len(tried) - k for k, left in enumerate(lefts))  # never more than there were
    assert len(set(tried)) == len(tried)
    return tried, errors


def bowl(rho1, rho2, tilt=0.0):
    """An error with one minimum; with a tilt, the best rho1 depends on rho2."""
    return lambda a, b: 10 + np.log(a / rho1 * (b / rho2) ** tilt) ** 2 + np.log(b / rho2) ** 2


@pytest.mark.parametrize("rho1", [30.0, 1.0, 0.1])
@pytest.mark.parametrize("rho2", [0.01, 0.1, 0.3, 3.0])
@pytest.mark.parametrize("tilt", [0.0, 0.4, -0.4])
def test_it_finds_the_best_pair(rho1, rho2, tilt):
    tried, errors = follow(bowl(rho1, rho2, tilt))
    found = tried[int(np.argmin(errors))]
    assert FACTOR**-0.75 <= found.rho1 / rho1 <= FACTOR**0.75
    assert found.rho2 == rho2
    # Every neighbour of the best was tried, and the gaps beside its rho1 are halved.
    line = sorted(p.rho1 for p in tried if p.rho2 == found.rho2)
    k = line.index(found.rho1)
    assert max(line[k + 1] / line[k], line[k] / line[k - 1]) < 1.01 * FACTOR**0.5
    k = RHO2S.index(rho2)
    assert {p.rho2 for p in tried} >= set(RHO2S[k - 1 : k + 2])


def test_how_many_fits_it_takes():
    """Where START is the best rho2: those of the search for rho1, and the two neighbours."""
    error = bowl(0.4, START)
    tried, _ = follow(error)
    alone, along, errors = Search(1e5, START), [], []
    while step := alone.next(along, errors):
        along, errors = along + step, errors + [error(*step[0])]
    assert len(tried) == len(along) + 2
    tried, _ = follow(bowl(0.4, 1.0, 0.3))
    assert len(tried) <= len(along) + 9


def test_it_begins_as_the_search_for_rho1():
    tried, _ = follow(bowl(0.4, 3.0))
    way_down = [p for k, p in enumerate(tried) if all(q.rho2 == START for q in tried[: k + 1])]
    assert [p.rho1 for p in way_down] == [pytest.approx(FIRST / FACTOR**k) for k in range(len(way_down))]
    assert tried[len(way_down)].rho2 == RHO2S[RHO2S.index(START) + 1]  # the larger rho2 comes first


def test_equal_errors_lead_nowhere():
    """Errors that do not depend on rho2, nor on a small rho1: no step is taken."""
    tried, errors = follow(lambda rho1, rho2: 10 + max(np.log(rho1 / 1.2), 0))
    best = min(range(len(tried)), key=lambda k: (errors[k], -tried[k].rho1, k))
    assert 1.2 / FACTOR < tried[best].rho1 <= 1.2
    assert tried[best].rho2 == START
    assert {p.rho2 for p in tried} == {0.03, 0.1, 0.3}


def test_it_ends_at_its_edges_or_without_errors():
    tried, errors = follow(lambda rho1, rho2: 50 + np.log(rho1) - np.log(rho2))
    found = tried[int(np.argmin(errors))]
    assert found.rho2 == RHO2S[-1]
    assert 0.001 <= found.rho1 < FACTOR * 0.001
    tried, errors = follow(lambda rho1, rho2: 0.0 if rho1 < 0.5 else 1.0)
    assert {p.rho2 for p in tried} == {START}
    assert min(p.rho1 for p in tried) > 0.3
    highest, _ = follow(lambda rho1, rho2: -np.log(rho1))
    assert max(p.rho1 for p in highest) == 1e5


def test_where_a_fit_starts():
    """At the next larger rho1 of the same rho2; of the nearest rho2 where there is none."""
    known = {Penalties(*p): p for p in [(9.0, 0.1), (3.0, 0.1), (1.0, 0.1), (3.0, 0.3), (1.0, 0.01)]}
    assert neighbour({}, Penalties(1.0, 0.1)) is None
    assert neighbour(known, Penalties(2.0, 0.1)) == (3.0, 0.1)
    assert neighbour(known, Penalties(10.0, 0.1)) == (9.0, 0.1)
    assert neighbour(known, Penalties(1.0, 0.3)) == (3.0, 0.3)
    assert neighbour(known, Penalties(3.0, 1.0)) == (3.0, 0.3)
    assert neighbour(known, Penalties(1.0, 0.09)) == (1.0, 0.1)
    assert neighbour({Penalties(1.0, 0.0): "zero"}, Penalties(0.5, 0.0)) == "zero"


OPTIONS = {"tol": 1e-5, "threads": 1}


@pytest.fixture(scope="module")
def searched(task):
    points = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PathWarning)
        return path(task[0], dev=task[1], rho2="search", each=points.append, **OPTIONS), points


@pytest.mark.slow
def test_a_path_over_both(task, searched):
    found, points = searched
    assert found.searched
    assert found.both
    order = [(-rho1, rho2) for rho1, rho2 in zip(found.rho1, found.rho2, strict=True)]
    assert order == sorted(order)
    assert points[-1].left == 0
    assert {(p.rho1, p.rho2): p.error for p in points} == {
        (fit.rho1, fit.rho2): error for fit, error in zip(found, found.errors, strict=True)
    }
    one = found[found.best]
    alone = fit(task[0], rho1=one.rho1, rho2=one.rho2, **OPTIONS)
    assert one.objective == pytest.approx(alone.objective, rel=1e-4)
    assert f"best: rho1 {one.rho1:.4g}, rho2 {one.rho2:.4g}" in repr(found)
    assert ">rho2<" in found._repr_html_()
    single = path(task[0], dev=task[1], rho2=START, **OPTIONS)
    assert found.errors.min() <= single.errors.min()
    assert not single.both
    assert "rho2" not in repr(single)


def made(task, penalties, errors, sizes, spread=None):
    """A path of one fit with other penalties and numbers of weights."""
    some = fit(task[0], rho1=0.1, threads=1)
    fits = [replace(some, rho1=a, rho2=b, w=np.ones(n)) for (a, b), n in zip(penalties, sizes, strict=True)]
    return Path(fits, np.array(errors), None if spread is None else np.array(spread), searched=True)


def test_the_fewest_weights_among_those_that_are_close(task):
    penalties = [(9.0, 0.1), (3.0, 0.1), (1.0, 0.03), (1.0, 0.1), (1.0, 0.3)]
    found = made(task, penalties, [12.0, 10.19, 10.21, 10.0, 10.1], [1, 30, 20, 50, 70])
    assert (found.best, found.edge, found.edge_rho2) == (1, None, None)
    found = made(task, penalties, [12.0, 10.3, 10.21, 10.1, 10.0], [1, 30, 20, 50, 70], [1.0, 1.0, 1.0, 1.0, 0.25])
    assert (found.best, found.one_se) == (3, 2)
    assert found.edge_rho2 == "upper"  # of the smallest error, 10.0
    assert "the best rho2, 0.3, is the largest value tried" in found.advice
    # With one rho2 the smallest error counts.
    assert made(task, [(9.0, 0.1), (3.0, 0.1)], [10.1, 10.0], [1, 30]).best == 1
    assert found.along(0.1).rho1.tolist() == [9.0, 3.0, 1.0]
    assert_array_equal(found.along(0.1).errors, [12.0, 10.3, 10.1])


def test_an_edge_of_rho1_is_said(task):
    penalties = [(3.0, 0.1), (1.0, 0.03), (1.0, 0.1), (1.0, 0.3)]
    found = made(task, penalties, [12.0, 11.5, 10.0, 11.0], [1, 20, 50, 70])
    assert (found.best, found.edge, found.edge_rho2) == (2, "lower", None)
    assert "the best rho1, 1, is the smallest value tried" in found.advice
    # A model with a larger rho1 is equally good: no warning.
    found = made(task, penalties, [10.1, 11.5, 10.0, 11.0], [1, 20, 50, 70])
    assert (found.best, found.edge, found.advice) == (0, None, None)


@pytest.mark.slow
def test_folds_search_together(task):
    points = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PathWarning)
        found = cross_validate(task[0], folds=2, rho2="search", each=points.append, **{**OPTIONS, "tol": 1e-3})
    assert found.both
    assert len(points) == 3 * len(found)
    for one, error in zip(found, found.errors, strict=True):
        of_folds = [p.error for p in points if p.fold is not None and (p.rho1, p.rho2) == (one.rho1, one.rho2)]
        assert error == pytest.approx(np.mean(of_folds))
    assert all(len(points) - k - 1 >= p.left for k, p in enumerate(points))


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"rho2": "best"}, "rho2: expected a number or 'search', found 'best'"),
        ({"rho2": "search", "rho1": [1.0]}, "rho2='search' cannot be combined with rho1: the search also chooses rho1"),
        ({"rho2": "search", "n_rho": 3}, "rho2='search' cannot be combined with n_rho=3"),
        ({"rho2": "search", "dev": None}, "rho2='search' needs dev"),
    ],
)
def test_wrong_values(task, options, found):
    with pytest.raises(InputError, match=found):
        path(task[0], **{"dev": task[1], **options})


@pytest.mark.slow
def test_estimators():
    hmm, rng = paper_hmm(), np.random.default_rng(1)
    X, y = hmm.sample(60, rng)
    dev = hmm.sample(60, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PathWarning)
        found = CRF(rho2="search", bigrams="all").path(X, y, dev=dev)
        chosen = CRFCV(rho2="search", cv=2, bigrams="all").fit(X, y)
    assert found.both
    assert found.model(found.best).label(X[0])
    assert len(set(chosen.rho2s_)) > 1
    assert (chosen.rho1_, chosen.rho2_) == (chosen.rho1s_[chosen.best_index_], chosen.rho2s_[chosen.best_index_])
    assert chosen.model_.training["rho2"] == chosen.rho2_
    with pytest.raises(InputError, match=r"rho2='search' is supported only by path and CRFCV"):
        CRF(rho2="search").fit(X, y)
    for display, line in (
        (PathDisplay.from_path(found), found.along(found[found.best].rho2).rho1),
        (PathDisplay.from_estimator(chosen), chosen.rho1s_[chosen.rho2s_ == chosen.rho2_]),
    ):
        assert_array_equal(display.rho1, line)
        if find_spec("matplotlib") is not None:
            display.plot()
    assert PathDisplay.from_path(found).rho1[PathDisplay.from_path(found).best] == found[found.best].rho1
