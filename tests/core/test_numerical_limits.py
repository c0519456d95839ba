"""Where linear-domain arithmetic breaks if it can: long sequences, cancellation, scores beyond exp."""

from dataclasses import replace

import numpy as np
import pytest
from compare import KERNELS, assert_probabilities
from numpy.testing import assert_allclose, assert_array_equal
from problems import Limits, Problem, make_problem

import reference
from reference import SequenceData
from sparsecrf import _core

every_kernel = pytest.mark.parametrize("kernel", KERNELS)


def check_first_sequence(problem, kernel):
    """log Z, node and edge marginals of sequence 0 against the log domain."""
    corpus, constraints, chain = problem.corpus(), problem.constraints(), problem.chain(kernel)
    expected = reference.forward_backward(problem.psi(0))
    size = len(problem.sequences[0])
    assert_allclose(chain.log_partition(corpus, constraints)[0], expected.log_z, rtol=1e-10, atol=1e-10)
    assert_probabilities(chain.marginals(corpus, constraints)[:size], expected.node)
    assert_probabilities(chain.edge_marginals(corpus, 0, constraints), expected.edge)


# T = 100,000


@pytest.fixture(scope="module")
def long_problem():
    return make_problem(seed=0, n_labels=5, lengths=[100_000], n_attributes=12, density=0.3, weights="integer")


@pytest.fixture(scope="module")
def long_lattice(long_problem):
    return long_problem.psi(0)


@pytest.fixture(scope="module")
def long_posterior(long_lattice):
    return reference.forward_backward(long_lattice)


@pytest.fixture(scope="module")
def long_loss(long_problem, long_lattice, long_posterior):
    """-log P of the sequence's own labels."""
    return long_posterior.log_z - reference.path_score(long_lattice, long_problem.own_labels(0))


@pytest.fixture(scope="module")
def long_gradient(long_problem, long_posterior):
    """E F - F, as one vector in the canonical order of all features."""
    counts = reference.empirical_counts(long_problem.sequences, long_problem.mu, long_problem.lam)
    g_mu, g_lam = -counts[0], -counts[1]
    node, edge = long_posterior.node, long_posterior.edge
    for t, (unigram, bigram) in enumerate(
        zip(long_problem.sequences[0].unigram, long_problem.sequences[0].bigram, strict=True)
    ):
        for x, v in unigram:
            g_mu[x] += v * node[t]
        for x, v in bigram:
            g_lam[x] += v * edge[t]
    return np.concatenate([g_mu.ravel(), g_lam.ravel()])


@pytest.mark.slow
@every_kernel
def test_hundred_thousand_positions(kernel, long_problem, long_posterior, long_loss):
    corpus, chain = long_problem.corpus(), long_problem.chain(kernel)
    assert_allclose(chain.log_partition(corpus)[0], long_posterior.log_z, rtol=1e-12)
    assert_probabilities(chain.marginals(corpus), long_posterior.node)
    assert_allclose(chain.log_prob(corpus)[0], -long_loss, rtol=1e-10)


@pytest.mark.slow
@every_kernel
def test_gradient_of_hundred_thousand_positions(kernel, long_problem, long_loss, long_gradient):
    loss, g = _core.Oracle(long_problem.corpus(), kernel=kernel).loss_grad(long_problem.features(), long_problem.w)
    assert_allclose(loss, long_loss, rtol=1e-10)
    assert_allclose(g, long_gradient, rtol=1e-10, atol=1e-8)


@pytest.mark.slow
@every_kernel
def test_viterbi_of_hundred_thousand_positions(kernel, long_problem, long_lattice):
    path, score = long_problem.chain(kernel).viterbi(long_problem.corpus())
    expected_path, expected_score = reference.viterbi(long_lattice)
    assert_array_equal(path, expected_path)
    assert score[0] == expected_score


@pytest.mark.slow
@every_kernel
def test_span_in_the_middle_of_hundred_thousand_positions(kernel, long_problem, long_posterior):
    labels = long_problem.own_labels(0)[50_000:50_040]
    actual = long_problem.chain(kernel).span_log_prob(long_problem.corpus(), 0, 50_000, labels)
    assert_allclose(actual, reference.span_log_prob(long_posterior, 50_000, labels), rtol=1e-10, atol=1e-8)


# A frequent, shared part and rare attributes: bias + letter + 5-gram.


def gram_problem(weights="moderate"):
    """Attribute 0 is the bias, 1..6 letters, the rest 5-grams, most of which occur once or twice."""
    rng = np.random.default_rng(5)
    n_letters, n_labels, sequences, grams = 6, 14, [], {}
    for length in rng.integers(1, 25, 40):
        word = rng.integers(1, n_letters + 1, length)
        padded = [0, 0, *word.tolist(), 0, 0]
        lists = []
        for t in range(length):
            gram = grams.setdefault(tuple(padded[t : t + 5]), 1 + n_letters + len(grams))
            lists.append(((0, 1.0), (int(word[t]), 1.0), (gram, 1.0)))
        labels = tuple(int(y) for y in rng.integers(0, n_labels, length))
        sequences.append(SequenceData(tuple(lists), tuple(lists), labels))
    n_attributes = 1 + n_letters + len(grams)
    mu = rng.normal(size=(n_attributes, n_labels))
    lam = rng.normal(size=(n_attributes, n_labels + 1, n_labels))
    lam[7:][rng.random(lam[7:].shape) < 0.97] = 0.0
    if weights == "extreme":
        lam[7:][rng.random(lam[7:].shape) < 0.005] = -1000.0
        lam[7:][rng.random(lam[7:].shape) < 0.001] = 1000.0
    return Problem(tuple(sequences), mu, lam)


@pytest.mark.slow
@every_kernel
@pytest.mark.parametrize("weights", ["moderate", "extreme"])
def test_shared_lists_and_rare_attributes(kernel, weights):
    problem = gram_problem(weights)
    expected = reference.objective(problem.sequences, problem.mu, problem.lam)
    corpus = problem.corpus()
    loss, g, h = _core.Oracle(corpus, kernel=kernel).loss_grad_curvature(problem.features(), problem.w)
    assert_allclose(loss, expected.loss, rtol=1e-10)
    assert_allclose(g, np.concatenate([expected.g_mu.ravel(), expected.g_lam.ravel()]), rtol=1e-10, atol=1e-11)
    assert_allclose(h, np.concatenate([expected.h_mu.ravel(), expected.h_lam.ravel()]), rtol=1e-10, atol=1e-11)
    node = np.concatenate([reference.forward_backward(problem.psi(i)).node for i in range(40)])
    assert_probabilities(problem.chain(kernel).marginals(corpus), node)


@every_kernel
def test_rare_attributes_in_decoding(kernel):
    problem = gram_problem()
    problem = replace(problem, mu=np.round(problem.mu), lam=np.round(problem.lam))
    paths, scores = problem.chain(kernel).viterbi(problem.corpus())
    expected = [reference.viterbi(problem.psi(i)) for i in range(40)]
    assert_array_equal(paths, np.concatenate([path for path, _ in expected]))
    assert_array_equal(scores, [score for _, score in expected])


@every_kernel
@pytest.mark.parametrize("density", [0.002, 0.01, 0.1])
def test_many_labels(kernel, density):
    problem = make_problem(seed=161, n_labels=161, lengths=[60], n_attributes=5, density=density)
    check_first_sequence(problem, kernel)


# Cancellation and range. One bias attribute, so that scores are mu and lam themselves.


def bias_problem(mu, lam, length=30, forbidden=None):
    lists = (((0, 1.0),),) * length
    limits = Limits() if forbidden is None else Limits(forbidden=forbidden)
    return Problem((SequenceData(lists, lists),), mu[None], lam[None], limits)


@every_kernel
@pytest.mark.parametrize("penalty", [-5.0, -20.0, -40.0, -300.0, -1000.0])
@pytest.mark.parametrize("preference", [5.0, 35.0, 300.0])
def test_mass_that_may_hardly_move(kernel, penalty, preference):
    """Label 0 has nearly all mass, and nearly all pairs from it are penalised: 1 + sum alpha M cancels."""
    rng = np.random.default_rng(2)
    mu, lam = rng.normal(size=8), np.zeros((9, 8))
    mu[0] += preference
    lam[0] = penalty + rng.normal(size=8)
    lam[0, 3] = 0.0
    lam[1:8, 2] = penalty
    check_first_sequence(bias_problem(mu, lam), kernel)


@every_kernel
@pytest.mark.parametrize("preference", [5.0, 35.0, 300.0])
def test_mass_that_may_not_move(kernel, preference):
    """The same with transitions that are forbidden outright: what is left is exp(-preference) of the mass."""
    rng = np.random.default_rng(3)
    mu, lam = rng.normal(size=8), np.zeros((9, 8))
    mu[0] += preference
    lam[rng.random(lam.shape) < 0.2] = -1.5
    forbidden = np.zeros((9, 8), dtype=bool)
    forbidden[0] = True
    check_first_sequence(bias_problem(mu, lam, forbidden=forbidden), kernel)


@every_kernel
def test_all_pairs_but_a_cycle_penalised(kernel):
    """Dense lam at -50 but for a cycle: every cell of every product cancels."""
    rng = np.random.default_rng(4)
    lam = np.full((9, 8), -50.0) + rng.normal(size=(9, 8))
    lam[np.arange(8), (np.arange(8) + 1) % 8] = rng.normal(size=8)
    check_first_sequence(bias_problem(rng.normal(size=8), lam), kernel)


@every_kernel
@pytest.mark.parametrize("size", [400.0, 1000.0, 5000.0])
def test_label_and_pair_scores_that_cancel(kernel, size):
    """mu prefers label 0 by far, lam forbids it by twice as far: after the shift by max mu all else is 0."""
    rng = np.random.default_rng(6)
    mu, lam = rng.normal(size=6), rng.normal(size=(7, 6))
    mu[0] += size
    lam[:, 0] -= 2.0 * size
    check_first_sequence(bias_problem(mu, lam), kernel)


@every_kernel
@pytest.mark.parametrize("size", [400.0, 1000.0, 5000.0])
def test_pair_scores_beyond_exp(kernel, size):
    """exp(lam) overflows for some pairs and underflows for others, all of which a path may need."""
    rng = np.random.default_rng(7)
    lam = rng.normal(size=(7, 6)) + size * rng.integers(-1, 2, size=(7, 6))
    check_first_sequence(bias_problem(rng.normal(size=6), lam), kernel)
