"""Models for Wapiti and CRF++: what is written is read back and answers the same; the tools themselves are asked too,
where they are installed."""

import shutil
import struct
import subprocess
from contextlib import suppress

import numpy as np
import pytest
from foreign_model_files import crfpp_binary

from sparsecrf import InputError, Model
from sparsecrf.contrib.convert.foreign import READERS, WRITERS, read_crfpp, read_wapiti, write_crfpp, write_wapiti
from sparsecrf.encoding.template import Template

TEMPLATE = """# words
U00:%x[-1,0]
U01:%x[ +1,0]/%x[0,1]
U
B
B1:%x[0,1]
*2:%x[0,0]/%x[-2,1]
"""
BOUNDARY = {"wapiti": "wapiti", "crf++": "crf++"}


def sentences(n, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n):
        yield [[f"w{k % 5}", f"é{k % 3}", "LABEL"[k % 3 :]] for k in rng.integers(0, 15, rng.integers(1, 9))]


def column_text(sequences):
    return "".join("".join(" ".join(row) + "\n" for row in rows) + "\n" for rows in sequences)


@pytest.fixture
def trained(program):
    """A function that trains a model on made-up sentences, with the start label unless told otherwise."""

    def train(boundary, template=TEMPLATE, *options):
        program.write(t_txt=template, a_txt=column_text(sentences(40)))
        arguments = [
            "-t",
            "t.txt",
            "-m",
            "m",
            "--recipe",
            f"boundary={boundary}",
            "--rho1",
            "0.02",
            "--quiet",
            *options,
        ]
        assert program("train", "a.txt", *arguments).status == 0
        return Model.load("m")

    return train


def assert_same_answers(ours, theirs, tolerance):
    for rows in sentences(40, seed=1):
        observed = [row[:-1] for row in rows]
        assert ours.label(observed) == theirs.label(observed)
        np.testing.assert_allclose(ours.marginals(observed), theirs.marginals(observed), rtol=0, atol=tolerance)


@pytest.mark.parametrize("tool", BOUNDARY)
def test_what_is_written_is_read_back(tool, trained, program):
    """With weights after the start label, of pairs conditioned on attributes, and of lines *, which CRF++ lacks."""
    model = trained(BOUNDARY[tool])
    Y = len(model.labels)
    assert (model.features.bigram_previous == Y).any()
    assert any(model.vocabulary.attributes[x].startswith("*") for x in model.features.bigram_attribute)
    assert program("convert", "m", "theirs", "--from", "sparsecrf", "--to", tool).status == 0
    theirs = READERS[tool](program.directory / "theirs")
    assert theirs.vocabulary.start is False
    assert_same_answers(model, theirs, 1e-12)


def test_lines_made_for_crfpp(trained, tmp_path):
    """A line * becomes two, the start a line of labels, and numbers have no sign: CRF++ takes nothing else."""
    write_crfpp(trained("crf++"), tmp_path / "model.txt")
    header, labels, lines, *_ = (tmp_path / "model.txt").read_text(encoding="utf-8").split("\n\n")
    assert header.split("\n")[1:2] + header.split("\n")[3:] == ["cost-factor: 1", "xsize: 2"]
    assert sorted(labels.split("\n")) == ["ABEL", "BEL", "LABEL"]
    expected = ["U00:%x[-1,0]", "U01:%x[1,0]/%x[0,1]", "U", "U*2:%x[0,0]/%x[-2,1]", "U:start:%x[-1,0]:B"]
    expected += ["U:start:%x[-1,0]:B1:%x[0,1]", "U:start:%x[-1,0]:B*2:%x[0,0]/%x[-2,1]"]
    assert lines.split("\n") == [*expected, "B", "B1:%x[0,1]", "B*2:%x[0,0]/%x[-2,1]"]


def test_bytes_of_wapiti_attributes_survive(tmp_path):
    """A piece of a character is written as the byte it is; text that looks like one stays text."""
    template = Template('u:%m[0,0,".$"]\nu1:%x[0,0]\n', "wapiti", bytes=True)
    model = Model.from_weights(["N", "V"], {("u:\\x99", "V"): 1.5, ("u1:\\xc3\\xa9", "N"): 2.0}, start=False)
    write_wapiti(Model(model.vocabulary, model.features, model.w, template=template), tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    assert b"3:u:\x99,\n" in data
    assert b"11:u1:\\xc3\\xa9,\n" in data  # the two bytes together would be a character
    again = read_wapiti(tmp_path / "model")
    assert again.vocabulary.attributes.find("u:\\x99") is not None
    assert again.label([["ЖЙ"]]) == ["V"]


def with_template(text, *names, **options):
    bigram = {(name, "N", "V"): 1.0 for name in names if name[0] in "Bb*"}
    unigram = {(name, "N"): 1.0 for name in names if name[0] not in "Bb"}
    model = Model.from_weights(["N", "V"], unigram, bigram, start=False)
    template = None if text is None else Template(text, **options)
    return Model(model.vocabulary, model.features, model.w, template=template)


@pytest.mark.parametrize(
    ("tool", "model", "expected"),
    [
        ("wapiti", with_template(None, "w"), "expected a model with a template, found a model without"),
        ("wapiti", with_template("U:%x[-1,0]\n", "U:a"), "trained with --recipe boundary=wapiti, found boundary=crf"),
        ("crf++", with_template("u:%x[1,0]\n", "u:a", boundary="wapiti"), "trained with --recipe boundary=crf"),
        ("wapiti", with_template('U:%m[0,0,".$"]\n', "U:a"), "expected a model trained with --recipe bytes=true"),
        ("wapiti", with_template("U:%x[0,0]\nu:%x[0,0]\n", "U:a"), "begin with U or all begin with u, found both"),
        ("wapiti", with_template("U:start:%x[0,0]\n", "U:start:a"), "with the prefix reserved for Wapiti"),
        ("crf++", with_template("U*:%x[0,0]\n*:%x[0,0]\n", "*:a"), "with the prefix reserved for CRF"),
        ("crf++", with_template("U:%X[0,0]\n", "U:a"), "found %X.0,0. in 'U:%X.0,0.'"),
        ("crf++", with_template('U:%t[0,0,"a"]\n', "U:true"), 'found %t.0,0,"a". in'),
        ("crf++", with_template("U:%x[@1,0]\n", "U:a"), "found %x.@1,0. in"),
        ("crf++", with_template("U:%x[-9,0]\n", "U:a"), "with rows from -8 to 8, found %x.-9,0. in"),
        ("crf++", with_template("U :%x[0,0]\n", "U :a"), "expected text of at most 8 kB without whitespace"),
        ("crf++", with_template("U:%x[0,0]\n"), "at least one nonzero weight, found none"),
    ],
)
def test_what_cannot_be_expressed(tool, model, expected, tmp_path):
    with pytest.raises(InputError, match=expected):
        WRITERS[tool](model, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def peer(name):
    return pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not installed")


def last_column(text):
    return [line.split()[-1] if line else "" for line in text.rstrip("\n").split("\n")]


def labelled_by(*command):
    done = subprocess.run(command, capture_output=True, check=True, timeout=60)
    return last_column(done.stdout.decode())


@pytest.mark.parametrize(
    ("tool", "commands"),
    [
        pytest.param("wapiti", [["wapiti", "label", "-m", "theirs", "in.txt"]], marks=peer("wapiti")),
        pytest.param(
            "crf++",
            [["crf_learn", "-C", "theirs", "binary"], ["crf_test", "-m", "binary", "in.txt"]],
            marks=[peer("crf_learn"), peer("crf_test")],
        ),
    ],
)
def test_the_tools_give_the_same_labels(tool, commands, trained, program):
    trained(BOUNDARY[tool])
    observed = [[row[:-1] for row in rows] for rows in sentences(60, seed=2)]
    program.write(in_txt=column_text(observed))
    assert program("convert", "m", "theirs", "--from", "sparsecrf", "--to", tool).status == 0
    *before, ask = commands
    for command in before:
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    assert labelled_by(*ask) == last_column(program("label", "-m", "m", "in.txt").out)
    if tool == "crf++":
        assert program("convert", "binary", "back", "--from", tool, "--to", "sparsecrf").status == 0
        assert_same_answers(Model.load("m"), Model.load("back"), 1e-5)


def test_crfpp_binary_model(program):
    program.write(m_crf=crfpp_binary(), a_txt="é\nz\n\nz\né\n")
    assert program("convert", "m.crf", "m", "--from", "crf++", "--to", "sparsecrf").status == 0
    model = Model.load("m")
    assert model.labels == ["N", "V"]
    assert model.transitions()[:2].tolist() == [[0, -0.75], [0.125, 0]]
    names = model.vocabulary.attributes
    assert {names[k] for k in range(len(names))} == {"B", "U:é"}
    assert model.template.text == "U:%x[0,0]\nB\n"
    assert program("label", "-m", "m", "a.txt").out.split() == ["é", "N", "z", "N", "z", "V", "é", "N"]
    refused = program("label", "-m", "m.crf", "a.txt")
    assert (refused.status, "found a model of CRF++; `sparsecrf convert m.crf NEW --from crf++" in refused.err) == (
        1,
        True,
    )


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (crfpp_binary()[:20], "expected a model of CRF"),
        (crfpp_binary()[:-1], "expected a complete CRF"),
        (crfpp_binary(maxid=7), "expected a complete CRF"),
        (crfpp_binary(labels=b"N\0V\0XX"), "labels: expected 6 bytes"),
        (crfpp_binary(entries={b"B": 0, b"U:a": 5}), "first weights below 6, found 'U:a' with 5"),
        (crfpp_binary(entries={b"B": 0, b"X:a": 4}), "first weights below 6, found 'X:a'"),
        (crfpp_binary(entries={b"B": 0, b"U:a": 0, b"U:b": 2}), "separate weights for each attribute"),
        (crfpp_binary(entries={b"B": 0, b"U:\xe9": 4}), "expected UTF-8, found byte 0xe9"),
        (crfpp_binary(w=(0, 0, 0, 0, np.nan, 0)), "expected finite weights"),
        (crfpp_binary(trie=struct.pack("<iIiI", 1, 0, 1, 1)), "expected names in a trie"),
        (crfpp_binary(trie=struct.pack("<iIiIiI", 1, 0, 0, 0, 1, 1)), "expected names in a trie"),  # a loop
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_damaged_crfpp_binary_models(data, expected, tmp_path):
    path = tmp_path / "model"
    path.write_bytes(data)
    with pytest.raises(InputError, match=expected) as error:
        read_crfpp(path)
    assert str(error.value).startswith(str(path))


def test_a_crfpp_binary_model_cannot_expand_without_limit(tmp_path):
    """Names that are all beginnings of one long name take 16 bytes each in the file, and thousands in memory."""
    path, depth = tmp_path / "model", 9000
    path.write_bytes(crfpp_binary(trie=beginnings(200), w=(1,) * 400))
    assert len(read_crfpp(path).vocabulary.attributes) == 200
    path.write_bytes(crfpp_binary(trie=beginnings(depth), w=(1,) * 2 * depth))
    with pytest.raises(InputError, match=r"expected names of at most \d+ bytes in total .* found more"):
        read_crfpp(path)


def beginnings(depth):
    """The trie of U, Ub, Ubb, ...: names end at odd places, and branches are at even ones."""
    root = 2 * depth + 1000
    units = np.zeros(root + 300, dtype=[("base", "<i4"), ("check", "<u4")])
    units["base"][0] = root
    units[root + ord("U") + 1] = (1, root)
    for k in range(depth):
        units[2 * k + 1] = (-2 * k - 1, 2 * k + 1)
        if k + 1 < depth:
            units[2 * k + 2 + ord("b")] = (2 * k + 3, 2 * k + 1)
    return units.tobytes()


@pytest.mark.slow
def test_flipped_bytes_of_crfpp_binary_models(tmp_path):
    """There is no digest, so that a wrong weight is not found; but nothing worse than an error happens."""
    whole, path = crfpp_binary(), tmp_path / "model"
    rng = np.random.default_rng(0)
    for place in [*range(60), *rng.integers(0, len(whole), 300)]:
        data = bytearray(whole)
        data[place] ^= 0xFF
        path.write_bytes(data)
        with suppress(InputError):
            read_crfpp(path)


def test_a_crfpp_model_takes_more_columns_than_it_uses(program):
    """xsize is the highest column that the template uses."""
    program.write(m_crf=crfpp_binary(), a_txt="é x y z\nz x y z\n")
    assert program("convert", "m.crf", "m", "--from", "crf++", "--to", "sparsecrf").status == 0
    labelled = program("label", "-m", "m", "a.txt")
    assert labelled.out.split() == ["é", "x", "y", "z", "N", "z", "x", "y", "z", "N"]


@pytest.mark.parametrize("write", [write_wapiti, write_crfpp])
@pytest.mark.parametrize(
    ("unigram", "bigram", "expected"),
    [
        ({("B:a", "X"): 1.0}, {}, "weights of labels to begin with U, u or"),
        ({("", "X"): 1.0}, {}, "weights of labels to begin with U, u or .*found ''"),
        ({}, {("U:a", "O", "X"): 1.0}, "weights of label pairs to begin with B, b or .*found 'U:a'"),
    ],
)
def test_attributes_that_no_line_makes(write, unigram, bigram, expected, tmp_path):
    """A line's first letter says what its attributes condition; a model made by hand may say otherwise."""
    made = Model.from_weights(["O", "X"], unigram, bigram, start=False)
    boundary = "wapiti" if write is write_wapiti else "crf++"
    model = Model(made.vocabulary, made.features, made.w, template=Template("U:%x[0,0]\nB\n", boundary), n_columns=1)
    with pytest.raises(InputError, match=expected):
        write(model, tmp_path / "model")
