"""rho1="auto": which values of rho1 are tried, on what they are scored, and the fit to all data."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sparsecrf import CRF, InputError, Vocabulary, fit
from sparsecrf.contrib.simulate import paper_hmm
from sparsecrf.defaults import RHO1, RHO2
from sparsecrf.path import PathWarning
from sparsecrf.path.auto import FACTOR, LIMITS, MARGIN, TOL, Near, choose_penalties, halves, marked_documents
from sparsecrf.path.cross_validation import Fold
from sparsecrf.path.grid import Penalties
from sparsecrf.path.scores import BY_TOKENS


def follow(error, plan=None):
    """All values of rho1 that the plan tries where `error` is a function of it, and which it chooses."""
    plan, tried, errors = plan or Near(), [], []
    while step := plan.next(tried, errors):
        assert plan.left(tried, errors) >= len(step) == 1
        tried += step
        errors.append(error(step[0].rho1))
        assert len(tried) < 60
    assert len(set(tried)) == len(tried)
    assert {p.rho2 for p in tried} == {plan.rho2}
    return [p.rho1 for p in tried], tried[plan.best(tried, errors)].rho1


def bowl(rho1):
    return lambda a: 2 + abs(np.log(a / rho1))


@pytest.mark.parametrize("rho1", [3.0, 0.3, 0.1, 0.01])
def test_it_finds_the_best_and_does_not_end_at_an_edge(rho1):
    tried, found = follow(bowl(rho1))
    assert FACTOR**-0.5 <= found / rho1 <= FACTOR**0.5 * (1 + 1e-9)
    assert min(tried) < found < max(tried)


@pytest.mark.parametrize("rho2", [RHO2, 2.0, 0.0])
@pytest.mark.parametrize("steps", [0, -1])
def test_it_takes_three_fits_at_the_default_or_one_below(steps, rho2):
    rho1 = RHO1 * FACTOR**steps
    tried, found = follow(bowl(rho1), Near(rho2))
    assert tried[:2] == [RHO1, RHO1 / FACTOR]
    assert len(tried) == 3
    assert found == rho1


def test_small_differences_do_not_move_it():
    rng = np.random.default_rng(0)
    assert follow(lambda _: 10 * (1 - MARGIN * 0.9 * rng.random()))[1] == RHO1
    for gain, steps in ((0.5 * MARGIN, 0), (2 * MARGIN, 3)):  # of each step to a smaller rho1, down to three steps
        _, found = follow(lambda a, gain=gain: 10 * (1 - gain) ** min(3, -np.log(a / RHO1) / np.log(FACTOR)))
        assert found == pytest.approx(RHO1 / FACTOR**steps)


def test_it_ends_at_the_limits_or_without_errors():
    _, found = follow(lambda a: 50 + np.log(a))
    assert LIMITS[0] <= found < FACTOR * LIMITS[0]
    _, found = follow(lambda a: 50 - np.log(a))
    assert LIMITS[1] / FACTOR < found <= LIMITS[1]
    tried, _ = follow(lambda _: 0.0)
    assert len(tried) == 1


@pytest.fixture(scope="module")
def task():
    vocabulary, rng = Vocabulary(bigrams="all"), np.random.default_rng(3)
    corpus = vocabulary.encode(*paper_hmm().sample(60, rng), grow=True)
    return corpus, vocabulary.encode(*paper_hmm().sample(60, rng))


def test_halves_keep_documents_together(task):
    numbers = np.repeat(np.arange(12), 5)
    one, two = halves(task[0], numbers, BY_TOKENS, {})
    for part, other in ((one, two), (two, one)):
        assert_array_equal(part.train, other.out)
        assert set(numbers[part.train]).isdisjoint(numbers[part.out])
        assert len(part.train) == 30
    assert_array_equal(np.sort(np.concatenate([one.train, two.train])), np.arange(60))
    first, second = halves(task[0], None, BY_TOKENS, {})  # no documents: runs of consecutive sentences
    assert 28 <= len(first.train) <= 32
    assert len(first.train) + len(second.train) == 60


def test_one_sequence_cannot_be_split(task):
    with pytest.raises(InputError, match="expected at least 2 labelled sequences"):
        choose_penalties(task[0].subset(np.array([0])), BY_TOKENS)


def test_a_choice_at_a_limit_is_reported(task, sentences, monkeypatch):
    assert choose_penalties(task[0], BY_TOKENS, threads=1).advice is None
    monkeypatch.setattr("sparsecrf.path.auto.LIMITS", (RHO1, RHO1))
    found = choose_penalties(task[0], BY_TOKENS, threads=1)
    assert found.tried == [(RHO1, RHO2)]
    assert "rho1 is at the end of the searched range" in str(found)
    X, y = sentences
    with pytest.warns(PathWarning, match="end of the searched range"):
        CRF(rho1="auto", features="words").fit(X, y[:-1] + [y[0]])


def test_documents_begin_with_a_mark():
    X = [["a"], ["-DOCSTART-"], ["a", "b"], ["b"], ["-DOCSTART-"], ["b", "a"]]
    vocabulary = Vocabulary()
    corpus = vocabulary.encode([[{"w": w} for w in s] for s in X], [["O"] * len(s) for s in X], grow=True)
    assert_array_equal(marked_documents(corpus, vocabulary), [0, 1, 1, 1, 2, 2])
    assert marked_documents(corpus.subset(np.array([0, 2, 3])), vocabulary) is None
    assert marked_documents(corpus.subset(np.array([2])), vocabulary) is None


def test_tokens_without_attributes_begin_no_document():
    X = [[{}], [{"w": "-DOCSTART-"}], [{"w": "a"}], [{}]]
    vocabulary = Vocabulary()
    corpus = vocabulary.encode(X, [["O"]] * 4, grow=True)
    assert_array_equal(marked_documents(corpus, vocabulary), [0, 1, 1, 1])


def test_sequences_without_labels_are_in_no_half(sentences):
    X, y = sentences
    known = [i % 10 == 0 for i in range(len(X))]
    some = [labels if is_known else [None] * len(labels) for labels, is_known in zip(y, known, strict=True)]
    corpus = Vocabulary().encode([[{"w": w} for w in s] for s in X], some, grow=True)
    folds = halves(corpus, None, BY_TOKENS, {})
    assert all(sorted([*fold.train, *fold.out]) == [0, 10, 20, 30] for fold in folds)
    assert CRF(rho1="auto").fit(X, some).stopped_by_ == "tol"
    with pytest.raises(InputError, match=r"expected at least 2 labelled sequences, .*, found 1 among 5"):
        halves(corpus.subset(np.arange(5)), None, BY_TOKENS, {})


def test_errors_are_those_of_fits_to_halves(task):
    corpus, dev = task
    found = choose_penalties(corpus, BY_TOKENS, threads=1)
    assert found.tried[:2] == [(RHO1, RHO2), (RHO1 / FACTOR, RHO2)]
    like = {"rho1": RHO1, "rho2": RHO2, "tol": TOL, "certify": False, "threads": 1, "solver": "dual"}
    of_folds = []
    for fold in halves(corpus, None, BY_TOKENS, {}):
        one = fit(corpus.subset(fold.train), **like)
        out = corpus.subset(fold.out)
        predicted = [y for i in range(out.n_sequences) for y in _labels(out.subset(np.array([i])), one)]
        of_folds.append(100 * np.mean(np.array(predicted) != out.labels))
    assert found.errors[0] == pytest.approx(np.mean(of_folds))
    on_dev = choose_penalties(corpus, BY_TOKENS, dev=dev, threads=1)
    one = fit(corpus, **like)
    assert on_dev.errors[0] == pytest.approx(100 * np.mean(_labels(dev, one) != dev.labels))


def test_a_fold_with_dev_data_can_be_sent_to_another_process(task):
    options = {"threads": 1, "certify": False}
    fold = Fold.held_out(*task, BY_TOKENS, options)
    there = pickle.loads(pickle.dumps(fold))
    at = [Penalties(RHO1, RHO2)]
    assert there.run(at, None, None)[0].error == fold.run(at, None, None)[0].error


def test_parts_are_fitted_by_the_solver_of_the_whole():
    vocabulary, rng = Vocabulary(bigrams="all"), np.random.default_rng(4)
    corpus = vocabulary.encode(*paper_hmm().sample(500, rng), grow=True)
    assert 2000 <= corpus.n_tokens < 4000  # `dual` needs 2,000 tokens unless it is asked for
    solvers = []
    found = choose_penalties(corpus, BY_TOKENS, threads=1, each=lambda point: solvers.append(point.fit.solver))
    assert set(solvers) == {"dual"}
    assert found.start is None  # with starting weights, the final fit would use `proximal`
    proximal = choose_penalties(corpus, BY_TOKENS, threads=1, solver="proximal")
    assert len(proximal.start.w)


def _labels(corpus, found):
    from sparsecrf.training.heldout import best_labels

    return best_labels(corpus, found.numbers, found.w, threads=1)


@pytest.fixture(scope="module")
def sentences():
    rng = np.random.default_rng(5)
    X = [[f"w{k}" for k in rng.integers(0, 60, 8)] for _ in range(40)]
    return X, [["A" if int(w[1:]) % 7 < 3 else "B" for w in s] for s in X]


def test_an_estimator_chooses_and_fits_to_all_data(sentences):
    X, y = sentences
    crf = CRF(rho1="auto", features="words", tol=1e-4).fit(X, y)
    plain = CRF(rho1=crf.rho1_, rho2=crf.rho2_, features="words", tol=1e-4).fit(X, y)
    assert crf.objective_ == pytest.approx(plain.objective_, rel=2e-4)
    assert crf.stopped_by_ == "tol"
    assert (crf.model_.training["rho1"], crf.model_.training["rho2"]) == (crf.rho1_, crf.rho2_)
    assert crf.get_params()["rho1"] == "auto"
    with_rho2 = CRF(rho1="auto", rho2=0.7, features="words").fit(X, y, dev=(X[:9], y[:9]))
    assert with_rho2.rho2_ == 0.7


def test_a_small_model_is_one_word_away(sentences):
    X, y = sentences
    crf, small = CRF(features="words").fit(X, y), CRF(rho1="small", features="words").fit(X, y)
    assert (crf.rho1_, crf.rho2_, small.rho1_, small.rho2_) == (RHO1, RHO2, 1.0, 0.01)
    assert small.n_active_ < crf.n_active_ / 2
    assert CRF(rho1="small", rho2=0.5, features="words").fit(X, y).rho2_ == 0.5


def test_fit_takes_numbers_and_small_alone(task):
    assert fit(task[0], rho1="small", threads=1).rho1 == 1.0
    with pytest.raises(InputError, match="rho1: expected a number or 'small' here, found 'auto'"):
        fit(task[0], rho1="auto", threads=1)
    with pytest.raises(InputError, match="rho1: expected a number, 'small' or 'auto', found 'none'"):
        fit(task[0], rho1="none", threads=1)
