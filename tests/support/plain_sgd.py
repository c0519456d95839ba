"""Steps of stochastic gradient descent as they are defined, for whatever gradient: what the core is compared with."""

import numpy as np


def plain_steps(gradient, w, q, u, sequences, n, *, rho1, rho2, eta0, decay, done, at_once=1, factors=1.0):
    """Every weight decays and takes its penalty at every step; of `at_once` steps with gradients at the same weights,
    after the last of them. gradient(w, i): of sequence i. factors: [K] or one number, rho1 of the features in units of
    rho1."""
    for k, (t, i) in enumerate(enumerate(sequences, start=int(done))):
        eta = eta0 / (1 + decay * t / n)
        if k % at_once == 0:
            at = w
        keep = 1 - eta * rho2 / n
        w, q, u = keep * w - eta * gradient(at, i), keep * q, keep * u + eta * rho1 / n
        if k % at_once < at_once - 1 and k < len(sequences) - 1:
            continue
        owed = factors * u
        clipped = np.where(w > 0, np.maximum(0, w - (owed + q)), np.minimum(0, w + (owed - q)))
        q, w = q + clipped - w, clipped
    return w, q, u
