"""Label n-grams in the core, against the reference and against all paths."""

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from compare import KERNELS, assert_logs, assert_probabilities, magnitude
from ngram_problems import NgramProblem, indicators, make_ngram_problem, table_of
from numpy.testing import assert_allclose, assert_array_equal
from problems import make_problem

from reference.lattice import merged
from sparsecrf import InputError, _core

SHAPES = [(1, [1, 3]), (2, [1, 2, 6]), (3, [5, 4]), (4, [4, 4]), (3, [1, 7])]


def problems(size=1.0, seeds=12, **options):
    for seed in range(seeds):
        n_labels, lengths = SHAPES[seed % len(SHAPES)]
        yield make_ngram_problem(seed, n_labels, lengths, size=size, **options)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("size", [0.7, 3.0, 12.0, 500.0])
def test_probabilities(kernel, size):
    """log Z, marginals of labels and pairs, scores and probabilities of labellings."""
    for problem in problems(size, real_values=True, list_size=3):
        chain, corpus, base = problem.chain(kernel), problem.corpus, problem.base
        scores, log_prob = chain.score(corpus), chain.log_prob(corpus)
        log_z, node = chain.log_partition(corpus), chain.marginals(corpus)
        for i in range(len(base.sequences)):
            paths, found = problem.paths(i), problem.posterior(i)
            size_of_score = magnitude(base.psi(i)) + sum(abs(x) for of in problem.theta(i) for x in of.values())
            assert_logs(log_z[i], paths.log_z, size_of_score)
            own = (paths.labels == base.own_labels(i)).all(axis=1)
            assert_allclose(scores[i], paths.score[own], rtol=1e-10, atol=1e-12 * size_of_score)
            assert_logs(log_prob[i], paths.score[own] - paths.log_z, size_of_score)
            assert_probabilities(node[base.offsets[i] : base.offsets[i + 1]], found.node)
            assert_probabilities(chain.edge_marginals(corpus, i), found.edge)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("size", [1.0, 500.0])
def test_best_labels(kernel, size):
    for problem in problems(size, real_values=True):
        labels, scores = problem.chain(kernel).viterbi(problem.corpus)
        for i in range(len(problem.base.sequences)):
            paths = problem.paths(i)
            assert_allclose(scores[i], paths.score.max(), rtol=1e-12, atol=1e-9)
            mine = labels[problem.base.offsets[i] : problem.base.offsets[i + 1]]
            own = paths.score[(paths.labels == mine).all(axis=1)]
            assert_allclose(own, paths.score.max(), rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_n_best(kernel):
    for problem in problems(seeds=6, real_values=True):
        chain = problem.chain(kernel)
        for i in range(len(problem.base.sequences)):
            paths, (labels, scores) = problem.paths(i), chain.nbest(problem.corpus, i, 7)
            best = np.sort(paths.score)[::-1][:7]
            assert_allclose(scores, best, rtol=1e-12, atol=1e-9)
            found = {tuple(row) for row in np.asarray(labels).tolist()}
            assert len(found) == len(best)
            score = {tuple(row): value for row, value in zip(paths.labels.tolist(), paths.score, strict=True)}
            assert_allclose([score[tuple(row)] for row in np.asarray(labels).tolist()], scores, rtol=1e-12, atol=1e-9)


def test_constraints():
    """Allowed labels, fixed labels and forbidden pairs."""
    from dataclasses import replace

    from problems import Limits

    rng = np.random.default_rng(5)
    for seed in range(10):
        problem = make_ngram_problem(seed, 3, [5, 4], n_ngrams=30)
        allowed = rng.random((9, 3)) < 0.7
        allowed[np.arange(9), problem.base.labels] = True
        forbidden = np.zeros((4, 3), dtype=bool)
        forbidden[0, 1] = True
        fixed = np.full(9, -1, dtype=np.int32)
        fixed[2] = problem.base.labels[2]
        for limits in (Limits(allowed=allowed), Limits(fixed=fixed), Limits(forbidden=forbidden)):
            limited = replace(problem, base=replace(problem.base, limits=limits))
            chain, known = limited.chain(), limited.base.constraints()
            log_z, node = chain.log_partition(limited.corpus, known), chain.marginals(limited.corpus, known)
            _, scores = chain.viterbi(limited.corpus, known)
            for i in range(2):
                paths = limited.paths(i)
                assert_logs(log_z[i], paths.log_z, 50.0)
                assert_allclose(scores[i], paths.score.max())
                start, end = limited.base.offsets[i], limited.base.offsets[i + 1]
                assert_probabilities(node[start:end], limited.posterior(i).node)


def test_span_probabilities():
    problem = make_ngram_problem(2, 3, [6])
    paths = problem.paths(0)
    found = problem.chain().span_log_prob(problem.corpus, 0, 2, np.array([1, 0], dtype=np.int32))
    own = (paths.labels[:, 2] == 1) & (paths.labels[:, 3] == 0)
    assert_allclose(np.exp(found), paths.probability[own].sum(), rtol=1e-10)


@pytest.mark.parametrize("kernel", KERNELS)
def test_gradient(kernel):
    """Loss, gradient and curvature of all three kinds of features, against probabilities of the reference."""
    for problem in problems(real_values=True, sequence_weights=True, list_size=3):
        base, features = problem.base, problem.features()
        oracle = _core.Oracle(problem.corpus, 2, kernel)
        loss, g, h = oracle.loss_grad_curvature(features, problem.w)
        expected_loss, expected_g, expected_h = brute_force(problem)
        assert_allclose(loss, expected_loss, rtol=1e-10, atol=1e-13)
        assert_allclose(g, expected_g, rtol=1e-9, atol=1e-10)
        assert_allclose(h, expected_h, rtol=1e-9, atol=1e-10)
        assert_allclose(oracle.loss_grad(features, problem.w)[1], g, rtol=0, atol=0)
        assert base.w.size < len(g)


@pytest.mark.parametrize("size", [1.0, 10.0])
def test_gradient_is_the_slope_of_the_loss(size):
    problem = make_ngram_problem(7, 3, [6, 5], size=size, token_weights=True)
    oracle, features = _core.Oracle(problem.corpus, 1), problem.features()
    _, g = oracle.loss_grad(features, problem.w)
    for k in range(0, len(g), 3):
        step = np.zeros(len(g))
        step[k] = 1e-6
        slope = (oracle.loss(features, problem.w + step) - oracle.loss(features, problem.w - step)) / 2e-6
        assert_allclose(g[k], slope, rtol=1e-6, atol=1e-6)


def test_same_bits_on_any_number_of_threads():
    problem = make_ngram_problem(3, 4, [5, 9, 4, 7] * 60, n_ngrams=60, real_values=True)
    results = []
    for threads in (1, 2, 3):
        loss, g, h = _core.Oracle(problem.corpus, threads).loss_grad_curvature(problem.features(), problem.w)
        results.append(np.concatenate([[loss], g, h]))
    assert all((result == results[0]).all() for result in results[1:])


@pytest.mark.parametrize("size", [0.5, 8.0, 60.0])
@pytest.mark.parametrize("longest", [3, 5])
def test_sequences_side_by_side(longest, size):
    """Many sequences whose positions have the same arcs are done eight at a time, single ones alone: the sum of the
    latter is the same. With large weights some sequences need the log domain and leave the others. 40 attributes
    condition pairs, more than make base lists, so that there are rest lists."""
    base = make_problem(5, 4, [1, 2, 3, 7, 9, 5] * 30, 40, sequence_weights=True, token_weights=True)
    rng = np.random.default_rng(longest)
    weights: dict[tuple[int, tuple[int, ...]], float] = {}
    for _ in range(60):
        labels = tuple(int(y) for y in rng.integers(4, size=rng.integers(3, longest + 1)))
        weights[int(rng.integers(2)), (4, *labels[1:]) if rng.random() < 0.2 else labels] = float(rng.normal()) * size
    problem = NgramProblem(base, weights)
    corpus, features, w = problem.corpus, problem.features(), problem.w
    loss, g, h = _core.Oracle(corpus, 1).loss_grad_curvature(features, w)
    single = [
        _core.Oracle(corpus.subset(np.array([i])), 1).loss_grad_curvature(features, w)
        for i in range(corpus.n_sequences)
    ]
    assert_allclose(loss, sum(one[0] for one in single), rtol=1e-10)
    assert_allclose(g, np.sum([one[1] for one in single], axis=0), rtol=1e-8, atol=1e-9)
    assert_allclose(h, np.sum([one[2] for one in single], axis=0), rtol=1e-8, atol=1e-9)
    assert_allclose(_core.Oracle(corpus, 1).loss(features, w), loss, rtol=1e-12)
    for found, expected in zip(_core.Oracle(corpus, 3).loss_grad_curvature(features, w), (loss, g, h), strict=True):
        assert_array_equal(found, expected)


def test_bounds_of_screening():
    """E of a string with a label more in front is below its bound, which is never above E without it; counts."""
    for problem in problems(sequence_weights=True, token_weights=True, list_size=3):
        Y, base = problem.base.n_labels, problem.base
        features = problem.features()
        cells = [(x, pair) for x in range(len(base.mu)) for pair in itertools.product(range(Y), repeat=2)]
        cells += [cell for cell in problem.weights if cell[1][0] < Y]
        place = places(problem, problem.weights)
        listed = np.array([place[cell] for cell in cells], dtype=np.int64)
        bounds, counts, _ = _core.Oracle(problem.corpus, 2).ngram_bounds(features, problem.w, listed)
        longer = [(x, (b, *labels)) for x, labels in cells for b in (*range(Y), Y)]
        expected, exact_counts = expectations(problem, longer)
        shorter, _ = expectations(problem, cells)
        assert_allclose(counts.ravel(), exact_counts, atol=1e-12)
        assert (bounds.ravel() >= expected - 1e-12).all()
        assert (bounds <= shorter[:, None] + 1e-9).all()


@pytest.mark.parametrize(("n_conditions", "size"), [(0, 0.0), (1, 0.5), (3, 0.5), (3, 3.0), (1, 60.0), (3, 60.0)])
def test_triples_of_screening(n_conditions, size):
    """E of all triples that are not in the set, of pairs in base and rest lists; sequences that need the log domain
    have bounds and are counted. One attribute has all n-grams of a position, several share those of some."""
    base = make_problem(8, 3, [1, 2, 3, 7, 5] * 4, 40, list_size=3, sequence_weights=True, token_weights=True)
    rng = np.random.default_rng(n_conditions)
    weights: dict[tuple[int, tuple[int, ...]], float] = {}
    for _ in range(12 * n_conditions):
        labels = (*(int(y) for y in rng.integers(3, size=3)),)
        labels = (3, *labels[1:]) if rng.random() < 0.2 else labels
        weights[int(rng.integers(n_conditions)), labels] = float(rng.normal()) * size
    problem = NgramProblem(base, weights)
    features = problem.features()
    cells = [(x, pair) for x in (0, 1, 2, 20, 39) for pair in itertools.product(range(3), repeat=2)]
    place = places(problem, problem.weights)
    listed = np.array([place[cell] for cell in cells], dtype=np.int64)
    bounds, _, n_bounded = _core.Oracle(problem.corpus, 2).ngram_bounds(features, problem.w, listed)
    longer = [(x, (b, *labels)) for x, labels in cells for b in range(4)]
    expected, _ = expectations(problem, longer)
    new = np.array([cell not in weights for cell in longer])
    assert (n_bounded > 0) == (size == 60.0)
    if n_bounded == 0:
        assert_allclose(bounds.ravel()[new], expected[new], rtol=1e-9, atol=1e-12)
    assert (bounds.ravel()[new] >= expected[new] - 1e-9).all()
    for threads in (1, 3):
        again = _core.Oracle(problem.corpus, threads).ngram_bounds(features, problem.w, listed)[0]
        assert_array_equal(again, bounds)


def expectations(problem, cells):
    """E and C of (attribute, labels), by a set that has them as n-grams of weight 0, pairs by the reference."""
    features = problem.features()
    extra = [cell for cell in cells if len(cell[1]) > 2 and cell not in problem.weights]
    wide = problem.with_ngrams([*problem.weights, *dict.fromkeys(extra)])
    oracle = _core.Oracle(problem.corpus, 1)
    w = np.concatenate([problem.w, np.zeros(len(wide) - len(features))])
    counts = np.asarray(oracle.counts(wide))
    expected = oracle.loss_grad(wide, w)[1] + counts
    place = places(problem, [*problem.weights, *dict.fromkeys(extra)])
    at = [place[cell] for cell in cells]
    return expected[at], counts[at]


def places(problem, ngrams):
    """The indices in the set of (attribute, labels) with two or more labels."""
    Y, X = problem.base.n_labels, len(problem.base.mu)
    place = {cell: problem.base.w.size + k for k, cell in enumerate(ngrams)}
    for x in range(X):
        for i, y in itertools.product(range(Y), repeat=2):
            place[x, (i, y)] = X * Y + x * (Y + 1) * Y + i * Y + y
    return place


def test_missing_labels():
    """Sums over missing labels: the loss is that of all labellings that agree with the known ones."""
    problem = make_ngram_problem(11, 3, [6, 4], missing=0.3)
    loss = _core.Oracle(problem.corpus, 1).loss(problem.features(), problem.w)
    expected = 0.0
    for i in range(2):
        paths = problem.paths(i, limited=False)
        expected += paths.log_z - paths.restricted(paths.agreeing(problem.base.own_labels(i))).log_z
    assert_allclose(loss, expected, rtol=1e-10, atol=1e-13)


def brute_force(problem):
    """Loss, gradient and curvature by all paths."""
    base, (mu, lam) = problem.base, (problem.base.mu, problem.base.lam)
    g_mu, g_lam, h_mu, h_lam = np.zeros_like(mu), np.zeros_like(lam), np.zeros_like(mu), np.zeros_like(lam)
    g, h = np.zeros(len(problem.weights)), np.zeros(len(problem.weights))
    loss = 0.0
    for i, sequence in enumerate(base.sequences):
        paths = problem.paths(i)
        p, own = paths.probability, base.own_labels(i)
        mine = int(np.flatnonzero((paths.labels == own).all(axis=1))[0])
        loss += sequence.weight * (paths.log_z - paths.score[mine])
        for t in range(len(sequence)):
            one, two, more = indicators(problem, paths, t)
            for attributes, cells, to_g, to_h in (
                (sequence.unigram[t], one, g_mu, h_mu),
                (sequence.bigram[t], two, g_lam, h_lam),
                (sequence.bigram[t], more, g, h),
            ):
                _add(attributes, cells, to_g, to_h, sequence.weight, p, mine)
    return loss, np.concatenate([g_mu.ravel(), g_lam.ravel(), g]), np.concatenate([h_mu.ravel(), h_lam.ravel(), h])


def _add(attributes, cells, g, h, weight, p, mine):
    """E - C and sum of v^2 p (1 - p), repeated attributes added up."""
    for x, value in merged(attributes).items():
        for cell, on in cells[x]:
            mean = float(p @ on)
            g[cell] += weight * value * (mean - float(on[mine]))
            h[cell] += weight * value**2 * mean * (1.0 - mean)


def test_errors():
    with pytest.raises(InputError, match="3 to 1000 labels, found 2"):
        table_of(3, [(0, (1, 2))])
    with pytest.raises(InputError, match="3 to 1000 labels, found 200000"):  # as a file could have
        table_of(3, [(0, (1,) * 200_000)])
    table_of(3, [(0, (1,) * 1000)])
    with pytest.raises(InputError, match="from 0 to 2, found 3"):
        table_of(3, [(0, (1, 3, 2))])


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited by RLIMIT_AS")
@pytest.mark.skipif("san.so" in os.environ.get("LD_PRELOAD", ""), reason="sanitizers need the memory")
def test_tables_that_would_take_a_third_of_the_memory_are_refused():
    """All strings of three labels, conditioned on an attribute that every position has beside one of its own, which
    conditions one of them: tables for each position. The limit counts what this process has anyway: there is room for
    more than a third."""
    code = (
        "import itertools, resource, sys\n"
        "import numpy as np\n"
        "sys.path[:0] = sys.argv[1:]\n"
        "from ngram_problems import table_of\n"
        "from sparsecrf import InputError, Vocabulary, _core\n"
        "Y, T = 20, 600\n"
        "vocabulary = Vocabulary('all')\n"
        "tokens = [['all', f'w{t}'] for t in range(T)]\n"
        "corpus = vocabulary.encode([tokens], [[f'L{t % Y}' for t in range(T)]], grow=True)\n"
        "cells = [(vocabulary.attributes.find('all'), labels) for labels in itertools.product(range(Y), repeat=3)]\n"
        "cells += [(vocabulary.attributes.find(f'w{t}'), (0, 0, 0)) for t in range(T)]\n"
        "first = corpus.n_attributes * (Y + Y * Y + Y)\n"
        "numbers = first + np.arange(len(cells))\n"
        "features = _core.FeatureSet.from_numbers(Y, corpus.n_attributes, numbers, table_of(Y, cells))\n"
        "taken = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "limit = max(taken + 2**28, 3 * 2**27)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (limit, limit))\n"
        "try:\n"
        "    _core.Oracle(corpus, 1).loss_grad(features, np.ones(len(cells)))\n"
        "except InputError as error:\n"
        "    print(error)\n"
    )
    one_thread = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}  # each takes address space
    command = [sys.executable, "-c", code, str(Path(__file__).parents[1] / "support"), str(Path(__file__).parents[1])]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, env=one_thread)
    assert done.stdout.startswith("label n-grams: expected tables of at most 0.")
    assert "a third of the memory, found larger ones for 8600 n-grams of up to 3 labels" in done.stdout
