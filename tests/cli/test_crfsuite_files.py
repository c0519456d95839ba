"""The commands train, label and eval on CRFsuite's files."""

import json

import pytest
from sentences import sentences

from sparsecrf import CRF, Model
from sparsecrf.files.crfsuite import crfsuite_lines


def test_huge_scores_are_written_whole(program):
    made = Model.from_weights(["A", "B"], {("x", "A"): 1e99})
    made.save("m.safetensors")
    program.write(d_crfsuite="A\tx:1e50\n")
    done = program("label", "-m", "m.safetensors", "d.crfsuite", "--score")
    header, line, *_ = done.out.split("\n")
    assert float(header.split()[3]) == pytest.approx(1e149)
    assert line == "A\tA"


def test_labels_with_blanks_are_evaluated_whole(program):
    program.write(d_crfsuite="B NP\tx\nI NP\ty\n\nI NP\ty\n")
    assert program("train", "d.crfsuite", "-m", "m.safetensors", "--rho1", "0.01", "-q").status == 0
    found = json.loads(program("eval", "-m", "m.safetensors", "d.crfsuite", "--json").out)
    assert (found["tokens"], found["token_error"]) == (3, 0.0)


def test_attributes_of_crfsuite_files_condition_pairs_if_those_of_the_model_do(program):
    """Such a model can be trained in Python only."""
    X, y = sentences(40, seed=1)
    X = [[[f"word:{word}", (f"tag:{tag}", 0.5)] for word, tag in tokens] for tokens in X]
    for start in (True, False):
        crf = CRF(rho1=0.1, bigrams="all", start=start).fit(X, y)
        assert crf.model_.features.n_bigram > 20
        crf.model_.save("m.safetensors")
        lines = (line for tokens, labels in zip(X, y, strict=True) for line in crfsuite_lines(tokens, labels))
        program.write(d_crfsuite="".join(lines))
        found = program("label", "-m", "m.safetensors", "d.crfsuite").out
        labels = [line.split("\t")[1] for line in found.splitlines() if line]
        assert labels == [label for labels in crf.predict(X) for label in labels]


def test_crfsuite_files(program):
    program.write(d_crfsuite="A\tx\ty:2\nB\tz\n\nB\tz\nA\tx\n")
    assert program("train", "d.crfsuite", "-m", "m.safetensors", "--rho1", "0.1", "-q").status == 0
    done = program("label", "-m", "m.safetensors", "d.crfsuite")
    assert done.out == "A\tA\nB\tB\n\nB\tB\nA\tA\n\n"
    assert json.loads(program("eval", "-m", "m.safetensors", "d.crfsuite", "--json").out)["token_error"] == 0.0
