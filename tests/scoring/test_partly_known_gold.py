"""Gold labels that are missing or sets do not count, in whatever way a model is scored: it is not known what is right.
Labels that the training data do not have are wrong."""

import csv
import json
import pathlib

import numpy as np
import pytest

from sparsecrf import CRF, Model, Vocabulary
from sparsecrf.contrib.explain import START
from sparsecrf.contrib.report.of_sentences import sentence_data
from sparsecrf.contrib.report.pack import Names
from sparsecrf.metrics import evaluate
from sparsecrf.path import cross_validate, path
from sparsecrf.scorers import chunk_f1_score, sequence_accuracy_score

TRAIN = "in O\nRome B-LOC\n\nBob B-PER\nSmith I-PER\nran O\n\nthe O\ncat O\n\n" * 4
# Six gold labels are known; the training data do not have that of "ox".
DEV = "in ?\nRome O|B-LOC\nran B-LOC\n\nBob B-PER\nSmith ?\nran O\n\nBob B-PER\nLee I-PER\nox B-ORG\n\nRome ?\n\n"
READING = ("--features", "words", "--missing", "?", "--label-sets", "|", "--rho2", "0.1")
WARNING = "ignore:.*labels that do not occur in the training data"


def label(text):
    return None if text == "?" else set(text.split("|")) if "|" in text else text


def sequences(text):
    rows = [[line.split() for line in block.split("\n")] for block in text.strip().split("\n\n")]
    return [[word for word, _ in block] for block in rows], [[label(y) for _, y in block] for block in rows]


def counted(predict):
    """Token error and chunk F1 on DEV, in percent, counted without the other tokens."""
    pairs = [
        [(g, p) if isinstance(g, str) else ("O", "O") for g, p in zip(gold, predict(tokens), strict=True)]
        for tokens, gold in zip(*sequences(DEV), strict=True)
    ]
    known = sum(isinstance(g, str) for gold in sequences(DEV)[1] for g in gold)
    assert known == 6
    n_wrong = sum(g != p for sentence in pairs for g, p in sentence)
    return 100 * n_wrong / known, evaluate((tuple(zip(*sentence, strict=True)) for sentence in pairs), "conlleval").f1


@pytest.mark.filterwarnings(WARNING)
@pytest.mark.parametrize("patience", [None, 50])
def test_the_error_of_every_iteration(patience):
    crf = CRF(rho1=0.1, features="words", solver_options={"patience": patience})
    crf.fit(*sequences(TRAIN), dev=sequences(DEV))
    error, f1 = counted(lambda tokens: crf.predict([tokens])[0])
    assert 0 < error < 100
    assert 0 < f1 < 100
    assert crf.history_[-1].dev_error == pytest.approx(error)
    assert crf.score(*sequences(DEV)) == pytest.approx(1 - error / 100)


@pytest.mark.filterwarnings(WARNING)
@pytest.mark.parametrize("scoring", ["auto", "chunk_f1", "token_accuracy", "accuracy"])
def test_a_path_of_an_estimator(scoring):
    found = CRF(features="words").path(*sequences(TRAIN), dev=sequences(DEV), rho1s=[0.1], scoring=scoring)
    error, f1 = counted(found.model(0).label)
    assert found.scores == pytest.approx([f1 if scoring in ("auto", "chunk_f1") else 100 - error])


def test_the_log_of_train(program):
    program.write(train_txt=TRAIN, dev_txt=DEV)
    done = program("train", "train.txt", "--dev", "dev.txt", "-m", "m", *READING, "--log", "log", "--json")
    found, last = json.loads(done.out), json.loads(pathlib.Path("log").read_text().splitlines()[-1])
    error, f1 = counted(Model.load("m").label)
    assert found["dev_f1"] == pytest.approx(f1)
    assert last["dev_error"] == found["dev_error"] == pytest.approx(error)


@pytest.mark.parametrize("score", ["auto", "error"])
def test_the_table_of_path(program, score):
    program.write(train_txt=TRAIN, dev_txt=DEV)
    done = program("path", "train.txt", "--dev", "dev.txt", "-o", ".", *READING, "--n-rho", "4", "--score", score)
    assert done.status == 0, done.err
    with open("path.tsv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    assert len(rows) == 4
    for row in rows:
        error, f1 = counted(Model.load(row["model"]).label)
        assert float(row["dev_error"]) == pytest.approx(error)
        assert score == "error" or float(row["dev_f1"]) == pytest.approx(f1)


def test_eval(program):
    program.write(train_txt=TRAIN, dev_txt=DEV)
    assert program("train", "train.txt", "-m", "m", *READING, "-q").status == 0
    options = ("--missing", "?", "--label-sets", "|", "--json")
    done = program("eval", "dev.txt", "-m", "m", *options)
    found = json.loads(done.out)
    assert (found["token_error"], found["f1"]) == pytest.approx(counted(Model.load("m").label))
    assert (found["tokens"], found["sequences"]) == (6, 3)
    assert "1 of 6 tokens have gold labels that are not in the model and count as wrong: 'B-ORG'" in done.err
    program.write(both_txt=program("label", "dev.txt", "-m", "m").out)
    assert json.loads(program("eval", "both.txt", *options).out) == found


def test_eval_and_report_know_the_marks_of_the_training_data(program):
    program.write(train_txt=TRAIN, dev_txt=DEV)
    assert program("train", "train.txt", "-m", "m", *READING, "-q").status == 0
    error, f1 = counted(Model.load("m").label)
    found = json.loads(program("eval", "dev.txt", "-m", "m", "--json").out)
    assert (found["tokens"], found["token_error"], found["f1"]) == (6, pytest.approx(error), pytest.approx(f1))
    with pytest.warns(UserWarning, match="1 of 6 tokens have gold labels that are not in the model"):
        page = sentence_data(Model.load("m"), "dev.txt", 10, Names())
    assert (page["scores"]["tokens"], page["scores"]["token_error"]) == (6, pytest.approx(error))
    assert page["names"][-2:] == [START, "B-ORG"], "neither ? nor a set is a label"


def test_null_labels_of_json_lines(program):
    """In dev data, and as gold labels."""
    X, y = sequences(DEV)
    known = [[label if isinstance(label, str) else None for label in labels] for labels in y]
    records = [json.dumps({"tokens": x, "labels": labels}) for x, labels in zip(X, known, strict=True)]
    program.write(train_txt=TRAIN, dev_jsonl="\n".join(records))
    assert program("train", "train.txt", "-m", "m", *READING, "-q").status == 0
    error, f1 = counted(Model.load("m").label)
    found = json.loads(program("eval", "dev.jsonl", "-m", "m", "--json").out)
    assert (found["tokens"], found["token_error"], found["f1"]) == (6, pytest.approx(error), pytest.approx(f1))
    program.write(predicted_jsonl=program("label", "dev.jsonl", "-m", "m").out)
    assert json.loads(program("eval", "predicted.jsonl", "--gold", "dev.jsonl", "--json").out) == found
    done = program("eval", "dev.jsonl", "--gold", "predicted.jsonl")
    assert (done.status, "dev.jsonl, line 1, sequence 1: expected a predicted label for every" in done.err) == (1, True)
    program.write(train_jsonl=_json_lines(TRAIN))
    done = program("train", "train.jsonl", "--dev", "dev.jsonl", "-m", "m2", *READING[:2], "--json")
    assert json.loads(done.out)["dev_error"] > 0, done.err


def test_paths_and_cross_validation_by_token_error():
    """Sentences without a label add nothing, wherever they are."""
    vocabulary = Vocabulary()
    X, y = sequences(TRAIN)
    plain = vocabulary.encode(X, y, grow=True)
    none = vocabulary.encode([*X, *X], [*y, *([None] * len(labels) for labels in y)])
    options = {"rho1": np.array([6.0, 3.0]), "threads": 1}
    scored = [path(plain, dev=dev, **options).errors for dev in (plain, none)]
    assert max(scored[0]) > 0
    assert scored[1] == pytest.approx(scored[0])
    n = len(X)
    halves = [np.arange(n // 2), np.arange(n // 2, n)]
    others = [np.concatenate([half, half + n]) for half in halves]
    folds = [cross_validate(c, folds=[(a, b), (b, a)], **options) for c, (a, b) in ((plain, halves), (none, others))]
    assert max(folds[0].errors) > 0
    assert folds[1].errors == pytest.approx(folds[0].errors, abs=1e-6)


@pytest.mark.parametrize("suffix", ["txt", "jsonl"])
def test_a_set_with_an_unknown_label_does_not_become_a_label(program, suffix):
    """No label of the dev data is certain but that of "the": the set must not be taken for its known label."""
    program.write(train_txt=TRAIN, train_jsonl=_json_lines(TRAIN))
    dev = "Rome O|B-ORG\n\nthe O\n\n"
    program.write(**{f"dev_{suffix}": dev if suffix == "txt" else _json_lines(dev)})
    done = program("train", f"train.{suffix}", "--dev", f"dev.{suffix}", "-m", "m", *READING, "--json")
    assert json.loads(done.out)["dev_error"] == 0, done.err


def _json_lines(text):
    rows = [[line.split() for line in block.split("\n")] for block in text.strip().split("\n\n")]
    return "\n".join(
        json.dumps(dict(zip(("tokens", "labels"), zip(*block, strict=True), strict=True))) for block in rows
    )


def test_scores_of_sequences():
    gold = [["B-X", None, "O"], [None, {"B-X", "O"}], ["O"]]
    assert sequence_accuracy_score(gold, [["B-X", "O", "O"], ["O", "O"], ["B-X"]]) == 0.5
    assert chunk_f1_score(gold, [["B-X", "I-X", "O"], ["B-X", "O"], ["O"]]) == 1
    assert chunk_f1_score(gold, [["O", "B-X", "O"], ["B-X", "O"], ["O"]]) == 0
