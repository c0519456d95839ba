"""Pairs of classes of labels: the core and training against the same model on pairs of labels, and enumeration."""

import itertools
import pickle
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tied_features import WithClasses, assert_close, scipy_optimum

from sparsecrf import CRF, InputError, _core, fit
from sparsecrf.encoding.label_parts import LabelParts
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.shards import Shards
from sparsecrf.training.data import TrainingData
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import ElasticNet

LABELS, PARTS, corpus_of, Both = WithClasses.labels, WithClasses.parts, WithClasses.corpus_of, WithClasses
Y = len(LABELS)
KINDS = [{}, {"bigrams": "all"}, {"values": True, "bigrams": "all"}, {"weights": True}]


def class_marginals(chain, corpus):
    """[T] matrices [C + 1, C]: those of pairs, summed by class."""
    cells = sorted({*PARTS.classes})
    member = np.array([[PARTS.classes[y] == c for c in cells] for y in range(Y)], dtype=float)
    before = np.zeros((Y + 1, len(cells) + 1))
    before[:Y, :-1], before[Y, -1] = member, 1
    edges = (edge for i in range(corpus.n_sequences) for edge in chain.edge_marginals(corpus, i))
    return [before.T @ edge @ member for edge in edges]


def test_classes_of_labels():
    assert PARTS.names == ("N", "s", "V", "p")
    # D|s is alone with its first part, and N|N is of the class N, like N|s and N|p; A has no parts.
    assert PARTS.classes == (7, 9, 7, 3, 9, 5, 7)
    assert PARTS.class_cells == (3, 5, 7, 9)
    assert PARTS.n_class_pairs(start=True) == 16 - 4 + 2
    assert LabelParts.of(LABELS, "|").classes == ()
    # All labels have one class, or every label has its own: there are no pairs of classes.
    assert LabelParts.of(["N|s|x", "N|p|x", "N|p"], "|", classes=True).classes == ()
    assert LabelParts.of(["a|s", "b|s", "c"], "|", classes=True).classes == ()
    # A class needs its part, even if all labels have it somewhere.
    odd = LabelParts.of(["N|s", "N|p", "V|N", "V|N|s"], "|", classes=True)
    assert odd.names == ("N", "s", "V")
    assert odd.classes == (4, 4, 6, 6)


def test_numbers_of_pairs_of_classes():
    both = Both(0)
    features, numbering = both.features, both.numbering
    assert_array_equal(numbering.attribute(features.numbers)[features.n_unigram :], features.bigram_attribute)
    assert_array_equal(numbering.label(features.numbers)[features.n_unigram :], features.bigram_label)
    assert_array_equal(numbering.previous(features.numbers)[features.n_unigram :], features.bigram_previous)
    assert (numbering.previous(features.numbers)[: features.n_unigram] == -1).all()
    x = numbering.attribute(features.numbers)
    assert_array_equal(numbering.moved(features.numbers, x, features.n_attributes), features.numbers)
    again = _core.FeatureSet.from_numbers(Y, features.n_attributes, features.numbers, None, PARTS.core)
    assert_array_equal(again.numbers, features.numbers)
    # The classes A and D|s are labels: their pair is a pair of labels.
    x = both.vocabulary.attributes.find("a0")
    for previous in (0, 4):  # A, the start
        number = np.array([numbering.class_pair(x, previous, 1)])
        with pytest.raises(InputError, match=r"expected a class pair.*several label pairs, found.*a single"):
            _core.FeatureSet.from_numbers(Y, features.n_attributes, number, None, PARTS.core)


@pytest.mark.parametrize("kernel", ["auto", "sparse", "dense", "log"])
@pytest.mark.parametrize("options", KINDS)
def test_loss_gradient_counts_and_curvature(options, kernel):
    """With w' = R' w the loss is that of pairs of labels, and the gradient R g'."""
    for seed in range(4):
        both = Both(seed, 1 + seed % 2, kernel, **options)
        flat = both.matrix.T @ both.w
        loss, g, h = both.oracle.loss_grad_curvature(both.features, both.w)
        counts = both.oracle.counts(both.features).copy()
        expected, g_flat = both.oracle.loss_grad(both.flat, flat)
        assert_allclose(loss, expected, rtol=1e-12)
        assert_allclose(g, both.matrix @ g_flat, atol=1e-10)
        assert_allclose(counts, both.matrix @ both.oracle.counts(both.flat), atol=1e-12)
        assert_allclose(both.oracle.loss_grad(both.features, both.w)[1], g, atol=1e-12)
        if options.get("weights"):
            continue  # h is a sum over layers
        n = len(both.features) - both.features.n_class
        arrays, expected_h = both.corpus.to_arrays(), np.zeros(both.features.n_class)
        cells = [*PARTS.class_cells]
        place = {c if c < Y else c + 1: k for k, c in enumerate(cells)} | {Y: len(cells)}
        pair = [place[p] for p in both.features.bigram_previous[-len(expected_h) :]]
        last = [cells.index(c) for c in both.features.bigram_label[-len(expected_h) :]]
        owner = both.features.bigram_attribute[-len(expected_h) :]
        for t, p in enumerate(class_marginals(_core.Chain(both.features, both.w), both.corpus)):
            at = slice(arrays["bigram_ptr"][t], arrays["bigram_ptr"][t + 1])
            value = np.zeros(both.corpus.n_attributes)
            value[arrays["bigram_id"][at]] = arrays["bigram_value"][at]
            expected_h += value[owner] ** 2 * (p * (1 - p))[pair, last]
        assert_allclose(h[n:], expected_h, atol=1e-10)


def test_gradient_by_finite_differences():
    both = Both(3, bigrams="all")
    _, g = both.oracle.loss_grad(both.features, both.w)
    for k in range(len(both.w) - both.features.n_class, len(both.w), 7):
        step = np.zeros(len(both.w))
        step[k] = 1e-5
        slope = (both.oracle.loss(both.features, both.w + step) - both.oracle.loss(both.features, both.w - step)) / 2e-5
        assert_allclose(g[k], slope, atol=1e-6)


def test_log_z_is_the_sum_over_all_paths():
    both = Both(2, bigrams="all", n_sequences=6, longest=3)
    flat = both.matrix.T @ both.w
    numbering, arrays = Numbering(Y, both.corpus.n_attributes), both.corpus.to_arrays()
    ends, log_z = np.cumsum(arrays["lengths"]).tolist(), []
    for end, length in zip(ends, arrays["lengths"].tolist(), strict=True):
        scores = []
        for path in itertools.product(range(Y), repeat=length):
            score = 0.0
            for k, y in enumerate(path):
                t, before = end - length + k, path[k - 1] if k else Y
                for kind in ("unigram", "bigram"):
                    at = slice(arrays[f"{kind}_ptr"][t], arrays[f"{kind}_ptr"][t + 1])
                    x = arrays[f"{kind}_id"][at].astype(np.int64)
                    cell = numbering.unigram(x, y) if kind == "unigram" else numbering.bigram(x, before, y)
                    score += arrays[f"{kind}_value"][at] @ flat[cell]
            scores.append(score)
        log_z.append(np.logaddexp.reduce(scores))
    assert_allclose(_core.Chain(both.features, both.w).log_partition(both.corpus), log_z, rtol=1e-12)


@pytest.mark.parametrize("large", [1.0, 30.0, 400.0])
@pytest.mark.parametrize("bigrams", ["bias", "all"])
def test_every_kernel_gives_the_same_answers(bigrams, large):
    """Best labels, n-best, marginals, also where weights of pairs take back what those of classes give."""
    for seed in range(4):
        both = Both(seed, bigrams=bigrams)
        w = large * both.w
        n = len(w) - both.features.n_class
        if large > 1:
            w[n:] = np.abs(w[n:])
            w[both.features.n_unigram : n] = -np.abs(w[both.features.n_unigram : n])
        flat = both.matrix.T @ w
        expected = _core.Chain(both.flat, flat, kernel="log")
        for kernel in ("sparse", "dense", "log"):
            chain = _core.Chain(both.features, w, kernel=kernel)
            assert_allclose(chain.log_partition(both.corpus), expected.log_partition(both.corpus), rtol=1e-11)
            assert_allclose(chain.marginals(both.corpus), expected.marginals(both.corpus), atol=1e-9)
            best, score = chain.viterbi(both.corpus), expected.viterbi(both.corpus)
            assert_allclose(best[1], score[1], rtol=1e-11)
            for i in range(both.corpus.n_sequences):
                a, b = chain.nbest(both.corpus, i, 3), expected.nbest(both.corpus, i, 3)
                assert_allclose(a[1], b[1], rtol=1e-11, atol=1e-11)


@pytest.mark.slow
def test_stochastic_solvers_come_close():
    for bigrams in ("bias", "all"):
        both = Both(1, n_sequences=30, bigrams=bigrams)
        found = fit(both.corpus, rho1=0.2, rho2=0.1, parts=PARTS, solver="sgd-l1", max_iter=300, threads=1)
        assert_close(both, found, 0.2, 0.1)


@pytest.mark.slow
def test_the_gap_is_a_lower_bound_with_factors_of_sequences():
    both = Both(5, n_sequences=25)
    best = scipy_optimum(both, 0.3, 0.1)
    for tol in (0.3, 1e-2, 1e-4):
        found = fit(both.corpus, rho1=0.3, rho2=0.1, parts=PARTS, tol=tol, threads=1)
        assert found.objective - found.gap <= best * (1 + 1e-9)
    assert found.gap < 0.05 * found.objective


@pytest.mark.parametrize("options", KINDS[:3])
def test_the_entropy_of_sequences(options):
    """With all factors 1 it is that of the model, however its weights are written."""
    both = Both(6, **options)
    entropy = []
    for features, w in ((both.features, both.w), (both.flat, both.matrix.T @ both.w)):
        _, g = both.oracle.loss_grad(features, w)
        how = {"rho1": 0.1, "rho2": 0.1, "sweeps": 0, "max_entries": 10**6, "alone": True}
        entropy.append(both.oracle.sequence_factors(features, w, np.arange(len(w)), g, **how)[0])
    assert_allclose(entropy[0], entropy[1], rtol=1e-9)


def test_classes_of_one_label_change_nothing():
    """Where every label is a class of its own, the model is that of pairs of labels, bit by bit."""
    X = [["a", "b"], ["b", "c"], ["a"]]
    y = [["x.1", "y.2"], ["y.2", "z.1"], ["x.1"]]
    pairs = CRF(rho1=0.1, label_parts=".").fit(X, y)
    classes = CRF(rho1=0.1, label_parts=".", solver_options={"class_pairs": True}).fit(X, y)
    assert pairs.model_.label_parts is not None
    assert pairs.model_.to_bytes() == classes.model_.to_bytes()


def test_classes_without_features_change_nothing():
    """A set without pairs of classes has the loss and gradient that it has for labels without classes."""
    both = Both(4, bigrams="all")
    n = len(both.features) - both.features.n_class
    plain = LabelParts(*PARTS[:2])
    without = _core.FeatureSet.from_numbers(Y, both.corpus.n_attributes, both.features.numbers[:n], None, plain.core)
    same = _core.FeatureSet.from_numbers(Y, both.corpus.n_attributes, both.features.numbers[:n], None, PARTS.core)
    for a, b in zip(
        both.oracle.loss_grad_curvature(without, both.w[:n]),
        both.oracle.loss_grad_curvature(same, both.w[:n]),
        strict=True,
    ):
        assert_array_equal(a, b)


def test_what_cannot_be_done_is_refused():
    corpus, _ = corpus_of(6, 40)
    with pytest.raises(InputError, match="class_pairs cannot be combined with order=3; use order=2"):
        fit(corpus, parts=PARTS, order=3)
    with pytest.raises(InputError, match="label_parts is not supported by solver='sbcd'"):
        fit(corpus, parts=PARTS, solver="sbcd")
    halves = np.array_split(np.arange(corpus.n_sequences), 2)
    shards = Shards.in_process([partial(corpus.subset, half) for half in halves], threads=1)
    with pytest.raises(InputError, match="class_pairs cannot be combined with data in several shards"):
        fit(shards, parts=PARTS)
    with pytest.raises(InputError, match=r"classes of labels: expected label 0 itself.*parts.*found 3"):
        PARTS._replace(classes=(3, *PARTS.classes[1:])).core  # noqa: B018


def test_there_are_at_most_200_classes():
    """Two labels share their first part, and every other one is a class of its own."""
    for n in (200, 201):
        labels = ["N|s", "N|p", *(f"L{k}" for k in range(n - 1))]
        parts = LabelParts.of(labels, "|", classes=True)
        vocabulary = Vocabulary()
        for label in labels:
            vocabulary.labels.intern(label)
        corpus = vocabulary.encode([[["a"], ["b"]]], [["N|s", "L0"]], grow=True)
        assert len(parts.class_cells) == n
        if n == 200:
            TrainingData(corpus, parts=parts)
        else:
            with pytest.raises(InputError, match="class_pairs: expected at most 200 classes, found 201: labels with"):
                TrainingData(corpus, parts=parts)


def test_expectations_under_uniform_labels():
    """They are the gradient at zero plus the counts."""
    corpus, _ = corpus_of(7, bigrams="all", values=True)
    data = TrainingData(corpus, parts=PARTS)
    features = _core.FeatureSet.all_virtual(corpus, PARTS.core)
    oracle = _core.Oracle(corpus)
    _, g = oracle.loss_grad(features, np.zeros(len(features)))
    assert_allclose(data.uniform(features.numbers), g + oracle.counts(features), atol=1e-9)


@pytest.mark.parametrize("options", KINDS[:3])
def test_residual_at_the_start(options):
    """It is that of the whole space at w = 0, pairs of classes included, those observed and those not."""
    for seed in range(3):
        both = Both(seed, **options)
        _, g = both.oracle.loss_grad(both.features, np.zeros(len(both.features)))
        for rho1 in (0.0, 0.05, 0.4, 1.5):
            found = Objective(both.corpus, ElasticNet(rho1, 0.1), parts=PARTS).start_residual()
            assert_allclose(found, np.maximum(np.abs(g) - rho1, 0).sum(), rtol=1e-9)


def test_features_with_classes_are_sent_to_another_process():
    both = Both(3, bigrams="all")
    again = pickle.loads(pickle.dumps(both.features))
    assert again.n_class == both.features.n_class > 0
    assert_array_equal(again.numbers, both.features.numbers)
    assert again.parts.class_cells == [*PARTS.class_cells]
    assert again.parts.class_of == PARTS.core.class_of
    assert_allclose(both.oracle.loss(again, both.w), both.oracle.loss(both.features, both.w), rtol=1e-15)


def test_features_with_parts_alone_are_sent_without_classes():
    corpus, _ = corpus_of(3)
    features = _core.FeatureSet.all_virtual(corpus, LabelParts(*PARTS[:2]).core)
    again = pickle.loads(pickle.dumps(features))
    assert_array_equal(again.numbers, features.numbers)
    assert again.parts.class_cells == []
