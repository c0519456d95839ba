"""Commands with --vectors: from files, kept or referred to, and what is refused."""

import json
import os

import numpy as np
import pytest
from animal_vectors import GLOVE, NEW, TABLE, TRAIN, X, Y

from sparsecrf import CRF, InputError, Model
from sparsecrf.encoding.vectors import WordVectors


@pytest.mark.slow
def test_program(program):
    """What is learnt from files is what Python learns; labels come from words alone."""
    program.write(train_txt=TRAIN, glove_txt=GLOVE, new_txt="\n".join("\n".join(s) + "\n" for s in NEW))
    options = ["-m", "m", "--rho1", "0.02", "--vectors", "glove.txt", "--recipe", "vectors_window=1"]
    done = program("train", "train.txt", "--dev", "train.txt", *options)
    assert done.status == 0, done.err
    assert "vectors with 3 dimensions; 88.9 % of tokens have a vector" in done.err
    model = Model.load(program.directory / "m")
    vectors = WordVectors.load(program.directory / "glove.txt", window=1)
    crf = CRF(rho1=0.02, vectors=vectors, template="*0:%x[0,0]\nB\n").fit(X, Y)
    assert model.training["objective"] == pytest.approx(crf.objective_, rel=1e-3)
    (program.directory / "glove.txt").unlink()
    labelled = program("label", "-m", "m", "new.txt", "--marginals")
    rows = [line.split() for line in labelled.out.split("\n") if line]
    assert [row[0] for row in rows] == [word for words in NEW for word in words]
    expected = [label for words in NEW for label in model.label(words)]
    assert [row[1] for row in rows] == expected
    assert expected[:5] == ["N", "V", "V", "N", "V"]
    p = np.concatenate([model.marginals(words).max(axis=1) for words in NEW])
    np.testing.assert_allclose([float(row[2]) for row in rows], p, atol=2e-6)
    assert json.loads(program("eval", "train.txt", "-m", "m", "--json").out)["token_error"] == 0
    assert "8 words, 3 dimensions" in program("show", "m").out
    page = program("report", "m", "-o", "r.html", "--data", "train.txt")
    assert page.status == 0, page.err
    assert program("path", "train.txt", "--dev", "train.txt", "-o", "p", "--vectors", "nowhere").status == 1


@pytest.mark.parametrize("name", ["train.jsonl", "train.conllu", "ragged"])
def test_other_formats(program, name):
    ragged = name == "ragged"
    lines = [json.dumps({"tokens": xs, "labels": ys}) for xs, ys in zip(X, Y, strict=True)]
    if name == "train.conllu":
        lines = [
            "\n".join(f"{k}\t{w}\t_\t{y}\t_\t_\t_\t_\t_\t_" for k, (w, y) in enumerate(zip(xs, ys, strict=True), 1))
            + "\n"
            for xs, ys in zip(X, Y, strict=True)
        ]
    if ragged:
        name = "train.txt"
        lines = [
            "\n".join(f"a {w} {'b ' * k}{y}" for k, (w, y) in enumerate(zip(xs, ys, strict=True))) + "\n"
            for xs, ys in zip(X, Y, strict=True)
        ]
    (program.directory / name).write_text("\n".join(lines) + "\n")
    program.write(glove_txt=GLOVE, t_txt="U:%x[0,0]\nB\n")
    more = ["--ragged", "--template", "t.txt", "--recipe", "vectors_column=1"] if ragged else []
    done = program("train", name, "-m", "m", "--rho1", "0.02", "--vectors", "glove.txt", *more)
    assert done.status == 0, done.err
    found = program("eval", name, "-m", "m", "--json", *more[:1])
    assert json.loads(found.out)["token_error"] == 0, found.err
    assert Model.load(program.directory / "m").label([["a", "lynx"]] if ragged else ["lynx"]) == ["N"]


def test_referring(program):
    """The model has a checksum instead of vectors; training keeps those of its words only. The weights are the same."""
    program.write(train_txt=TRAIN, glove_txt=GLOVE)
    options = ["train.txt", "--rho1", "0.02", "--vectors", "glove.txt"]
    assert program("train", *options, "-m", "kept").status == 0
    assert program("train", *options, "-m", "refers", "--recipe", "refer=true").status == 0
    kept, refers = (Model.load(program.directory / name) for name in ("kept", "refers"))
    np.testing.assert_array_equal(kept.w, refers.w)
    assert refers.label(["lynx"]) == ["N"]  # not a word of the training data
    assert len(refers.to_bytes()) < len(kept.to_bytes())
    (program.directory / "sub").mkdir()
    for name in ("glove.txt", "refers"):
        (program.directory / name).rename(program.directory / "sub" / name)
    assert Model.load("sub/refers").label(["lynx"]) == ["N"]  # beside the model
    (program.directory / "sub" / "glove.txt").write_text(GLOVE.replace("9.000000", "8.000000", 1))
    with pytest.raises(InputError, match=r"glove\.txt: expected.*file.*model was.*found a different file"):
        Model.load("sub/refers")
    (program.directory / "sub" / "glove.txt").unlink()
    with pytest.raises(InputError, match=r"sub/refers: vectors: expected the file .*glove\.txt, found none"):
        Model.load("sub/refers")


def test_npy(program):
    program.write(train_txt=TRAIN, words_txt="".join(f"{word}\n" for word in TABLE))
    np.save("v.npy", np.array(list(TABLE.values())))
    for more in ([], ["--recipe", "refer=true"]):
        done = program(
            "train",
            "train.txt",
            "-m",
            "m",
            "--vectors",
            "v.npy",
            "--recipe",
            "vectors_words=words.txt",
            "--rho1",
            "0.02",
            *more,
        )
        assert done.status == 0, done.err
        assert Model.load("m").label(["lynx", "RUNS"]) == ["N", "V"]


@pytest.mark.slow
def test_start_and_rare(program):
    """--init goes on with the vectors of a model; --min-count leaves them alone."""
    program.write(train_txt=TRAIN, glove_txt=GLOVE)
    assert program("train", "train.txt", "-m", "a", "--rho1", "0.02", "--vectors", "glove.txt").status == 0
    (program.directory / "glove.txt").rename(program.directory / "other.txt")
    assert program("train", "train.txt", "-m", "b", "--rho1", "0.02", "--init", "a").status == 0
    assert Model.load("b").label(["lynx", "RUNS"]) == ["N", "V"]
    done = program("train", "train.txt", "-m", "c", "--rho1", "0.02", "--vectors", "other.txt", "--min-count", "9")
    assert done.status == 0, done.err
    assert Model.load("c").label(["lynx", "RUNS"]) == ["N", "V"]
    refused = program("train", "train.txt", "-m", "d", "--init", "a", "--cache", "folder")
    assert "--cache does not support word vectors (--vectors, or vectors of the --init model)" in refused.err


@pytest.mark.slow
def test_scale_of_the_start(program):
    """--init goes on with the scale of a model, whether vectors are given anew or not, unless another one is given."""
    program.write(train_txt=TRAIN, glove_txt=GLOVE)

    def scales(model, *options):
        done = program("train", "train.txt", "-m", model, "--rho1", "0.02", *options)
        assert done.status == 0, done.err
        return Model.load(model).dense.scale

    vectors = ("--vectors", "glove.txt")
    one, three = scales("one", *vectors), scales("three", *vectors, "--recipe", "vectors_scale=3")
    assert (one[3], three[3]) == (1.0, 3.0)
    assert three == pytest.approx([3 * x for x in one])
    assert scales("a", "--init", "three") == three
    assert scales("b", "--init", "three", *vectors) == three
    assert scales("c", "--init", "three", "--recipe", "vectors_scale=1") == one


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--vectors", "nowhere.txt"], "nowhere.txt"),
        (["--vectors", "wide.txt"], "wide.txt, line 3: expected a word and 2 numbers, found 3"),
        (["--vectors", "nan.txt"], "nan.txt, line 2, number 1: expected a finite number, found NaN"),
        (
            ["--vectors", "nan.txt", "--recipe", "refer=true"],
            "nan.txt, line 2, number 1: expected a finite number, found NaN",
        ),
        (
            ["--vectors", "others.txt"],
            "expected vectors of words in the data ('dog', 'barks', 'cat', ...), found only other words "
            "('le', 'la', ...)",
        ),
        (["--vectors", "binary.txt"], "it is not UTF-8 text: save files in word2vec's binary format as text"),
        (
            ["--vectors", "glove.txt", "--recipe", "vectors_column=1"],
            "train.txt, line 1: expected the words that have vectors in column 1 (counted from 0), found 1 column of "
            "observations",
        ),
        (["--vectors", "glove.txt", "--cache", "folder"], "--vectors glove.txt cannot be combined with --cache folder"),
        (["--vectors", "glove.txt", "--encoding", "bytes"], "--vectors cannot be combined with --encoding bytes"),
        (["--vectors", "glove.txt", "--format", "crfsuite"], "--vectors: not supported for CRFsuite files"),
        (["--vectors", "glove.txt", "--solver", "sgd-l1"], "--vectors glove.txt is not supported by --solver sgd-l1"),
        (["--vectors", "glove.txt", "--order", "3"], "--order 3 cannot be combined with negative values"),
        (
            ["--vectors", "glove.txt", "--recipe", "vectors_scale=0"],
            "--recipe vectors_scale: expected a number above 0, found '0'",
        ),
        (["--vectors", "v.npy"], "--vectors v.npy needs --recipe vectors_words"),
        (
            ["--vectors", "v.npy", "--recipe", "vectors_words=glove.txt"],
            "v.npy: expected 8 rows, one for each line of glove.txt, found 2",
        ),
        (["--recipe", "vectors_window=2"], "--recipe vectors_window needs --vectors"),
        (
            ["--recipe", "vectors_scale=3"],
            "--recipe vectors_scale needs --vectors, or --init with a model that contains vectors",
        ),
        (["--recipe", "refer=true"], "--recipe refer needs --lexicon, --clusters, --classes or --vectors"),
    ],
)
def test_mistakes_before_training(program, options, message):
    program.write(train_txt=TRAIN, glove_txt=GLOVE, wide_txt="dog 1 2\ncat 1 2\neats 1 2 3\n")
    program.write(nan_txt="cat 1 2\ndog NaN 2\n", others_txt="le 1\nla 2\n", binary_txt=b"2 3\ndog \x80\x3f\x00\xff\n")
    np.save("v.npy", np.ones((2, 3)))
    done = program("train", "train.txt", "-m", "m", "--log", "log.jsonl", *options)
    assert done.status in (1, 2)
    assert message in " ".join(done.err.split())
    assert "m" not in program.files()
    assert "iteration" not in done.err


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="pipes with names")
@pytest.mark.parametrize("command", [["train", "-m", "m"], ["path", "-o", "out"]])
def test_files_that_are_read(program, command):
    """Vectors are not written over, and a pipe that nobody writes to is not waited for."""
    program.write(train_txt=TRAIN, glove_svg=GLOVE)
    np.save("v.npy", np.ones((2, 3)))
    npy = ("--vectors", "v.npy", "--recipe", "vectors_words=glove.svg")
    for options in (("--vectors", "glove.svg"), npy):
        done = program(*command, "train.txt", *options, "--plot", "glove.svg")
        assert "glove.svg: this file is also an input; write to another file" in " ".join(done.err.split())
    assert (program.directory / "glove.svg").read_text() == GLOVE
    os.mkfifo("pipe")
    for options in (("--vectors", "pipe"), ("--vectors", "v.npy", "--recipe", "vectors_words=pipe")):
        done = program(*command, "train.txt", *options)
        assert "vectors: expected the file pipe, found something else" in done.err
    assert program(*command, "train.txt", "--recipe", "vectors_words=pipe").status == 2


def test_missing_column_of_words(program):
    """Said of the file and the line, also by a model that takes any number of columns."""
    program.write(glove_txt=GLOVE, lines="U:%x[0,0]\nB\n", new_txt="\n\ndog\nbarks\n")
    program.write(train_txt="a dog N\na barks more V\n")
    options = (
        "--template",
        "lines",
        "--ragged",
        "--vectors",
        "glove.txt",
        "--recipe",
        "vectors_column=1",
        "--rho1",
        "0.02",
    )
    done = program("train", "train.txt", "-m", "m", *options)
    assert done.status == 0, done.err
    done = program("label", "-m", "m", "new.txt")
    assert done.status == 1
    expected = "new.txt, line 3: expected the words that have vectors in column 1 (counted from 0), found 1 column of"
    assert expected in " ".join(done.err.split())
