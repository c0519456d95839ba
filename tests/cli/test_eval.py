"""`sparsecrf eval`: output, messages, exit status."""

import io
import json
import sys

import pytest

from sparsecrf import Model, Template
from sparsecrf.cli import main

LABELLED = "Ann NN B-PER B-PER\nLee NN I-PER O\n\nsees VB O O\nNew NN B-LOC-x B-LOC-x\nYork NN I-LOC-x I-LOC-x\n"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Runs `sparsecrf eval` in this process, on a file with this text, or on standard input if it is None.

    Returns exit status, standard output and standard error.
    """
    monkeypatch.chdir(tmp_path)

    def call(text, *options):
        if text is not None:
            (tmp_path / "labelled.txt").write_text(text, encoding="utf-8")
        monkeypatch.setattr(sys, "argv", ["sparsecrf", "eval", "-" if text is None else "labelled.txt", *options])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        return stopped.value.code or 0, printed.out, printed.err

    return call


def cells(line):
    return line.replace("%", "").split()


def test_json(run):
    status, out, err = run(LABELLED, "--json", "--confusion", "5")
    assert (status, err) == (0, "")
    assert out.count("\n") == 1
    found = json.loads(out)
    types = found.pop("types")
    assert found == {
        "tokens": 5,
        "sequences": 2,
        "token_error": 20.0,
        "sequence_error": 50.0,
        "precision": 50.0,
        "recall": 50.0,
        "f1": 50.0,
        "scheme": "conlleval",
        "labels": {},
        "confusion": [{"gold": "I-PER", "predicted": "O", "tokens": 1}],
    }
    assert [(name, score["correct"]) for name, score in types.items()] == [("LOC-x", 1), ("PER", 0)]


def test_json_without_chunks(run):
    _, out, _ = run("a A A\nb B A\n", "--json")
    found = json.loads(out)
    assert [found[key] for key in ("precision", "recall", "f1", "scheme", "types")] == [None, None, None, "none", {}]
    assert "confusion" not in found
    a = {"precision": 50.0, "recall": 100.0, "f1": 200 / 3, "gold": 1, "predicted": 2, "correct": 1}
    assert found["labels"] == {"A": pytest.approx(a), "B": {**dict.fromkeys(a, 0), "gold": 1}}


def test_report(run):
    status, out, err = run(LABELLED, "--confusion", "1")
    assert (status, err) == (0, "")
    rows = [cells(line) for line in out.splitlines()]
    assert ["tokens", "5", "1", "20.00"] in rows
    assert ["sequences", "2", "1", "50.00"] in rows
    assert ["PER", "0.00", "0.00", "0.00", "1", "1", "0"] in rows
    assert ["LOC-x", "100.00", "100.00", "100.00", "1", "1", "1"] in rows
    assert ["all", "50.00", "50.00", "50.00", "2", "2", "1"] in rows
    assert ["I-PER", "O", "1", "100.00"] in rows


def test_report_without_chunks(run):
    _, out, _ = run(LABELLED, "--scheme", "none")
    assert "Chunks" not in out
    assert "confusions" not in out


def test_report_of_plain_labels(run):
    """Precision and recall of each label by tokens, and how to ask for fields."""
    status, out, _ = run("12 number number\nMain street street\nSt street number\n")
    assert status == 0
    rows = [cells(line) for line in out.splitlines()]
    assert ["number", "50.00", "100.00", "66.67", "1", "2", "1"] in rows
    assert ["street", "100.00", "50.00", "66.67", "2", "1", "1"] in rows
    assert "--scheme runs" in out


def test_report_of_many_labels(run):
    """The most frequent ones, and how many are left out."""
    _, out, _ = run("".join(f"w tag{k:02} tag{k:02}\n" * (1 + (k < 50)) for k in range(53)))
    assert "tag49" in out
    assert "tag50" not in out
    assert "3 rarer labels are not shown" in out


def test_long_labels_stay_on_one_line(run, monkeypatch):
    """Output to a pipe or a narrow terminal can be searched for a label and parsed line by line."""
    monkeypatch.setenv("COLUMNS", "60")
    long, other = "Number=Plur|" * 6 + "VERB", "Number=Sing|" * 6 + "NOUN"
    _, out, _ = run(f"a {long} {long}\nb {long} {other}\n", "--confusion", "1")
    lines = [cells(line) for line in out.splitlines()]
    assert [long, "100.00", "50.00", "66.67", "2", "1", "1"] in lines
    assert [long, other, "1", "100.00"] in lines


def test_labels_are_not_markup(run):
    _, out, _ = run("a B-[red] O\nb O :smile:\nc O O\n", "--confusion", "5", "--scheme", "conlleval")
    assert "B-[red]" in out
    assert ":smile:" in out


def test_scheme(run):
    text = "a I-X I-X\nb I-X I-X\n"
    assert json.loads(run(text, "--json")[1])["f1"] == 100.0
    assert json.loads(run(text, "--json", "--scheme", "iob2")[1])["f1"] == 0.0


def test_model(run, tmp_path):
    """The last column is the gold label, and the model does not see it."""
    template = Template("U:%x[0,1]")
    made = Model.from_weights(["NOUN", "VERB"], {("U:s", "NOUN"): 2.0, ("U:k", "VERB"): 2.0})
    Model(made.vocabulary, made.features, made.w, template=template, n_columns=2).save(tmp_path / "m.safetensors")
    status, out, err = run("dogs s NOUN\nbark k VERB\n\nyes s VERB\n", "-m", "m.safetensors", "--json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    assert (found["tokens"], found["sequences"], found["sequence_error"]) == (3, 2, 50.0)
    assert found["token_error"] == pytest.approx(100 / 3)
    status, out, err = run("dogs s\n", "-m", "m.safetensors")
    assert (status, out) == (1, "")
    assert "line 1: expected 3 columns, the last with the gold label, found 2" in err


CONLLU = "# a comment\n\n1\ta\t_\tA" + "\t_" * 6 + "\n\n"


@pytest.mark.parametrize(
    ("suffix", "predicted", "gold", "message"),
    [
        ("txt", "\na A\n\n\nb B\nc C\n", "a A\n\nb B\n", "line 5, sequence 2: expected 1 token, as in b.txt, found 2"),
        ("txt", "a A\n\nb B\n", "a A\n\nb B\nc C\n", "line 3, sequence 2: expected 2 tokens, as in b.txt, found 1"),
        ("crfsuite", "A\ta\n", "A\ta\nA\ta\n", "line 1, sequence 1: expected 2 tokens, as in b.crfsuite, found 1"),
        ("conllu", CONLLU, CONLLU.replace("\n1", "\n1\ta\t_\tA" + "\t_" * 6 + "\n2"), "line 3, sequence 1: expected 2"),
    ],
)
def test_unequal_sequences_are_located(program, suffix, predicted, gold, message):
    program.write(**{f"a_{suffix}": predicted, f"b_{suffix}": gold})
    done = program("eval", f"a.{suffix}", "--gold", f"b.{suffix}")
    assert (done.status, done.out) == (1, "")
    assert f"a.{suffix}, {message}" in done.err
    if suffix == "txt":  # a pipe cannot be read again
        done = program("eval", "-", "--gold", "b.txt", stdin=predicted.encode())
        assert f"standard input, {message.partition(', ')[2]}" in done.err
        done = program("eval", "a.txt", "--gold", "b.txt", "--encoding", "latin-1")
        assert f"a.txt, {message}" in done.err


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("\n\nA\n", (), "labelled.txt: expected at least 2 columns (the last two are the gold and the predicted label"),
        ("a A A\nb B A\n\n\nc B\n", (), "labelled.txt, line 5: expected 3 columns, found 2"),
        ("a A A\nb x B A\n", (), "labelled.txt, line 2: expected 3 columns as in line 1, found 4"),
        ("\n", (), "labelled.txt: expected at least one line with labels, found none"),
        (
            "a A B-X\n",
            ("--scheme", "iob2"),
            "labelled.txt: sequence 1, gold token 1: expected a label in the iob2 scheme",
        ),
    ],
)
def test_errors(run, text, options, message):
    status, out, err = run(text, *options)
    assert (status, out) == (1, "")
    assert err.startswith(f"sparsecrf: {message}")
    assert err.count("\n") == 1


def test_missing_predicted_column(run):
    """The column before would be taken for gold labels, all of them predicted wrongly."""
    status, out, err = run("Ann NN B-PER\nsees VB O\n", "--json")
    assert (status, out) == (1, "")
    assert "found columns with few or no labels in common (such as 'NN' and 'B-PER')" in err
    assert "-m MODEL" in err


def test_missing_predicted_column_where_a_word_is_a_label(run):
    status, _, err = run("O O\n" + "word O\nParis B-LOC\n" * 60, "--json")
    assert status == 1
    assert "found columns with few or no labels in common (such as 'word' and 'O')" in err
    status, _, err = run("a O O\n" + "word B-X O\n" * 60, "--json")  # a file with hardly any right label is accepted
    assert (status, err) == (0, "")


def test_columns_that_share_only_o(run):
    """Tags of another kind before the gold labels."""
    other = "a B-NP B-PER\nb I-NP I-PER\nc B-VP B-LOC\nd O O\n"
    status, _, err = run(other * 5)
    assert status == 1
    assert "few or no labels in common (such as 'B-NP' and 'B-PER')" in err
    status, _, err = run(other * 5 + "e B-PER B-PER\n")  # one label more in common
    assert (status, err) == (0, "")


def test_predictions_as_gold_labels(run):
    made = Model.from_weights(["X", "Y"], {("U:a", "X"): 1.0, ("U:b", "Y"): 1.0})
    Model(made.vocabulary, made.features, made.w, template=Template("U:%x[0,0]")).save("m")
    status, _, err = run("a X X\nb Y Y\n\n" * 600, "-m", "m")
    assert status == 0
    assert "warning: labelled.txt: all 1,200 gold labels equal the predicted labels; if `sparsecrf label` wrote" in err
    assert run("a X X\nb Y Y\n\n" * 400, "-m", "m")[2] == ""


def test_standard_input(run, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LABELLED.encode())))
    status, out, err = run(None, "--json")
    assert (status, err, json.loads(out)["tokens"]) == (0, "", 5)


def test_error_in_standard_input(run, monkeypatch):
    """A pipe cannot be read again to find the line."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a A A\n\nb B B\nc C\n")))
    status, out, err = run(None)
    assert (status, out) == (1, "")
    assert err.startswith("sparsecrf: standard input, line 4: expected 3 columns, found 2")


@pytest.mark.slow
@pytest.mark.parametrize("options", [("--scheme", "iob3"), ("--confusion", "-1"), ("--nosuch",)])
def test_wrong_usage(run, options):
    status, out, err = run(LABELLED, *options)
    assert (status, out) == (2, "")
    assert "Usage: sparsecrf eval" in err


def test_several_labellings_are_refused(program):
    program.write(d_txt="# 0 0.75 1.5\na x A A\n\n# 1 0.25 -1e3\na x A B\n\n")
    done = program("eval", "d.txt")
    assert done.status == 1
    assert "expected one label sequence per sentence" in done.err
    program.write(d_txt="# 0 A A\na x A A\n\n")  # a word
    assert program("eval", "d.txt", "--json").status == 0
