"""Loss, gradient, curvature and counts of the core against the reference and against finite differences."""

from dataclasses import replace

import numpy as np
import pytest
from compare import KERNELS, assert_logs, assert_sums, magnitude, total_value
from hypothesis import given
from numpy.testing import assert_allclose, assert_array_equal
from problems import make_limits, make_problem
from strategies import problems

import reference
from sparsecrf import _core

every_kernel = pytest.mark.parametrize("kernel", KERNELS)


def flat(mu, lam):
    """An array shaped like mu and one like lam as one vector in the canonical order of all features."""
    return np.concatenate([mu.ravel(), lam.ravel()])


def check_against_reference(problem, kernel):
    expected = reference.objective(problem.sequences, problem.mu, problem.lam)
    oracle = _core.Oracle(problem.corpus(), threads=1, kernel=kernel)
    loss, g, h = oracle.loss_grad_curvature(problem.features(), problem.w)
    size = sum(
        s.weight * max(s.token_weight or (1.0,)) * magnitude(problem.psi(i)) for i, s in enumerate(problem.sequences)
    )
    terms = total_value(problem.sequences)
    size += terms * np.abs(problem.w).max()  # w . counts is taken feature by feature
    assert_logs(loss, expected.loss, 1.0 + size)
    assert_sums(g, flat(expected.g_mu, expected.g_lam), terms)
    assert_sums(h, flat(expected.h_mu, expected.h_lam), terms)


@pytest.mark.slow
@every_kernel
@given(problem=problems(missing=True, label_sets=True, sequence_weights=True, token_weights=True))
def test_tiny(kernel, problem):
    check_against_reference(problem, kernel)


@every_kernel
@pytest.mark.parametrize(("n_labels", "density"), [(9, 0.0), (9, 1.0), (33, 0.02), (33, 0.4)])
@pytest.mark.parametrize(
    "extras", [{}, {"missing": 0.2, "label_sets": 0.3, "sequence_weights": True, "token_weights": True}]
)
def test_larger(kernel, n_labels, density, extras):
    problem = make_problem(
        seed=n_labels,
        n_labels=n_labels,
        lengths=[30, 12, 1],
        n_attributes=8,
        density=density,
        real_values=True,
        **extras,
    )
    check_against_reference(problem, kernel)


@pytest.mark.slow
@given(problem=problems(missing=True, label_sets=True, sequence_weights=True, token_weights=True))
def test_the_three_calls_agree(problem):
    oracle, features = _core.Oracle(problem.corpus(), threads=1), problem.features()
    loss, g, _ = oracle.loss_grad_curvature(features, problem.w)
    loss_too, g_too = oracle.loss_grad(features, problem.w)
    assert oracle.loss(features, problem.w) == pytest.approx(loss, rel=1e-12, abs=1e-9)
    assert loss_too == pytest.approx(loss, rel=1e-12, abs=1e-9)
    assert_sums(g_too, g, total_value(problem.sequences))


@pytest.mark.slow
@given(problem=problems(sequence_weights=True, token_weights=True))
def test_counts(problem):
    counts = _core.Oracle(problem.corpus(), threads=1).counts(problem.features())
    expected = reference.empirical_counts(problem.sequences, problem.mu, problem.lam)
    assert_sums(counts, flat(*expected), total_value(problem.sequences))


def test_counts_leave_partly_labelled_sequences_out():
    problem = make_problem(seed=1, n_labels=3, lengths=[4, 4], n_attributes=3, list_size=3)
    first = problem.sequences[0]
    partly = replace(first, labels=(-1, *first.labels[1:]))
    both = _core.Oracle(replace(problem, sequences=(partly, problem.sequences[1])).corpus())
    alone = _core.Oracle(replace(problem, sequences=problem.sequences[1:]).corpus())
    assert alone.counts(problem.features()).any()
    assert_array_equal(both.counts(problem.features()), alone.counts(problem.features()))


@every_kernel
def test_gradient_against_finite_differences(kernel):
    problem = make_problem(
        seed=8,
        n_labels=7,
        lengths=[9, 4, 1, 6],
        n_attributes=5,
        real_values=True,
        missing=0.2,
        label_sets=0.2,
        sequence_weights=True,
        token_weights=True,
    )
    oracle, features, w = _core.Oracle(problem.corpus(), kernel=kernel), problem.features(), problem.w
    _, g = oracle.loss_grad(features, w)
    rng = np.random.default_rng(0)
    directions = [*np.eye(w.size)[rng.choice(w.size, 25, replace=False)], *rng.normal(size=(5, w.size))]
    step = 1e-5
    for d in directions:
        numeric = (oracle.loss(features, w + step * d) - oracle.loss(features, w - step * d)) / (2.0 * step)
        assert numeric == pytest.approx(g @ d, rel=1e-6, abs=1e-6)


@every_kernel
def test_weights_whose_inverse_overflows(kernel):
    """A sequence that hardly counts, as weights that decay with age end: it changes nothing that can be seen."""
    problem = make_problem(seed=8, n_labels=7, lengths=[9, 4], n_attributes=5, density=0.8)
    tiny = replace(problem, sequences=(problem.sequences[0], replace(problem.sequences[1], weight=1e-310)))
    alone = replace(problem, sequences=problem.sequences[:1])
    found = _core.Oracle(tiny.corpus(), kernel=kernel).loss_grad_curvature(problem.features(), problem.w)
    expected = _core.Oracle(alone.corpus(), kernel=kernel).loss_grad_curvature(problem.features(), problem.w)
    for a, b in zip(found, expected, strict=True):
        assert_allclose(a, b, rtol=1e-12, atol=1e-12)


@every_kernel
def test_loss_without_weights_is_t_log_y(kernel):
    problem = make_problem(seed=8, n_labels=7, lengths=[9, 4, 1, 6], n_attributes=5)
    loss = _core.Oracle(problem.corpus(), kernel=kernel).loss(problem.features(), 0.0 * problem.w)
    assert loss == pytest.approx(20 * np.log(7.0), rel=1e-12)


@every_kernel
@pytest.mark.parametrize("n_labels", [3, 29])
def test_candidates_only(kernel, n_labels):
    """The derivatives on some features are those of the full set there: a subset changes no probability."""
    problem = make_problem(
        seed=2, n_labels=n_labels, lengths=[12, 5], n_attributes=6, list_size=3, density=0.1, real_values=True
    )
    w = problem.w
    keep = (w != 0.0) | (np.random.default_rng(0).random(w.size) < 0.2)
    oracle = _core.Oracle(problem.corpus(), kernel=kernel)
    loss, g, h = oracle.loss_grad_curvature(problem.features(), w)
    loss_some, g_some, h_some = oracle.loss_grad_curvature(problem.features(keep), w[keep])
    assert 0 < keep.sum() < keep.size
    assert loss_some == pytest.approx(loss, rel=1e-12)
    assert_allclose(g_some, g[keep], rtol=1e-10, atol=1e-12)
    assert_allclose(h_some, h[keep], rtol=1e-10, atol=1e-12)


@pytest.mark.slow
@every_kernel
@pytest.mark.parametrize("real_values", [False, True])  # repeated lists are base lists, the others rest lists
def test_bit_identical_for_any_number_of_threads(kernel, real_values):
    rng = np.random.default_rng(1)
    problem = make_problem(
        seed=11,
        n_labels=7,
        lengths=[int(n) for n in rng.integers(1, 30, 400)],
        n_attributes=20,
        real_values=real_values,
        missing=0.02,
        sequence_weights=True,
        token_weights=True,
    )
    corpus, features, w = problem.corpus(), problem.features(), problem.w
    constraints = replace(problem, limits=make_limits(1, problem, True, True, True)).constraints()
    results = []
    for threads in (1, 2, 3, 8):
        oracle = _core.Oracle(corpus, threads=threads, kernel=kernel)
        chain = problem.chain(kernel, threads=threads)
        results.append(
            [
                *oracle.loss_grad_curvature(features, w),
                oracle.loss(features, w),
                *oracle.loss_grad(features, w),
                oracle.counts(features),
                oracle.candidates(features, w, 2.0),
                chain.log_partition(corpus, constraints),
                chain.log_prob(corpus, constraints),
                chain.marginals(corpus, constraints),
                *chain.viterbi(corpus, constraints),
            ]
        )
    for other in results[1:]:
        for one, same in zip(results[0], other, strict=True):
            assert_array_equal(one, same)


def test_threads_share_the_attributes():
    lengths = [5, 1, 8, 12, 3] * 8
    corpus = make_problem(seed=3, n_labels=3, lengths=lengths, n_attributes=400, sequence_weights=True).corpus()
    results = []
    for threads in (1, 2, 3, 8):
        observed = _core.FeatureSet.observed(corpus, threads=threads)
        results.append([observed.numbers, *_core.Oracle(corpus, threads=threads).masses()])
    assert results[0][1].max() > 1.0
    for other in results[1:]:
        for one, same in zip(results[0], other, strict=True):
            assert_array_equal(one, same)


@pytest.mark.slow
@every_kernel
@pytest.mark.parametrize("extras", [{}, {"missing": 0.1}])
def test_passes_leave_nothing_behind(kernel, extras):
    """What a pass allocated and laid out is used by the next ones: each gives what a new oracle gives, to the bit."""
    problem = make_problem(seed=6, n_labels=9, lengths=[60, 30, 1, 9], n_attributes=12, list_size=2, **extras)
    rng = np.random.default_rng(0)
    corpus, every, some = problem.corpus(), problem.features(), problem.features(rng.random(problem.w.size) < 0.4)
    used = _core.Oracle(corpus, threads=1, kernel=kernel)

    def check(features, w):
        for call in ("loss_grad", "loss_grad_curvature", "loss", "loss_grad"):
            new = _core.Oracle(corpus, threads=1, kernel=kernel)
            one, same = (getattr(oracle, call)(features, w) for oracle in (used, new))
            for a, b in zip(*((one, same) if call != "loss" else ((one,), (same,))), strict=True):
                assert_array_equal(a, b)

    for features in (every, some, every):
        size = features.n_unigram + features.n_bigram
        for density in (0.0, 1.0, 0.05, 0.6):  # matrices turn sparse and dense
            zeros = rng.random(size) >= density
            for scale in (1.0, 1000.0, 0.5):  # the same pairs with other scores; switches to the log domain and back
                w = scale * rng.normal(size=size)
                w[zeros] = 0.0
                check(features, w)
            used.release_tables()
            check(features, w)
            used.candidates(features, w, 0.5)


def test_weight_zero_leaves_a_sequence_out():
    problem = make_problem(seed=4, n_labels=4, lengths=[5, 6], n_attributes=4, list_size=3)
    silent = replace(problem, sequences=(problem.sequences[0], replace(problem.sequences[1], weight=0.0)))
    alone = replace(problem, sequences=problem.sequences[:1])
    results = [_core.Oracle(p.corpus()).loss_grad_curvature(problem.features(), problem.w) for p in (silent, alone)]
    for with_it, without in zip(*results, strict=True):
        assert_allclose(with_it, without, rtol=1e-12, atol=1e-14)
