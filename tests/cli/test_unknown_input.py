"""`label` asks whether the input is of the kind that the model was trained on, if it knows next to nothing of it."""

import hashlib
import json

import pytest

pytestmark = pytest.mark.slow

REMARK = "is this the kind of input that it was trained on?"
WORDS = [f"word{k}" for k in range(300)]
SENTENCES = [WORDS[k : k + 6] for k in range(0, 300, 6)]
CHINESE = [[chr(0x4E00 + k + t) for t in range(6)] for k in range(0, 300, 6)]


def label_of(word):
    """By no rule: a model must know the word."""
    return "AB"[hashlib.md5(word.encode(), usedforsecurity=False).digest()[0] % 2]


def crfsuite(prefix="w=", sentences=SENTENCES):
    """Attributes as programs write them; one of them occurs at every token."""
    lines = ("".join(f"{label_of(w)}\t{prefix}{w}\talways\n" for w in words) + "\n" for words in sentences)
    return "".join(lines)


def columns(sentences=SENTENCES):
    return "".join("".join(f"{w} {label_of(w)}\n" for w in words) + "\n" for words in sentences)


def other(sentences=SENTENCES):
    return [[w.replace("word", "other") for w in words] for words in sentences]


def jsonl(sentences=SENTENCES):
    return "".join(json.dumps({"tokens": words, "labels": list(map(label_of, words))}) + "\n" for words in sentences)


@pytest.mark.parametrize(
    ("format", "same", "unlike"),
    [
        ("crfsuite", crfsuite(), crfsuite("word[0]=")),
        ("columns", columns(), columns(other())),
        ("jsonl", jsonl(), jsonl(CHINESE)),
    ],
)
def test_input_of_another_kind(program, format, same, unlike):
    program.write(train_txt=same, unlike_txt=unlike)
    # At the optimum, so that the number of known attributes does not depend on where the solver stops.
    penalties = ("--rho1", "0.01", "--rho2", "0.01", "--tol", "1e-6")
    assert program("train", "train.txt", "--format", format, "-m", "m", *penalties).status == 0
    done = program("label", "-m", "m", "unlike.txt")
    assert done.status == 0  # it is labelled all the same
    assert f"unlike.txt: the model contains {15 if format == 'jsonl' else 1} of the " in done.err
    assert REMARK in done.err
    assert REMARK in program("label", "-m", "m", stdin=unlike.encode()).err
    assert REMARK not in program("label", "-m", "m", "unlike.txt", "-q").err
    assert program("label", "-m", "m", "train.txt").err == ""


def test_nothing_is_said_of_little_text_or_of_a_sparse_model(program):
    program.write(train_txt=columns(), few_txt=columns(other()[:3]))
    assert program("train", "train.txt", "-m", "m", "--rho1", "0.01").status == 0
    assert program("label", "-m", "m", "few.txt").err == ""  # 18 new words
    # A model with two attributes knows few of the many, but it has seen both of its own.
    marked = columns().replace("word1 A", "word1 C").replace("word2 B", "word2 D") * 20
    rare = columns() + marked.replace("word1 ", "sign ").replace("word2 ", "mark ")
    program.write(train_txt=rare)
    assert program("train", "train.txt", "-m", "m", "--features", "words", "--rho1", "15").status == 0
    assert program("label", "-m", "m", "train.txt").err == ""


def test_of_a_long_sequence_the_beginning_is_looked_at(program):
    """All of it took longer than labelling."""
    for name, text in {
        "columns": columns(other()),
        "crfsuite": crfsuite("x="),
        "jsonl": jsonl([[word for words in CHINESE for word in words]]),
    }.items():
        program.write(train_txt={"columns": columns(), "crfsuite": crfsuite(), "jsonl": jsonl()}[name])
        program.write(long_txt=text.replace("\n\n", "\n") + "\n")
        assert program("train", "train.txt", "--format", name, "-m", "m", "--rho1", "0.01").status == 0
        said = program("label", "-m", "m", "long.txt").err
        assert REMARK in said
        assert "of the first 300 tokens" in said if name != "jsonl" else "of the first 100 tokens" in said


def test_broken_input_is_reported_once(program):
    program.write(train_txt=columns(), bad_txt=columns(other()).replace("other7 ", "other7 x "))
    assert program("train", "train.txt", "-m", "m", "--rho1", "0.01").status == 0
    done = program("label", "-m", "m", "bad.txt", "--on-error", "skip")
    assert done.status == 0
    assert "bad.txt, line 9: " in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "text", "said"),
    [
        ((), "token,tag\nOslo,B-LOC\nis,O\n\n", "in.txt: every line is one column that contains a comma"),
        (
            ("--format", "text"),
            "word1 A\nword2 B\nword3 A\n",
            "in.txt: every line ends with a label, as in a column file",
        ),
        ((), "1,000\nword1\nword2\n", None),
        (("--format", "text"), "word1 word2\nword1 A\nword3\n", None),
    ],
)
def test_input_of_another_shape(program, options, text, said):
    program.write(train_txt=columns(), in_txt=text)
    assert program("train", "train.txt", "-m", "m", "--features", "words").status == 0
    done = program("label", "-m", "m", "in.txt", *options)
    assert done.status == 0
    assert said in done.err if said else "every line" not in done.err
