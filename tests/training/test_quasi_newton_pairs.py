"""The pairs of quasi-Newton methods, and the two-loop recursion over them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sparsecrf import InputError
from sparsecrf._core import two_loop_back, two_loop_forth
from sparsecrf.training.solvers.pairs import Pairs


def some_pairs(n, size, seed=0):
    rng = np.random.default_rng(seed)
    pairs, curvature = Pairs(memory=n), rng.uniform(0.5, 2.0, size)
    for _ in range(n):
        s = rng.normal(size=size)
        pairs.add(s, curvature * s + 0.1 * rng.normal(size=size))
    assert len(pairs) == n
    return pairs


def by_definition(pairs, d, first, ridge):
    """H d with H_(k+1) = V' H_k V + s s' / s.z, V = I - z s' / s.z, and H_0 a diagonal."""
    h = np.diag(first)
    for s, y in zip(pairs.s, pairs.y, strict=True):
        z = y + ridge * s
        v = np.eye(len(d)) - np.outer(z, s) / (s @ z)
        h = v.T @ h @ v + np.outer(s, s) / (s @ z)
    return h @ d


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize(("n", "size"), [(0, 5), (1, 1), (1, 17), (3, 8), (7, 60)])
def test_the_recursion_is_the_formula_of_bfgs(n, size, ridge):
    pairs, rng = some_pairs(n, size), np.random.default_rng(1)
    d, first = rng.normal(size=size), rng.uniform(0.5, 2.0, size)
    expected = by_definition(pairs, d, first, ridge)
    assert_allclose(pairs.inverse_times(d.copy(), lambda r: first * r, ridge), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("size", [1024, 3001, 40_000])
def test_several_blocks_and_any_number_of_threads(size):
    """Beside sums by NumPy; and the same bits for all numbers of threads."""
    pairs, d = some_pairs(4, size), np.random.default_rng(2).normal(size=size)
    z = pairs.y + 0.2 * pairs.s
    expected, along = d.copy(), []
    for s, change in zip(pairs.s[::-1], z[::-1], strict=True):
        along.append(s @ expected / (s @ change))
        expected -= along[-1] * change
    for s, change, a in zip(pairs.s, z, reversed(along), strict=True):
        expected += (a - change @ expected / (s @ change)) * s
    found = [pairs.inverse_times(d.copy(), lambda r: r, 0.2, threads) for threads in (1, 2, 3, 8)]
    assert_allclose(found[0], expected, rtol=1e-9, atol=1e-9)
    for other in found[1:]:
        assert_array_equal(other, found[0])


def test_products_follow_the_pairs_that_are_kept():
    """Old pairs leave; a state that is restored has the same products."""
    pairs = some_pairs(9, 12)
    pairs.memory = 3
    rng = np.random.default_rng(3)
    for _ in range(2):
        s = rng.normal(size=12)
        pairs.add(s, 2.0 * s)
        d = rng.normal(size=12)
        again = Pairs(memory=3)
        again.restore(pairs.state())
        assert len(again) == len(pairs) == 3
        assert_array_equal(again.inverse_times(d.copy(), again.as_last), pairs.inverse_times(d.copy(), pairs.as_last))
        assert_allclose(pairs.as_last(d.copy()), d / 2.0)
    pairs.forget()
    assert_array_equal(pairs.inverse_times(d.copy(), pairs.as_last), d)


def test_wrong_shapes():
    d, rows, curvature = np.zeros(4), np.zeros((2, 4)), np.ones(2)
    with pytest.raises(InputError, match=r"pairs: expected shape \(2, 4\), found \(2, 5\)"):
        two_loop_back(d, rows, np.zeros((2, 5)), curvature, 0.0, 1)
    with pytest.raises(InputError, match=r"pairs: expected shape \(2, 4\), found \(1, 4\)"):
        two_loop_forth(d, rows[:1].copy(), rows, curvature, 0.0, curvature, 1)
    with pytest.raises(InputError, match="a: expected 2 entries, found 3"):
        two_loop_forth(d, rows, rows, curvature, 0.0, np.ones(3), 1)
