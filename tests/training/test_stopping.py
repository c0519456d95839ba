"""When a run stops: the estimate on sequences whose limit is known, and the promise of `tol` on real runs."""

import time
import warnings
from math import inf

import numpy as np
import pytest
from problems import make_problem

from sparsecrf import CRF, Vocabulary, fit
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.path import rho_max
from sparsecrf.training.data import TrainingData
from sparsecrf.training.ngrams import NgramSpace
from sparsecrf.training.solvers import proximal, working_set
from sparsecrf.training.stopping import Stopping, remaining
from sparsecrf.training.value_sizes import ScaleWarning


@pytest.mark.parametrize("rate", [0.3, 0.8, 0.95])
@pytest.mark.parametrize("n", [12, 30, 100])
def test_of_a_geometric_sequence(rate, n):
    """Never below what is left, and not far above once the gains of a window are a fair share of it."""
    values = [5.0 + 3.0 * rate**k for k in range(n)]
    left = values[-1] - 5.0
    assert remaining(values) >= left
    if rate > 0.9:
        assert remaining(values) <= 10 * left


def test_no_estimate_yet():
    assert remaining([3.0]) == inf
    assert remaining([3.0, 2.0, 1.5, 1.2, 1.1]) == inf
    assert remaining([10.0 - k for k in range(20)]) == inf  # the gains do not fall
    assert remaining([1.0] * 20) == inf  # there are none


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "owlqn", "cd"])
@pytest.mark.parametrize("tol", [5e-3, 1e-3])
def test_the_promise_holds(solver, tol):
    for seed in range(3):
        problem = make_problem(seed=seed, n_labels=4, lengths=[6] * 40, n_attributes=15, density=0.4)
        options = {"rho1": 0.2, "rho2": 0.01, "threads": 1}
        best = fit(problem.corpus(), tol=1e-9, **options).objective
        found = fit(problem.corpus(), solver=solver, tol=tol, **options)
        assert found.stopped_by == "tol"
        assert found.objective <= best * (1 + tol)
        assert found.remaining <= tol * found.objective
        assert found.gap >= found.objective - best - 1e-9 * best


def test_kkt_of_an_exact_optimum_is_no_noise_divided_by_noise():
    """One label: nothing can be learnt, and every gradient is rounding."""
    problem = make_problem(seed=1, n_labels=1, lengths=[20] * 20, n_attributes=5, real_values=True)
    found = fit(problem.corpus(), rho1=0.0, rho2=0.1, threads=1)
    assert found.kkt < 1e-3


@pytest.mark.slow
def test_the_stochastic_start_looks_at_the_clock_and_is_heard(monkeypatch, tmp_path):
    """Without time it makes eight steps; what was cut short is not what a later run goes on from."""
    monkeypatch.setattr(proximal, "_LEAST_TOKENS", 0)
    corpus = make_problem(seed=4, lengths=[6] * 120, n_labels=4, n_attributes=40).corpus()
    heard, options = [], {"rho1": 0.5, "rho2": 0.3, "threads": 1, "solver": "proximal"}
    whole = fit(corpus, heartbeat=heard.append, **options)
    assert heard[0] == "stochastic start, step size"
    assert "stochastic start, epoch 2, 7 %" in heard  # eight steps at a time, of 120
    kept = tmp_path / "run"
    cut = fit(corpus, time_limit=0.0, checkpoint=kept, **options)
    assert cut.stopped_by == "time_limit"
    assert fit(corpus, checkpoint=kept, resume=True, **options).objective == whole.objective


@pytest.mark.parametrize("first_screening", [0, 10**9])
def test_a_time_limit_leaves_no_time_for_a_long_certificate(first_screening, monkeypatch):
    """What was certified before counts; a screening that would take long is not begun when time is up."""
    monkeypatch.setattr(working_set, "LAST_SECONDS", -1.0)
    monkeypatch.setattr(working_set, "_FIRST_SCREENING", first_screening)
    corpus = make_problem(seed=4, lengths=[6] * 120, n_labels=4, n_attributes=40).corpus()
    options = {"rho1": 0.5, "rho2": 0.3, "threads": 1, "callback": lambda _: time.sleep(0.3), "time_limit": 0.2}
    options["solver"] = "proximal"  # the certificate of `dual` needs no screening
    found = fit(corpus, **options)
    assert (found.stopped_by, found.kkt) == ("time_limit", np.inf)
    assert np.isfinite(found.gap) == (first_screening == 0)
    assert found.training_record()["kkt"] is None
    monkeypatch.undo()
    found = fit(corpus, **options)
    assert np.isfinite(found.kkt)
    assert np.isfinite(found.gap)


@pytest.mark.slow
@pytest.mark.parametrize("limits", [{}, {"max_iter": 12}])
def test_a_time_limit_ends_a_screening_of_label_ngrams(limits, monkeypatch):
    """Each length of n-grams takes a pass or more; the model is the one before."""
    corpus = make_problem(seed=4, lengths=[6] * 60, n_labels=3, n_attributes=4).corpus()
    options = {"rho1": 0.1, "rho2": 0.3, "threads": 1, "order": None, "tol": 1e-6, **limits}
    whole, lengths = fit(corpus, **options), []
    longer = NgramSpace.longer

    def slow(space, known, w, expected, n_labels, threshold):
        lengths.append(n_labels)
        time.sleep(0.8)
        return longer(space, known, w, expected, n_labels, threshold)

    monkeypatch.setattr(NgramSpace, "longer", slow)
    cut = fit(corpus, time_limit=0.5, **options)
    assert lengths == [3, 4]  # 1.6 s: the next one would be more than a second late
    assert (cut.stopped_by, cut.kkt) == ("time_limit", np.inf)
    assert whole.objective < cut.objective < np.inf


def test_without_certify_nothing_is_done_for_a_tighter_gap(monkeypatch):
    corpus = make_problem(seed=4, lengths=[6] * 120, n_labels=4, n_attributes=40).corpus()
    options = {"rho1": 0.5, "rho2": 0.3, "threads": 1, "max_iter": 8, "solver": "proximal"}
    whole = fit(corpus, **options)

    def never(*arguments):
        raise AssertionError("factors of sequences were asked for")

    monkeypatch.setattr(working_set.Objective, "sequence_factors", never)
    quick = fit(corpus, certify=False, **options)
    assert np.array_equal(quick.w, whole.w)
    assert whole.gap < quick.gap < np.inf


@pytest.mark.parametrize(
    ("options", "X", "y", "weight"),
    [
        ({"solver": "owlqn", "rho1": 0.03, "rho2": 0.0, "tol": 1e-6}, [["b", ["b", "b"]]], [["L1", "L0"]], None),
        (
            {"rho1": 1.05, "rho2": 0.1, "bigrams": "all"},
            [[[], [], ["a"], ["a", "b"], []]],
            [["L0", "L0", "L1", "L0", "L1"]],
            [[0, 0, 0, 2.5, 0]],
        ),
    ],
)
def test_pairs_that_lose_their_curvature_are_dropped(options, X, y, weight):
    """A feature that leaves the working set may have held all of a step: s . y was 0, and divided by."""
    assert CRF(**options).fit(X, y, weight).stopped_by_ in ("tol", "precision")


def test_rho_max_where_nothing_is_observed():
    """The only token with a label has no attribute: nothing is observed, but what could be has a gradient."""
    corpus = Vocabulary(bigrams="all").encode([["a", [], "a"]] * 2, [["L0", "L1", "L2"], [None, "L2", None]], grow=True)
    alone = corpus.subset(np.array([1]))
    largest = rho_max(alone, threads=1)
    assert largest == pytest.approx(4 / 9)
    assert len(fit(alone, rho1=1.001 * largest, rho2=0.01, threads=1).w) == 0


def wild_problem(seed, *, signed=False, n_sequences=12, each=False):
    """A corpus whose values span 1e-3 to 1e3, by attribute or (`each`) by occurrence."""
    rng = np.random.default_rng(seed)
    sizes, likely = 10 ** rng.uniform(-3, 3, 8), rng.integers(3, size=8)

    def token(here):
        values = 10 ** rng.uniform(-3, 3, len(here)) if each else sizes[here] * rng.uniform(0.5, 1.5, len(here))
        signs = rng.choice([-1, 1], len(here)) if signed else 1
        return [(f"a{x}", float(v)) for x, v in zip(here, signs * values, strict=True)]

    X, y = [], []
    for _ in range(n_sequences):
        held = [np.flatnonzero(rng.random(8) < 0.4) for _ in range(4)]
        X.append([token(here) for here in held])
        y.append([f"L{likely[rng.choice(here)] if len(here) else 0}" for here in held])
    return Vocabulary().encode(X, y, grow=True)


@pytest.mark.parametrize("solver", ["auto", "fista", "owlqn", "lbfgs", "sbcd", "cd", "sgd-l1"])
def test_the_promise_holds_for_values_of_all_sizes(solver):
    """Runs that say `tol` were up to 44 % above the optimum: with one ridge, radius or step size for all weights, those
    of small values stayed behind, and gains that come to a rest do not show it. The gap does."""
    for seed, each in [(0, False), (1, True), (2, False)]:
        corpus = wild_problem(seed, signed=seed == 2, each=each)
        options = {"rho1": 0.1, "rho2": 0.1, "threads": 1}
        found = fit(corpus, solver=solver, max_iter=150, **options)
        best = fit(corpus, gap=1e-4, max_iter=300, init=found, **options)
        assert found.stopped_by == "tol" or solver != "auto"
        if found.stopped_by == "tol":
            assert found.objective - best.objective <= 5e-3 * found.objective


@pytest.mark.parametrize(
    ("penalty", "rho1", "rho2", "seeds"), [("elastic-net", 0.03, 0.001, [0, 1, 3]), ("group:label", 1.0, 0.1, [1, 2])]
)
def test_fista_trusts_the_certificate_only(penalty, rho1, rho2, seeds):
    """Its steps can be so short that gains vanish 0.7 % above the optimum, with a certified gap of 99 %."""
    options = {"penalty": penalty, "rho1": rho1, "rho2": rho2, "threads": 1}
    for seed in seeds:
        found = fit(wild_problem(seed), solver="fista", max_iter=200, **options)
        assert found.stopped_by == ("tol" if found.gap <= 5e-3 * found.objective else "max_iter")


def test_units_are_the_usual_sizes_of_values():
    """The geometric mean of |v| by attribute; 1 exactly, and no array, where all values are 1."""
    X = [[[("a", 2.0), ("b", -1e3)], [("a", 8.0), ("c", 0.0)]]]
    corpus = Vocabulary().encode(X, [["L0", "L1"]], grow=True)
    data = TrainingData(corpus, threads=1)
    unigram, pairs = data.oracle.value_sizes
    assert unigram.tolist() == pytest.approx([1.0, 4.0, 1e3, 1.0])  # the first: plain transitions
    assert (pairs == 1).all()
    plain = TrainingData(Vocabulary().encode([["a", "b"]], [["L0", "L1"]], grow=True), threads=1)
    assert plain.oracle.value_sizes is None
    assert plain.units(plain.working_set(plain.observed)) == 1.0


@pytest.mark.parametrize("solver", ["auto", "owlqn", "lbfgs", "fista", "sbcd", "cd"])
def test_scaled_values_take_no_more_passes(solver):
    """Values times c, rho1 times c and rho2 times c^2 are the same problem, and solvers take the same steps."""
    X = [[[("t", 1.0), *((f"a{(k + i) % 5}", 1.0 + x % 3) for x in range(2))] for k in range(4)] for i in range(6)]
    y = [[f"L{(k * i + i) % 3}" for k in range(4)] for i in range(6)]
    found = []
    for c in (1.0, 2.0**9):
        scaled = [[[(name, c * value) for name, value in token] for token in tokens] for tokens in X]
        corpus = Vocabulary(bigrams=["t"]).encode(scaled, y, grow=True)
        numbers = TrainingData(corpus, threads=1).observed
        numbers = numbers[Numbering.of(corpus).attribute(numbers) > 0]  # without plain transitions, which have no value
        found.append(fit(corpus, rho1=0.1 * c, rho2=0.1 * c**2, solver=solver, numbers=numbers, threads=1))
    assert found[1].history[-1].passes == found[0].history[-1].passes
    assert found[1].objective == pytest.approx(found[0].objective, rel=1e-9)


def test_values_of_very_different_sizes_are_a_warning():
    X = [[{"year": 2000.0, "share": 1e-3}, {"year": 1990.0, "share": 2e-3}]] * 3
    y = [["A", "B"]] * 3
    with pytest.warns(
        ScaleWarning, match=r"'share' are about 0\.0014 and the values of 'year' about 2e\+03.*standard deviation"
    ):
        CRF(max_iter=20).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ScaleWarning)
        CRF(max_iter=20).fit([[{"year": 2.0, "share": 0.1}, {"year": 1.9, "share": 0.2}]] * 3, y)


def test_a_gap_far_above_the_tolerance_asks_for_more():
    assert Stopping(doubt=0.5).believable(18.0, 2.0) == 2.0 / 3.0
    assert Stopping().believable(18.0, 2.0) == 2.0 / 27.0
    assert Stopping().believable(1.0, 2.0) == 2.0
    assert Stopping().believable(inf, 2.0) == 2.0  # nothing bounds the optimum
    assert Stopping(doubt=inf).believable(2.1, 2.0) == 0.0
