"""Dense columns: the same model as with real-valued attributes, from input to file; mistakes."""

import pickle

import numpy as np
import pytest

from sparsecrf import CRF, InputError, Model, Recipe, fit
from sparsecrf._core import Corpus, FeatureSet, Oracle
from sparsecrf.encoding.dense import DenseColumns, VectorReader, paired
from sparsecrf.files.container import pack, unpack
from sparsecrf.model.file import FORMAT, VERSION

RNG = np.random.default_rng(5)
LENGTHS = RNG.integers(1, 7, 40)
N, D, LABELS = int(LENGTHS.sum()), 5, 3
VALUES = RNG.normal(size=(N, D)).astype(np.float32)
WORDS = RNG.integers(0, 9, N)
Y = np.argmax(VALUES[:, :LABELS] + 0.8 * RNG.normal(size=(N, LABELS)) + np.eye(LABELS)[WORDS % LABELS], axis=1)


def corpora(weights=None, missing=False):
    """The same data twice: columns as attributes 9 .. 13 of lists, and as dense columns. 14 is the bias."""
    labels = Y.astype(np.int32)
    if missing:
        labels[::5] = -1
    common = {
        "n_labels": LABELS,
        "n_attributes": 15,
        "lengths": LENGTHS.astype(np.int64),
        "bigram_ptr": np.arange(N + 1, dtype=np.int64),
        "bigram_id": np.full(N, 14, dtype=np.int32),
        "labels": labels,
        "sequence_weight": weights,
    }
    ids = np.concatenate([WORDS[:, None], np.tile(np.arange(9, 14), (N, 1))], axis=1).astype(np.int32)
    values = np.concatenate([np.ones((N, 1)), VALUES], axis=1).astype(np.float64)
    explicit = Corpus.from_arrays(
        unigram_ptr=np.arange(0, 6 * N + 1, 6, dtype=np.int64),
        unigram_id=ids.ravel(),
        unigram_value=values.ravel(),
        **common,
    )
    plain = Corpus.from_arrays(
        unigram_ptr=np.arange(N + 1, dtype=np.int64), unigram_id=WORDS.astype(np.int32), **common
    )
    return explicit, plain.with_dense(VALUES, np.arange(9, 14, dtype=np.int64))


@pytest.mark.parametrize("kernel", ["auto", "sparse", "dense", "log"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
def test_sums(kernel, missing, threads):
    """Loss, gradient, curvature, counts and masses at random weights."""
    weights = RNG.uniform(0.0, 2.0, len(LENGTHS))
    both = corpora(weights, missing)
    features = FeatureSet.all_virtual(both[0])
    assert np.array_equal(FeatureSet.all_virtual(both[1]).numbers, features.numbers)
    w = RNG.normal(size=len(features))
    (loss, g, h), (dense_loss, dense_g, dense_h) = (
        Oracle(corpus, threads=threads, kernel=kernel).loss_grad_curvature(features, w) for corpus in both
    )
    assert dense_loss == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(dense_g, g, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(dense_h, h, rtol=1e-9, atol=1e-10)
    for absolute in (False, True):
        found, expected = (Oracle(corpus).masses(absolute) for corpus in reversed(both))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)
    few = FeatureSet.from_numbers(LABELS, 15, features.numbers[::2].copy())  # some labels of a column only
    np.testing.assert_allclose(Oracle(both[1]).loss_grad(few, w[::2].copy())[1], g_of(both[0], few, w[::2].copy()))


def g_of(corpus, features, w):
    return Oracle(corpus).loss_grad(features, w)[1]


@pytest.mark.parametrize(
    ("solver", "rho1"), [("auto", 0.0), ("auto", 0.7), ("owlqn", 0.7), ("lbfgs", 0.0), ("lbfgs", 0.7)]
)
def test_same_optimum(solver, rho1):
    """To 1e-8, with the same certificate, whichever way the columns are given."""
    explicit, dense = (fit(corpus, rho1=rho1, rho2=0.1, solver=solver, gap=1e-9) for corpus in corpora())
    assert dense.objective == pytest.approx(explicit.objective, rel=1e-8)
    assert dense.gap <= 1e-8 * dense.objective
    weights = [dict(zip(found.numbers.tolist(), found.w, strict=True)) for found in (explicit, dense)]
    for number in weights[0].keys() | weights[1].keys():
        assert weights[1].get(number, 0.0) == pytest.approx(weights[0].get(number, 0.0), abs=1e-3)
    if rho1 > 0:
        assert dense.kkt < 1e-4


def test_threads_do_not_matter():
    corpus = corpora()[1]
    one, many = (fit(corpus, rho1=0.5, rho2=0.1, threads=threads) for threads in (1, 4))
    assert one.w.tobytes() == many.w.tobytes()


def test_parts_and_copies():
    corpus = corpora()[1]
    assert corpus.n_dense == D
    again = pickle.loads(pickle.dumps(corpus))
    assert (again.fingerprint, again.n_dense) == (corpus.fingerprint, D)
    part = corpus.subset(np.array([3, 1], dtype=np.int64))
    features = FeatureSet.all_virtual(corpus)
    w = RNG.normal(size=len(features))
    whole = corpora()[0].subset(np.array([3, 1], dtype=np.int64))
    np.testing.assert_allclose(g_of(part, features, w), g_of(whole, features, w), rtol=1e-9, atol=1e-10)
    assert corpus.fingerprint != corpora()[0].fingerprint
    with pytest.raises(InputError, match="expected no dense columns, found 5"):
        corpus.save("nowhere")


CUTS = np.cumsum(LENGTHS)[:-1]
X = [[f"w{k}" for k in part] for part in np.split(WORDS, CUTS)]
LABELLED = [[f"L{k}" for k in part] for part in np.split(Y, CUTS)]
VECTORS = np.split(VALUES.astype(np.float64) * [1, 10, 0.1, 1, 1] + 3.0, CUTS)


def test_estimator(tmp_path):
    crf = CRF(rho1=0.1).fit(X, LABELLED, dense=VECTORS)
    plain = CRF(rho1=0.1).fit(X, LABELLED)
    assert crf.score(X, LABELLED, dense=VECTORS) > plain.score(X, LABELLED) + 0.05
    assert crf.predict(X, dense=np.concatenate(VECTORS)).tolist() == crf.predict(X, dense=VECTORS).tolist()
    pairs = [list(zip(x, v, strict=True)) for x, v in zip(X, VECTORS, strict=True)]
    other = CRF(rho1=0.1).fit(pairs, LABELLED, dev=(pairs, LABELLED))
    assert other.objective_ == crf.objective_
    assert other.predict(pairs).tolist() == crf.predict(X, dense=VECTORS).tolist()
    crf.model_.save(tmp_path / "m")
    model = Model.load(tmp_path / "m")
    assert [model.label(pair) for pair in pairs] == crf.predict(pairs).tolist()
    np.testing.assert_allclose(model.marginals(pairs[0]), crf.predict_marginals(pairs)[0], atol=1e-9)
    corpus = model.encode(X, LABELLED, dense=VECTORS)
    found = float(model.chain.log_prob(corpus).sum())
    assert found == pytest.approx(sum(model.log_prob(p, y) for p, y in zip(pairs, LABELLED, strict=True)))


def test_with_a_template():
    crf = CRF(rho1=0.1, features="words").fit(X, LABELLED, dense=VECTORS)
    model = pickle.loads(pickle.dumps(crf)).model_
    assert model.label(list(zip(X[0], VECTORS[0], strict=True))) == crf.predict(X, dense=VECTORS)[0]


@pytest.mark.slow
def test_standardised():
    """Shifts and scales of columns do not matter; a constant column, which says nothing, does no harm."""
    more = [np.concatenate([100.0 - 7.0 * v, np.full((len(v), 1), 4.0)], axis=1) for v in VECTORS]
    one, two = (
        CRF(rho1=0.1, solver_options={"gap": 1e-9}).fit(X, LABELLED, dense=VECTORS),
        CRF(rho1=0.1, solver_options={"gap": 1e-9}).fit(X, LABELLED, dense=more),
    )
    assert one.objective_ == pytest.approx(two.objective_, rel=1e-5)  # columns are kept in single precision
    raw = CRF(rho1=0.1, template=Recipe(standardize=False)).fit(X, LABELLED, dense=VECTORS)
    assert raw.model_.dense.scale == [1.0] * D
    # A column times s has a weight that costs rho1 / s and rho2 / s^2.
    values = np.concatenate(VECTORS)
    scaled = DenseColumns.of(values, True, 4.0)
    assert np.allclose(np.array(scaled.scale), 4.0 / values.std(axis=0))
    strong = CRF(rho1=0.1, template=Recipe(vectors_scale=1e-6)).fit(X, LABELLED, dense=VECTORS)
    assert not any(strong.model_.vocabulary.attributes.find(f"dense[{j}]") in weights_of(strong) for j in range(D))


def weights_of(crf):
    features = crf.model_.features
    return set(features.unigram_attribute[np.flatnonzero(crf.model_.w[: features.n_unigram])].tolist())


@pytest.mark.parametrize(
    ("dense", "message"),
    [
        (
            [*VECTORS[:3], VECTORS[3][:, :4], *VECTORS[4:]],
            r"sequence 3, position 0: expected a vector of 5 numbers, found",
        ),
        (
            [VECTORS[0] * np.nan, *VECTORS[1:]],
            r"sequence 0, position 0, dense column 0: expected a finite number, found nan",
        ),
        (VECTORS[:-1], "dense: expected a matrix for each sequence, found only 39"),
        ([*VECTORS, VECTORS[0]], "dense: expected no more matrices than sequences, found 1 more"),
        ([VECTORS[0][1:], *VECTORS[1:]], r"sequence 0: expected.*vector.*\d tokens.*found \d"),
        (np.concatenate(VECTORS)[:-1], r"sequence 39: expected.*vector.*\d tokens.*found \d"),
    ],
)
def test_mistakes(dense, message):
    with pytest.raises(InputError, match=message):
        CRF().fit(X, LABELLED, dense=dense)


def test_other_mistakes():
    crf, plain = CRF(rho1=0.1).fit(X, LABELLED, dense=VECTORS), CRF(rho1=0.1).fit(X, LABELLED)
    with pytest.raises(
        InputError, match=r"sequence 0, position 0: expected a pair \(attributes, vector\), found no vector"
    ):
        crf.predict(X)
    with pytest.raises(InputError, match="sequence 0, position 0: expected a vector of 5 numbers, found shape"):
        crf.predict(X, dense=[v[:, 1:] for v in VECTORS])
    with pytest.raises(InputError, match=r"dense: not supported by a model without"):
        plain.model_.encode(X, dense=VECTORS)
    with pytest.raises(
        InputError, match="dense: expected X as a list of sequences; cannot be combined with lengths or sentences"
    ):
        plain.predict(X, dense=VECTORS, lengths=[1])
    with pytest.raises(InputError, match="solver='sgd-l1' does not support dense columns; use auto"):
        CRF(solver="sgd-l1").fit(X, LABELLED, dense=VECTORS)
    with pytest.raises(InputError, match="dense_scale: expected a number above 0, found 0"):
        CRF(template=Recipe(vectors_scale=0)).fit(X, LABELLED, dense=VECTORS)
    with pytest.raises(InputError, match="text files need a model that contains word vectors"):
        crf.model_.label_text(b"N\ta\n", "text")
    metadata, arrays = unpack(crf.model_.to_bytes(), "good", FORMAT, VERSION)
    kept = {name: text for name, text in metadata.items() if name not in ("format", "version")}
    kept["dense"] = '{"mean": [1.0], "scale": []}'
    with pytest.raises(InputError, match=r"expected mean.*scale.*dense.*dense.*found"):
        Model.from_bytes(pack(FORMAT, VERSION, kept, {name: np.array(array.data) for name, array in arrays.items()}))
    reader = VectorReader(5)
    assert list(reader.attributes(paired([["a"], []], [np.ones((1, 5)), np.ones((0, 5))]))) == [["a"], []]
    assert reader.matrix().shape == (1, 5)
