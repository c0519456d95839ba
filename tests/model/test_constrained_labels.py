"""`constrain=`: valid chunk labels only, from Python as by the program, for one sequence and for many."""

from itertools import product
from math import exp

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sparsecrf import BIAS, CRF, InputError, Model
from sparsecrf.chunks import split_label

SCHEMES = {
    "iob1": "O B-X I-X B-Y I-Y",
    "iob2": "O B-X I-X B-Y I-Y",
    "iobes": "O B-X I-X E-X S-X S-Y",
}
WORDS = ["a", "b", "c", "d"]
schemes = pytest.mark.parametrize("scheme", SCHEMES)


def model_of(scheme: str, seed: int = 0) -> Model:
    """Random weights, so that most of the best labellings are not valid."""
    rng, labels = np.random.default_rng(seed), SCHEMES[scheme].split()
    unigram = {(x, y): float(rng.normal()) for x, y in product(WORDS, labels)}
    bigram = {(BIAS, p, y): float(rng.normal()) for p, y in product([None, *labels], labels)}
    return Model.from_weights(labels, unigram, bigram)


def is_valid(scheme: str, labels) -> bool:
    """By the definition of the schemes, at the end of the sequence too."""
    before = ("O", "")
    for prefix, kind in map(split_label, labels):
        goes_on = before[0] in ("B", "I") and before[1] == kind
        if scheme == "iob1" and prefix == "B" and not goes_on:
            return False
        if scheme == "iob2" and prefix == "I" and not goes_on:
            return False
        if scheme == "iobes" and (before[0] in ("B", "I")) != (prefix in ("I", "E")):
            return False
        if scheme == "iobes" and prefix in ("I", "E") and not goes_on:
            return False
        before = (prefix, kind)
    return scheme != "iobes" or before[0] not in ("B", "I")


def sequences(seed: int = 0):
    rng = np.random.default_rng(seed)
    return [[str(word) for word in rng.choice(WORDS, n)] for n in (1, 2, 3, 4, 4, 4, 1)]


@schemes
def test_answers_are_those_of_all_valid_labellings(scheme):
    """By enumeration: the best, their probabilities among the valid ones, and marginals."""
    model, changed = model_of(scheme), 0
    for words in sequences():
        every = [list(path) for path in product(model.labels, repeat=len(words)) if is_valid(scheme, path)]
        p = np.array([exp(model.log_prob(words, path)) for path in every])
        p /= p.sum()
        best = model.label(words, constrain=scheme)
        assert best == every[p.argmax()]
        changed += best != model.label(words)
        found = model.nbest(words, 3, constrain=scheme)
        assert [path for path, _ in found] == [every[k] for k in np.argsort(-p)[:3]]
        assert_allclose([q for _, q in found], np.sort(p)[::-1][:3], rtol=1e-10)
        expected = [[p[[path[t] == y for path in every]].sum() for y in model.labels] for t in range(len(words))]
        assert_allclose(model.marginals(words, constrain=scheme), expected, atol=1e-12)
        for span in model.spans(words, constrain=scheme):
            same = [path[span.start : span.end] == best[span.start : span.end] for path in every]
            assert_allclose(span.probability, p[same].sum(), rtol=1e-10)
    assert changed >= 3


@schemes
def test_the_program_gives_the_same_answers(program, scheme):
    model, X = model_of(scheme), sequences()
    model.save(program.directory / "m")
    program.write(x_txt="".join("".join(f"?\t{word}\n" for word in words) + "\n" for words in X))
    done = program("label", "-m", "m", "x.txt", "--format", "crfsuite", "--constrain", scheme, "--marginals")
    assert done.status == 0, done.err
    of_program = [block.split("\n") for block in done.out.strip("\n").split("\n\n")]
    labels = [[line.split("\t")[1].rsplit(":", 1)[0].split(" ")[0] for line in block] for block in of_program]
    assert labels == [model.label(words, constrain=scheme) for words in X]
    assert labels == CRF.from_model(model).predict(X, constrain=scheme).tolist()


@schemes
def test_many_sequences_have_the_answers_of_one(scheme):
    model = model_of(scheme)
    crf, X = CRF.from_model(model), [*sequences(1), [], *sequences(2)]
    filled = [words for words in X if words]
    assert [path for path in crf.predict(X, constrain=scheme) if path] == [
        model.label(words, constrain=scheme) for words in filled
    ]
    assert crf.predict(X, constrain=scheme)[7] == []
    for words, rows in zip(X, crf.predict_marginals(X, constrain=scheme), strict=True):
        assert_allclose(rows, model.marginals(words, constrain=scheme) if words else np.empty((0, rows.shape[1])))
    for words, found in zip(X, crf.predict_nbest(X, 2, constrain=scheme), strict=True):
        assert all(is_valid(scheme, path) for path, _ in found)
        if words:
            one = model.nbest(words, 2, constrain=scheme)
            assert [path for path, _ in found] == [path for path, _ in one]
            assert_allclose([q for _, q in found], [q for _, q in one], rtol=1e-14)
    spans = crf.predict_spans(X, constrain=scheme)
    assert [found for words, found in zip(X, spans, strict=True) if words] == [
        model.spans(words, constrain=scheme) for words in filled
    ]
    flat = crf.predict([word for words in filled for word in words], lengths=map(len, filled), constrain=scheme)
    assert flat.tolist() == [label for words in filled for label in model.label(words, constrain=scheme)]


def test_with_other_constraints():
    model = model_of("iobes")
    labels = model.label(["a"] * 4, constrain="iobes", fixed=["B-X", None, None, None])
    assert labels[0] == "B-X"
    assert is_valid("iobes", labels)
    kept = model.label(["a"] * 4, constrain="iobes", allowed=[None, {"I-X", "O"}, None, {"E-X", "B-X"}])
    assert kept[1] == "I-X"
    assert kept[3] == "E-X"
    assert is_valid("iobes", kept)
    without = model.label(
        ["a"] * 4, constrain="iobes", forbidden=[(None, labels[0]), *((p, "O") for p in model.labels)]
    )
    assert "O" not in without[1:]
    assert is_valid("iobes", without)


def test_wrong_schemes():
    model, tagger = model_of("iob2"), Model.from_weights(["NOUN", "VERB"], {("a", "NOUN"): 1.0})
    crf = CRF.from_model(tagger)
    with pytest.raises(InputError, match="constrain: expected one of iob1, iob2, iobes, found 'bio'"):
        model.label(["a"], constrain="bio")
    for answer in (lambda: tagger.label(["a"], constrain="iob2"), lambda: crf.predict([["a"]], constrain="iob2")):
        with pytest.raises(InputError, match="constraints iob2: expected labels O and B, I-TYPE, found 'NOUN'"):
            answer()
