"""The command suggest: the chosen sentences, as the pool has them, in every format."""

import json

import pytest
from sentences import sentences

from sparsecrf import CRF, Model
from sparsecrf.contrib.suggest import suggest


def columns(X, y=None):
    labels = [[""] * len(tokens) for tokens in X] if y is None else y
    rows = (
        "".join(f"{w} {p} {z}".strip() + "\n" for (w, p), z in zip(*s, strict=True))
        for s in zip(X, labels, strict=True)
    )
    return "\n".join(rows)


X, Y = sentences(40, seed=1)
POOL_X, POOL_Y = sentences(30, seed=2)


@pytest.fixture
def files(program):
    program.write(train_txt=columns(X, Y), pool_txt=columns(POOL_X), labelled_txt=columns(POOL_X, POOL_Y))
    assert program("train", "train.txt", "--features", "columns", "-m", "m.safetensors", "-q").status == 0
    return program


def test_columns(files):
    done = files("suggest", "pool.txt", "-m", "m.safetensors", "-n", "5", "-o", "next.txt", "--rest", "rest.txt")
    assert (done.status, done.out) == (0, "")
    assert "5 of 30 sentences chosen" in done.err
    chosen = [s.sequence for s in suggest(Model.load(files.directory / "m.safetensors"), POOL_X, 5)]
    pool = columns(POOL_X).split("\n\n")
    expected = [pool[i].strip() for i in chosen]
    assert (files.directory / "next.txt").read_text().strip().split("\n\n") == expected
    rest = (files.directory / "rest.txt").read_text().strip().split("\n\n")
    assert rest == [block.strip() for i, block in enumerate(pool) if i not in chosen]
    # Labels are not looked at, and stay; Windows line endings and a byte-order mark are accepted.
    windows = b"\xef\xbb\xbf" + columns(POOL_X, POOL_Y).replace("\n", "\r\n").encode()
    done = files("suggest", "-", "-m", "m.safetensors", "-n", "5", "-q", stdin=windows)
    assert (done.status, done.err) == (0, "")
    sequences = columns(POOL_X, POOL_Y).split("\n\n")
    assert done.out.replace("\r", "").strip().split("\n\n") == [sequences[i].strip() for i in chosen]


def test_labels_for_the_annotator_to_correct(files):
    chosen = files("suggest", "pool.txt", "-m", "m.safetensors", "-n", "3", "-q").out
    done = files("label", "-m", "m.safetensors", stdin=chosen.encode())
    assert done.status == 0
    assert [line.split()[:2] for line in done.out.splitlines()] == [line.split() for line in chosen.splitlines()]
    assert {len(line.split()) for line in done.out.splitlines()} == {0, 3}


@pytest.fixture
def texts(program):
    """A model of texts with spans, and a pool in the formats of annotation tools."""
    words = [[word for word, _ in tokens] for tokens in X]
    CRF(features="words").fit(words, Y).model_.noted(format="jsonl").save(program.directory / "m.safetensors")
    return program


def prodigy(tokens):
    text, made = " ".join(tokens), []
    for k, word in enumerate(tokens):
        start = made[-1]["end"] + 1 if made else 0
        made.append({"text": word, "start": start, "end": start + len(word), "id": k, "ws": True})
    return {"text": text, "tokens": made, "meta": {"source": "made up"}, "_task_hash": 7}


def label_studio(tokens):
    return {"id": 5, "data": {"text": " ".join(tokens)}, "meta": {}}


@pytest.mark.parametrize("task", [prodigy, label_studio, lambda tokens: {"text": " ".join(tokens)}])
def test_annotation_tools(texts, task):
    pool = [json.dumps(task([word for word, _ in tokens])) for tokens in POOL_X]
    texts.write(pool_jsonl="\n".join(pool))
    done = texts("suggest", "pool.jsonl", "-m", "m.safetensors", "-n", "4", "-o", "next.jsonl", "-q")
    assert done.status == 0, done.err
    chosen = (texts.directory / "next.jsonl").read_text().splitlines()
    assert len(chosen) == 4
    assert set(chosen) <= set(pool)
    expected = suggest(Model.load(texts.directory / "m.safetensors"), [[[w] for w, _ in t] for t in POOL_X], 4)
    assert chosen == [pool[s.sequence] for s in expected]


@pytest.mark.parametrize(
    ("pool", "options", "status", "message"),
    [
        ("\n \n", [], 1, "pool.txt: expected at least one sequence, found none"),
        ("Ada\n", [], 1, "pool.txt, line 1: expected 2 columns of observations and, optionally, a label, found 1"),
        ("Ada X O O\n", [], 1, "expected 2 columns of observations and, optionally, a label, found 4"),
        ("Ada X\n", ["-n", "0"], 2, "expected an integer of at least 1, found '0'"),
        ("Ada X\n", ["--by", "margin"], 2, "margin"),
        ("Ada X\n", ["-o", "pool.txt"], 1, "this file is also an input"),
        ("Ada X\n", ["-o", "x", "--rest", "x"], 2, "--rest x is also the file of --output"),
        ("Ada X\n", ["--encoding", "bytes"], 1, "--encoding bytes is not supported by suggest"),
        ('{"text": "Ada"}\n', ["--format", "jsonl"], 1, ""),
    ],
)
def test_bad_input_writes_nothing(files, pool, options, status, message):
    files.write(pool_txt=pool)
    before = files.files()
    more = [] if "-o" in options else ["-o", "out.txt"]
    done = files("suggest", "pool.txt", "-m", "m.safetensors", *options, *more)
    assert done.status == status
    assert message in " ".join(done.err.replace("│", " ").split())
    assert files.files() == before


def test_documents_and_crfsuite(program):
    docs = (
        "-DOCSTART- O\n\n"
        + "".join(f"{w} {z}\n" for w, z in zip(["Ada", "saw", "Oslo"], "ABA", strict=True))
        + "\nsaw B\nAda A\n\n"
    )
    program.write(train_txt=docs * 5, pool_txt="-DOCSTART-\n\nAda\nOslo\n\nsaw\nLima\n\n")
    assert program("train", "train.txt", "--features", "documents", "-m", "d.safetensors", "-q").status == 0
    done = program("suggest", "pool.txt", "-m", "d.safetensors", "-n", "3", "-q")
    assert done.status == 0
    assert sorted(done.out.split("\n\n")) == ["", "-DOCSTART-", "Ada\nOslo", "saw\nLima"]
    program.write(train_crfsuite="A\tw=a\tb\nB\tw=b\n\nB\tw=b\n\n" * 5, pool_crfsuite="A\tw=a\nB\tw=b\n\nA\tw=c\n\n")
    assert program("train", "train.crfsuite", "-m", "c.safetensors", "-q").status == 0
    done = program("suggest", "pool.crfsuite", "-m", "c.safetensors", "-n", "1", "-q")
    assert (done.status, done.out) == (0, "A\tw=c\n\n")


@pytest.mark.parametrize("moment", ["read", "write"])
def test_an_interrupt_leaves_nothing_half_written(files, monkeypatch, moment):
    """While sentences are scored, or while a file is written."""

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    place = "sparsecrf.contrib.suggest.suggest" if moment == "read" else "os.replace"
    before = files.files()
    monkeypatch.setattr(place, interrupt)
    done = files("suggest", "pool.txt", "-m", "m.safetensors", "-n", "5", "-o", "next.txt", "--rest", "rest.txt")
    assert done.status == 130
    assert files.files() == before
