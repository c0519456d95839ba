"""Formats of data files: how one is chosen, and that a new one needs a class and a line in the registry."""

import io

import pytest

from program import Program
from sparsecrf import InputError, Model, encode_folder
from sparsecrf.encoding.convert import converted
from sparsecrf.encoding.encode import encode_files
from sparsecrf.encoding.formats import COLUMNS, CRFSUITE, FORMATS, Format, format_named, format_of
from sparsecrf.files.text import pieces


class Slashes(Format):
    """A format as someone might add it: word/LABEL a line."""

    name = "slashes"
    title = "slash"
    suffix = ".slashes"

    def add(self, encoder, piece, source, layout):
        lines = (line.rpartition("/")[::2] for line in piece.data.decode().splitlines())
        text = "".join(f"{label}\t{word}\n" if word else "\n" for word, label in lines)
        return CRFSUITE.add(encoder, piece._replace(data=text.encode()), source, layout)

    def read(self, source, template=None):
        for piece in pieces(source):
            for sequence in piece.data.decode().strip().split("\n\n"):
                tokens = [line.rpartition("/") for line in sequence.split("\n")]
                yield [[(word, 1.0)] for word, _, _ in tokens], [label for _, _, label in tokens]

    def write(self, sequences, source):
        for tokens, labels in sequences:
            yield from (f"{attributes[0][0]}/{label}\n" for attributes, label in zip(tokens, labels, strict=True))
            yield "\n"


WORDS = "a/A\nb/B\n\nb/B\na/A\na/A\n\n"
ATTRIBUTES = "A\ta\nB\tb\n\nB\tb\nA\ta\nA\ta\n\n"


@pytest.fixture
def slashes(monkeypatch):
    monkeypatch.setitem(FORMATS, "slashes", Slashes())
    return FORMATS["slashes"]


@pytest.fixture
def files(tmp_path, monkeypatch, capsys):
    program = Program(tmp_path, monkeypatch, capsys)
    program.write(d_slashes=WORDS, d_txt=WORDS, d_crfsuite=ATTRIBUTES)
    return program


def content(file):
    model = Model.load(file)
    names = model.vocabulary.attributes
    return model.w.tolist(), model.features.numbers.tolist(), model.labels, [names[k] for k in range(len(names))]


@pytest.mark.parametrize(
    "more",
    [
        ["d.slashes"],
        ["d.txt", "--format", "slashes"],
        ["d.slashes", "--dev", "d.slashes"],
        ["d.slashes", "--cache", "folder"],
    ],
)
def test_a_new_format_is_read_like_the_others(slashes, files, more):
    assert files("train", "d.crfsuite", "-m", "expected").status == 0
    done = files("train", *more, "-m", "found")
    assert done.status == 0, done.err
    assert content("found") == content("expected")


def test_a_new_format_is_converted(slashes):
    there = "".join(converted(io.BytesIO(WORDS.encode()), slashes, CRFSUITE))
    assert there == ATTRIBUTES
    assert "".join(converted(io.BytesIO(there.encode()), CRFSUITE, slashes)) == WORDS
    assert "".join(converted(io.BytesIO(WORDS.encode()), slashes, COLUMNS)) == WORDS.replace("/", " ")


def test_a_new_format_makes_folders_of_its_own(slashes, files):
    """The same bytes in another format are other data."""
    by_name = [encode_folder("folder", ["d.crfsuite"], format=name).recipe for name in ("columns", "crfsuite")]
    assert encode_folder("folder", ["d.crfsuite"], crfsuite=True).recipe == by_name[1]
    assert by_name[0] != by_name[1]


def test_the_name_of_a_file_says_its_format(slashes):
    assert format_of("a/d.crfsuite") is CRFSUITE
    assert format_of("d.slashes") is slashes
    assert [format_of(name) for name in ("d.txt", "-", "crfsuite")] == [COLUMNS] * 3


def test_names_that_are_none():
    with pytest.raises(InputError, match="--format: expected columns or crfsuite, found 'xml'"):
        format_named("xml", "--format")
    with pytest.raises(InputError, match="format: expected columns or crfsuite, found 'xml'"):
        encode_folder("folder", ["d.txt"], format="xml")


def test_a_template_is_refused_where_it_makes_nothing():
    COLUMNS.check_template("file", "--template")
    CRFSUITE.check_template(None, "--template")
    with pytest.raises(InputError, match="--template: expected none for CRFsuite files, which have attributes"):
        CRFSUITE.check_template("file", "--template")


def test_the_layout_is_learnt_from_the_first_lines():
    columns = encode_files(COLUMNS, [io.BytesIO(b"\n\na b X\n")], COLUMNS.vocabulary(True), grow=True)
    assert (columns.n_columns, columns.template.text) == (3, COLUMNS.template_for(None, 2).text)
    own = encode_files(CRFSUITE, [io.BytesIO(b"X\ta\tb\n")], CRFSUITE.vocabulary(True), grow=True)
    assert (own.n_columns, own.template) == (0, None)
