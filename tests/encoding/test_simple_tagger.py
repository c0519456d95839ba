"""Files of MALLET's SimpleTagger: read as CRFsuite's with the same attributes would be."""

import io

import pytest

from sparsecrf import InputError, Model
from sparsecrf.cli.convert import converted
from sparsecrf.encoding.formats import COLUMNS, CRFSUITE, format_named

SIMPLE = format_named("simpletagger")
TEXT = "Bill CAPITALIZED noun\nslept non-noun\n\nhere:now a\\b LOWERCASE LOWERCASE non-noun\r\n"
AS_CRFSUITE = "noun\tBill\tCAPITALIZED\nnon-noun\tslept\n\nnon-noun\there\\:now\ta\\\\b\tLOWERCASE\n"


def test_the_same_model_as_from_crfsuites_files(program):
    program.write(data_txt="\ufeff" + f"{TEXT}\n" * 5, data_crfsuite=f"{AS_CRFSUITE}\n" * 5)
    for name, options in (("data.txt", ("--format", "simpletagger")), ("data.crfsuite", ())):
        assert program("train", name, "-m", f"{name}.model", "--rho1", "0.01", "--rho2", "0.1", *options).status == 0
    ours, theirs = (Model.load(program.directory / f"{name}.model") for name in ("data.txt", "data.crfsuite"))
    assert ours.labels == theirs.labels
    assert ours.w.tolist() == theirs.w.tolist()
    evaluated = program("eval", "-m", "data.txt.model", "data.txt", "--format", "simpletagger")
    assert evaluated.out == program("eval", "-m", "data.txt.model", "data.crfsuite").out
    labelled = program("label", "-m", "data.txt.model", "data.txt", "--format", "simpletagger")
    assert labelled.out == program("label", "-m", "data.txt.model", "data.crfsuite").out
    assert labelled.out.startswith("noun\tnoun\nnon-noun\tnon-noun\n\nnon-noun\tnon-noun\n")


def test_files_without_labels(program):
    """Every word is a feature, as SimpleTagger has it without --train and --test."""
    program.write(data_txt=f"{TEXT}\n" * 5, new_txt="Bill CAPITALIZED\nslept\n")
    program("train", "data.txt", "-m", "model", "--rho1", "0.01", "--rho2", "0.1", "--format", "simpletagger")
    found = program("label", "-m", "model", "new.txt", "--format", "simpletagger:unlabelled")
    assert found.out == "_\tnoun\n_\tnon-noun\n\n"
    wrong = program("label", "-m", "model", "new.txt", "--format", "simpletagger:other")
    assert wrong.status != 0
    assert "expected simpletagger or simpletagger:unlabelled, found simpletagger:other" in " ".join(wrong.err.split())


def test_conversion():
    assert "".join(converted(io.BytesIO(TEXT.encode()), SIMPLE, CRFSUITE)) == AS_CRFSUITE + "\n"
    back = "".join(converted(io.BytesIO(AS_CRFSUITE.encode()), CRFSUITE, SIMPLE))
    assert back == TEXT.replace(" LOWERCASE LOWERCASE", " LOWERCASE").replace("\r", "") + "\n"
    assert "".join(converted(io.BytesIO(b"a b X\n"), COLUMNS, SIMPLE)) == "U0:a U1:b X\n\n"
    wide = "a\u3000b X\n\n".encode()  # no blank of ASCII: one feature
    assert "".join(converted(io.BytesIO(wide), SIMPLE, format_named("crfsuite"))) == "X\ta\u3000b\n\n"
    assert "".join(converted(io.BytesIO("X\ta\u3000b\n".encode()), CRFSUITE, SIMPLE)) == wide.decode()


@pytest.mark.parametrize(
    ("line", "found"), [("X\ta:2", "a:2.0"), ("X\ta b", "'a b'"), ("X Y\ta", "'X Y'"), ("\x0b\ta", "'\\x0b'")]
)
def test_what_has_no_place(line, found):
    with pytest.raises(InputError) as caught:
        list(converted(io.BytesIO(line.encode()), CRFSUITE, SIMPLE))
    assert str(caught.value).endswith(
        f"sequence 0, position 0: expected attributes without values and names without whitespace, found {found}"
    )


def test_cuts_are_counted_in_bytes_of_the_file():
    raw = TEXT.encode()
    assert b"".join(piece.data for piece in SIMPLE.pieces(io.BytesIO(raw), inside=True)) == raw
    assert b"".join(piece.data for piece in SIMPLE.pieces(io.BytesIO(raw))) == AS_CRFSUITE.encode()
