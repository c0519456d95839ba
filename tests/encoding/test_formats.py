"""Formats of data files: how one is chosen, and that a new one needs a class and a line in the registry."""

import io

import pytest
from model_content import content

from sparsecrf import InputError, encode_folder
from sparsecrf.cli.convert import converted
from sparsecrf.encoding.formats import COLUMNS, CRFSUITE, FORMATS, Records, format_named, format_of
from sparsecrf.encoding.formats.records import Record
from sparsecrf.encoding.recipe import Recipe
from sparsecrf.shards.dataset import encode_columns, encode_crfsuite


class Slashes(Records):
    """A format as someone might add it: word/LABEL a line."""

    name = "slashes"
    title = "slash"
    suffix = ".slashes"

    def records(self, piece, source, labelled):
        lines, first = [], piece.line
        for number, line in enumerate([*piece.data.decode().splitlines(), ""], piece.line):
            if line:
                lines.append(line)
            elif lines:
                yield Sentence(lines, first, labelled)
                lines, first = [], number + 1

    def text(self, rows, labels):
        return "".join(f"{row[0]}/{label}\n" for row, label in zip(rows, labels, strict=True)) + "\n"


class Sentence(Record):
    def __init__(self, lines, line, labelled):
        self.line, self._lines = line, lines
        self.rows = [[line.partition("/")[0]] for line in lines]
        if labelled:
            self.labels = [line.partition("/")[2] for line in lines]

    def filled(self, answer):
        return "".join(f"{row[0]}/{label}\n" for row, label in zip(self.rows, answer.labels, strict=True)) + "\n"


WORDS = "a/A\nb/B\n\nb/B\na/A\na/A\n\n"
COLUMN_TEXT = "a A\nb B\n\nb B\na A\na A\n\n"
ATTRIBUTES = "A\ta\nB\tb\n\nB\tb\nA\ta\nA\ta\n\n"


@pytest.fixture
def slashes(monkeypatch):
    monkeypatch.setitem(FORMATS, "slashes", Slashes())
    return FORMATS["slashes"]


@pytest.fixture
def files(program):
    program.write(d_slashes=WORDS, d_other=WORDS, d_txt=COLUMN_TEXT, d_crfsuite=ATTRIBUTES)
    return program


@pytest.mark.parametrize(
    "more",
    [
        ["d.slashes"],
        ["d.other", "--format", "slashes"],
        ["d.slashes", "--dev", "d.slashes"],
        ["d.slashes", "--cache", "folder"],
    ],
)
def test_a_new_format_is_read_like_the_others(slashes, files, more):
    assert files("train", "d.txt", "--features", "words", "-m", "expected").status == 0
    done = files("train", *more, "-m", "found")
    assert done.status == 0, done.err
    assert content("found") == content("expected")


def test_a_new_format_is_labelled_and_scored(slashes, files):
    assert files("train", "d.slashes", "-m", "m", "--rho1", "0.01").status == 0
    labelled = files("label", "-m", "m", "d.slashes", "-o", "found.slashes")
    assert labelled.status == 0, labelled.err
    assert (files.directory / "found.slashes").read_text() == WORDS
    assert files("label", "-m", "m", stdin=b"a\n\n").out == "a/A\n\n"  # as the data of training
    assert files("label", "-m", "m", "d.txt", "--format", "columns").out.startswith("a A A\n")
    for scored in (["d.slashes", "-m", "m"], ["found.slashes", "--gold", "d.slashes"]):
        assert '"token_error": 0.0' in files("eval", *scored, "--json").out
    report = files("report", "m", "--data", "d.slashes", "-o", "page.html")
    assert report.status == 0, report.err


def test_a_new_format_is_converted(slashes):
    def convert(text, read, write, template=None):
        return "".join(converted(io.BytesIO(text.encode()), read, write, template))

    assert convert(WORDS, slashes, COLUMNS) == COLUMN_TEXT
    assert convert(COLUMN_TEXT, COLUMNS, slashes) == WORDS
    assert convert(ATTRIBUTES, CRFSUITE, slashes) == WORDS
    assert convert(WORDS, slashes, CRFSUITE) == ATTRIBUTES.replace("\ta", "\tU0\\:a").replace("\tb", "\tU0\\:b")


def test_a_new_format_makes_folders_of_its_own(slashes, files):
    """The same bytes in another format are other data."""
    by_name = [encode_folder("folder", ["d.crfsuite"], format=name).recipe for name in ("columns", "crfsuite")]
    assert by_name[0] != by_name[1]


def test_the_name_of_a_file_says_its_format(slashes):
    assert format_of("a/d.crfsuite") is CRFSUITE
    assert format_of("d.slashes") is slashes
    assert [format_of(name) for name in ("d.txt", "-", "crfsuite")] == [COLUMNS] * 3


def test_names_that_are_none():
    names = "columns, crfsuite, conllu, jsonl, tokens, documents, simpletagger or text"
    with pytest.raises(InputError, match=f"--format: expected {names}, found 'xml'"):
        format_named("xml", "--format")
    with pytest.raises(
        InputError,
        match="format: expected columns, crfsuite, conllu, jsonl, tokens, documents, simpletagger or text, found 'xml'",
    ):
        encode_folder("folder", ["d.txt"], format="xml")


def test_a_template_is_refused_where_it_makes_nothing():
    COLUMNS.check_template("file", "--template")
    CRFSUITE.check_template(None, "--template")
    with pytest.raises(InputError, match="--template: not supported for CRFsuite files, which contain attributes"):
        CRFSUITE.check_template("file", "--template")


def test_the_layout_is_learnt_from_the_first_lines():
    columns = encode_columns([io.BytesIO(b"\n\na b X\n")], Recipe("columns").vocabulary(), grow=True)
    assert (columns.n_columns, columns.template.text) == (2, COLUMNS.template_for(None, 2).text)
    own = encode_crfsuite([io.BytesIO(b"X\ta\tb\n")], Recipe("crfsuite").vocabulary(), grow=True)
    assert (own.n_columns, own.template) == (0, None)
