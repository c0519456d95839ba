"""The quadratic model of `auto`: products and solutions against dense matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sparsecrf.training.solvers.local_model import LocalModel
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
    assert_allclose(_smooth_direction(model, gradient, rho2, s, y), -np.linalg.solve(b, gradient), rtol=1e-8)
    far = _smooth_direction(model, 1e3 * gradient, rho2, s, y)
    assert np.abs(far).max() == 1.0
    assert far @ gradient < 0
