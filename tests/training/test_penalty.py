"""The elastic net: every method against the definition, by brute force on a grid or by finite differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sparsecrf import InputError
from sparsecrf.training.penalty import ElasticNet

PENALTIES = [ElasticNet(0.7, 0.3), ElasticNet(0.0, 0.5), ElasticNet(1.2, 0.01)]
GRID = np.linspace(-300, 300, 600_001)  # step 0.001


def omega(penalty: ElasticNet, w: np.ndarray) -> np.ndarray:
    return penalty.rho1 * np.abs(w) + penalty.rho2 / 2 * w**2


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("x", [-2.5, -0.3, 0.0, 0.4, 1.9])
def test_against_the_definitions(penalty, x):
    one = np.array([x])
    assert_allclose(penalty.value(one), omega(penalty, one)[0])
    assert_allclose(penalty.conjugate(np.abs(one)), (x * GRID - omega(penalty, GRID)).max(), atol=1e-5)
    proximal = GRID[np.argmin((GRID - x) ** 2 / 2 + 0.8 * omega(penalty, GRID))]
    assert_allclose(penalty.prox(one, 0.8), proximal, atol=1e-3)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_subgradient_is_the_smallest_one(penalty):
    rng = np.random.default_rng(0)
    g, w = rng.normal(size=200) * 2, rng.normal(size=200) * (rng.random(200) < 0.5)
    found, step = penalty.subgradient(w, g), 1e-6
    right = g + (omega(penalty, w + step) - omega(penalty, w)) / step
    left = g + (omega(penalty, w) - omega(penalty, w - step)) / step
    expected = np.where(right < 0, right, np.where(left > 0, left, 0.0))  # 0 if it lies between them
    moving = w != 0
    assert_allclose(found[moving], (g + penalty.rho1 * np.sign(w) + penalty.rho2 * w)[moving])
    assert_allclose(found[~moving], expected[~moving], atol=1e-5)
    assert_allclose(np.abs(found[~moving]), penalty.excess(g)[~moving])


def test_without_a_quadratic_term_the_conjugate_is_a_barrier():
    penalty = ElasticNet(1.0, 0.0)
    assert penalty.conjugate(np.array([0.5, 1.0 + 1e-13])) == 0.0
    assert penalty.conjugate(np.array([1.0 + 1e-9])) == np.inf


@pytest.mark.parametrize("wrong", [-1.0, np.inf, np.nan, "1", None])
def test_what_is_no_penalty(wrong):
    with pytest.raises(InputError, match="rho2: expected a finite number >= 0"):
        ElasticNet(1.0, wrong)
