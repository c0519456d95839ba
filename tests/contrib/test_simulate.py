"""The simulated task of the paper, section 6.1: numbers, sampler, and the CRF that is its posterior."""

from itertools import product

import numpy as np
import pytest
from compare import assert_logs, assert_probabilities
from numpy.testing import assert_allclose

from sparsecrf import InputError
from sparsecrf.contrib.simulate import HMM, paper_hmm

PAPER_BAYES_ERROR = 0.154  # the paper, section 6.1


def joint(hmm):
    """P(x, y) of all X^T x Y^T pairs of sequences, by the definition; symbols [X^T, T], labels [Y^T, T]."""
    x = np.array(list(product(range(len(hmm.symbols)), repeat=hmm.length)))
    y = np.array(list(product(range(len(hmm.labels)), repeat=hmm.length)))
    p = hmm.initial[y[:, 0]] * np.prod(hmm.transition[y[:, :-1], y[:, 1:]], axis=1)
    p = np.broadcast_to(p, (len(x), len(y))).copy()
    for t in range(hmm.length):
        p *= hmm.emission[:, x[:, t]].T[:, y[:, t]]
    return x, y, p


def random_hmm(seed: int) -> HMM:
    rng = np.random.default_rng(seed)
    return HMM(
        labels=tuple("PQR"),
        symbols=tuple("stuv"),
        initial=rng.dirichlet(np.ones(3)),
        transition=rng.dirichlet(np.ones(3), 3),
        emission=rng.dirichlet(np.ones(4), 3),
        length=3,
    )


def test_bayes_error_is_the_papers():
    assert abs(paper_hmm().bayes_error() - PAPER_BAYES_ERROR) < 0.0005


@pytest.mark.parametrize("hmm", [random_hmm(1), random_hmm(2)], ids=["random 1", "random 2"])
def test_bayes_error_by_enumeration(hmm):
    _, y, p = joint(hmm)
    best = [
        np.max([p[:, y[:, t] == k].sum(axis=1) for k in range(len(hmm.labels))], axis=0).sum()
        for t in range(hmm.length)
    ]
    assert_allclose(hmm.bayes_error(), 1 - np.mean(best), rtol=1e-12)


def test_shape_is_the_papers():
    hmm = paper_hmm()
    assert (len(hmm.labels), len(hmm.symbols), hmm.length) == (6, 5, 5)
    assert np.sum(hmm.transition != 1 / 6) == 2  # uniform but for two label pairs
    assert np.sum(hmm.emission > 0.5) == 6  # six dominant entries
    ambiguous = np.flatnonzero((hmm.emission > 0.5).sum(axis=0) > 1)
    assert len(ambiguous) == 1  # two labels share one symbol


def test_weights_that_cancel_are_dropped():
    model = paper_hmm().as_model()
    assert (model.features.n_unigram, model.features.n_bigram) == (6, 2)
    assert model.n_active == 8


@pytest.mark.parametrize("hmm", [random_hmm(3), random_hmm(4)], ids=["random 3", "random 4"])
def test_model_is_the_posterior(hmm):
    model = hmm.as_model()
    x, y, p = joint(hmm)
    posterior = p / p.sum(axis=1, keepdims=True)
    for k in range(0, len(x), 7):
        symbols = [hmm.symbols[s] for s in x[k]]
        expected = [[posterior[k, y[:, t] == c].sum() for c in range(3)] for t in range(hmm.length)]
        assert_probabilities(model.marginals(symbols), expected)
        for j in (0, 5, 26):
            labels = [hmm.labels[c] for c in y[j]]
            assert_logs(model.log_prob(symbols, labels), np.log(posterior[k, j]), magnitude=10.0)


@pytest.mark.slow
def test_empirical_error_is_the_bayes_error():
    hmm = paper_hmm()
    model = hmm.as_model()
    corpus = model.encode(*hmm.sample(40_000, np.random.default_rng(0)))
    wrong = (model.chain.posterior(corpus) != corpus.labels).reshape(-1, hmm.length).mean(axis=1)
    standard_error = wrong.std() / len(wrong) ** 0.5
    assert standard_error < 0.001  # so that the next line can fail
    assert abs(wrong.mean() - hmm.bayes_error()) < 4 * standard_error


@pytest.mark.slow
def test_sample_has_the_models_frequencies():
    hmm = random_hmm(5)
    n = 60_000
    x, y = hmm.sample(n, np.random.default_rng(1))
    first, second = np.array(y)[:, 0], np.array(y)[:, 1]
    symbol = np.array(x)[:, 2]
    third = np.array(y)[:, 2]
    for a, b in product(range(3), range(3)):
        p = hmm.initial[a] * hmm.transition[a, b]
        share = np.mean((first == hmm.labels[a]) & (second == hmm.labels[b]))
        assert abs(share - p) < 5 * (p * (1 - p) / n) ** 0.5
    for c, s in product(range(3), range(4)):
        of_label = third == hmm.labels[c]
        p = hmm.emission[c, s]
        share = np.mean(symbol[of_label] == hmm.symbols[s])
        assert abs(share - p) < 5 * (p * (1 - p) / of_label.sum()) ** 0.5


def test_sample_is_repeatable():
    hmm = paper_hmm()
    assert hmm.sample(5, np.random.default_rng(3)) == hmm.sample(5, np.random.default_rng(3))
    assert hmm.sample(0, np.random.default_rng(3)) == ([], [])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"initial": [0.5, 0.5]}, r"initial: expected shape \(3,\), found \(2,\)"),
        ({"initial": [0.5, 0.6, -0.1]}, "initial: expected probabilities"),
        ({"emission": np.full((3, 4), 0.3)}, "emission: expected probabilities"),
        ({"transition": np.full((3, 3), np.nan)}, "transition: expected probabilities"),
        ({"length": 0}, "length: expected at least 1"),
    ],
)
def test_wrong_parameters(change, message):
    hmm = random_hmm(1)
    with pytest.raises(InputError, match=message):
        HMM(**{**{name: getattr(hmm, name) for name in hmm.__dataclass_fields__}, **change})


def test_zero_probability_has_no_weight():
    impossible = np.array([[1.0, 0.0], [0.5, 0.5]])
    hmm = HMM(("A", "B"), ("a", "b"), np.array([0.5, 0.5]), impossible, np.full((2, 2), 0.5), length=2)
    with pytest.raises(InputError, match="expected positive probabilities"):
        hmm.as_model()
