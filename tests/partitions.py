"""What the tests of clusters train on: sentences, cut into partitions."""

from itertools import pairwise

import numpy as np

from sentences import dicts, sentences

N_PARTITIONS = 6
OPTIONS = {"rho1": 0.1, "rho2": 0.05, "tol": 1e-4}


def made_up():
    X, y = sentences(60, seed=3)
    return dicts(X), y


def cut(values, n=N_PARTITIONS):
    """A list in n partitions."""
    bounds = np.linspace(0, len(values), n + 1).astype(int)
    return [values[a:b] for a, b in pairwise(bounds)]
