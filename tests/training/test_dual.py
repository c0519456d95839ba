"""The lower bound against the best that any mixture could give."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems import make_problem
from scipy.optimize import minimize

from sparsecrf import InputError, Vocabulary, fit
from sparsecrf.training.dual import LowerBound
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import ElasticNet


def best_of_all_mixtures(entropies, G, rho1, rho2):
    """max of c . H - sum_k max(|c . G_k| - rho1, 0)^2 / (2 rho2) over c in the simplex; the data has H = G = 0."""
    H, G = np.append(entropies, 0.0), np.vstack([G, np.zeros(G.shape[1])])

    def value(c):
        excess = np.maximum(np.abs(c @ G) - rho1, 0.0)
        return -(c @ H - excess @ excess / (2 * rho2))

    starts = [*np.eye(len(H)), np.full(len(H), 1 / len(H))]
    simplex = {"type": "eq", "fun": lambda c: c.sum() - 1}
    found = [
        minimize(value, c, method="SLSQP", bounds=[(0, 1)] * len(H), constraints=simplex, options={"ftol": 1e-12})
        for c in starts
    ]
    return max(-one.fun for one in found)


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32 - 1),
    points=st.integers(1, 5),
    rho2=st.sampled_from([0.01, 0.3, 3.0]),
)
def test_what_is_not_listed_is_taken_at_its_worst(seed, points, rho2):
    """Features with |g| <= rho1 may be left out of any point: the bound is never better than with all of them known."""
    rng = np.random.default_rng(seed)
    problem = make_problem(seed=0, n_labels=2, lengths=[2], n_attributes=3)
    objective = Objective(problem.corpus(), ElasticNet(1.0, rho2), threads=1)
    numbers = np.arange(6)
    G = rng.normal(size=(points, len(numbers))) * rng.choice([0.5, 1.0, 3.0], size=(points, 1))
    entropies = rng.uniform(0.5, 3.0, size=points) / rho2
    run = LowerBound(objective)
    bounds = []
    for entropy, g in zip(entropies, G, strict=True):
        listed = (np.abs(g) > objective.penalty.rho1) | (rng.random(len(numbers)) < 0.3)
        # At w = 0 the loss is the entropy, and the objective too.
        gap = run.gap(numbers[listed], np.zeros(listed.sum()), entropy, g[listed])
        bounds.append(run.best.bound)
        np.testing.assert_allclose(entropy - gap, bounds[-1], rtol=1e-9, atol=1e-9)
    best = best_of_all_mixtures(entropies, G, objective.penalty.rho1, rho2)
    assert bounds[-1] <= best + 1e-6 * (1 + abs(best))
    assert (np.diff(bounds) >= 0).all()


@pytest.mark.parametrize("rho2", [0.0, 0.1])
def test_a_diverging_method_has_no_bound(rho2):
    objective = Objective(make_problem(seed=0, n_labels=2, lengths=[2], n_attributes=1).corpus(), ElasticNet(1.0, rho2))
    run = LowerBound(objective)
    assert run.gap(np.array([0]), np.array([np.inf]), np.inf, np.array([1.0])) == np.inf
    assert run.best is None


def test_no_bound_where_the_loss_is_not_convex():
    problem = make_problem(seed=2, n_labels=3, lengths=[4] * 5, n_attributes=4, density=0.5, missing=0.4)
    corpus = problem.corpus()
    assert (corpus.labels < 0).any()
    found = fit(corpus, rho1=0.1, rho2=0.1, max_iter=20)
    assert found.gap == np.inf
    assert all(record.gap in (None, np.inf) for record in found.history)
    with pytest.raises(InputError, match=r"gap=0\.001 cannot be combined with missing labels or label sets: the loss"):
        fit(corpus, rho1=0.1, rho2=0.1, gap=1e-3)


def test_a_gap_is_not_negative():
    """One label: the loss is 0, and its rounded value was below the bound."""
    X = [[["a", "b"], ["c", "c"]], ["d"], ["d", ["a", "b", "c"]], ["a", "b", ["a", "a", "b"]]]
    weights = [[2.5, 2.5], [0.3], [0.0, 0.3], [0.3, 0.0, 2.5]]
    vocabulary = Vocabulary(bigrams="all")
    corpus = vocabulary.encode(X, [["L"] * len(tokens) for tokens in X], token_weight=weights, grow=True)
    for solver in ("auto", "cd", "owlqn", "lbfgs"):
        for rho2 in (0.0, 0.01, 0.28, 1.0):
            found = fit(corpus, rho1=0.0, rho2=rho2, solver=solver, threads=1)
            assert found.gap == 0
            assert found.stopped_by == "tol"
