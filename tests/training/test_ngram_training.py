"""Training with label n-grams: the optimum over all of them, certified, and what is refused."""

import pickle
from functools import partial

import numpy as np
import pytest
from ngram_optimum import RHO1, RHO2, corpus, explicit, gradients, minimum
from numpy.testing import assert_allclose
from problems import make_problem

from sparsecrf import CRF, InputError, Vocabulary, _core, fit
from sparsecrf.encoding.ngrams import Ngrams
from sparsecrf.shards import Shards
from sparsecrf.training.data import TrainingData


@pytest.mark.slow
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


@pytest.mark.slow
def test_start_from_another_fit():
    data = corpus()
    first = fit(data, rho1=RHO1, rho2=RHO2, order=3, gap=1e-6, threads=1)
    again = fit(data, rho1=RHO1, rho2=RHO2, order=4, init=first, gap=1e-6, threads=1)
    assert again.history[0].objective == pytest.approx(first.objective, rel=1e-9)
    assert_allclose(again.objective, minimum(data, 4), rtol=1e-5)
    with pytest.raises(InputError, match="init: expected weights of at most two labels"):
        fit(data, init=first)


@pytest.mark.slow
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


def test_checkpoint_and_data_that_met_other_ngrams(tmp_path):
    """Numbers of n-grams are places in the table of the data: those of the file would be other n-grams there."""
    made = corpus()
    options = {"rho1": RHO1, "rho2": RHO2, "checkpoint": tmp_path / "c", "threads": 1}
    fit(TrainingData(made, order=3), max_iter=25, **options)
    data = TrainingData(made, order=3)
    space = data.ngrams
    space.numbers(Ngrams(*(np.array(x, dtype=np.int32) for x in ([0, 1], [3, 3], [1, 0, 1, 0, 1, 0]))))
    with pytest.raises(InputError, match=r"c: this TrainingData object contains label n-grams from another run"):
        fit(data, resume=True, **options)
    again = TrainingData(made, order=3)
    fit(again, resume=True, **options)
    fit(again, resume=True, **options)  # the same run met them


def test_no_limit_ends_where_strings_do(monkeypatch):
    monkeypatch.setattr("sparsecrf.training.objective.LONGEST_NGRAM", 4)
    always = [["a"] * 8] * 20
    data = Vocabulary().encode(always, [["O"] * 4 + ["P"] * 4] * 20, grow=True)
    for order in (None, 9):
        found = fit(data, rho1=0.01, rho2=RHO2, order=order, max_iter=12, threads=1)
        assert found.ngrams.length.max(initial=0) == 4


def test_an_error_leaves_a_checkpoint(tmp_path):
    class Broken(Exception):
        pass

    def callback(record):
        if record["iter"] == 7:
            raise Broken

    options = {"rho1": RHO1, "rho2": RHO2, "order": 3, "checkpoint": tmp_path / "c", "threads": 1}
    with pytest.raises(Broken):
        fit(corpus(), callback=callback, **options)
    iterations = []
    fit(corpus(), resume=True, max_iter=7, callback=lambda record: iterations.append(record["iter"]), **options)
    assert iterations == [7]


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


@pytest.mark.slow
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
    sent = pickle.loads(pickle.dumps(features))
    assert_allclose(_core.Oracle(data, 1).counts(sent), _core.Oracle(data, 1).counts(features))


def test_refused():
    data = corpus()
    for order in (1, 0, "3", True):
        with pytest.raises(InputError, match="order: expected an integer >= 2"):
            fit(data, order=order)
    for solver in ("sbcd", "cd"):
        with pytest.raises(InputError, match=f"order=3 is not supported by solver='{solver}'; use auto, owlqn"):
            fit(data, order=3, solver=solver)
    with pytest.raises(
        InputError, match=r"order=3 cannot be combined with rho1=0\.0: then every label n-gram would have a weight"
    ):
        fit(data, order=3, rho1=0.0)
    with pytest.raises(InputError, match="order=3 cannot be combined with a list of features; use order=2"):
        fit(data, order=3, numbers=np.array([0], dtype=np.int64))
    missing = make_problem(3, 2, [5, 4], 3, missing=0.4).corpus()
    with pytest.raises(
        InputError, match="order=3 cannot be combined with missing labels or label sets: the gradients of label n-grams"
    ):
        fit(missing, order=3)


def test_ngrams_by_name():
    ngrams = Ngrams(np.array([1, 0], np.int32), np.array([3, 4], np.int32), np.arange(7, dtype=np.int32))
    assert ngrams.strings() == [(0, 1, 2), (3, 4, 5, 6)]
    assert Ngrams.none().table(3) is None


@pytest.mark.slow
def test_without_a_start_label_no_string_begins_with_it():
    """`start=False`: first positions have no label pair, so nothing comes before them."""
    rng = np.random.default_rng(0)
    X = [[str(rng.choice(["a", "b"])) for _ in range(4)] for _ in range(60)]
    y = [["P", "Q", *("R" if word == "a" else "P" for word in words[2:])] for words in X]
    longest = {}
    for start in (True, False):
        crf = CRF(rho1=0.05, order=4, start=start, bigrams="all").fit(X, y)
        longest[start] = Ngrams.of(crf.model_.features).strings()
    assert any(3 in labels for labels in longest[True])  # 3 is the start label: the check can fail
    assert longest[False]
    assert not any(3 in labels for labels in longest[False])
