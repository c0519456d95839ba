"""The command audit: what it writes, what it refuses, what an interrupt leaves."""

import json

import pytest
from sentences import sentences

from sparsecrf import audit


def as_columns(X, y):
    rows = ("".join(f"{w} {p} {label}\n" for (w, p), label in zip(*one, strict=True)) for one in zip(X, y, strict=True))
    return "\n".join(rows)


@pytest.fixture
def files(program):
    X, y = sentences(60, seed=2)
    y[7][0] = "I-PER" if y[7][0] != "I-PER" else "B-LOC"
    program.write(data_txt=as_columns(X, y))
    program.sequences = X, y
    return program


def read_lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_all_outputs(files):
    done = files(
        "audit", "data.txt", "--features", "words", "-o", "s.jsonl", "-o", "s.tsv", "-o", "s.html", "-o", "s.txt"
    )
    assert (done.status, done.out) == (0, "")
    assert "tokens judged; for" in done.err
    X, y = files.sequences
    found = read_lines(files.directory / "s.jsonl")
    assert len(found) == sum(map(len, X))
    assert {"sequence", "token", "label", "suggested", "score"} <= found[0].keys()
    assert all(
        f["label"] == y[f["sequence"]][f["token"]] and f["text"] == X[f["sequence"]][f["token"]][0] for f in found
    )
    scores = [f["score"] for f in found]
    assert scores == sorted(scores, reverse=True)
    assert (7, 0) in [(f["sequence"], f["token"]) for f in found[:6]]
    # The same as in Python.
    again = audit([[w for w, _ in tokens] for tokens in X], y, features="words").tokens[0]
    assert (again.sequence, again.token, again.suggested) == tuple(
        found[0][k] for k in ("sequence", "token", "suggested")
    )
    assert again.score == pytest.approx(scores[0], rel=0.01)  # labels have different numbers; fits agree within tol
    table = (files.directory / "s.tsv").read_text(encoding="utf-8").splitlines()
    assert [line.split("\t")[1:3] for line in table[1:3]] == [[str(f["sequence"]), str(f["token"])] for f in found[:2]]
    columns = (files.directory / "s.txt").read_text(encoding="utf-8").split("\n\n")
    assert [line.split()[:3] for line in columns[0].split("\n")] == [
        [*token, label] for token, label in zip(X[0], y[0], strict=True)
    ]
    page = (files.directory / "s.html").read_text(encoding="utf-8")
    assert f"sequence {found[0]['sequence']}, token {found[0]['token']}, score" in page


def test_table_of_spans_on_standard_output(files):
    text = (files.directory / "data.txt").read_bytes()
    done = files("audit", "-", "--features", "words", "--unit", "span", "-n", "3", "-q", stdin=text)
    assert (done.status, done.err) == (0, "")
    assert len(done.out.splitlines()) == 4
    assert done.out.split()[:3] == ["text", "label", "suggested"]


def test_formats_and_documents(program):
    X, y = sentences(40, seed=3)
    lines = [json.dumps({"tokens": [w for w, _ in t], "labels": labels}) for t, labels in zip(X, y, strict=True)]
    program.write(data_jsonl="\n".join(lines))
    assert program("audit", "data.jsonl", "-q", "--folds", "2", "-o", "s.jsonl", "-n", "5").status == 0
    found = read_lines(program.directory / "s.jsonl")
    assert len(found) == 5
    assert found[0]["text"] == X[found[0]["sequence"]][found[0]["token"]][0]
    marked = "".join("-DOCSTART- X O\n\n" + as_columns(X[i : i + 10], y[i : i + 10]) + "\n" for i in range(0, 40, 10))
    program.write(docs_txt=marked)
    assert program("audit", "docs.txt", "-q", "--folds", "4", "--by", "document", "-o", "d.jsonl").status == 0
    assert len(read_lines(program.directory / "d.jsonl")) == sum(map(len, X)) + 4
    wrong = program("audit", "docs.txt", "-q", "--folds", "5", "--by", "document", "-o", "e.jsonl")
    assert wrong.status == 1
    assert "folds: expected 2 to 4, the number of groups, found 5" in wrong.err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["empty.txt"], 1, "empty.txt: expected at least one sequence, found none"),
        (["one.txt"], 1, "audit: expected at least 2 different labels"),
        (["few.txt"], 1, "expected at least as many sequences as folds (5), found 1"),
        (["few.txt", "--dev", "one.txt"], 2, "--dev is not supported by audit"),
        (["few.txt", "--folds", "1"], 2, "expected an integer of at least 2, found '1'"),
        (["few.txt", "--unit", "word"], 2, "'word'"),
        (["few.txt", "-o", "few.txt"], 1, "this file is also an input"),
        (["few.txt", "-o", "x.jsonl", "-o", "./x.jsonl"], 2, "--output: the same file is given twice"),
        (["few.txt", "-t", "none.txt"], 1, "none.txt"),
    ],
)
def test_bad_input_writes_nothing(program, arguments, status, message):
    program.write(empty_txt="\n\n", one_txt="a N\n\nb N\n", few_txt="a N\nb V\n")
    before = program.files()
    more = [] if "-o" in arguments else ["-o", "out.jsonl"]
    done = program("audit", *arguments, *more)
    assert done.status == status
    assert message in " ".join(done.err.replace("│", " ").split())
    assert program.files() == before


@pytest.mark.parametrize("folds_done", [0, 2])
def test_an_interrupt_keeps_what_is_done(files, monkeypatch, folds_done):
    from sparsecrf.contrib.audit import out_of_fold

    calls, fit = [], out_of_fold.fit

    def interrupted(*arguments, **options):
        calls.append(1)
        if len(calls) > folds_done:
            raise KeyboardInterrupt
        return fit(*arguments, **options)

    monkeypatch.setattr(out_of_fold, "fit", interrupted)
    done = files("audit", "data.txt", "-o", "s.jsonl", "-o", "s.txt")
    assert done.status == 130
    assert files.files() == (["data.txt", "s.jsonl", "s.txt"] if folds_done else ["data.txt"])
    if folds_done:
        assert "36 sequences were not judged" in done.err
        assert len({f["sequence"] for f in read_lines(files.directory / "s.jsonl")}) == 24
