"""Coordinate descent: as printed against the paper's formulas in NumPy, safeguarded against the other solvers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import make_problem
from strategies import problems

import reference
from sparsecrf import InputError, fit
from sparsecrf._core import Corpus, disjoint_groups, sequences_by_attribute
from sparsecrf.training import SOLVERS
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import ElasticNet
from sparsecrf.training.solvers.sbcd import Blockwise, Cd, Groupwise, sbcd
from sparsecrf.training.solvers.solver import Point


def attributes_at(problem):
    """For every position the set of its attributes."""
    return [
        {x for x, _ in sequence.unigram[t]} | {x for x, _ in sequence.bigram[t]}
        for sequence in problem.sequences
        for t in range(len(sequence))
    ]


def small(seed=1, **changes):
    kind = {"n_labels": 3, "lengths": [5, 3, 4, 1], "n_attributes": 4, "density": 0.5, "real_values": True}
    return make_problem(seed=seed, **{**kind, **changes})


# ---- As printed


def printed_sweep(problem, w, rho1, rho2, factor, coordinatewise):
    """The paper's Algorithms 1 and 2: w_k <- s(a h w_k - g, rho1) / (a h + rho2), block after block, in NumPy."""
    mu, lam = np.split(w.copy(), [problem.mu.size])
    mu, lam = mu.reshape(problem.mu.shape), lam.reshape(problem.lam.shape)

    def update(weights, g, h, cells):
        z = factor * h[cells] * weights[cells] - g[cells]
        curvature = factor * h[cells] + rho2
        new = np.sign(z) * np.maximum(np.abs(z) - rho1, 0.0) / np.where(curvature > 0, curvature, 1.0)
        weights[cells] = np.where(curvature > 0, new, weights[cells])

    for x in range(len(mu)):
        blocks = [(mu, np.s_[x, y]) for y in range(mu.shape[1])]
        blocks += [(lam, np.s_[x, before, y]) for before in range(lam.shape[1]) for y in range(lam.shape[2])]
        for weights, cells in blocks if coordinatewise else [(None, np.s_[x])]:
            at = reference.objective(problem.sequences, mu, lam)
            if weights is not lam:
                update(mu, at.g_mu, at.h_mu, cells)
            if weights is not mu:
                update(lam, at.g_lam, at.h_lam, cells)
    return np.concatenate([mu.ravel(), lam.ravel()])


@pytest.mark.slow
@pytest.mark.parametrize("solver", [Cd, Blockwise])
@pytest.mark.parametrize(("rho1", "rho2", "factor"), [(0.2, 0.1, 50.0), (0.0, 1.0, 3.0), (0.5, 0.0, 1.0)])
def test_as_printed_is_the_paper(solver, rho1, rho2, factor):
    problem = small()
    objective = Objective(problem.corpus(), ElasticNet(rho1, rho2), threads=1)
    known = objective.working_set(np.arange(problem.w.size))
    algorithm = solver(objective, as_printed=factor)
    point = Point(known, np.zeros(known.size), *objective.loss_grad(known, np.zeros(known.size)))
    expected = point.w
    for _ in range(2):
        point = algorithm.step(point)
        expected = printed_sweep(problem, expected, rho1, rho2, factor, solver is Cd)
        assert_allclose(point.w, expected, rtol=1e-9, atol=1e-12)
    assert np.count_nonzero(point.w)


def test_as_printed_may_diverge_and_the_best_point_is_returned():
    """With too little curvature the objective explodes; the default does not."""
    corpus = small(lengths=[6] * 12).corpus()
    wild = fit(corpus, rho1=0.01, rho2=0.0, solver="sbcd", solver_options={"as_printed": 0.2}, max_iter=50, threads=1)
    values = [record.objective for record in wild.history]
    assert wild.stopped_by == "precision"  # weights that overflow are rejected
    assert max(values) > 1.5 * values[0]
    assert wild.objective == pytest.approx(min(values), rel=1e-12)
    tame = fit(corpus, rho1=0.01, rho2=0.0, solver="sbcd", solver_options={"groups": False}, max_iter=5, threads=1)
    values = [record.objective for record in tame.history]
    assert (np.diff(values) <= 1e-9 * values[0]).all()


# ---- Groups


@pytest.mark.slow
@given(problem=problems())
def test_attributes_of_a_group_never_meet(problem):
    group = disjoint_groups(problem.corpus())
    for together in attributes_at(problem):
        groups = [group[x] for x in together]
        assert len(set(groups)) == len(groups)
    most = max(map(len, attributes_at(problem)))
    assert group.max(initial=0) >= most - 1


@pytest.mark.slow
@given(problem=problems())
def test_sequences_by_attribute(problem):
    holders = np.zeros(len(problem.mu), dtype=np.int64)
    for sequence in problem.sequences:
        lists = [*sequence.unigram, *sequence.bigram]
        holders[sorted({x for entries in lists for x, _ in entries})] += 1
    assert_array_equal(sequences_by_attribute(problem.corpus()), holders)


@pytest.mark.slow
def test_more_attributes_at_a_position_than_groups():
    n = 100
    ids = np.arange(n, dtype=np.int32)
    corpus = Corpus.from_arrays(
        n_labels=2,
        n_attributes=n,
        lengths=np.array([1]),
        unigram_ptr=np.array([0, n]),
        unigram_id=ids,
        bigram_ptr=np.array([0, 0]),
        bigram_id=ids[:0],
        labels=np.array([0], dtype=np.int32),
    )
    group = disjoint_groups(corpus)
    assert_array_equal(np.bincount(group), [1] * 63 + [n - 63])
    found = fit(corpus, rho1=0.01, rho2=0.1, solver="sbcd", solver_options={"groups": True}, tol=1e-6)
    assert found.stopped_by == "tol"


def test_templates_are_found():
    """Two columns, many values each: two groups, and group by group is chosen for long sequences."""
    rng = np.random.default_rng(0)
    tokens = 400
    ids = np.stack([rng.integers(5, size=tokens), 5 + rng.integers(7, size=tokens)], axis=1).astype(np.int32)
    ptr = np.arange(0, 2 * tokens + 1, 2)
    corpus = Corpus.from_arrays(
        n_labels=3,
        n_attributes=12,
        lengths=np.full(10, 40),
        unigram_ptr=ptr,
        unigram_id=ids.ravel(),
        bigram_ptr=ptr,
        bigram_id=ids.ravel(),
        labels=rng.integers(3, size=tokens).astype(np.int32),
    )
    group = disjoint_groups(corpus)
    assert len(set(group[:5])) == len(set(group[5:])) == 1
    assert isinstance(sbcd(Objective(corpus, ElasticNet(1.0, 1.0))), Groupwise)
    assert isinstance(sbcd(Objective(corpus, ElasticNet(1.0, 1.0)), groups=False), Blockwise)


@pytest.mark.slow
@given(
    problem=problems(weights=("moderate",), sequence_weights=True),
    penalty=st.sampled_from([(0.5, 0.1), (0.1, 0.01), (0.0, 0.2), (0.3, 0.0)]),
)
@settings(max_examples=15)
def test_groups_and_blocks_agree(problem, penalty):
    rho1, rho2 = penalty
    options = {"rho1": rho1, "rho2": rho2, "tol": 1e-6, "max_iter": 5000, "threads": 1}
    found = [
        fit(problem.corpus(), solver="sbcd", solver_options={"groups": groups}, **options) for groups in (False, True)
    ]
    for one in found:
        assert one.stopped_by in ("tol", "precision")
        assert one.remaining <= 1e-6 * one.objective
    assert_allclose(found[0].objective, found[1].objective, rtol=1e-6, atol=1e-6)


def test_group_updates_never_raise_the_objective():
    corpus = small(lengths=[6] * 12, n_attributes=6).corpus()
    found = fit(
        corpus, rho1=0.01, rho2=0.001, solver="sbcd", solver_options={"groups": True}, tol=0.0, max_iter=60, threads=1
    )
    values = np.array([record.objective for record in found.history])
    assert (np.diff(values) <= 1e-9 * values[:-1]).all()


@pytest.mark.parametrize(
    ("solver", "options"),
    [
        ("sbcd", {"as_printed": 0.0}),
        ("cd", {"as_printed": -1.0}),
        ("sbcd", {"as_printed": 1.0, "groups": True}),
        ("auto", {"groups": True}),
        ("cd", {"speed": 1}),
    ],
)
def test_wrong_solver_options(solver, options):
    with pytest.raises(InputError, match=r"expected.*found|groups=True cannot be combined with as_printed"):
        fit(small().corpus(), rho1=0.1, solver=solver, solver_options=options)
    assert solver in SOLVERS
