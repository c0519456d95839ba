"""The quadratic model of `auto`: products and solutions against dense matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from sparsecrf._core import LANES, InputError, combine_columns, row_products, times_matrix
from sparsecrf.training.penalty import ElasticNet
from sparsecrf.training.solvers.local_model import Block, LocalModel
from sparsecrf.training.solvers.pairs import Pairs
from sparsecrf.training.solvers.proximal import _smooth_direction


@pytest.fixture(params=["children", "no children"])
def model(request):
    """Nine features; some of the last six have one of the first three as parent."""
    rng = np.random.default_rng(7)
    parent = np.array([-1, -1, -1, 0, 0, 2, -1, 2, 2], dtype=np.int32)
    if request.param == "no children":
        parent[:] = -1
    coupling = rng.random(9)
    shared = np.bincount(parent[parent >= 0], weights=coupling[parent >= 0], minlength=9)
    return LocalModel(np.maximum(coupling, shared) + 0.1, parent, coupling)


def dense(model):
    b0 = np.diag(model.diagonal)
    for k, parent in enumerate(model.parent):
        if parent >= 0:
            b0[k, parent] = b0[parent, k] = model.coupling[k]
    return b0


def test_products_and_solutions(model):
    r = np.random.default_rng(8).normal(size=(3, 9))
    assert_allclose(model.times(r), r @ dense(model), rtol=1e-12)
    assert_allclose(model.solve(r, 0.3), np.linalg.solve(dense(model) + 0.3 * np.eye(9), r.T).T, rtol=1e-10)
    assert_allclose(model.solve(r[0], 0.3), model.solve(r, 0.3)[0], rtol=1e-14)


@pytest.mark.parametrize("n_pairs", [0, 1, 4])
def test_a_step_without_l1_is_that_of_bfgs(model, n_pairs):
    rng, rho2 = np.random.default_rng(9), 0.2
    curvature = rng.normal(size=(9, 9))
    curvature = curvature @ curvature.T + np.eye(9)
    s = 0.1 * rng.normal(size=(n_pairs, 9))
    y = s @ curvature
    b = dense(model) + rho2 * np.eye(9)
    for step, change in zip(s, y + rho2 * s, strict=True):
        b_s = b @ step
        b += np.outer(change, change) / (step @ change) - np.outer(b_s, b_s) / (step @ b_s)
    gradient = 0.01 * rng.normal(size=9)
    pairs = Pairs(memory=10)
    for pair in zip(s, y, strict=True):
        pairs.add(*pair)
    assert len(pairs) == n_pairs
    assert_allclose(_smooth_direction(model, gradient, rho2, pairs, 1), -np.linalg.solve(b, gradient), rtol=1e-8)
    far = _smooth_direction(model, 1e3 * gradient, rho2, pairs, 1)
    assert np.abs(far).max() == 1.0
    assert far @ gradient < 0


def with_block(model):
    """The same model with a matrix between four of its features, one of them a parent, and that matrix."""
    rng = np.random.default_rng(10)
    row = np.array([1, -1, -1, 0, -1, 3, -1, 2, -1], dtype=np.int32)
    curvature = rng.normal(size=(4, 4))
    matrix = np.zeros((4, LANES))
    matrix[:, :4] = curvature @ curvature.T + np.eye(4)
    return model.with_block(Block(row, matrix))


def dense_with_block(model):
    b0, inside = dense(model), np.flatnonzero(model.block.row >= 0)
    row = model.block.row[inside]
    b0[np.ix_(inside, inside)] = model.scale * model.block.matrix[np.ix_(row, row)]
    return b0


def test_products_with_a_block(model):
    s = np.random.default_rng(11).normal(size=(3, 9))
    for blocked in (with_block(model), with_block(model).scaled(2.5)):
        assert_allclose(blocked.times(s), s @ dense_with_block(blocked), rtol=1e-12)
        assert_allclose(np.diag(dense_with_block(blocked)), blocked.diagonal)
    # Only features outside the block keep a coupling, and only to other features outside it.
    outside = with_block(model).block.row < 0
    children = np.flatnonzero(with_block(model).parent >= 0)
    assert outside[children].all()
    assert outside[with_block(model).parent[children]].all()


@pytest.mark.parametrize("free", [np.arange(9), np.array([0, 2, 3, 4, 8])])
@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_the_inner_problem_with_a_block(model, free, factor):
    """Coordinate descent against the conditions of optimality of the dense problem."""
    rng, penalty = np.random.default_rng(12), ElasticNet(0.4, 0.2)
    blocked = with_block(model).scaled(factor)
    g, w = 0.5 * rng.normal(size=9), 0.1 * rng.normal(size=9) * (rng.random(9) < 0.6)
    d = blocked.minimize(penalty, w, g, free, tolerance=1e-12)
    assert (np.delete(d, free) == 0).all()
    slope = g + dense_with_block(blocked) @ d
    residual = penalty.subgradient(w + d, slope)[free]
    assert np.abs(d).max() < 1.0  # within the radius, so that the conditions are those of the free problem
    assert_allclose(residual, 0.0, atol=1e-8)


def test_a_block_of_several_tiles_on_any_number_of_threads():
    """Changes of other tiles of the block's product are made later, by several threads."""
    rng, n, penalty = np.random.default_rng(13), 600, ElasticNet(0.4, 0.2)
    curvature = rng.normal(size=(n, 2 * n)) / np.sqrt(2 * n)
    matrix = np.zeros((n, n + -n % LANES))
    matrix[:, :n] = curvature @ curvature.T + np.eye(n)
    diagonal = np.append(np.diag(matrix), np.ones(5))  # the last five features are outside of the block
    row = np.append(rng.permutation(n), np.full(5, -1)).astype(np.int32)
    diagonal[:n] = diagonal[row[:n]]
    model = LocalModel(diagonal, np.full(n + 5, -1, dtype=np.int32), np.zeros(n + 5), Block(row, matrix))
    g, w, free = 0.5 * rng.normal(size=n + 5), np.zeros(n + 5), np.arange(n + 5)
    one, *others = (
        model._replace(threads=threads).minimize(penalty, w, g, free, tolerance=1e-12) for threads in (1, 2, 3, 8)
    )
    for other in others:
        assert_array_equal(one, other)
    residual = penalty.subgradient(w + one, g + dense_with_block(model) @ one)
    assert np.abs(one).max() < 1.0
    assert_allclose(residual, 0.0, atol=1e-8)


def test_products_of_the_compact_form():
    rng = np.random.default_rng(14)
    a, b, chosen = rng.normal(size=(3, 1100)), rng.normal(size=(3, 1100)), np.array([0, 7, 1099, 513])
    c, s, matrix = rng.normal(size=(6, 2 * LANES)), rng.normal(size=(2, 130)), rng.normal(size=(130, 136))
    expected = a @ b.T, np.vstack([a, b]).T[chosen] @ c, s @ matrix
    products = [
        (row_products(a, b, n), combine_columns(a, b, chosen, c, n), times_matrix(s, matrix, n))
        for n in (1, 2, 3, 8, 0)
    ]
    for found in products:
        for one, other, right in zip(products[0], found, expected, strict=True):
            assert_array_equal(one, other)
            assert_allclose(other, right, rtol=1e-11, atol=1e-12)
    assert row_products(a[:, :0], b[:, :0], 2).tolist() == [[0.0] * 3] * 3
    with pytest.raises(InputError, match="b: expected 1100 columns, as in a, found 1099"):
        row_products(a, b[:, 1:].copy(), 1)
    with pytest.raises(InputError, match="c with 6 rows"):
        combine_columns(a, b, chosen, c[1:], 1)
    with pytest.raises(InputError, match="found 1100"):
        combine_columns(a, b, chosen + 1, c, 1)
    with pytest.raises(InputError, match="130 rows"):
        times_matrix(s, matrix[1:], 1)
