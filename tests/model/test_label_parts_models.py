"""Labels with parts: what users see of them, in models, files, explanations, paths and the program."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sparsecrf import CRF, CRFCV, InputError, LabelParts, Model
from sparsecrf.encoding.dense import DenseColumns

LABELS = ["N|s", "N|p", "V|s", "V|p", "A"]


def trained(**options):
    rng = np.random.default_rng(7)
    X = [[[f"w{rng.integers(8)}", f"s{rng.integers(3)}"] for _ in range(4)] for _ in range(40)]
    y = [[LABELS[int(t[0][1]) % 4 if t[1] != "s0" else 4] for t in sentence] for sentence in X]
    return CRF(rho1=0.2, label_parts="|", tol=1e-6, **options).fit(X, y), X, y


def test_a_model_keeps_its_parts():
    crf, X, y = trained()
    model = crf.model_
    assert model.label_parts.names == ("N", "p", "s", "V")  # labels are sorted
    assert (model.features.unigram_label >= 5).any()
    for again in (
        Model.from_bytes(model.to_bytes()),
        model.compacted(),
        Model.from_bytes(model.to_bytes(compact=True)),
    ):
        assert again.label_parts == model.label_parts
        assert [again.label(s) for s in X] == [model.label(s) for s in X]
    assert crf.score(X, y) > 0.9


def test_without_parts_everything_is_the_same():
    for options in ({}, {"bigrams": "all"}, {"order": 3}):
        crf, X, _ = trained(**options)
        model = crf.model_
        flat = model.without_parts()
        assert flat.label_parts is None
        assert flat.features.n_parts == 0
        for sentence in X[:10]:
            assert_allclose(flat.marginals(sentence), model.marginals(sentence), atol=1e-12)
            assert flat.label(sentence) == model.label(sentence)
        assert flat.without_parts() is flat


def test_weights_are_shown_by_part():
    crf, X, _ = trained()
    explained = crf.model_.explain()
    assert explained.summary["parts"] == 4
    assert explained.summary["active_part"] == sum(len(explained.weights[part]) for part in ("N", "s", "p", "V")) > 0
    only = crf.model_.explain(label="N", top=None)
    assert {weight.label for weight in only.largest()} == {"N"}
    assert "Label N" in str(explained)
    # Contributions of a sentence add up to the score of its labels.
    for sentence in X[:5]:
        story = crf.model_.explain(sentence)
        amounts = sum(term.amount for token in story.tokens for term in token.contributions())
        corpus = crf.model_.encode([sentence])
        assert_allclose(amounts, crf.model_.chain.viterbi(corpus)[1][0], atol=1e-9)


def test_warm_start_and_path():
    crf, X, y = trained()
    again = CRF(rho1=0.2, label_parts="|", max_iter=1, tol=1e-6).fit(X, y, init_model=crf.model_)
    cold = CRF(rho1=0.2, label_parts="|", max_iter=1, tol=1e-6).fit(X, y)
    assert again.objective_ < cold.objective_
    assert_allclose(again.objective_, crf.objective_, rtol=1e-5)
    found = CRF(label_parts="|").path(X[:30], y[:30], dev=(X[30:], y[30:]), rho1s=[3.0, 0.3])
    assert all(point.parts == crf.model_.label_parts for point in found)
    assert found.model(1).label_parts == crf.model_.label_parts


@pytest.mark.slow
def test_cross_validation():
    _, X, y = trained()
    chosen = CRFCV(label_parts="|", rho1s=[1.0, 0.2], cv=2).fit(X, y)
    assert chosen.model_.label_parts.names == ("N", "p", "s", "V")


@pytest.mark.slow
def test_the_program(program, tmp_path):
    _, X, y = trained()
    lines = [
        [f"{' '.join(token)} {label}\n" for token, label in zip(*one, strict=True)] for one in zip(X, y, strict=True)
    ]
    (tmp_path / "train.txt").write_text("\n".join("".join(sentence) for sentence in lines))
    (tmp_path / "template").write_text("U:%x[0,0]\nU1:%x[0,1]\nB\n")
    files = ["-t", "template", "train.txt"]
    program("train", "-m", "m.safetensors", "--label-parts", "|", *files)
    assert set(Model.load(tmp_path / "m.safetensors").label_parts.names) == {"N", "s", "p", "V"}
    program("path", "-o", "path", "--label-parts", "|", "--n-rho", "2", *files)
    assert Model.load(tmp_path / "path" / "model-01.safetensors").label_parts is not None
    assert "for label parts" in program("show", "m.safetensors").out
    for wrong, message in (("words", "expected a separator"), ("|", "| is not supported by --solver cd; use auto")):
        failed = program("train", "-m", "n.safetensors", "--label-parts", wrong, "--solver", "cd", *files)
        assert message in failed.err


def test_token_errors_of_a_path_know_parts(program, tmp_path):
    """Where chunk F1 is the score, the token error of path.tsv is that of the model."""
    lines = ["John B-PER", "Smith I-PER", "saw O", "Paris B-LOC", "Hotel I-LOC", ""] * 8
    (tmp_path / "d.txt").write_text("\n".join(lines))
    (tmp_path / "template").write_text("U:%x[0,0]\nB\n")
    options = ["-t", "template", "--dev", "d.txt", "--label-parts", "bio", "--n-rho", "3", "--rho-min-ratio", "0.01"]
    assert program("path", "-o", "path", *options, "d.txt").status == 0
    rows = [line.split("\t") for line in (tmp_path / "path" / "path.tsv").read_text().splitlines()]
    X = [[[line.split()[0]] for line in lines[:5]]] * 8
    y = [[line.split()[1] for line in lines[:5]]] * 8
    place = rows[0].index("dev_error")
    for k, row in enumerate(rows[1:]):
        model = Model.load(tmp_path / "path" / f"model-{k:02d}.safetensors")
        found = [a == b for s, labels in zip(X, y, strict=True) for a, b in zip(model.label(s), labels, strict=True)]
        assert_allclose(float(row[place]), 100 * (1 - np.mean(found)), atol=0.01)


def test_a_model_with_parts_starts_one_without():
    """What its parts have learnt is not lost."""
    crf, X, y = trained()
    start = CRF(rho1=0.2, max_iter=0, tol=1e-6).fit(X, y, init_model=crf.model_)
    assert_allclose(start.loss_, -sum(map(crf.model_.log_prob, X, y)), rtol=1e-6)


def test_a_part_that_is_called_like_a_label():
    parts = LabelParts.of(["NOUN", "NOUN|s", "ADJ|s", "X"], "ud")
    assert parts.names == ("[NOUN]", "s")
    X = [["dog"], ["dogs"], ["red"], ["it"]] * 5
    crf = CRF(rho1=0.01, label_parts="ud").fit(X, [["NOUN"], ["NOUN|s"], ["ADJ|s"], ["X"]] * 5)
    shown = crf.model_.explain(top=None)
    assert sum(map(len, shown.weights.values())) == shown.summary["active_unigram"]


def test_parts_that_are_none_are_told(program, tmp_path):
    (tmp_path / "d.txt").write_text("a A|x\nb B|x\n\n")
    (tmp_path / "template").write_text("U:%x[0,0]\n")
    done = program("train", "-m", "m.safetensors", "-t", "template", "--label-parts", "/", "d.txt")
    assert "--label-parts / has no effect: no part is shared by some but not all labels" in done.err


def test_dense_columns_and_parts_are_refused():
    crf, *_ = trained()
    columns = DenseColumns(np.zeros(1), np.ones(1))
    with pytest.raises(InputError, match="label_parts: not supported with dense columns"):
        Model(
            crf.model_.vocabulary, crf.model_.features, crf.model_.w, label_parts=crf.model_.label_parts, dense=columns
        )


def test_bad_parts_in_a_file():
    from sparsecrf.files.container import pack, unpack

    crf, *_ = trained()
    data = crf.model_.to_bytes()
    metadata, arrays = unpack(data, "model", "sparsecrf model", 1)
    for bad in ({"names": ["N"]}, {"names": [1], "of_labels": [[]] * 5}, {"names": ["N"], "of_labels": [[3]] * 5}):
        told = {**metadata, "parts": json.dumps(bad)}
        told = {name: value for name, value in told.items() if name not in ("format", "version", "sha256")}
        content = {name: np.frombuffer(array.data, dtype=_dtype(array)) for name, array in arrays.items()}
        with pytest.raises(InputError, match="parts"):
            Model.from_bytes(pack("sparsecrf model", 1, told, content))


def _dtype(array):
    return {"U8": np.uint8, "I64": np.int64, "F64": np.float64}[array.dtype]
