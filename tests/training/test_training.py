"""Every solver against an independent one on the explicit features, and the certificate against the truth."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from explicit_objective import Explicit, larger
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import make_problem
from strategies import problems

from sparsecrf import InputError, Vocabulary
from sparsecrf._core import FeatureSet, Oracle
from sparsecrf.contrib.simulate import paper_hmm
from sparsecrf.training import SOLVERS, fit
from sparsecrf.training.dual import LowerBound
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import ElasticNet
from sparsecrf.training.solvers import working_set
from sparsecrf.training.solvers.proximal import Proximal
from sparsecrf.training.solvers.solver import Point

# test_sgd.py tests the others.
every_solver = pytest.mark.parametrize("solver", [name for name, kind in SOLVERS.items() if not kind.is_stochastic])
# `dual` uses all features and has its own bound: see test_dual_ascent.py.
every_screening_solver = pytest.mark.parametrize(
    "solver", [name for name, kind in SOLVERS.items() if not kind.is_stochastic and not kind.certifies]
)
PENALTIES = [(0.5, 0.1), (0.1, 0.01), (2.0, 0.5), (0.0, 0.2), (0.3, 0.0)]


def check_certificate(explicit, found, tol):
    """What a fit says of itself, against the definitions on the explicit feature set."""
    w = explicit.weights(found)
    value, best = explicit.value(w), explicit.minimum
    scale = max(1.0, abs(best))
    assert_allclose(found.objective, value, rtol=1e-9, atol=1e-9)
    at_zero = explicit.residual(np.zeros_like(w))
    if at_zero > 1e-6:
        assert_allclose(found.kkt, explicit.residual(w) / at_zero, rtol=1e-6, atol=1e-9)
    assert value - best <= tol * scale
    assert found.gap >= value - best - 1e-7 * scale
    assert_allclose(value, best, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
@every_solver
@given(
    problem=problems(weights=("moderate",), sequence_weights=True),
    penalty=st.sampled_from(PENALTIES),
)
@settings(max_examples=15)
def test_agrees_with_an_independent_solver(solver, problem, penalty):
    rho1, rho2 = penalty
    assume(rho2 > 0 or (rho1 > 0 and solver != "dual"))
    found = fit(problem.corpus(), rho1=rho1, rho2=rho2, solver=solver, tol=1e-6, max_iter=5000, threads=1)
    check_certificate(Explicit(problem, rho1, rho2), found, tol=1e-6)


@pytest.mark.slow
@given(problem=problems(weights=("moderate",), token_weights=True, sequence_weights=True))
@settings(max_examples=10)
def test_token_weights(problem):
    found = fit(problem.corpus(), rho1=0.2, rho2=0.1, tol=1e-6, max_iter=2000, threads=1)
    explicit = Explicit(problem, 0.2, 0.1)
    assert_allclose(found.objective, explicit.value(explicit.weights(found)), rtol=1e-9, atol=1e-9)
    assert_allclose(found.objective, explicit.minimum, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("space", [{}, {"observed_only": True}])
@pytest.mark.parametrize(
    "kind", [{}, {"token_weights": True}, {"missing": 0.3}, {"token_weights": True, "missing": 0.3}]
)
def test_residual_at_zero(kind, space):
    """It is that of the gradient there over all features, also where some labels are not uniform."""
    for seed in range(3):
        problem = make_problem(seed=seed, n_labels=4, lengths=[5] * 6, n_attributes=5, density=0.3, **kind)
        corpus = problem.corpus()
        listed = FeatureSet.observed(corpus) if space else FeatureSet.all_virtual(corpus)
        _, g = Oracle(corpus).loss_grad(listed, np.zeros(len(listed)))
        for rho1 in (0.0, 0.3, 2.0):
            found = Objective(corpus, ElasticNet(rho1, 0.1), **space).start_residual()
            assert_allclose(found, np.maximum(np.abs(g) - rho1, 0).sum(), rtol=1e-9, atol=1e-9)


def test_residual_at_zero_of_a_large_space_is_a_scale(monkeypatch):
    """Where there are too many features to list, it is the sum under uniform labels."""
    problem = make_problem(seed=1, n_labels=4, lengths=[5] * 6, n_attributes=5, density=0.3, token_weights=True)
    objective = Objective(problem.corpus(), ElasticNet(0.1, 0.1))
    exact = objective.start_residual()
    monkeypatch.setattr("sparsecrf.training.objective._MOST_LISTED", 3)
    passes = objective.passes
    assert objective.start_residual() > 1.05 * exact  # a wrong version that treats fixed labels as free
    assert objective.passes == passes


@cache
def larger_with_minimum():
    """Its minimum is found once for all solvers."""
    return Explicit(larger(), rho1=0.3, rho2=0.5)  # larger penalties: sbcd needs 449 sweeps, not 3,585


@pytest.mark.slow
@every_screening_solver
def test_a_skipped_candidate_a_wrong_gradient_or_a_wrong_gap_is_found(solver, monkeypatch):
    """The check above can fail: each fault that it is there for makes it fail."""
    explicit = larger_with_minimum()
    best, penalty = explicit.minimum, {"rho1": explicit.rho1, "rho2": explicit.rho2}
    enough = {"sbcd": 600, "cd": 100}  # iterations, more than are needed

    def run():
        corpus = explicit.problem.corpus()
        early = fit(corpus, solver=solver, tol=0.0, max_iter=1, threads=1, **penalty)
        assert early.gap >= early.objective - best > 1e-3 * best
        found = fit(corpus, solver=solver, tol=1e-7, max_iter=enough.get(solver, 400), threads=1, **penalty)
        check_certificate(explicit, found, tol=1e-7)

    run()
    whole = Objective.screen
    with monkeypatch.context() as patch:
        patch.setattr(Objective, "screen", lambda self, known, w: (known, w, *self.loss_grad(known, w)))
        with pytest.raises(AssertionError):
            run()
    with monkeypatch.context() as patch:
        loss_grad = Objective.loss_grad

        def wrong(self, known, w):
            loss, g = loss_grad(self, known, w)
            return loss, g * 1.01

        patch.setattr(Objective, "loss_grad", wrong)
        patch.setattr(Objective, "screen", whole)
        with pytest.raises(AssertionError):
            run()
    with monkeypatch.context() as patch:
        gap = LowerBound.gap
        patch.setattr(LowerBound, "gap", lambda self, *point: 1e-3 * gap(self, *point))
        with pytest.raises(AssertionError):
            run()


@pytest.mark.slow
def test_gap_when_asked():
    problem = larger()
    found = fit(problem.corpus(), rho1=0.5, rho2=0.5, gap=1e-6, threads=1)
    best = Explicit(problem, 0.5, 0.5).minimum
    assert found.stopped_by == "gap"
    assert -1e-7 <= found.objective - best <= found.gap <= 1e-6 * found.objective


@pytest.mark.slow
@every_screening_solver
def test_objective_never_rises(solver):
    found = fit(larger().corpus(), rho1=0.1, rho2=0.001, solver=solver, tol=1e-5, max_iter=200, threads=1)
    values = np.array([record.objective for record in found.history])
    assert (np.diff(values) <= 1e-9 * values[:-1]).all()
    assert values[-1] < values[0]


@pytest.mark.slow
@every_solver
def test_threads_do_not_matter(solver):
    corpus = make_problem(seed=5, n_labels=9, lengths=[8] * 200, n_attributes=20, density=0.2).corpus()
    most = 6 if solver == "cd" else 30  # iterations of cd take the longest
    fits = [fit(corpus, rho1=0.5, rho2=0.01, solver=solver, tol=1e-3, max_iter=most, threads=n) for n in (1, 2, 3, 8)]
    for other in fits[1:]:
        assert_array_equal(other.numbers, fits[0].numbers)
        assert_array_equal(other.w, fits[0].w)


@pytest.mark.slow
def test_observed_only_has_no_other_feature():
    problem = larger()
    corpus = problem.corpus()
    some = fit(corpus, rho1=0.1, rho2=0.01, observed_only=True, tol=1e-5, threads=1)
    every = fit(corpus, rho1=0.1, rho2=0.01, tol=1e-5, threads=1)
    observed = Objective(corpus, ElasticNet(0.1, 0.01)).prepared.observed
    assert np.isin(some.numbers, observed).all()
    assert not np.isin(every.numbers, observed).all()
    assert every.objective < some.objective


def test_limits():
    corpus = larger().corpus()
    assert fit(corpus, rho1=0.01, rho2=0.0, tol=1e-9, max_iter=3).stopped_by == "max_iter"
    assert fit(corpus, rho1=0.01, rho2=0.0, tol=1e-9, time_limit=0.0).stopped_by == "time_limit"


def test_interrupt_returns_the_best_point():
    records = []

    def interrupt(record):
        records.append(record)
        if record["iter"] == 4:
            raise KeyboardInterrupt

    found = fit(larger().corpus(), rho1=0.1, rho2=0.01, tol=1e-9, callback=interrupt, threads=1)
    assert found.stopped_by == "interrupt"
    assert found.objective == pytest.approx(records[-1]["objective"], rel=1e-12)


def interrupted(monkeypatch, **options):
    """A run that is interrupted at iteration 30 and has no time for a certificate, and the optimum."""

    def interrupt(record):
        if record["iter"] == 30:
            monkeypatch.setattr(working_set.Run, "_time_to_screen", lambda run: False)
            raise KeyboardInterrupt

    corpus = larger().corpus()
    common = {"rho1": 0.1, "rho2": 0.01, "tol": 1e-9, "threads": 1}
    optimum = fit(corpus, **common).objective
    return fit(corpus, callback=interrupt, **common, **options), optimum


@pytest.mark.slow
def test_without_time_for_a_certificate_there_is_still_an_estimate(monkeypatch):
    """From how the objective falls, and from what the last screening found outside of the working set."""
    found, optimum = interrupted(monkeypatch)
    assert (found.stopped_by, found.kkt) == ("interrupt", np.inf)
    distance = found.objective - optimum
    assert 0 < distance < found.remaining < found.gap
    assert found.remaining < 100 * distance


@pytest.mark.slow
def test_a_run_that_was_resumed_has_the_estimate_of_the_first(monkeypatch, tmp_path):
    """Without a screening of its own: what the last one found is kept in the checkpoint."""
    kept = tmp_path / "run"
    first, _ = interrupted(monkeypatch, checkpoint=kept)
    again, _ = interrupted(monkeypatch, checkpoint=kept, resume=True)
    assert len(again.history) == len(first.history) == 31
    assert again.remaining == first.remaining < np.inf


@pytest.mark.slow
def test_an_estimate_is_of_the_point_that_is_returned(monkeypatch):
    """With patience, that is the one with the best error on dev data."""
    found, optimum = interrupted(monkeypatch, dev=larger(seed=5).corpus(), patience=1000)
    assert found.objective > 1.01 * optimum
    assert found.remaining >= found.objective - optimum


def test_missing_labels_train():
    """Half of the labels are hidden: the loss still falls, and the model still finds most of the labels."""
    X, y = paper_hmm().sample(300, np.random.default_rng(0))
    hidden = [[label if t % 2 else None for t, label in enumerate(labels)] for labels in y]
    vocabulary = Vocabulary()
    model = fit(vocabulary.encode(X, hidden, grow=True), rho1=0.5, rho2=0.01).model(vocabulary)
    corpus = model.encode(X, y)
    assert (model.chain.viterbi(corpus)[0] != corpus.labels).mean() < 0.2


@pytest.mark.slow
def test_learns_the_simulated_task():
    hmm = paper_hmm()
    rng = np.random.default_rng(1)
    vocabulary = Vocabulary()
    found = fit(vocabulary.encode(*hmm.sample(3000, rng), grow=True), rho1=2.0, rho2=0.01)
    model = found.model(vocabulary)
    corpus = model.encode(*hmm.sample(5000, rng))
    assert abs((model.chain.posterior(corpus) != corpus.labels).mean() - hmm.bayes_error()) < 0.01
    assert model.n_active < 40


@pytest.mark.parametrize(
    "options",
    [{"rho1": -1.0}, {"rho1": np.nan}, {"rho2": np.inf}, {"solver": "newton"}],
)
def test_wrong_options(options):
    with pytest.raises(InputError, match=r"expected.*found"):
        fit(larger().corpus(), **options)


def test_no_labels_at_all():
    problem = larger()
    bare = tuple(replace(s, labels=(-1,) * len(s.labels)) for s in problem.sequences)
    with pytest.raises(InputError, match="training: the corpus has no labels"):
        fit(replace(problem, sequences=bare).corpus())


@pytest.mark.slow
def test_mixtures_of_points_bound_the_optimum():
    """Every bound of a run is below the optimum, bounds never fall, and mixing makes some of them better."""
    problem = larger()
    rho1, rho2 = 0.3, 0.01
    objective = Objective(problem.corpus(), ElasticNet(rho1, rho2), threads=1)
    best = Explicit(problem, rho1, rho2).minimum
    known = objective.working_set(np.arange(problem.w.size))
    solver, run = Proximal(objective), LowerBound(objective)
    w = np.zeros(known.size)
    point = Point(known, w, *objective.loss_grad(known, w))
    together, alone = [], []
    for _ in range(40):
        value = point.loss + objective.penalty.value(point.w)
        # Features within their bound may be omitted.
        listed = (np.abs(point.g) > rho1) | (point.w != 0)
        arguments = known.numbers[listed], point.w[listed], point.loss, point.g[listed]
        together.append(value - run.gap(*arguments))
        alone.append(value - LowerBound(objective).gap(*arguments))
        point = solver.step(point)
    assert max(together) <= best + 1e-7
    assert (np.diff(together) >= 0).all()
    assert (np.array(together) >= np.maximum.accumulate(alone) - 1e-12).all()
    assert max(np.subtract(together, np.maximum.accumulate(alone))) > 1e-3
