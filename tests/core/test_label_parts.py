"""Labels with parts: the core and training against the same model on whole labels, which other tests compare with
enumeration."""

import pickle
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tied_features import WithClasses, WithParts, assert_close, assert_optimal

from sparsecrf import CRF, InputError, _core, fit
from sparsecrf.encoding.label_parts import LabelParts
from sparsecrf.shards import Shards
from sparsecrf.shards.oracle import feature_set
from sparsecrf.training.data import TrainingData

LABELS, PARTS, corpus_of, Both = WithParts.labels, WithParts.parts, WithParts.corpus_of, WithParts
KINDS = [{}, {"bigrams": "all"}, {"values": True}, {"weights": True}]
tied = pytest.mark.parametrize("tied", [WithParts, WithClasses])


def test_parts_of_labels():
    assert LabelParts.of(LABELS, "|") == (("N", "s", "p", "V"), ((0, 1), (0, 2), (1, 3), (2, 3), ()), ())
    assert LabelParts.of(["B-PER", "I-PER", "B-LOC", "O"], "bio").names == ("B", "-PER")
    ud = LabelParts.of(["NOUN|Case=Nom|Number=Sing", "NOUN|_", "ADJ|Case=Nom|Degree=Pos", "X|_"], "ud")
    assert ud.names == ("NOUN", "Case=Nom")
    # A part of one label is that label again; one of all labels changes nothing; if none remains, labels have no parts.
    assert LabelParts.of(["a.x", "b.x", "c.x"], ".") is None
    table = {"a": ["first"], "b": ["first"]}
    assert (
        LabelParts.of("abc", table)
        == LabelParts.of("abc", lambda label: table.get(label, []))
        == (
            ("first",),
            ((0,), (0,), ()),
            (),
        )
    )


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("words", "expected a separator such as '|', 'bio' or 'ud', a mapping or a function, found 'words'"),
        ("", "found ''"),
        (3, "found 3"),
        (lambda label: label, "expected a list of parts of 'a', found 'a'"),
        (lambda label: [1], "expected strings as parts of 'a', found 1"),
        ({"a": 5}, "expected a list of parts of 'a', found 5"),
    ],
)
def test_wrong_rules(asked, message):
    with pytest.raises(InputError, match=message.replace("|", r"\|")):
        LabelParts.of("ab", asked)


@pytest.mark.parametrize("options", KINDS)
@pytest.mark.parametrize("threads", [1, 2])
def test_loss_gradient_and_counts(options, threads):
    """With w' = R' w the loss is that of whole labels, and the gradient R g'."""
    for seed in range(5):
        both = Both(seed, threads, **options)
        loss, g, h = both.oracle.loss_grad_curvature(both.features, both.w)
        counts = both.oracle.counts(both.features).copy()
        flat = both.matrix.T @ both.w
        expected, g_flat = both.oracle.loss_grad(both.flat, flat)
        assert_allclose(loss, expected, rtol=1e-12)
        assert_allclose(g, both.matrix @ g_flat, atol=1e-10)
        assert_allclose(counts, both.matrix @ both.oracle.counts(both.flat), atol=1e-12)
        assert_allclose(both.oracle.loss(both.features, both.w), expected, rtol=1e-12)
        if not options:  # h = sum_t p (1 - p), with one attribute of value 1 at a position and weights of 1
            chain = _core.Chain(both.features, both.w)
            p = chain.marginals(both.corpus)
            rows = np.array([[j in row for j in range(len(PARTS.names))] for row in PARTS.of_labels], dtype=float)
            of_parts = p @ rows
            arrays = both.corpus.to_arrays()
            position = np.arange(len(p)).repeat(np.diff(arrays["unigram_ptr"]))
            for x in range(both.corpus.n_attributes):
                at = position[arrays["unigram_id"] == x]
                variance = (of_parts[at] * (1 - of_parts[at])).sum(axis=0)
                place = np.searchsorted(both.features.numbers, both.numbering.unigram(x, 5 + np.arange(4)))
                if len(at):
                    assert_allclose(h[place], variance, atol=1e-10)


def test_block_curvature():
    """P(a, b) - P(a) P(b) of labels and parts, summed over positions: against the marginals, for unigram features."""
    both = Both(3, n_sequences=20)
    n = both.features.n_unigram
    w = both.w.copy()
    w[n:] = 0  # positions do not depend on each other
    found = both.oracle.block_curvature(both.features, w, np.arange(n))
    p = _core.Chain(both.features, w).marginals(both.corpus)
    arrays = both.corpus.to_arrays()
    cells = both.features.unigram_label
    member = np.zeros((9, 5))  # [Y + P, Y]
    member[:5] = np.eye(5)
    for y, row in enumerate(PARTS.of_labels):
        member[[5 + j for j in row], y] = 1
    expected = np.zeros((n, n))
    for t in range(len(p)):
        own = arrays["unigram_id"][arrays["unigram_ptr"][t] : arrays["unigram_ptr"][t + 1]]
        k = np.flatnonzero(np.isin(both.features.unigram_attribute, own))
        rows = member[cells[k]]
        mean = rows @ p[t]
        expected[np.ix_(k, k)] += (rows * p[t]) @ rows.T - np.outer(mean, mean)
    assert_allclose(found, expected, atol=1e-3 * len(p))  # what is unlikely is left out
    assert np.linalg.eigvalsh(found).min() > -1e-6


@tied
@pytest.mark.parametrize("options", [*KINDS, {"values": True, "bigrams": "all"}])
def test_screening_leaves_out_nothing(options, tied):
    for seed in range(5):
        both = tied(seed, **options)
        for bound in (0.3, 1.0, 3.0):
            found = both.oracle.candidates(both.features, both.w, bound)
            _, g = both.oracle.loss_grad(both.features, both.w)
            expected = g + both.oracle.counts(both.features)
            assert set(both.features.numbers[expected > bound].tolist()) <= set(found.tolist())
            assert (np.diff(found) > 0).all()
            assert len(found) < len(both.features)
    assert tied is WithParts or (found >= both.numbering.first_class).any()


@tied
@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "owlqn", "lbfgs", "fista"])
@pytest.mark.parametrize("options", KINDS)
def test_solvers_find_the_optimum(solver, options, tied):
    for seed in range(2):
        both = tied(seed, n_sequences=14, **options)
        found = fit(both.corpus, rho1=0.4, rho2=0.1, parts=tied.parts, solver=solver, tol=1e-9, threads=1)
        assert_optimal(both, found, 0.4, 0.1)
        assert found.n_part > 0
        assert tied is WithParts or found.n_class_pair > 0


@pytest.mark.slow
def test_stochastic_solvers_come_close():
    both = Both(1, n_sequences=30)
    found = fit(both.corpus, rho1=0.2, rho2=0.1, parts=PARTS, solver="sgd-l1", max_iter=300, threads=1)
    assert_close(both, found, 0.2, 0.1)


@pytest.mark.parametrize("solver", ["sbcd", "cd"])
def test_solvers_of_whole_labels_refuse_parts(solver):
    corpus, _ = corpus_of(0)
    with pytest.raises(InputError, match=f"label_parts is not supported by solver='{solver}'; use auto"):
        fit(corpus, parts=PARTS, solver=solver)


def test_labels_that_share_nothing_change_nothing():
    """Parts of one label each are left out: the model is that of whole labels, bit by bit."""
    X = [["a", "b"], ["b", "c"], ["a"]]
    y = [["x.1", "y.2"], ["y.2", "z.3"], ["x.1"]]
    whole, parted = CRF(rho1=0.1).fit(X, y), CRF(rho1=0.1, label_parts=".").fit(X, y)
    assert whole.model_.to_bytes() == parted.model_.to_bytes()


@tied
@pytest.mark.slow
def test_groups_of_features(tied):
    corpus, _ = tied.corpus_of(4, 20)
    for penalty in ("group:attribute", "group:label", "tree"):
        options = {"rho1": 0.3, "rho2": 0.1, "parts": tied.parts, "penalty": penalty, "tol": 1e-6, "threads": 1}
        found, other = fit(corpus, **options), fit(corpus, solver="fista", **options)
        assert_allclose(found.objective, other.objective, rtol=1e-5)


@pytest.mark.slow
def test_longer_label_n_grams_with_parts():
    corpus, _ = corpus_of(5, 25)
    found = fit(corpus, rho1=0.2, rho2=0.1, parts=PARTS, order=3, tol=1e-8, threads=1)
    pairs = fit(corpus, rho1=0.2, rho2=0.1, parts=PARTS, tol=1e-8, threads=1)
    assert found.n_ngram > 0
    assert found.objective < pairs.objective
    other = fit(corpus, rho1=0.2, rho2=0.1, parts=PARTS, order=3, tol=1e-8, threads=1, solver="owlqn")
    assert_allclose(found.objective, other.objective, rtol=1e-6)


@pytest.mark.slow
def test_shards_agree_with_one_corpus():
    corpus, _ = corpus_of(6, 40)
    whole = fit(corpus, rho1=0.3, rho2=0.1, parts=PARTS, tol=1e-7, threads=1)
    thirds = np.array_split(np.arange(corpus.n_sequences), 3)
    shards = Shards.in_process([partial(corpus.subset, third) for third in thirds], threads=1)
    found = fit(shards, rho1=0.3, rho2=0.1, parts=PARTS, tol=1e-7)
    assert_allclose(found.objective, whole.objective, rtol=1e-6)
    assert found.n_features == whole.n_features
    sent = pickle.loads(pickle.dumps(TrainingData(corpus, parts=PARTS).working_set(whole.numbers).feature_set))
    n, ptr, part = 4, np.array([0, 2, 4, 6, 8, 8]), np.array([0, 1, 0, 2, 1, 3, 2, 3], dtype=np.int32)
    odd = [np.frombuffer(b"x" + array.tobytes(), dtype=array.dtype, offset=1) for array in (whole.numbers, ptr, part)]
    assert_array_equal(feature_set(5, corpus.n_attributes, odd[0], None, (n, *odd[1:])).numbers, whole.numbers)
    assert_array_equal(sent.numbers, whole.numbers)
    assert [sent.parts.of(y) for y in range(5)] == [list(row) for row in PARTS.of_labels]


def test_a_fit_to_start_from_has_the_same_parts():
    corpus, _ = corpus_of(8, 20)
    whole, parted = fit(corpus, rho1=0.3), fit(corpus, rho1=0.3, parts=PARTS)
    for init, parts in ((whole, PARTS), (parted, None)):
        with pytest.raises(InputError, match="expected a fit with the same label parts"):
            fit(corpus, rho1=0.3, parts=parts, init=init)


def test_training_data_check_parts():
    corpus, _ = corpus_of(0)
    with pytest.raises(InputError, match="expected parts for 5 labels, found parts for 3"):
        TrainingData(corpus, parts=LabelParts(("a",), ((0,), (0,), ())))
    with pytest.raises(InputError, match="label_parts cannot be combined with a list of features"):
        TrainingData(corpus, parts=PARTS, numbers=np.arange(3))
    data = TrainingData(corpus, parts=PARTS)
    x = int(np.argmax(data.oracle.masses()[0]))
    mass = data.oracle.masses()[0][x]
    # The part N is of two of five labels.
    assert_allclose(data.uniform(data.numbering.unigram(x, np.array([0, 5]))), [mass / 5, 2 * mass / 5])
