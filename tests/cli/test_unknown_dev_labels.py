"""Labels of dev data that the training data do not have: they count as they are, and are named."""

import json
import re

import numpy as np
import pytest

from sparsecrf import CRF, InputError
from sparsecrf.metrics import evaluate

SENTENCES = "the O\ncat B-X\nsat O\n\nin O\nNew B-LOC\nYork I-LOC\n\nBob B-PER\nran O\n\n"
OTHER = SENTENCES.replace("PER", "ORG")


def sequences(text, as_label=str):
    """The words and the labels of column text."""
    rows = [[line.split() for line in block.split("\n")] for block in text.strip().split("\n\n")]
    return [[word for word, _ in block] for block in rows], [[as_label(y) for _, y in block] for block in rows]


@pytest.fixture
def files(program):
    program.write(train_txt=SENTENCES * 5, dev_txt=OTHER)
    return program


def evaluated(program, model):
    return json.loads(program("eval", "-m", model, "dev.txt", "--json").out)


@pytest.mark.parametrize("way", [[], ["--encoding", "latin-1"], ["--encoding", "bytes"], ["--cache", "c"]])
def test_train_scores_dev_data_as_eval_does(files, way):
    done = files("train", "train.txt", "--features", "words", "-m", "m", "--dev", "dev.txt", "--json", *way)
    found, expected = json.loads(done.out), evaluated(files, "m")
    assert f"chunk F1 {expected['f1']:.2f} % (precision 66.67, recall 66.67)" in done.err
    assert "dev.txt: 1 of 8 tokens have labels that do not occur in the training data and count as wrong: 'B-ORG'" in (
        done.err
    )
    assert found["dev_error"] == pytest.approx(expected["token_error"])
    for name in ("f1", "precision", "recall"):
        assert found[f"dev_{name}"] == pytest.approx(expected[name])


def test_dev_data_from_a_pipe(files):
    arguments = ["train", "train.txt", "--features", "words", "-m", "m", "--dev", "-"]
    done = files(*arguments, stdin=OTHER.encode())
    assert "chunk F1 66.67 %" in done.err
    assert "standard input: 1 of 8 tokens have labels" in done.err
    done = files(*arguments, stdin=OTHER.replace("cat B-X", "cat").encode())
    assert (done.status, "standard input" in done.err) == (1, True)


@pytest.mark.slow
def test_other_formats_name_unknown_labels_where_they_are(program):
    """Tokens are counted alike by what encodes a file and by what reads its labels."""
    crfsuite = "O\tw=the\nB-X\tw=cat\n\nB-PER\tw=Bob\nO\tw=ran\n\n"
    program.write(
        a_crfsuite=crfsuite * 5,
        b_crfsuite=crfsuite.replace("PER", "ORG"),
        a_txt=SENTENCES * 5,
        b_txt=OTHER.replace(" B", " more B"),
        t_txt="U:%x[0,0]\nB\n",
    )
    for data, dev, *options in (
        ("a.crfsuite", "b.crfsuite", "--format", "crfsuite"),
        ("a.txt", "b.txt", "-t", "t.txt", "--ragged"),
    ):
        done = program("train", data, "--dev", dev, "-m", "m", "--rho1", "0.1", "--json", *options)
        found = json.loads(done.out)
        expected = json.loads(program("eval", "-m", "m", dev, "--json", *options[2 if "-t" in options else 0 :]).out)
        assert found["dev_f1"] == pytest.approx(expected["f1"])
        assert expected["f1"] < 70


def test_missing_labels_do_not_count_and_are_not_named(files):
    files.write(some_txt=OTHER.replace("cat B-X", "cat ?"))
    arguments = ["--features", "words", "-m", "m", "--dev", "some.txt", "--missing", "?"]
    done = files("train", "train.txt", *arguments)
    assert "some.txt: 1 of 7 tokens have labels that do not occur in the training data" in done.err
    assert "chunk F1 50.00 % (precision 50.00, recall 50.00)" in done.err


@pytest.mark.slow
def test_path_scores_dev_data_as_eval_does(files):
    done = files("path", "train.txt", "--features", "words", "-o", "p", "--dev", "dev.txt", "--n-rho", "3", "--json")
    found = json.loads(done.out)
    for row in found["path"]:
        expected = evaluated(files, f"p/{row['model']}")
        assert row["dev_f1"] == pytest.approx(expected["f1"])
        assert row["dev_error"] == pytest.approx(expected["token_error"])
    assert max(row["dev_f1"] for row in found["path"]) == pytest.approx(200 / 3)


def test_json_without_chunks_or_dev_data(program):
    program.write(train_txt="the D\ndog N\nbarks V\n\n" * 5)
    names = ("dev_error", "dev_f1", "dev_precision", "dev_recall")
    for dev, expected in (([], None), (["--dev", "train.txt"], 0.0)):
        found = json.loads(program("train", "train.txt", "-m", "m", "--rho1", "0.1", "--json", *dev).out)
        assert [found[name] for name in names] == [expected, None, None, None]


def test_an_estimator_scores_dev_data_by_their_own_labels():
    X, y = sequences(SENTENCES * 5)
    X_dev, y_dev = sequences(OTHER)
    expected = re.escape(
        "dev: 1 of 8 tokens have labels that do not occur in the training data and count as wrong: 'B-ORG'"
    )
    for scoring, best in (("auto", 200 / 3), ("token_accuracy", 87.5), ("sequence_accuracy", 200 / 3)):
        with pytest.warns(UserWarning, match=expected) as warned:
            path = CRF().path(X, y, dev=(X_dev, y_dev), rho1s=[0.1], scoring=scoring)
        assert warned[0].filename == __file__
        assert path.scores.max() == pytest.approx(best)
        if scoring == "auto":
            predicted = [path.model(path.best).label(tokens) for tokens in X_dev]
            assert evaluate(zip(y_dev, predicted, strict=True)).f1 == pytest.approx(path.scores[path.best])
    with pytest.warns(UserWarning, match=expected):
        crf = CRF(rho1=0.1).fit(X, y, dev=(X_dev, y_dev))
    assert crf.history_[-1].dev_error == pytest.approx(12.5)


def test_labels_that_are_integers():
    numbers = {"O": 0, "B-X": 1, "B-LOC": 2, "I-LOC": 3, "B-PER": 4, "B-ORG": 5}
    X, y = sequences(SENTENCES * 5, numbers.get)
    dev = sequences(OTHER, numbers.get)
    for scoring in ("token_accuracy", "accuracy"):  # the other one is scikit-learn's
        with pytest.warns(UserWarning, match="count as wrong: 5$"):
            path = CRF().path(X, np.array([*y, None], dtype=object)[:-1], dev=dev, rho1s=[0.1], scoring=scoring)
        assert path.scores[0] == pytest.approx(87.5)


@pytest.mark.parametrize("patience", [None, 5])
def test_dev_data_without_any_label_of_the_training_data(patience):
    X, y = sequences(SENTENCES * 5)
    dev = [["dog"]], [["NOUN"]]
    message = r"dev: expected labels of the training data \('B-LOC', .*, \.\.\.\), found only 'NOUN'"
    with pytest.raises(InputError, match=message):
        CRF(solver_options={"patience": patience}).fit(X, y, dev=dev)
    with pytest.raises(InputError, match=message):
        CRF(solver_options={"patience": patience}).path(X, y, dev=dev)
