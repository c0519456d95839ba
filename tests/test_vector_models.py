"""Models that look up the vectors of words: from Python and files, kept or referred to, and what is refused."""

import copy
import json
import os
import pickle
import random

import numpy as np
import pytest
from sklearn.base import clone

from sparsecrf import CRF, CRFCV, InputError, Model
from sparsecrf._core import StringTable, VectorText
from sparsecrf.compat import Tagger
from sparsecrf.encoding.vectors import WordVectors
from sparsecrf.model.foreign import WRITERS
from sparsecrf.report import make_report

RNG = np.random.default_rng(7)
NOUNS, VERBS = ["dog", "cat", "lynx", "owl"], ["barks", "sleeps", "eats", "Runs"]
#: Nouns and verbs lie apart in the first number; `owl` has no vector, `Runs` has that of its lower case.
TABLE = {
    w: [s + 0.1 * RNG.normal(), RNG.normal(), RNG.normal()]
    for w, s in zip(["dog", "cat", "lynx"], [1] * 3, strict=True)
}
TABLE |= {w: [-1 + 0.1 * RNG.normal(), RNG.normal(), RNG.normal()] for w in ("barks", "sleeps", "eats", "runs")}
TABLE |= {"far": [9.0, 9.0, 9.0]}
GLOVE = "".join(f"{word} {' '.join(f'{x:.6f}' for x in row)}\n" for word, row in TABLE.items())
X = [["dog", "barks"], ["cat", "sleeps", "dog"], ["owl", "eats"], ["cat", "Runs"]]
Y = [["N", "V"], ["N", "V", "N"], ["N", "V"], ["N", "V"]]
TRAIN = "\n".join("".join(f"{w} {y}\n" for w, y in zip(xs, ys, strict=True)) for xs, ys in zip(X, Y, strict=True))
NEW = [["lynx", "eats"], ["runs", "lynx"], ["RUNS"], ["unheard"]]


@pytest.fixture
def glove(tmp_path):
    path = tmp_path / "glove.txt"
    path.write_text(GLOVE)
    return path


def twin(sentences, window=0, scale=1.0):
    """Dense columns in plain NumPy: of the exact form, else of the lower case, standardised; else the last column."""
    table = {word: np.array([float(f"{x:.6f}") for x in row], dtype=np.float32) for word, row in TABLE.items()}
    find = lambda word: table.get(word, table.get(word.lower()))  # noqa: E731
    known = np.array([find(w) for s in X for w in s if find(w) is not None], dtype=np.float64)
    mean, deviation = known.mean(axis=0), known.std(axis=0)
    made = []
    none, beyond = np.array([0, 0, 0, scale]), np.zeros(4)
    for sentence in sentences:
        found = [find(word) for word in sentence]
        row = [none if v is None else np.append(scale * (v - mean) / deviation, 0) for v in found]
        at = [0, *(sign * k for k in range(1, window + 1) for sign in (-1, 1))]
        inside = range(len(sentence))
        made.append(np.array([np.concatenate([row[t + k] if t + k in inside else beyond for k in at]) for t in inside]))
    return made


@pytest.mark.parametrize("window", [0, 1, 2])
def test_the_same_as_dense(glove, window):
    """Looked up by the model, or given as matrices that NumPy made."""
    vectors = WordVectors.load(glove, window=window)
    crf = CRF(rho1=0.02, vectors=vectors, dense_scale=2.0).fit(X, Y)
    other = CRF(rho1=0.02, standardize=False).fit(X, Y, dense=twin(X, window, 2.0))
    assert crf.objective_ == pytest.approx(other.objective_, rel=1e-6)
    for found, expected in zip(
        crf.predict_marginals(NEW), other.predict_marginals(NEW, dense=twin(NEW, window, 2.0)), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_every_answer(glove, tmp_path):
    """From lists of words, and with nothing given but the model, also from its file."""
    crf = CRF(rho1=0.02, vectors=glove).fit(X, Y)
    assert list(crf.predict([["lynx", "eats"], ["RUNS"]])) == [["N", "V"], ["V"]]
    crf.model_.save(tmp_path / "m")
    crf.model_.save(tmp_path / "c", compact="float32")
    glove.unlink()
    for model in (
        crf.model_,
        Model.load(tmp_path / "m"),
        Model.load(tmp_path / "c"),
        pickle.loads(pickle.dumps(crf.model_)),
    ):
        assert model.label(["lynx", "eats"]) == ["N", "V"]
        assert model.label(["lynx", "eats"], fixed=[None, "N"]) == ["N", "N"]
        assert model.nbest(["lynx"], 2)[0][0] == ["N"]
        np.testing.assert_allclose(model.marginals(["lynx"]), crf.predict_marginals([["lynx"]])[0], atol=1e-5)
        why = model.explain(["lynx", "Runs"])
        assert any(term.attribute.startswith("dense[") for term in why.tokens[0].contributions())
        assert sum(token.score for token in why.tokens) == pytest.approx(why.score)
        best = model.nbest(["lynx", "Runs"], 4)
        assert best[0][0] == why.path
        runner_up = next(p for labels, p in best if labels[0] != why.path[0])
        assert why.tokens[0].path_margin == pytest.approx(np.log(best[0][1] / runner_up))
    assert Model.load(tmp_path / "m").to_bytes() == (tmp_path / "m").read_bytes()
    assert list(CRF.from_model(tmp_path / "m").predict(NEW)) == list(crf.predict(NEW))


def test_choosing_rho1(glove):
    """By cross-validation and along a path: the models look words up, too."""
    found = CRFCV(cv=2, vectors=glove, rho1s=[0.3, 0.02]).fit(X * 2, Y * 2)
    assert list(found.predict([["lynx", "RUNS"]])) == [["N", "V"]]
    path = CRF(vectors=glove).path(X, Y, dev=(X, Y), rho1s=[0.3, 0.02])
    assert path.model(1).label(["lynx", "RUNS"]) == ["N", "V"]


def test_parameters(glove):
    """An estimator can be cloned without a copy of the vectors; they go to other processes whole."""
    vectors = WordVectors.load(glove, column=1)
    assert clone(CRF(vectors=vectors)).vectors is vectors
    assert copy.deepcopy(vectors) is vectors
    again = pickle.loads(pickle.dumps(vectors))
    np.testing.assert_array_equal(again.values, vectors.values)
    assert (again.column, len(again), again.width) == (1, 8, 3)
    rows = [[["x", word] for word in words] for words in X]
    assert CRF(rho1=0.02, features="columns", vectors=vectors).fit(rows, Y).model_.label([["x", "lynx"]]) == ["N"]


def test_program(program):
    """What is learnt from files is what Python learns; labels come from words alone."""
    program.write(train_txt=TRAIN, glove_txt=GLOVE, new_txt="\n".join("\n".join(s) + "\n" for s in NEW))
    options = ["-m", "m", "--rho1", "0.02", "--vectors", "glove.txt", "--vectors-window", "1"]
    done = program("train", "train.txt", "--dev", "train.txt", *options)
    assert done.status == 0, done.err
    assert "vectors of 3 numbers; 88.9 % of the tokens have a vector" in done.err
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
    assert "8 words, 3 numbers each" in program("show", "m").out
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
    more = ["--ragged", "--template", "t.txt", "--vectors-column", "1"] if ragged else []
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
    assert program("train", *options, "-m", "refers", "--refer").status == 0
    kept, refers = (Model.load(program.directory / name) for name in ("kept", "refers"))
    np.testing.assert_array_equal(kept.w, refers.w)
    assert refers.label(["lynx"]) == ["N"]  # not a word of the training data
    assert len(refers.to_bytes()) < len(kept.to_bytes())
    (program.directory / "sub").mkdir()
    for name in ("glove.txt", "refers"):
        (program.directory / name).rename(program.directory / "sub" / name)
    assert Model.load("sub/refers").label(["lynx"]) == ["N"]  # beside the model
    (program.directory / "sub" / "glove.txt").write_text(GLOVE.replace("9.000000", "8.000000", 1))
    with pytest.raises(
        InputError, match=r"glove\.txt: expected the file that the model was trained with, .* found another"
    ):
        Model.load("sub/refers")
    (program.directory / "sub" / "glove.txt").unlink()
    with pytest.raises(InputError, match=r"sub/refers: vectors: expected the file .*glove\.txt, found none"):
        Model.load("sub/refers")


def test_npy(program):
    program.write(train_txt=TRAIN, words_txt="".join(f"{word}\n" for word in TABLE))
    np.save("v.npy", np.array(list(TABLE.values())))
    for more in ([], ["--refer"]):
        done = program(
            "train",
            "train.txt",
            "-m",
            "m",
            "--vectors",
            "v.npy",
            "--vectors-words",
            "words.txt",
            "--rho1",
            "0.02",
            *more,
        )
        assert done.status == 0, done.err
        assert Model.load("m").label(["lynx", "RUNS"]) == ["N", "V"]


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
    assert "--cache: expected no vectors of words (--vectors, or of the model of --init), found some" in refused.err


def test_scale_of_the_start(program):
    """--init goes on with the scale of a model, whether vectors are given anew or not, unless another one is given."""
    program.write(train_txt=TRAIN, glove_txt=GLOVE)

    def scales(model, *options):
        done = program("train", "train.txt", "-m", model, "--rho1", "0.02", *options)
        assert done.status == 0, done.err
        return Model.load(model).dense.scale

    vectors = ("--vectors", "glove.txt")
    one, three = scales("one", *vectors), scales("three", *vectors, "--vectors-scale", "3")
    assert (one[3], three[3]) == (1.0, 3.0)
    assert three == pytest.approx([3 * x for x in one])
    assert scales("a", "--init", "three") == three
    assert scales("b", "--init", "three", *vectors) == three
    assert scales("c", "--init", "three", "--vectors-scale", "1") == one


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--vectors", "nowhere.txt"], "nowhere.txt"),
        (["--vectors", "wide.txt"], "wide.txt, line 3: expected a word and 2 numbers, found 3"),
        (["--vectors", "nan.txt"], "nan.txt, line 2, number 1: expected a finite number, found NaN"),
        (["--vectors", "nan.txt", "--refer"], "nan.txt, line 2, number 1: expected a finite number, found NaN"),
        (
            ["--vectors", "others.txt"],
            "expected vectors of words in the data ('dog', 'barks', 'cat', ...), found others ('le', 'la', ...)",
        ),
        (["--vectors", "binary.txt"], "must be saved as text"),
        (
            ["--vectors", "glove.txt", "--vectors-column", "1"],
            "train.txt, line 1: expected the words that have vectors in column 1 (counted from 0), found 1 column of "
            "observations",
        ),
        (["--vectors", "glove.txt", "--cache", "folder"], "--cache: expected no vectors of words"),
        (["--vectors", "glove.txt", "--encoding", "bytes"], "--vectors: expected text, whose words can be looked up"),
        (["--vectors", "glove.txt", "--format", "crfsuite"], "--vectors: expected none for CRFsuite files"),
        (["--vectors", "glove.txt", "--solver", "sgd-l1"], "for dense columns, found 'sgd-l1'"),
        (["--vectors", "glove.txt", "--order", "3"], "order: expected 2 for data with negative values"),
        (["--vectors", "glove.txt", "--vectors-scale", "0"], "expected a number above 0, found 0"),
        (["--vectors", "v.npy"], "--vectors: expected --vectors-words with v.npy, found none"),
        (
            ["--vectors", "v.npy", "--vectors-words", "glove.txt"],
            "v.npy: expected 8 rows, one for each line of glove.txt, found 2",
        ),
        (["--vectors-window", "2"], "--vectors-window: expected --vectors with it, found none"),
        (
            ["--vectors-scale", "3"],
            "--vectors-scale: expected --vectors with it, or a model of --init with vectors, found none",
        ),
        (["--refer"], "--refer: expected --lexicon, --clusters, --classes or --vectors with it, found none"),
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


@pytest.mark.skipif(os.name != "posix", reason="pipes with names")
@pytest.mark.parametrize("command", [["train", "-m", "m"], ["path", "-o", "out"]])
def test_files_that_are_read(program, command):
    """Vectors are not written over, and a pipe that nobody writes to is not waited for."""
    program.write(train_txt=TRAIN, glove_svg=GLOVE)
    np.save("v.npy", np.ones((2, 3)))
    npy = ("--vectors", "v.npy", "--vectors-words", "glove.svg")
    for options in (("--vectors", "glove.svg"), npy):
        done = program(*command, "train.txt", *options, "--plot", "glove.svg")
        assert "glove.svg: expected a file of its own to write, found one that is read" in " ".join(done.err.split())
    assert (program.directory / "glove.svg").read_text() == GLOVE
    os.mkfifo("pipe")
    for options in (("--vectors", "pipe"), ("--vectors", "v.npy", "--vectors-words", "pipe")):
        done = program(*command, "train.txt", *options)
        assert "vectors: expected the file pipe, found something else" in done.err
    assert program(*command, "train.txt", "--vectors-words", "pipe").status == 1


@pytest.mark.parametrize("options", [{"dense_scale": 3.0}, {"standardize": False}, {}])
def test_cross_validation_standardises_alike(glove, options):
    """CRFCV has the same columns as CRF, and at the same rho1 the same model."""
    found = CRFCV([0.02], vectors=glove, cv=2, **options).fit(X, Y)
    expected = CRF(rho1=0.02, vectors=glove, **options).fit(X, Y)
    assert found.model_.dense.to_json() == expected.model_.dense.to_json()
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-6)
    assert clone(found).get_params()["dense_scale"] == options.get("dense_scale", 1.0)


def test_missing_column_of_words(program):
    """Said of the file and the line, also by a model that takes any number of columns."""
    program.write(glove_txt=GLOVE, lines="U:%x[0,0]\nB\n", new_txt="\n\ndog\nbarks\n")
    program.write(train_txt="a dog N\na barks more V\n")
    options = ("--template", "lines", "--ragged", "--vectors", "glove.txt", "--vectors-column", "1", "--rho1", "0.02")
    done = program("train", "train.txt", "-m", "m", *options)
    assert done.status == 0, done.err
    done = program("label", "-m", "m", "new.txt")
    assert done.status == 1
    expected = "new.txt, line 3: expected the words that have vectors in column 1 (counted from 0), found 1 column of"
    assert expected in " ".join(done.err.split())


def test_mistakes_in_python(glove):
    crf = CRF(vectors=glove, rho1=0.02).fit(X, Y)
    with pytest.raises(
        InputError, match="dense: expected none for a model that looks up the vectors of words, found some"
    ):
        crf.model_.encode(X, dense=twin(X))
    with pytest.raises(InputError, match="vectors: expected tokens without vectors of their own, found some with them"):
        CRF(vectors=glove).fit(X, Y, dense=twin(X))
    with pytest.raises(InputError, match=r"sequence 0, position 0: expected a word, .* found 2 attributes"):
        CRF(vectors=glove).fit([[["a", "b"]]], [["N"]])
    with pytest.raises(
        InputError, match="expected words or rows of columns, whose words have vectors, found other tokens"
    ):
        CRF(vectors=glove).fit([np.ones((1, 2))], [["N"]])
    with pytest.raises(InputError, match="vectors: expected a file or WordVectors, found int"):
        CRF(vectors=3).fit(X, Y)
    with pytest.raises(InputError, match="vectors, window: expected a whole number of 0 or more, found -1"):
        WordVectors.load(glove, window=-1)
    with pytest.raises(InputError, match="expected for text files a model that has the vectors of words"):
        CRF().fit(X, Y, dense=twin(X)).model_.labeller()


def test_other_tools(glove, tmp_path):
    """Where a model cannot say what its vectors are."""
    plain = CRF(vectors=glove, rho1=0.02, start=False).fit(X, Y).model_
    lines = CRF(vectors=glove, rho1=0.02, template="U:%x[0,0]\nB\n", start=False).fit(X, Y).model_
    for tool, model in (("crfsuite", plain), ("crfsuite-binary", plain), ("wapiti", lines), ("crf++", lines)):
        with pytest.raises(InputError, match="models have no vectors: expected a model without, found one with them"):
            WRITERS[tool](model, tmp_path / "m")
    with pytest.raises(InputError, match="tagger: expected a model of attributes, found one with vectors"):
        Tagger().use(plain)
    with pytest.raises(InputError, match="--try: expected a model without vectors, found one with them"):
        make_report(lines, trial=True)


def test_reading_in_pieces():
    """Lines of any kind, cut anywhere between lines, as a plain reader of Python has them."""
    rng = random.Random(3)
    words = ["a", "B", ". . .", "naïve", "東京", "x\u00a0y", "a", "1,000", "B"]
    lines, expected = [], {}
    for word in words * 3:
        row = [rng.uniform(-3, 3) for _ in range(4)]
        between = rng.choice([" ", "\t"])
        lines.append(between.join([word, *(repr(x) for x in row)]) + rng.choice(["\n", " \n", "\r\n"]))
        expected.setdefault(word, row)
    for header in ("", "27 4\n"):
        for wanted in (None, ["A", "東京"]):
            text = VectorText("f", 0, None if wanted is None else table_of(wanted))
            blocks = [header.encode()]
            for line in lines:
                if rng.random() < 0.5:
                    blocks.append(b"")
                blocks[-1] += line.encode()
            for block in blocks:
                text.add(block)
            kept, values = text.take()
            names = [kept[k] for k in range(len(kept))]
            assert names == [w for w in expected if wanted is None or w in ("a", "東京")]
            np.testing.assert_allclose(values, [expected[name] for name in names], rtol=1e-6)
            assert (text.n_lines, text.width) == (27, 4)


def table_of(words):
    table = StringTable()
    for word in words:
        table.intern(word)
    return table
