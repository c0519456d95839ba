"""`--label-sets`: tokens of files whose label is one of several."""

import io
import json
import pathlib

import pytest

from sparsecrf import CRF, InputError, Model, Recipe, Vocabulary
from sparsecrf.encoding.recipe_file import read_settings
from sparsecrf.encoding.unknown_labels import UNCERTAIN
from sparsecrf.shards.dataset import encode_columns

DATA = "the D\ncan N|V\nrusts V\n\nwe P\ncan ?\nfish N|V\n\nthe D\nfish N\n"
TEMPLATE = "U:%x[0,0]\nB\n"


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("train.txt").write_text(DATA)
    pathlib.Path("t.txt").write_text(TEMPLATE)


def train(program, *options):
    arguments = ["-t", "t.txt", "--rho1", "0.1", "--rho2", "0.1", "--missing", "?", "--json", "-q"]
    return program("train", "train.txt", "-m", "m", *arguments, *options)


def summary(result):
    assert result.status == 0, result.err
    return json.loads(result.out.splitlines()[-1])


def test_files_and_sequences_in_memory_agree(files, program):
    from_file = summary(train(program, "--label-sets", "|"))
    X = [["the", "can", "rusts"], ["we", "can", "fish"], ["the", "fish"]]
    y = [["D", {"N", "V"}, "V"], ["P", None, {"N", "V"}], ["D", "N"]]
    crf = CRF(rho1=0.1, rho2=0.1, template=TEMPLATE).fit(X, y)
    assert from_file["labels"] == 4
    assert from_file["gap"] is None
    assert from_file["objective"] == pytest.approx(crf.objective_, rel=1e-6)
    assert sorted(Model.load("m").labels) == ["D", "N", "P", "V"]


def test_cache_recipe_and_jsonl(files, program):
    expected = summary(train(program, "--label-sets", "|", "--save-recipe", "r.toml"))["objective"]
    assert summary(train(program, "--label-sets", "|", "--cache", "c"))["objective"] == pytest.approx(expected)
    assert summary(train(program, "--cache", "c"))["labels"] == 5  # without the option, N|V is a label
    assert read_settings("r.toml")["label_sets"] == "|"
    sentences = [[line.split() for line in part.splitlines()] for part in DATA.split("\n\n")]
    lines = [json.dumps({"tokens": [[w] for w, _ in s], "labels": [y for _, y in s]}) for s in sentences]
    pathlib.Path("train.jsonl").write_text("\n".join(lines) + "\n")
    options = ["-t", "t.txt", "--rho1", "0.1", "--rho2", "0.1", "--missing", "?", "--json", "-q", "--recipe", "r.toml"]
    found = summary(program("train", "train.jsonl", "-m", "m", *options))
    assert found["objective"] == pytest.approx(expected)


@pytest.mark.parametrize("cache", [[], ["--cache", "c"]])
def test_init_takes_the_marks_of_the_model(files, program, cache):
    """Without them, ? and N|V would be labels."""
    summary(train(program, "--label-sets", "|"))
    init = ["--rho1", "0.1", "--rho2", "0.1", "--init", "m", "--json", "-q"]
    assert summary(program("train", "train.txt", "-m", "n", *init, *cache))["labels"] == 4
    assert sorted(Model.load("n").labels) == ["D", "N", "P", "V"]
    assert {name: Model.load("n").training[name] for name in UNCERTAIN} == {"missing": "?", "label_sets": "|"}
    # Given options take precedence over those of the model.
    given = program("train", "train.txt", "-m", "n", *init, "--label-sets", "/", "--missing", "none")
    assert summary(given)["labels"] == 6
    done = program("train", "train.txt", "-m", "n", *init, "--label-sets", "?")
    assert (done.status, "that no label contains" in done.err) == (2, True)


def test_labels_of_dev_data_that_are_sets_are_not_known(files, program):
    pathlib.Path("dev.txt").write_text(DATA)
    result = train(program, "--label-sets", "|", "--dev", "dev.txt")
    summary(result)
    assert "warning" not in result.err


def test_dev_data_are_scored_as_the_estimator_does(files, program):
    """Sets and missing labels do not count; labels that the training data do not have are wrong."""
    pathlib.Path("dev.txt").write_text(DATA + "rusts X\n")
    found = summary(train(program, "--label-sets", "|", "--dev", "dev.txt"))["dev_error"]
    X = [["the", "can", "rusts"], ["we", "can", "fish"], ["the", "fish", "rusts"]]
    y = [["D", {"N", "V"}, "V"], ["P", None, {"N", "V"}], ["D", "N", "X"]]
    assert found == pytest.approx(100 * (1 - CRF.load("m").score(X, y)))
    assert 0 < found < 100 * 4 / 9  # four of nine would be wrong if all tokens counted


@pytest.mark.parametrize(
    ("data", "options", "code", "message"),
    [
        ("a A|\nb B\n", ["|"], 1, "train.txt, line 1: expected labels on both sides of '|', found 'A|'"),
        ("a A\nb B|?\n", ["|"], 1, "train.txt, line 2: expected labels on both sides of '|', found 'B|?'"),
        ("a A\nb B\n", [" "], 2, "--label-sets: expected characters other than whitespace that no label contains"),
        ("a A\nb B\n", ["?"], 2, "--label-sets: expected characters other than whitespace that no label contains"),
        ("a A|B\nb B|A\n", ["|"], 1, "training: the corpus has no labels"),
        ("a A|B\nb B\n", ["|", "--gap", "0.1"], 2, "--gap 0.1 cannot be combined with missing labels or label sets"),
        ("a A|B\nb B\n", ["|", "--solver", "dual"], 2, "--solver dual does not support missing labels or label sets"),
    ],
)
def test_wrong_input(files, program, data, options, code, message):
    pathlib.Path("train.txt").write_text(data)
    result = train(program, "--label-sets", *options)
    assert (result.status, pathlib.Path("m").exists()) == (code, False)
    assert message in result.err


def test_a_set_with_a_label_that_a_vocabulary_does_not_have_is_missing():
    vocabulary = Vocabulary()
    encode_columns([io.BytesIO(b"a A\nb B\nc C\n")], vocabulary, grow=True)
    corpus = encode_columns([io.BytesIO(b"a A||B\nb A||X\nc X||Y\nd A||B||C\n")], vocabulary, label_sets="||").corpus
    assert corpus.labels.tolist() == [-1, -1, -1, -1]
    assert corpus.n_free == 3


def test_estimators_refuse_the_option():
    with pytest.raises(InputError, match="label_sets: expected files"):
        CRF(template=Recipe(features="words", label_sets="|")).fit([["a"]], [["A"]])
