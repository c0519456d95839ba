"""Training with label n-grams: the optimum over all of them, certified, and what is refused."""

import itertools
import pickle
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ngram_problems import table_of
from problems import make_problem
from sparsecrf import InputError, _core, fit
from sparsecrf.encoding.ngrams import Ngrams
from sparsecrf.shards import Shards
from sparsecrf.shards.oracle import Known

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


def minimum(data, order, rho1=RHO1, rho2=RHO2):
    """min P on the explicit space, by SciPy."""
    from scipy.optimize import minimize

    features, _ = explicit(data, order)
    oracle, n = _core.Oracle(data, 1), len(features)

    def value(ab):
        w = ab[:n] - ab[n:]
        loss, g = oracle.loss_grad(features, w)
        g = g + rho2 * w
        return loss + 0.5 * rho2 * float(w @ w) + rho1 * float(ab.sum()), np.concatenate([g, -g]) + rho1

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


@pytest.mark.parametrize("solver", ["auto", "owlqn", "lbfgs"])
@pytest.mark.parametrize("order", [3, 4])
@pytest.mark.parametrize("plain", [True, False])
def test_optimum(solver, order, plain):
    data = corpus(plain=plain)
    found = fit(data, rho1=RHO1, rho2=RHO2, order=order, solver=solver, gap=1e-7, max_iter=2000, threads=1)
    best = minimum(data, order)
    assert found.stopped_by == "gap"
    assert_allclose(found.objective, best, rtol=1e-6)
    assert found.objective - best <= found.gap + 1e-6
    assert found.n_ngram > 0
    assert found.objective < fit(data, rho1=RHO1, rho2=RHO2, gap=1e-7, threads=1).objective


@pytest.mark.parametrize("plain", [True, False])
@pytest.mark.parametrize("seed", [4, 5, 6])
def test_no_ngram_of_any_length_violates_its_condition(seed, plain):
    """Brute force over all strings that fit the longest sequence, for a run without a limit."""
    data = corpus(seed, plain=plain)
    found = fit(data, rho1=RHO1, rho2=RHO2, order=None, gap=1e-8, max_iter=2000, threads=1)
    g, w = gradients(data, found, 9)
    at_zero = np.abs(g[w == 0])
    assert at_zero.max() <= RHO1 * (1 + 1e-3)
    assert (at_zero > 0.5 * RHO1).any()
    assert_allclose(g[w != 0] + RHO2 * w[w != 0] + RHO1 * np.sign(w[w != 0]), 0, atol=2e-3)


def test_same_bits_on_any_number_of_threads():
    data = corpus(n_sequences=40)
    one, two = (fit(data, rho1=RHO1, order=3, max_iter=20, threads=threads) for threads in (1, 2))
    assert (one.numbers == two.numbers).all()
    assert (one.w == two.w).all()


def test_order_two_is_what_it_was():
    data = corpus()
    plain, two = fit(data, rho1=RHO1, threads=1), fit(data, rho1=RHO1, order=2, threads=1)
    assert (plain.numbers == two.numbers).all()
    assert (plain.w == two.w).all()
    assert two.ngrams.strings() == []


def test_observed_only():
    data = corpus()
    found = fit(data, rho1=0.2, rho2=RHO2, order=4, observed_only=True, threads=1)
    assert found.n_ngram > 0
    features, cells = explicit(data, 4)
    counts = dict(zip(cells, _core.Oracle(data, 1).counts(features)[-len(cells) :], strict=True))
    assert all(counts[x, y] > 0 for x, y in zip(found.ngrams.attribute.tolist(), found.ngrams.strings(), strict=True))


def test_start_from_another_fit():
    data = corpus()
    first = fit(data, rho1=RHO1, rho2=RHO2, order=3, gap=1e-6, threads=1)
    again = fit(data, rho1=RHO1, rho2=RHO2, order=4, init=first, gap=1e-6, threads=1)
    assert again.history[0].objective == pytest.approx(first.objective, rel=1e-9)
    assert_allclose(again.objective, minimum(data, 4), rtol=1e-5)
    with pytest.raises(InputError, match="init: expected weights of at most two labels"):
        fit(data, init=first)


def test_checkpoint_goes_on_to_the_same_bits(tmp_path):
    """The file keeps the table of n-grams as it was at the head of the iteration, before a limit's own screening."""
    data, options = corpus(n_sequences=30), {"rho1": 0.3, "order": None, "gap": 1e-6, "threads": 1}
    whole = fit(data, **options, max_iter=40)
    assert whole.n_ngram > 0
    for stop in (7, 13, 21):
        path = tmp_path / f"{stop}.safetensors"
        fit(data, **options, max_iter=stop, checkpoint=path)
        again = fit(data, **options, max_iter=40, checkpoint=path, resume=True)
        assert again.ngrams.strings() == whole.ngrams.strings()
        assert (again.numbers == whole.numbers).all()
        assert (again.w == whole.w).all()
    with pytest.raises(InputError, match="expected a checkpoint with order 3, found order None"):
        fit(data, **(options | {"order": 3}), checkpoint=path, resume=True)


def test_attributes_of_ngrams():
    """Only the given attributes condition n-grams; the optimum is that of all whose n-grams they are."""
    data = corpus()
    options = {"rho1": 0.3, "rho2": RHO2, "order": 4, "gap": 1e-6, "threads": 1}
    one = fit(data, **options, ngram_attributes=[1])
    assert one.n_ngram > 0
    assert set(one.ngrams.attribute.tolist()) == {1}
    assert fit(data, **options).objective < one.objective
    with pytest.raises(InputError, match="ngram_attributes: expected numbers from 0 to 2, found 3"):
        fit(data, **options, ngram_attributes=[0, 3])


@pytest.mark.parametrize("n_shards", [1, 3])
def test_shards(n_shards):
    """Over shards, also where feature sets are sent to other processes."""
    data = corpus(n_sequences=30)
    parts = [partial(data.subset, part) for part in np.array_split(np.arange(30), n_shards)]
    options = {"rho1": 0.3, "order": None, "gap": 1e-5, "max_iter": 300}
    whole, found = fit(data, **options), fit(Shards.in_process(parts, threads=1), **options)
    assert_allclose(found.objective, whole.objective, rtol=2e-5)
    assert found.n_ngram > 0
    features, _ = explicit(data, 4)
    sent = pickle.loads(pickle.dumps(Known.of(features))).features
    assert_allclose(_core.Oracle(data, 1).counts(sent), _core.Oracle(data, 1).counts(features))


def test_refused():
    data = corpus()
    for order in (1, 0, "3", True):
        with pytest.raises(InputError, match="order: expected 2 or more labels"):
            fit(data, order=order)
    for solver in ("sbcd", "cd", "sgd-l1"):
        with pytest.raises(InputError, match=f"order: expected 2 for the solver {solver}"):
            fit(data, order=3, solver=solver)
    with pytest.raises(InputError, match="order: expected 2 without an l1 term"):
        fit(data, order=3, rho1=0.0)
    with pytest.raises(InputError, match="order: expected 2 for a list of features"):
        fit(data, order=3, features=np.array([0], dtype=np.int64))
    missing = make_problem(3, 2, [5, 4], 3, missing=0.4).corpus()
    with pytest.raises(InputError, match="negative values or missing labels"):
        fit(missing, order=3)


def test_ngrams_by_name():
    ngrams = Ngrams(np.array([1, 0], np.int32), np.array([3, 4], np.int32), np.arange(7, dtype=np.int32))
    assert ngrams.strings() == [(0, 1, 2), (3, 4, 5, 6)]
    assert Ngrams.none().table(3) is None
