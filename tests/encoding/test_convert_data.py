"""Data files from columns to CRFsuite's format and back."""

import io

import pytest

from sparsecrf import InputError, Template
from sparsecrf.cli.convert import converted
from sparsecrf.encoding.formats import COLUMNS, CRFSUITE, base
from sparsecrf.files.crfsuite import read_crfsuite

TEXT = b"a:b D O\nc N B\n\nd\\ V O\n"
CRFSUITE_TEXT = b"O\ta\\:b\tD\nB\tc\tN\n\nO\td\tV\n"


def test_attributes_of_a_template():
    template = Template("U0:%x[0,0]\nB\nB01\nU1:%x[1,1]")
    text = "".join(converted(io.BytesIO(TEXT), COLUMNS, CRFSUITE, template))
    assert text == "O\tU0\\:a\\:b\tU1\\:N\nB\tU0\\:c\tU1\\:_B+1\n\nO\tU0\\:d\\\\\tU1\\:_B+1\n\n"
    tokens, labels = next(read_crfsuite(io.BytesIO(text.encode())))
    assert labels == ["O", "B"]
    assert tokens[0] == [("U0:a:b", 1.0), ("U1:N", 1.0)]


def test_columns_without_a_template():
    text = "".join(converted(io.BytesIO(TEXT), COLUMNS, CRFSUITE))
    assert text.splitlines()[0] == "O\tU0\\:a\\:b\tU1\\:D"


def test_columns_without_a_template_make_one_only(monkeypatch):
    made = []
    monkeypatch.setattr(base, "Template", lambda *given, **how: made.append(given) or Template(*given, **how))
    text = "".join(converted(io.BytesIO(b"a b c d e f g O\n\n" * 50), COLUMNS, CRFSUITE))
    assert text.count("U6\\:g") == 50
    assert len(made) <= 1  # 0: it was kept from before


def test_there_and_back():
    columns = "".join(converted(io.BytesIO(CRFSUITE_TEXT), CRFSUITE, COLUMNS))
    assert columns == "a:b D O\nc N B\n\nd V O\n\n"


@pytest.mark.parametrize("line", ["B1:%x[0,0]", "*", "*1:%x[0,0]"])
def test_attributes_of_pairs_have_no_place(line):
    with pytest.raises(InputError, match=r"template: expected no attributes that condition label pairs"):
        list(converted(io.BytesIO(TEXT), COLUMNS, CRFSUITE, Template(f"U\n{line}")))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            b"O\ta\n\nO\ta\tb\n",
            "input, sequence 1, position 0: expected 1 attribute, as at the previous positions, found 2",
        ),
        (b"O\ta:2\n", "sequence 0, position 0: expected attributes without values, found a:2.0"),
        (b"O\ta b\n", "sequence 0, position 0: expected text without whitespace, found 'a b'"),
        (b"a b\tx\n", "expected text without whitespace, found 'a b'"),
    ],
)
def test_what_columns_cannot_say(text, message):
    with pytest.raises(InputError, match=message):
        list(converted(io.BytesIO(text), CRFSUITE, COLUMNS))


def test_standard_output_and_the_input_itself(program):
    program.write(a_txt=TEXT)
    arguments = ["--from", "columns", "--to", "crfsuite"]
    assert program("convert", "a.txt", "b.txt", *arguments).status == 0
    done = program("convert", "a.txt", "-", *arguments)
    assert done.status == 0
    assert done.out == (program.directory / "b.txt").read_text(encoding="utf-8")
    done = program("convert", "a.txt", "a.txt", *arguments)
    assert done.status == 1
    assert "a.txt: this file is also an input; write to another file" in done.err
    assert (program.directory / "a.txt").read_bytes() == TEXT
