"""The objective on all features of a small problem, by the NumPy reference alone, and its minimum."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from problems import make_problem
from scipy.optimize import minimize

import reference


@dataclass(frozen=True)
class Explicit:
    """P on the whole feature set, by the NumPy reference alone."""

    problem: object
    rho1: float
    rho2: float
    w0: object = 0.0  # the centre of the penalty: a number, or an array

    def loss_grad(self, w):
        mu, lam = np.split(w, [self.problem.mu.size])
        shaped = mu.reshape(self.problem.mu.shape), lam.reshape(self.problem.lam.shape)
        found = reference.objective(self.problem.sequences, *shaped)
        return found.loss, np.concatenate([found.g_mu.ravel(), found.g_lam.ravel()])

    def value(self, w):
        d = w - self.w0
        return self.loss_grad(w)[0] + self.rho1 * np.abs(d).sum() + 0.5 * self.rho2 * d @ d

    def residual(self, w):
        """sum_k |smallest subgradient|, straight from its definition."""
        g = self.loss_grad(w)[1] + self.rho2 * w
        return sum(
            abs(slope + self.rho1 * np.sign(x)) if x != 0 else max(abs(slope) - self.rho1, 0.0)
            for x, slope in zip(w, g, strict=True)
        )

    @cached_property
    def minimum(self):
        """P* by L-BFGS-B on w = w0 + a - b, a, b >= 0."""
        n = self.problem.w.size

        def split(ab):
            d = ab[:n] - ab[n:]
            loss, g = self.loss_grad(self.w0 + d)
            g = g + self.rho2 * d
            value = loss + 0.5 * self.rho2 * d @ d + self.rho1 * ab.sum()
            return value, np.concatenate([g, -g]) + self.rho1

        options = {"maxiter": 20000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-9}
        bounds = [(0.0, None)] * (2 * n)
        found = minimize(split, np.zeros(2 * n), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        return self.value(self.w0 + found.x[:n] - found.x[n:])

    def weights(self, found):
        w = np.zeros(self.problem.w.size)
        w[found.numbers] = found.w
        return w


def larger(seed=3):
    return make_problem(seed=seed, n_labels=6, lengths=[7] * 25, n_attributes=12, density=0.3, real_values=True)
