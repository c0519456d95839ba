"""Training problems with label n-grams that are small enough for an explicit list of all features."""

import itertools

import numpy as np
from ngram_problems import table_of
from problems import make_problem

from sparsecrf import _core

RHO1, RHO2 = 0.7, 0.2


def corpus(seed=4, n_sequences=12, n_labels=2, plain=True):
    """Labels that depend on the two before them; attributes 0 (at every position, if `plain`) to 2 condition pairs."""
    rng = np.random.default_rng(seed)
    base = make_problem(seed, n_labels, [int(n) for n in rng.integers(1, 9, size=n_sequences)], 3)
    arrays = base.corpus_arrays()
    n_positions = int(arrays["lengths"].sum())
    labels = rng.integers(n_labels, size=n_positions)
    labels[2:] = np.where(rng.random(n_positions - 2) < 0.8, labels[2:] ^ (labels[:-2] == labels[1:-1]), labels[2:])
    lists = [[0] if plain else [] for _ in range(n_positions)]
    for of in lists:
        of += [x for x in (1, 2) if rng.random() < 0.5]
    arrays |= {
        "labels": (labels % n_labels).astype(np.int32),
        "bigram_ptr": np.cumsum([0, *map(len, lists)]).astype(np.int64),
        "bigram_id": np.array([x for of in lists for x in of], dtype=np.int32),
        "bigram_value": None,
    }
    return _core.Corpus.from_arrays(**arrays)


def explicit(data, order):
    """All features up to `order` labels, n-grams of the attributes 0 to 2 with and without the start label."""
    Y, X = data.n_labels, data.n_attributes
    cells = [
        (x, labels)
        for n in range(3, order + 1)
        for x in range(X)
        for labels in itertools.product(range(Y + 1), *[range(Y)] * (n - 1))
    ]
    numbers = np.concatenate([np.arange(X * Y + X * (Y + 1) * Y), X * Y + X * (Y + 1) * Y + np.arange(len(cells))])
    return _core.FeatureSet.from_numbers(Y, X, numbers, table_of(Y, cells)), cells


def rho1_by_length(features, cells, rho1=RHO1, factor=1.0):
    """[K] rho1 of every feature of the explicit space: times `factor` for each label beyond two."""
    lengths = np.array([2] * (len(features) - len(cells)) + [len(labels) for _, labels in cells])
    return rho1 * factor ** (lengths - 2.0)


def minimum(data, order, rho1=RHO1, rho2=RHO2, factor=1.0):
    """min P on the explicit space, by SciPy."""
    from scipy.optimize import minimize

    features, cells = explicit(data, order)
    oracle, n = _core.Oracle(data, 1), len(features)
    each = np.tile(rho1_by_length(features, cells, rho1, factor), 2)

    def value(ab):
        w = ab[:n] - ab[n:]
        loss, g = oracle.loss_grad(features, w)
        g = g + rho2 * w
        return loss + 0.5 * rho2 * float(w @ w) + float(each @ ab), np.concatenate([g, -g]) + each

    options = {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 30}
    start = np.zeros(2 * n)
    return minimize(value, start, jac=True, method="L-BFGS-B", bounds=[(0, None)] * (2 * n), options=options).fun


def gradients(data, found, order):
    """g of all features up to `order` labels at the weights of a fit, and the n-grams."""
    features, cells = explicit(data, order)
    w = np.zeros(len(features))
    n_pairs = len(features) - len(cells)
    n = len(found.numbers) - found.n_ngram
    w[found.numbers[:n]] = found.w[:n]
    place = {cell: k for k, cell in enumerate(cells)}
    for x, labels, weight in zip(found.ngrams.attribute.tolist(), found.ngrams.strings(), found.w[n:], strict=True):
        w[n_pairs + place[x, labels]] = weight
    return _core.Oracle(data, 1).loss_grad(features, w)[1], w
