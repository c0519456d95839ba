"""What the tests of clusters train on: sentences, cut into partitions; and what they look at."""

import gc
import time
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


def names(table):
    return [table[k] for k in range(len(table))]


def left_on(client):
    """Tasks of ours that the scheduler knows, after a moment to forget them."""
    gc.collect()  # futures of failed calls, in the frames of their errors
    for _ in range(100):
        found = client.run_on_scheduler(lambda dask_scheduler: [str(k) for k in dask_scheduler.tasks])
        found = [key for key in found if key.startswith("sparsecrf-")]
        if not found:
            break
        time.sleep(0.05)
    return found
