"""A penalty that grows with the number of labels: the optimum, its certificate, paths, files, and what is refused."""

import numpy as np
import pytest
from ngram_optimum import RHO1, RHO2, corpus, explicit, gradients, minimum, rho1_by_length
from numpy.testing import assert_allclose

from sparsecrf import InputError, _core, fit
from sparsecrf.compatibility import OptionError
from sparsecrf.path import path
from sparsecrf.path.grid import rho_max
from sparsecrf.training.data import TrainingData
from sparsecrf.training.order_penalty import WeightedNet
from sparsecrf.training.penalty import ElasticNet

FACTOR = 1.4


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "owlqn", "lbfgs", "fista"])
@pytest.mark.parametrize("order", [3, 4])
def test_optimum(solver, order):
    """That of SciPy on the explicit space; between those of a plain penalty and of label pairs alone."""
    data, options = corpus(), {"rho1": RHO1, "rho2": RHO2, "gap": 1e-7, "max_iter": 4000, "threads": 1}
    found = fit(data, order=order, order_factor=FACTOR, solver=solver, **options)
    best = minimum(data, order, factor=FACTOR)
    assert found.stopped_by == "gap"
    assert_allclose(found.objective, best, rtol=1e-6)
    assert found.objective - best <= found.gap + 1e-6
    assert found.n_ngram > 0
    plain, pairs = fit(data, order=order, **options), fit(data, **options)
    assert plain.objective < found.objective < pairs.objective


@pytest.mark.slow
@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("factor", [1.2, 2.0])
def test_no_ngram_of_any_length_violates_its_own_condition(factor, plain):
    """Brute force over all strings that fit the longest sequence, for a run without a limit."""
    data = corpus(5, plain=plain)
    found = fit(data, rho1=0.3, rho2=RHO2, order=None, order_factor=factor, gap=1e-8, max_iter=2000, threads=1)
    g, w = gradients(data, found, 9)
    rho1 = rho1_by_length(*explicit(data, 9), 0.3, factor)
    assert (np.abs(g) <= rho1 * (1 + 1e-3))[w == 0].all()
    assert (np.abs(g) > 0.3 * (1 + 1e-3))[w == 0].any()  # a condition with the rho1 of pairs would be violated
    moving = w != 0
    assert_allclose((g + RHO2 * w + rho1 * np.sign(w))[moving], 0, atol=2e-3)
    assert found.n_ngram > 0


@pytest.mark.slow
def test_gap_is_a_bound_early_in_a_run():
    """The optimum is at most the gap below, at every screening."""
    data = corpus(n_sequences=20)
    records = []
    options = {"rho1": 0.3, "rho2": RHO2, "order": 4, "order_factor": FACTOR, "threads": 1}
    fit(data, **options, gap=1e-7, max_iter=500, callback=records.append)
    best = minimum(data, 4, rho1=0.3, factor=FACTOR)
    gaps = [(record["objective"] - best, record["gap"]) for record in records if record["gap"] is not None]
    assert len(gaps) > 2
    assert all(above <= gap * (1 + 1e-6) + 1e-6 for above, gap in gaps)


def test_factor_one_is_the_plain_penalty_to_the_bit():
    data = corpus()
    plain, one = fit(data, rho1=RHO1, order=3, threads=1), fit(data, rho1=RHO1, order=3, order_factor=1, threads=1)
    assert (plain.numbers == one.numbers).all()
    assert (plain.w == one.w).all()
    with pytest.raises(OptionError, match=r"order_factor=3\.0 needs order above 2"):
        fit(data, rho1=RHO1, order_factor=3.0, threads=1)


def test_a_large_factor_leaves_pairs():
    data = corpus()
    found = fit(data, rho1=RHO1, order=None, order_factor=1e6, gap=1e-6, threads=1)
    assert found.n_ngram == 0
    assert_allclose(found.objective, fit(data, rho1=RHO1, gap=1e-6, threads=1).objective, rtol=2e-6)


def test_the_largest_rho1_of_a_path():
    """At rho_max nothing has a weight, just below it something has; n-grams count by their own rho1."""
    data = corpus()
    prepared = TrainingData(data, order=4, threads=1)
    for factor in (1.0, 1.1, 2.0):
        largest = rho_max(prepared, order_factor=factor)
        features, cells = explicit(data, 4)
        g = _core.Oracle(data, 1).loss_grad(features, np.zeros(len(features)))[1]
        assert_allclose(largest, (np.abs(g) / rho1_by_length(features, cells, 1.0, factor)).max(), rtol=1e-9)
        found = path(data, order=4, order_factor=factor, rho1=[largest, 0.8 * largest], threads=1)
        assert [len(found[0].w) == 0, len(found[1].w) > 0] == [True, True]


@pytest.mark.slow
def test_path_ends_where_a_fit_from_zero_does():
    data, options = corpus(), {"order": 3, "order_factor": FACTOR, "gap": 1e-6, "threads": 1}
    found = path(data, rho1=[2.0, 1.0, 0.5], rho2=RHO2, **options)
    assert [f.penalty_summary["order_factor"] for f in found] == [FACTOR] * 3
    assert_allclose(found[2].objective, fit(data, rho1=0.5, rho2=RHO2, **options).objective, rtol=2e-6)
    assert found[2].n_ngram > 0


def test_checkpoint_of_another_factor_is_refused(tmp_path):
    data, options = corpus(), {"rho1": 0.3, "order": 3, "threads": 1, "checkpoint": tmp_path / "c.safetensors"}
    fit(data, **options, order_factor=2.0, max_iter=12)
    with pytest.raises(InputError, match=r"order factor 3\.0, found order factor 2\.0"):
        fit(data, **options, order_factor=3.0, resume=True)
    fit(data, **options, order_factor=2.0, resume=True, max_iter=15)


def test_refused():
    data = corpus()
    for wrong in (0.5, 0, -1, float("nan"), float("inf"), "2", None, True):
        with pytest.raises(InputError, match="order_factor: expected a finite number >= 1"):
            fit(data, order=3, order_factor=wrong)
    with pytest.raises(
        InputError, match=r"penalty='tree' cannot be combined with order_factor=2\.0; use order_factor=1"
    ):
        fit(data, order=3, order_factor=2.0, penalty="tree")


def test_weighted_net():
    """Each method feature by feature as an elastic net with that feature's rho1."""
    rng = np.random.default_rng(3)
    factors = np.array([1.0, 1.0, 1.5, 2.25, 3.0])
    w, g = rng.normal(size=5) * [0, 1, 1, 0, 1], 2 * rng.normal(size=5)
    whole = WeightedNet(0.7, 0.3, factors)
    single = [ElasticNet(0.7 * f, 0.3) for f in factors]
    assert_allclose(whole.value(w), sum(p.value(w[k : k + 1]) for k, p in enumerate(single)))
    for name, more in (("subgradient", (w, g)), ("excess", (g,))):
        parts = [getattr(p, name)(*(a[k : k + 1] for a in more)) for k, p in enumerate(single)]
        assert_allclose(getattr(whole, name)(*more), np.concatenate(parts))
    assert_allclose(whole.prox(g, 0.5), np.concatenate([p.prox(g[k : k + 1], 0.5) for k, p in enumerate(single)]))
    size = np.abs(g)
    assert_allclose(whole.conjugate(size), sum(p.conjugate(size[k : k + 1]) for k, p in enumerate(single)))
    assert_allclose(whole.factor(size), min(p.factor(size[k : k + 1]) for k, p in enumerate(single)))
    assert WeightedNet(0.7, 0.0, factors).conjugate(whole.factor(size) * size) == 0
