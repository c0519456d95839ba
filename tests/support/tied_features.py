"""Models whose features are sums of others: the same objective on the explicit space, for tests of labels with parts.

`both` has a corpus with its `oracle`, the tied `features`, the `flat` ones, and `matrix` [features, flat], by which
weights of the first become weights of the second.
"""

import numpy as np
from numpy.testing import assert_allclose
from scipy.optimize import minimize


def scipy_optimum(both, rho1, rho2):
    """The objective's minimum on the explicit space, positive and negative parts apart."""
    K, R = len(both.features), both.matrix

    def value(z):
        w = z[:K] - z[K:]
        loss, g = both.oracle.loss_grad(both.flat, R.T @ w)
        g = R @ g + rho2 * w
        return loss + rho1 * z.sum() + rho2 / 2 * w @ w, np.concatenate([g, -g]) + rho1

    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 50}
    found = minimize(value, np.zeros(2 * K), jac=True, bounds=[(0, None)] * 2 * K, method="L-BFGS-B", options=options)
    return found.fun


def assert_optimal(both, found, rho1, rho2):
    """A fit has found the optimum, its gap is a bound, and no feature of the whole space violates its condition."""
    best = scipy_optimum(both, rho1, rho2)
    assert_allclose(found.objective, best, rtol=1e-6)
    assert found.objective - found.gap <= best * (1 + 1e-9)
    w = np.zeros(len(both.features))
    w[np.searchsorted(both.features.numbers, found.numbers)] = found.w
    _, g = both.oracle.loss_grad(both.features, w)
    assert np.abs(g[w == 0]).max() <= rho1 + 1e-4
    assert found.n_features == len(both.features)


def assert_close(both, found, rho1, rho2):
    """A fit is not below the optimum, and at most 2 % above it."""
    best = scipy_optimum(both, rho1, rho2)
    assert best <= found.objective * (1 + 1e-9)
    assert found.objective <= best * 1.02
