"""A small problem for runs that are stopped and resumed, and what "the same run" means."""

from dataclasses import asdict

from numpy.testing import assert_array_equal
from problems import make_problem

OPTIONS = {"rho1": 0.3, "rho2": 0.01, "tol": 1e-7, "threads": 1}


def small(seed=3, n_attributes=8):
    lengths = [6] * 20
    problem = make_problem(
        seed=seed, n_labels=4, lengths=lengths, n_attributes=n_attributes, density=0.3, real_values=True
    )
    return problem.corpus()


def without_time(history):
    return [{name: value for name, value in asdict(record).items() if name != "time_s"} for record in history]


def assert_same(found, expected):
    assert_array_equal(found.numbers, expected.numbers)
    assert_array_equal(found.w, expected.w)
    assert (found.objective, found.loss, found.kkt, found.gap) == (
        expected.objective,
        expected.loss,
        expected.kkt,
        expected.gap,
    )
    assert found.stopped_by == expected.stopped_by
    assert without_time(found.history) == without_time(expected.history)
