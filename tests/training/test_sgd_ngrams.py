"""The stochastic solvers with label n-grams: steps against all paths, then what they promise as solvers."""

from dataclasses import replace

import numpy as np
import pytest
from compare import KERNELS
from ngram_optimum import RHO1, RHO2, corpus, minimum
from ngram_problems import NgramProblem, make_ngram_problem
from numpy.testing import assert_allclose, assert_array_equal
from plain_sgd import plain_steps
from problems import make_problem

from sparsecrf import InputError, fit
from sparsecrf._core import Sgd as Stepper
from sparsecrf.training.data import TrainingData
from sparsecrf.training.objective import Objective
from sparsecrf.training.order_penalty import OrderPenalty
from sparsecrf.training.solvers.sgd import SgdL1
from sparsecrf.training.solvers.solver import Point

STEPS = {"eta0": 0.3, "decay": 0.5}
SHAPES = [(1, [1, 3]), (2, [1, 2, 6]), (3, [5, 4]), (4, [4, 1, 4]), (3, [1, 6])]
KINDS = {
    "real values": {"real_values": True},
    "sequence weights": {"sequence_weights": True},
    "token weights": {"token_weights": True, "real_values": True},
    "missing labels": {"missing": 0.3, "token_weights": True},
}


def factors_of(problem, factor):
    """[K] rho1 in units of rho1: of n-grams `factor` for each label beyond two."""
    longer = [factor ** (len(labels) - 2) for _, labels in problem.weights]
    return np.concatenate([np.ones(problem.base.w.size), longer])


def assert_steps(problem, epochs=2, kernel="auto", threads=2, order_factor=1.0, **options):
    """Some epochs are the steps one by one, with gradients from all paths."""
    stepper = Stepper(problem.corpus, kernel, threads)
    state = expected = problem.w, np.zeros(problem.w.size), 0.0
    n = len(stepper.order(0, 0))
    for epoch in range(epochs):
        order = stepper.order(0, epoch)
        options = {**STEPS, **options, "done": float(epoch * n)}
        state = stepper.run(problem.features(), *state, order, **options, order_factor=order_factor)
        factors = factors_of(problem, order_factor)
        expected = plain_steps(
            lambda w, i: problem.at(w).loss_gradient(i)[1], *expected, order, n, **options, factors=factors
        )
        for found, value in zip(state, expected, strict=True):
            if options["rho1"] or found is state[0]:
                assert_allclose(found, value, rtol=1e-9, atol=1e-9)
    return state


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("penalty", [(0.0, 0.3), (0.4, 0.0), (0.3, 0.2)])
@pytest.mark.parametrize("at_once", [1, 2])
def test_an_epoch_is_the_steps_one_by_one(kind, penalty, at_once):
    rho1, rho2 = penalty
    for seed, (n_labels, lengths) in enumerate(SHAPES):
        problem = make_ngram_problem(seed, n_labels, lengths, list_size=3, **KINDS[kind])
        assert_steps(problem, rho1=rho1, rho2=rho2, at_once=at_once)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("size", [3.0, 500.0])
def test_every_kernel(kernel, size):
    """Large weights need the log domain, some from the first step, some later."""
    for seed in range(3):
        problem = make_ngram_problem(seed, 3, [5, 4, 2, 5], size=size, list_size=3)
        assert_steps(problem, kernel=kernel, rho1=0.1, rho2=0.1)


def many_lists(seed):
    """One frequent attribute and many rare ones, which condition n-grams: base lists and rest lists, and so many
    attributes that several threads have some."""
    base = make_problem(seed, n_labels=3, lengths=[4, 1, 3] * 14, n_attributes=200, real_values=True)
    sequences = [replace(s, bigram=tuple((*pairs, (0, 0.5)) for pairs in s.bigram)) for s in base.sequences]
    rng = np.random.default_rng(seed)
    weights = {}
    for k in range(80):
        labels = [int(y) for y in rng.integers(3, size=rng.integers(3, 5))]
        labels[0] = 3 if rng.random() < 0.2 else labels[0]
        weights[0 if k < 15 else int(rng.integers(200)), tuple(labels)] = float(rng.normal())
    return NgramProblem(replace(base, sequences=tuple(sequences)), weights)


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [1, 8])
def test_base_and_rest_lists(at_once):
    problem = many_lists(4)
    _, q, u = assert_steps(problem, epochs=1, at_once=at_once, rho1=0.1, rho2=0.1)
    longer = q[problem.base.w.size :]
    assert (np.abs(longer) < 0.9 * u).any()  # some got only part of the penalty: sign changes, zeros


def test_a_penalty_that_grows_with_the_labels():
    for seed, (n_labels, lengths) in enumerate(SHAPES):
        problem = make_ngram_problem(seed, n_labels, lengths, real_values=True)
        assert_steps(problem, rho1=0.2, rho2=0.1, order_factor=1.6)
    stepper, start = Stepper(problem.corpus), (problem.w, np.zeros(problem.w.size), 0.0)
    for factor in (0.5, np.nan, np.inf):
        with pytest.raises(InputError, match=f"order_factor: expected a finite number >= 1, found {factor}"):
            stepper.run(
                problem.features(), *start, stepper.order(0, 0), rho1=0, rho2=0, **STEPS, done=0, order_factor=factor
            )


@pytest.mark.slow
def test_a_long_decay_keeps_its_digits():
    """So many and so large steps that the scale of the weights has to be renewed on the way."""
    problem = make_ngram_problem(1, 2, [4, 3], real_values=True)
    stepper = Stepper(problem.corpus)
    order = np.tile(stepper.order(0, 0), 60)
    options = {"rho1": 0.01, "rho2": 1.9, "eta0": 1.0, "decay": 0.0, "done": 0.0}
    start = problem.w, np.zeros(problem.w.size), 0.0
    found = stepper.run(problem.features(), *start, order, **options)
    expected = plain_steps(lambda w, i: problem.at(w).loss_gradient(i)[1], *start, order, 2, **options)
    assert_allclose(found[0], expected[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("at_once", [1, 8])
def test_same_bits_on_any_number_of_threads(at_once):
    problem = many_lists(5)
    found = []
    for threads in (1, 2, 3, 8):
        stepper = Stepper(problem.corpus, "auto", threads)
        start = problem.w, np.zeros(problem.w.size), 0.0
        options = {"rho1": 0.1, "rho2": 0.1, **STEPS, "done": 0.0, "at_once": at_once}
        found.append(stepper.run(problem.features(), *start, stepper.order(0, 0), **options))
    for w, q, u in found[1:]:
        assert_array_equal(w, found[0][0])
        assert_array_equal(q, found[0][1])
        assert u == found[0][2]


@pytest.mark.parametrize("kind", KINDS)
def test_loss_of_a_sample(kind):
    for seed, (n_labels, lengths) in enumerate(SHAPES):
        problem = make_ngram_problem(seed, n_labels, lengths, size=2.0, list_size=3, **KINDS[kind])
        stepper = Stepper(problem.corpus)
        some = stepper.order(1, 0)[:2]
        expected = sum(problem.loss_gradient(i)[0] for i in some)
        assert_allclose(stepper.loss(problem.features(), problem.w, some), expected, rtol=1e-10, atol=1e-10)


# ---- As a solver


@pytest.mark.slow
@pytest.mark.parametrize("order", [3, None])
@pytest.mark.parametrize("factor", [1.0, 1.4])
@pytest.mark.parametrize("plain", [True, False])
def test_comes_near_the_optimum(order, factor, plain):
    data = corpus(n_sequences=60, plain=plain)
    options = {"rho1": 1.0, "rho2": RHO2, "order": order, "order_factor": factor, "threads": 1}
    best = fit(data, **options, gap=1e-6, max_iter=2000)
    found = fit(data, **options, solver="sgd-l1", tol=1e-4, max_iter=120)
    pairs = fit(data, **(options | {"order": 2, "order_factor": 1.0}), gap=1e-6)
    assert best.n_ngram > 0
    assert found.n_ngram > 0
    assert found.objective <= best.objective + 0.03 * (pairs.objective - best.objective)
    assert found.gap >= found.objective - best.objective >= -1e-6 * best.objective


@pytest.mark.slow
def test_the_optimum_of_the_explicit_space():
    data = corpus()
    found = fit(data, rho1=RHO1, rho2=RHO2, order=3, solver="sgd-l1", tol=0.0, max_iter=300, threads=1)
    assert_allclose(found.objective, minimum(data, 3), rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["token weights", "one label", "one position"])
def test_other_data(kind):
    """None of them is refused: n-grams join where there are some to join."""
    base = make_problem(
        seed=3,
        n_labels=1 if kind == "one label" else 2,
        lengths=[1] * 20 if kind == "one position" else [6, 1, 4] * 15,
        n_attributes=2,
        token_weights=kind == "token weights",
    )
    options = {"rho1": 0.2, "rho2": 0.5, "order": 3, "threads": 1}
    best = fit(base.corpus(), **options, gap=1e-6, max_iter=2000)
    found = fit(base.corpus(), **options, solver="sgd-l1", max_iter=120, tol=0.0)
    assert (found.n_ngram > 0) == (best.n_ngram > 0) == (kind == "token weights")
    assert_allclose(found.objective, best.objective, rtol=2e-3, atol=1e-6)


@pytest.mark.slow
def test_the_seed_decides_and_threads_do_not():
    data = corpus(n_sequences=40)
    fits = [
        fit(data, rho1=0.5, rho2=0.1, order=None, solver="sgd-l1", seed=seed, threads=threads, max_iter=15)
        for seed, threads in [(5, 1), (5, 3), (6, 1)]
    ]
    assert fits[0].n_ngram > 0
    assert fits[1].ngrams.strings() == fits[0].ngrams.strings()
    assert_array_equal(fits[1].numbers, fits[0].numbers)
    assert_array_equal(fits[1].w, fits[0].w)
    assert len(fits[2].w) != len(fits[0].w) or (fits[2].w != fits[0].w).any()


def test_ngrams_that_join_owe_no_penalty_of_their_own_rho1():
    factor = 1.5
    data = TrainingData(corpus(n_sequences=30), order=4, threads=1)
    objective = Objective(data, OrderPenalty(0.3, 0.1, factor, data.ngrams))
    pairs, solver = objective.hopeful(), SgdL1(objective)
    point = Point(pairs, np.zeros(pairs.size), *objective.loss_grad(pairs, np.zeros(pairs.size)))
    for _ in range(3):
        point = solver.step(point)
    wide = objective.screen(pairs, point.w)[0]
    solver.move(wide, pairs)
    w = wide.carry(point.w, pairs)
    loss, g = objective.loss_grad(wide, w)
    q = solver._penalties_received(Point(wide, w, loss, g))
    longer = slice(wide.size - wide.feature_set.n_ngram, None)
    lengths = data.ngrams.lengths(wide.numbers[longer])
    assert set(lengths.tolist()) == {3, 4}
    assert_allclose(q[longer], solver.u * np.sign(g[longer]) * factor ** (lengths - 2.0), rtol=1e-12)


@pytest.mark.slow
def test_start_from_ngrams():
    """The first step size is then found with n-grams."""
    data = corpus(n_sequences=40)
    options = {"rho1": RHO1, "rho2": RHO2, "order": 3, "threads": 1}
    best = fit(data, **options, gap=1e-6)
    found = fit(data, **options, init=best, solver="sgd-l1", max_iter=5)
    assert found.objective <= best.objective * (1 + 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 4, 8])
def test_checkpoint_goes_on_to_the_same_bits(tmp_path, seed):
    data = corpus(n_sequences=30, seed=seed)
    options = {"rho1": 0.3, "order": None, "order_factor": 1.2, "tol": 0.0, "threads": 1, "solver": "sgd-l1"}
    whole = fit(data, **options, max_iter=30)
    assert whole.n_ngram > 0
    for stop in (7, 10, 11, 26):
        path = tmp_path / f"{stop}.safetensors"
        fit(data, **options, max_iter=stop, checkpoint=path)
        again = fit(data, **options, max_iter=30, checkpoint=path, resume=True)
        assert again.ngrams.strings() == whole.ngrams.strings()
        assert_array_equal(again.numbers, whole.numbers)
        assert_array_equal(again.w, whole.w)
        assert again.objective == whole.objective


def test_refused():
    with pytest.raises(InputError, match=r"order=3 cannot be combined with rho1=0\.0"):
        fit(corpus(), order=3, solver="sgd", rho1=0.0)
    with pytest.raises(InputError, match=r"order=3 is not supported by solver='sgd'; use auto, .* or sgd-l1"):
        fit(corpus(), order=3, solver="sgd", rho1=1.0)
