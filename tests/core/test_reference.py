"""The NumPy reference against enumeration of all paths, and against finite differences."""

import math
from dataclasses import replace

import numpy as np
import pytest
from compare import assert_logs, assert_probabilities, assert_sums, magnitude, total_value
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from problems import Problem, make_problem
from strategies import problems

import reference
from reference import SequenceData, enumeration


def lattices(problem):
    return [problem.psi(i) for i in range(len(problem.sequences))]


def split_scores(problem, i):
    """Scores u[T,Y] of labels and l[T,Y+1,Y] of pairs for the sparse algorithms, constraints as -inf in l."""
    sequence, psi = problem.sequences[i], problem.psi(i)
    pairs = np.where(np.isinf(psi), psi, reference.bigram_scores(sequence, problem.lam))
    return reference.unigram_scores(sequence, problem.mu), pairs


def test_potentials_by_hand():
    """One attribute with value 2 everywhere; every entry of psi is written out from the definition of the model."""
    mu, lam = np.array([[1.0, 5.0]]), np.array([[[10.0, 20.0], [30.0, 40.0], [50.0, 60.0]]])
    lists = (((0, 2.0),),) * 2
    psi = reference.potentials(SequenceData(lists, lists), mu, lam)
    none = -math.inf
    assert_array_equal(psi[0], [[none, none], [none, none], [102.0, 130.0]])
    assert_array_equal(psi[1], [[22.0, 50.0], [62.0, 90.0], [none, none]])
    forbidden = np.array([[False, True], [False, False], [True, False]])
    allowed, fixed = np.array([[True, True], [True, False]]), np.array([1, reference.MISSING], dtype=np.int32)
    psi = reference.potentials(SequenceData(lists, lists), mu, lam, forbidden=forbidden)
    assert_array_equal(psi[:, 2, 0], [none, none])
    assert_array_equal(psi[1, :2], [[22.0, none], [62.0, 90.0]])
    psi = reference.potentials(SequenceData(lists, lists), mu, lam, allowed=allowed, fixed=fixed)
    assert_array_equal(psi[0, 2], [none, 130.0])
    assert_array_equal(psi[1, :2], [[22.0, none], [62.0, none]])


@pytest.mark.slow
@given(problems(limits=True, missing=True))
def test_forward_backward(problem):
    for i, psi in enumerate(lattices(problem)):
        posterior = reference.forward_backward(psi)
        assert_logs(posterior.log_z, enumeration.log_partition(psi), magnitude(psi))
        assert_logs(reference.log_partition(psi), enumeration.log_partition(psi), magnitude(psi))
        assert_probabilities(posterior.node, enumeration.node_marginals(psi))
        assert_probabilities(posterior.edge, enumeration.edge_marginals(psi))
        labels = problem.own_labels(i)
        assert_logs(reference.log_prob(psi, labels), enumeration.log_prob(psi, labels), magnitude(psi))


@pytest.mark.slow
@given(problems(limits=True), st.data())
def test_span_probability(problem, data):
    for psi in lattices(problem):
        start = data.draw(st.integers(0, len(psi) - 1))
        size = data.draw(st.integers(1, len(psi) - start))
        some_label = st.integers(0, problem.n_labels - 1)
        labels = np.array(data.draw(st.lists(some_label, min_size=size, max_size=size)))
        actual = reference.span_log_prob(reference.forward_backward(psi), start, labels)
        assert_logs(actual, enumeration.span_log_prob(psi, start, labels), magnitude(psi))


@pytest.mark.slow
@given(problems(weights=("moderate", "integer"), limits=True))
def test_sparse_recursion(problem):
    for i, psi in enumerate(lattices(problem)):
        posterior = reference.sparse_forward_backward(*split_scores(problem, i))
        assert_logs(posterior.log_z, enumeration.log_partition(psi), magnitude(psi))
        assert_probabilities(posterior.node, enumeration.node_marginals(psi))
        assert_probabilities(posterior.edge, enumeration.edge_marginals(psi))


def test_sparse_recursion_survives_cancellation():
    """Label 0 has nearly all of the mass and is hardly ever left: 1 + sum alpha M is 1e-26 for label 1."""
    u = np.zeros((5, 3))
    u[:, 0] = 30.0
    scores = np.zeros((5, 4, 3))
    scores[:, 0, 1] = scores[:, 2, 1] = -60.0
    psi = u[:, None, :] + scores + reference.constraint_scores(5, 3)
    actual, expected = reference.sparse_forward_backward(u, scores), reference.forward_backward(psi)
    assert_allclose(actual.log_node, expected.log_node, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
@given(problems(weights=("integer",), limits=True), st.integers(1, 40))
def test_decoding_with_ties(problem, k):
    """Whole weights: scores are exact, so the preferred path is the same for every algorithm."""
    for i, psi in enumerate(lattices(problem)):
        best_paths, best_scores = enumeration.n_best(psi, k)
        path, score = reference.viterbi(psi)
        assert_array_equal(path, best_paths[0])
        assert score == best_scores[0] == reference.path_score(psi, path)
        sparse_path, sparse_score = reference.sparse_viterbi(*split_scores(problem, i))
        assert_array_equal(sparse_path, path)
        assert sparse_score == score
        paths, path_scores = reference.n_best(psi, k)
        assert_array_equal(paths, best_paths)
        assert_array_equal(path_scores, best_scores)


@pytest.mark.slow
@given(problems(weights=("moderate", "thousand", "single"), limits=True), st.integers(1, 40))
def test_decoding(problem, k):
    for i, psi in enumerate(lattices(problem)):
        _, best_scores = enumeration.n_best(psi, k)
        for path, score in (reference.viterbi(psi), reference.sparse_viterbi(*split_scores(problem, i))):
            assert_logs(score, best_scores[0], magnitude(psi))
            assert_logs(reference.path_score(psi, path), best_scores[0], magnitude(psi))
        paths, path_scores = reference.n_best(psi, k)
        assert_logs(path_scores, best_scores, magnitude(psi))
        assert len({tuple(path) for path in paths}) == len(best_scores)
        assert_logs([reference.path_score(psi, path) for path in paths], path_scores, magnitude(psi))


@pytest.mark.slow
@given(problems(missing=True, label_sets=True, sequence_weights=True, token_weights=True))
def test_objective(problem):
    actual = reference.objective(problem.sequences, problem.mu, problem.lam)
    each = [enumeration.loss_gradient(s, problem.mu, problem.lam) for s in problem.sequences]
    size = sum(5.0 * magnitude(problem.psi(i)) for i in range(len(each)))
    assert_logs(actual.loss, sum(loss for loss, _, _ in each), size)
    assert_sums(actual.g_mu, sum(g for _, g, _ in each), total_value(problem.sequences))
    assert_sums(actual.g_lam, sum(g for _, _, g in each), total_value(problem.sequences))


@pytest.mark.slow
@given(problems(sequence_weights=True))
def test_curvature(problem):
    """Without missing labels or token weights: the sum over positions of the variances of every feature."""
    actual = reference.objective(problem.sequences, problem.mu, problem.lam)
    each = [enumeration.feature_variances(s, problem.mu, problem.lam) for s in problem.sequences]
    weights = [s.weight for s in problem.sequences]
    size = total_value(problem.sequences)
    assert_sums(actual.h_mu, sum(w * h for w, (h, _) in zip(weights, each, strict=True)), size)
    assert_sums(actual.h_lam, sum(w * h for w, (_, h) in zip(weights, each, strict=True)), size)


@pytest.mark.slow
@given(problems(weights=("moderate",), missing=True, label_sets=True, sequence_weights=True, token_weights=True))
def test_gradient_against_finite_differences(problem):
    rng = np.random.default_rng(0)
    d_mu, d_lam = rng.normal(size=problem.mu.shape), rng.normal(size=problem.lam.shape)
    step = 1e-5

    def loss(shift):
        return reference.objective(problem.sequences, problem.mu + shift * d_mu, problem.lam + shift * d_lam).loss

    derivatives = reference.objective(problem.sequences, problem.mu, problem.lam)
    slope = float((derivatives.g_mu * d_mu).sum() + (derivatives.g_lam * d_lam).sum())
    numeric = (loss(step) - loss(-step)) / (2.0 * step)
    assert numeric == pytest.approx(slope, rel=1e-6, abs=1e-6 * (1.0 + total_value(problem.sequences)))


@pytest.mark.slow
@given(problems(sequence_weights=True))
def test_loss_of_no_weights_is_t_log_y(problem):
    actual = reference.objective(problem.sequences, 0.0 * problem.mu, 0.0 * problem.lam)
    expected = sum(s.weight * len(s) for s in problem.sequences) * math.log(problem.n_labels)
    assert actual.loss == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.slow
@given(problems(missing=True))
def test_equal_token_weights_scale_the_loss(problem):
    weighted = [replace(s, token_weight=(2.5,) * len(s)) for s in problem.sequences]
    actual = reference.objective(weighted, problem.mu, problem.lam)
    plain = reference.objective(problem.sequences, problem.mu, problem.lam)
    assert_allclose(actual.loss, 2.5 * plain.loss, rtol=1e-12)
    assert_sums(actual.g_lam, 2.5 * plain.g_lam, total_value(weighted))
    assert_sums(actual.h_lam, 2.5 * plain.h_lam, total_value(weighted))


def test_token_weight_zero_conditions_on_the_label():
    """With weight 1 on one token and 0 on its neighbours, the loss is that of a logistic regression."""
    problem = make_problem(seed=1, n_labels=3, lengths=[3], n_attributes=4, list_size=3, density=1.0)
    sequence = replace(problem.sequences[0], token_weight=(0.0, 1.0, 0.0))
    psi, (before, own, after) = problem.psi(0), sequence.labels
    logits = psi[1, before, :] + psi[2, :3, after]
    expected = np.log(np.exp(logits).sum()) - logits[own]
    assert_allclose(reference.objective([sequence], problem.mu, problem.lam).loss, expected, rtol=1e-12)


@pytest.mark.slow
@given(problems(weights=("moderate",), sequence_weights=True))
def test_counts_are_what_the_gradient_subtracts(problem):
    counts = reference.empirical_counts(problem.sequences, problem.mu, problem.lam)
    for i, part in enumerate(("g_mu", "g_lam")):
        gradient = getattr(reference.objective(problem.sequences, problem.mu, problem.lam), part)
        expected = sum(s.weight * _expectation(s, problem)[i] for s in problem.sequences)
        assert_sums(expected - counts[i], gradient, total_value(problem.sequences))


def _expectation(sequence: SequenceData, problem: Problem):
    paths = enumeration.all_paths(reference.potentials(sequence, problem.mu, problem.lam))
    return enumeration.expected_features(sequence, paths, problem.mu, problem.lam)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_larger_decoding_with_ties(seed):
    """Enough labels and nonzeros for active and inactive predecessors to tie in the sparse search."""
    problem = make_problem(
        seed=seed, n_labels=8, lengths=[12], n_attributes=3, list_size=3, density=0.4, weights="integer"
    )
    psi = problem.psi(0)
    path, score = reference.viterbi(psi)
    sparse_path, sparse_score = reference.sparse_viterbi(*split_scores(problem, 0))
    assert_array_equal(sparse_path, path)
    assert sparse_score == score
    assert_array_equal(reference.n_best(psi, 3)[0][0], path)


def test_unsatisfiable():
    psi = np.zeros((3, 3, 2)) + reference.constraint_scores(3, 2, forbidden=np.array([[1, 1], [1, 1], [0, 0]], bool))
    assert reference.log_partition(psi) == enumeration.log_partition(psi) == -math.inf
    assert len(reference.n_best(psi, 3)[1]) == 0
    for call in (reference.forward_backward, reference.viterbi, enumeration.node_marginals):
        with pytest.raises(reference.Unsatisfiable):
            call(psi)


def test_repeated_attributes_are_summed_before_squaring():
    """v = 1 twice acts like v = 2: four times the curvature, twice the gradient."""
    mu, lam = np.array([[0.3, -0.2]]), np.zeros((1, 3, 2))
    once = SequenceData(unigram=(((0, 1.0),),), bigram=((),), labels=(0,))
    twice = replace(once, unigram=(((0, 1.0), (0, 1.0)),))
    p = 1.0 / (1.0 + np.exp(-0.5 * np.array([2.0, -2.0])))
    assert_allclose(reference.objective([twice], mu, lam).h_mu[0], 4.0 * p * (1.0 - p))
    assert_allclose(reference.objective([twice], mu, lam).g_mu[0], 2.0 * (p - [1.0, 0.0]))
