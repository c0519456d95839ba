"""One model, many Python threads."""

from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice

import pytest
from numpy.testing import assert_array_equal
from sentences import dicts, sentences

from sparsecrf import CRF, InputError, Template, Vocabulary, fit

N_THREADS, ROUNDS = 8, 40


@pytest.fixture(scope="module", params=["mappings", "bigrams of every attribute", "template"])
def labelled(request):
    """A trained model and sentences for it."""
    X, y = sentences(50, seed=3)
    if request.param == "template":
        crf = CRF(rho1=0.1, template=Template("U1:%x[0,0]\n*2:%x[0,1]\nB\n"))
    else:
        X = dicts(X)
        crf = CRF(rho1=0.1, bigrams="all" if request.param.startswith("bigrams") else "bias")
    return crf.fit(X, y).model_, X


def test_threads_get_the_answers_of_one(labelled):
    model, X = labelled
    answers = [model.label(tokens) for tokens in X]
    marginals = [model.marginals(tokens) for tokens in X]
    best = [model.nbest(tokens, 2) for tokens in X]

    def work(k):
        # Each thread starts with a different call, so that different calls overlap.
        for i in islice(cycle(range(len(X))), k * 7, k * 7 + ROUNDS):
            assert model.label(X[i]) == answers[i]
            assert_array_equal(model.marginals(X[i]), marginals[i])
            assert model.nbest(X[i], 2) == best[i]
        return True

    with ThreadPoolExecutor(N_THREADS) as pool:
        assert all(pool.map(work, range(N_THREADS)))


def test_threads_share_an_estimator():
    X, y = sentences(50, seed=3)
    X = dicts(X)
    crf = CRF(rho1=0.1, n_jobs=2).fit(X, y)
    expected = crf.predict(X)
    with ThreadPoolExecutor(N_THREADS) as pool:
        for found in pool.map(lambda _: crf.predict(X), range(3 * N_THREADS)):
            assert_array_equal(found, expected)


def test_a_model_does_not_change_when_its_vocabulary_grows():
    """Threads would read tables that others write."""
    X, y = sentences(50, seed=3)
    X = dicts(X)
    vocabulary = Vocabulary()
    model = fit(vocabulary.encode(X, y, grow=True), rho1=0.1).model(vocabulary)
    expected = [model.label(tokens) for tokens in X]
    n = len(model.vocabulary.attributes)

    def grow(k):
        vocabulary.encode([[{f"new{k}": str(i)} for i in range(3000)]], grow=True)

    with ThreadPoolExecutor(N_THREADS) as pool:
        growing = [pool.submit(grow, k) for k in range(20)]
        found = [pool.submit(model.label, tokens) for tokens in X * 4]
        for result in growing:
            result.result()
        assert [result.result() for result in found] == expected * 4
    assert len(model.vocabulary.attributes) == n
    assert len(vocabulary.attributes) == n + 60_000
    with pytest.raises(InputError, match="the vocabulary of a model cannot grow"):
        model.vocabulary.encode(X, grow=True)


def test_a_sequence_may_be_made_by_the_model_itself(labelled):
    """Tokens that are read while another sequence is being labelled do not get mixed with it."""
    model, X = labelled
    expected = [model.label(tokens) for tokens in X[:5]]

    class Asking(list):
        def __iter__(self):
            for token in list.__iter__(self):
                assert model.label(X[1]) == expected[1]
                yield token

    assert [model.label(Asking(tokens)) for tokens in X[:5]] == expected
