"""The stochastic start of `auto`: when it is taken, and that it changes nothing but the way."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from problems import make_problem

from sparsecrf.training import Weights, fit
from sparsecrf.training.feature_sets import place_among
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import ElasticNet
from sparsecrf.training.solvers import proximal
from sparsecrf.training.solvers.proximal import Proximal
from sparsecrf.training.solvers.sgd import warm_up
from sparsecrf.training.solvers.solver import Point, point_at

pytestmark = pytest.mark.usefixtures("any_size")
penalties = pytest.mark.parametrize("rho1", [0.0, 0.5])


@pytest.fixture(scope="module")
def corpus():
    return make_problem(seed=4, lengths=[6] * 120, n_labels=4, n_attributes=40).corpus()


@pytest.fixture
def any_size(monkeypatch):
    monkeypatch.setattr(proximal, "_LEAST_TOKENS", 0)


def value(objective, point):
    return point.loss + objective.penalty.value(point.w)


@pytest.mark.slow
@penalties
def test_the_optimum_is_the_same(corpus, rho1):
    found = [
        fit(corpus, rho1=rho1, rho2=0.3, tol=1e-8, solver_options={"warm_up": warm}, threads=1)
        for warm in (True, False)
    ]
    assert found[0].history[1].objective != found[1].history[1].objective
    assert found[0].objective == pytest.approx(found[1].objective, rel=1e-7)


@penalties
def test_the_first_step_is_the_warm_up(corpus, rho1):
    objective = Objective(corpus, ElasticNet(rho1, 0.3), threads=1)
    start = point_at(objective)
    expected, found = warm_up(objective, start), Proximal(objective).step(start)
    best = fit(corpus, rho1=rho1, rho2=0.3, tol=1e-4, threads=1).objective
    assert value(objective, expected) - best < 0.5 * (value(objective, start) - best)
    assert_array_equal(found.w, expected.w)
    assert_array_equal(found.g, objective.loss_grad(found.known, found.w)[1])


@penalties
def test_features_that_rest_at_zero_leave_after_it(corpus, rho1):
    objective = Objective(corpus, ElasticNet(rho1, 0.3), threads=1)
    start = point_at(objective)
    found = warm_up(objective, start)
    _, g = objective.loss_grad(start.known, start.known.carry(found.w, found.known))
    left = place_among(start.known.numbers, found.known.numbers) < 0
    assert np.all(np.abs(g[left]) <= 0.5 * rho1)  # well within the bound that keeps them at zero
    assert left.any() == (rho1 > 0)  # without an l1 term no screening would bring them back


@penalties
def test_not_from_weights_that_are_given(corpus, rho1):
    first = fit(corpus, rho1=rho1, rho2=0.3, tol=1e-2, threads=1)
    fits = [
        fit(
            corpus,
            rho1=rho1,
            rho2=0.3,
            tol=1e-6,
            init=Weights(first.numbers, first.w),
            solver_options={"warm_up": warm},
            threads=1,
        )
        for warm in (True, False)
    ]
    assert_array_equal(fits[0].w, fits[1].w)


def test_not_with_few_features(corpus, monkeypatch):
    objective = Objective(corpus, ElasticNet(0.5, 0.3), threads=1)
    start = point_at(objective)
    monkeypatch.setattr(proximal, "_ENOUGH", (start.known.size + 1) / corpus.n_tokens)
    plain = Proximal(objective, warm_up=False).step(start)
    assert_array_equal(Proximal(objective).step(start).w, plain.w)


def test_not_with_few_tokens(corpus, monkeypatch):
    objective = Objective(corpus, ElasticNet(0.5, 0.3), threads=1)
    start = point_at(objective)
    monkeypatch.setattr(proximal, "_LEAST_TOKENS", corpus.n_tokens + 1)
    plain = Proximal(objective, warm_up=False).step(start)
    assert_array_equal(Proximal(objective).step(start).w, plain.w)


def test_not_if_it_leads_upwards(corpus, monkeypatch):
    objective = Objective(corpus, ElasticNet(0.5, 0.3), threads=1)
    start = point_at(objective)

    def upwards(_, point, epochs, sample):
        w = np.full(point.known.size, 50.0)
        return Point(point.known, w, *objective.loss_grad(point.known, w))

    monkeypatch.setattr("sparsecrf.training.solvers.sgd._Stochastic.run", upwards)
    assert warm_up(objective, start) is start
    found = Proximal(objective).step(start)
    assert value(objective, found) < value(objective, start)


def test_not_if_weights_overflow(corpus, monkeypatch):
    objective = Objective(corpus, ElasticNet(0.0, 0.0), threads=1)
    start = point_at(objective)
    monkeypatch.setattr("sparsecrf.training.solvers.sgd._Stochastic._calibrate", lambda self, point, size: 1e200)
    assert warm_up(objective, start) is start
    found = fit(corpus, rho1=0.0, rho2=0.3, threads=1)
    assert found.stopped_by == "tol"
