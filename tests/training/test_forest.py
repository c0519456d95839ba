"""Penalties over random forests: every method against its definition, by duality, probes, or long iterations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sparsecrf._core import LANES, InputError, minimize_quadratic
from sparsecrf.training.forest import Forest
from sparsecrf.training.group_penalty import OnFeatures
from sparsecrf.training.penalty import ElasticNet
from sparsecrf.training.solvers.local_model import _groups_of

SEEDS = range(12)


def random_forest(rng, n, n_levels=3):
    """Nested groups: the parts of each level are merged to make the next, and some cells are in none."""
    groups, weights = [], []
    part = rng.permutation(n) // 2 if n > 3 else np.arange(n)
    for _ in range(n_levels):
        names, group = np.unique(part, return_inverse=True)
        alone = rng.random(len(names)) < 0.15
        kept = np.where(alone[group], -1, group)
        names, kept_group = np.unique(kept[kept >= 0], return_inverse=True)
        out = np.full(n, -1)
        out[kept >= 0] = kept_group
        groups.append(out)
        weights.append(rng.random(len(names)) * (1.5 if rng.random() < 0.8 else 0.0))
        part = part // 2
    return Forest.of(groups, weights)


def random_penalty(seed, n=9, rho2=None):
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, n, int(rng.integers(1, 4)))
    return rng, OnFeatures(float(rng.random() + 0.1), float(rng.random()) if rho2 is None else rho2, forest)


def omega(penalty, w):
    """The definition, group by group."""
    total = penalty.rho1 * np.abs(w).sum() + penalty.rho2 / 2 * w @ w
    for level in penalty.forest.levels:
        for k, eta in enumerate(level.eta):
            total += eta * np.sqrt((w[level.cells[level.group == k]] ** 2).sum())
    return total


def parts(penalty):
    """The norms of Omega one by one: cells and weight; those of single cells with rho1."""
    groups = [(lv.cells[lv.group == k], eta) for lv in penalty.forest.levels for k, eta in enumerate(lv.eta)]
    return [(np.array([k]), penalty.rho1) for k in range(9)] + groups


def closest(v, penalty, c):
    """The point of the dual ball { sum_G u_G : ||u_G|| <= c eta_G } closest to v, one u_G after the other: knows no
    order of groups, and would be right for groups of any kind."""
    balls = [(cells, c * eta, np.zeros(len(cells))) for cells, eta in parts(penalty)]
    rest = v.copy()
    for _ in range(3000):
        for cells, radius, u in balls:
            rest[cells] += u
            size = np.linalg.norm(rest[cells])
            u[:] = rest[cells] * (min(1.0, radius / size) if size > 0 else 0.0)
            rest[cells] -= u
    return v - rest


@pytest.mark.parametrize("seed", SEEDS)
def test_value(seed):
    rng, penalty = random_penalty(seed)
    w = rng.normal(size=9) * (rng.random(9) < 0.7)
    assert_allclose(penalty.value(w), omega(penalty, w), rtol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_the_proximal_step_minimises_what_it_should(seed):
    """Against its dual: max over the ball of v . u - |u|^2 / 2 (with rho2: scaled), so that equality proves both."""
    rng, penalty = random_penalty(seed)
    v, c = 3 * rng.normal(size=9), float(rng.random() + 0.2)
    u, scale = closest(v, penalty, c), 1 + c * penalty.rho2
    found = penalty.prox(v, c)
    value = (found - v) @ (found - v) / 2 + c * omega(penalty, found)
    assert_allclose(value, v @ v / 2 - (v - u) @ (v - u) / 2 / scale, rtol=1e-9, atol=1e-9)
    assert_allclose(found, (v - u) / scale, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_the_conjugate_is_the_largest_difference(seed):
    rng, penalty = random_penalty(seed, rho2=0.4)
    G = 3 * rng.normal(size=9)
    rest = G - closest(G, penalty, 1.0)
    assert_allclose(penalty.conjugate(np.abs(G)), rest @ rest / 0.8, rtol=1e-9, atol=1e-9)
    w = rest / 0.4  # where the difference is largest
    assert_allclose(penalty.conjugate(np.abs(G)), w @ G - omega(penalty, w), rtol=1e-6, atol=1e-9)
    for other in w + rng.normal(size=(100, 9)) * 10.0 ** -rng.integers(0, 5, size=(100, 1)):
        assert other @ G - omega(penalty, other) <= penalty.conjugate(np.abs(G)) + 1e-9


@pytest.mark.parametrize("seed", SEEDS)
def test_the_subgradient_is_the_smallest_one(seed):
    """min over directions of the directional derivative is -|smallest subgradient|, along the subgradient itself."""
    rng, penalty = random_penalty(seed)
    w, g = rng.normal(size=9) * (rng.random(9) < 0.5), 2 * rng.normal(size=9)
    found, step = penalty.subgradient(w, g), 1e-7

    def derivative(direction):
        return g @ direction + (omega(penalty, w + step * direction) - omega(penalty, w)) / step

    size = np.linalg.norm(found)
    if size > 0:
        assert_allclose(derivative(-found / size), -size, atol=1e-5)
    for direction in rng.normal(size=(200, 9)):
        direction /= np.linalg.norm(direction)
        assert derivative(direction) >= -size - 1e-5


@pytest.mark.parametrize("seed", SEEDS)
def test_zero_is_optimal_iff_nothing_is_left(seed):
    rng, penalty = random_penalty(seed)
    g = rng.normal(size=9)
    dual = penalty.dual_norm(np.abs(g))
    # N*(g) = max of w . g over N(w) <= 1: no w exceeds it, and the proximal step just above the threshold reaches it.
    norm = OnFeatures(penalty.rho1, 0.0, penalty.forest).value
    for w in [*rng.normal(size=(300, 9)), *(rng.normal(size=(300, 9)) * (rng.random((300, 9)) < 0.3))]:
        assert abs(w @ g) <= dual * norm(w) * (1 + 1e-9)
    left = penalty.forest.sweep(g / (dual * (1 - 1e-4)), penalty.rho1)
    assert abs(left @ g) >= dual * norm(left) * (1 - 1e-3) > 0
    assert not penalty.excess(g / (dual * (1 + 1e-9))).any()
    assert_allclose(penalty.factor(np.abs(g)), min(1.0, 1.0 / dual))


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_left_grows_with_every_size(seed):
    rng, penalty = random_penalty(seed)
    for _ in range(50):
        small = 2 * rng.random(9)
        large = small + rng.random(9) * (rng.random(9) < 0.5)
        assert (penalty.excess(large) >= penalty.excess(small) - 1e-12).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_features_that_may_move(seed):
    rng, penalty = random_penalty(seed)
    w, g = rng.normal(size=9) * (rng.random(9) < 0.3), 2 * rng.normal(size=9)
    resting = (w == 0) & (penalty.subgradient(w, g) == 0)
    np.testing.assert_array_equal(penalty.movable(w, g, 1.0), ~resting)
    assert (penalty.movable(w, g, 0.8) >= penalty.movable(w, g, 0.9)).all()


def test_without_groups_it_is_the_elastic_net():
    rng = np.random.default_rng(0)
    w, g = rng.normal(size=50) * (rng.random(50) < 0.5), 2 * rng.normal(size=50)
    plain, empty = ElasticNet(0.7, 0.3), OnFeatures(0.7, 0.3, Forest(()))
    assert plain.value(w) == empty.value(w)
    for method in ("subgradient", "movable"):
        more = (0.9,) if method == "movable" else ()
        np.testing.assert_array_equal(getattr(plain, method)(w, g, *more), getattr(empty, method)(w, g, *more))
    np.testing.assert_array_equal(plain.prox(g, 0.8), empty.prox(g, 0.8))
    assert plain.conjugate(np.abs(g)) == empty.conjugate(np.abs(g))
    assert_allclose(plain.factor(np.abs(g)), empty.factor(np.abs(g)), rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_the_inner_problem_of_auto(seed):
    """The core's descent on a quadratic model against long proximal gradient in NumPy."""
    n = 30
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, n, int(rng.integers(1, 4)))
    penalty = OnFeatures(float(0.2 + 0.5 * rng.random()), 0.05, forest)
    rank = LANES
    P, Q = 0.1 * rng.normal(size=(n, rank)), 0.5 * rng.normal(size=(n, rank))
    diagonal = 1.0 + rng.random(n)
    B = np.diag(diagonal) - P @ P.T + Q @ Q.T
    assert np.linalg.eigvalsh(B)[0] > 0
    g, w = 1.5 * rng.normal(size=n), 0.3 * rng.normal(size=n) * (rng.random(n) < 0.5)
    d = minimize_quadratic(
        g, w, diagonal, np.full(n, -1, np.int32), np.zeros(n), np.concatenate([P, Q], axis=1),
        np.empty(0, np.int32), np.empty((0, 0)), 1.0, subtracted=rank, rho1=penalty.rho1, rho2=penalty.rho2,
        radius=100.0, tolerance=1e-12, max_sweeps=5000, **_groups_of(forest, np.arange(n), n),
    )  # fmt: skip

    def value(d):
        return g @ d + d @ B @ d / 2 + omega(penalty, w + d)

    L, z = np.linalg.eigvalsh(B)[-1], w.copy()
    for _ in range(5000):
        z = penalty.prox(z - (g + B @ (z - w)) / L, 1 / L)
    assert_allclose(value(d), value(z - w), rtol=1e-9, atol=1e-9)
    assert_allclose(w + d, z, atol=1e-6)
    np.testing.assert_array_equal(w + d == 0, z == 0)


@pytest.mark.parametrize("group", [[[0], [0]], [[1], [0]]])
def test_groups_that_are_no_forest(group):
    one, no = np.ones(1), np.empty(0, np.int32)
    with pytest.raises(InputError, match="expected a forest of groups"):
        minimize_quadratic(
            one, one, one, np.full(1, -1, np.int32), np.zeros(1), np.zeros((1, LANES)), no, np.empty((0, 0)), 1.0,
            subtracted=0, rho1=0.1, rho2=0.1, radius=1.0, tolerance=0.1, max_sweeps=5,
            group=np.array(group, np.int32), eta=np.ones(2),
        )  # fmt: skip
