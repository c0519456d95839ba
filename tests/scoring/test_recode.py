"""Chunk labels from one scheme to another."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparsecrf import InputError
from sparsecrf.chunks import END, START, ChunkReader, recode
from sparsecrf.cli.convert import converted
from sparsecrf.encoding.formats import COLUMNS, CRFSUITE

SCHEMES = ("iob1", "iob2", "iobes")
#: Consecutive chunks without gaps: type (None: no chunk) and length.
runs = st.lists(st.tuples(st.sampled_from([None, "PER", "LOC-X"]), st.integers(1, 4)), max_size=6)


def written(pieces, scheme):
    """The labels of a scheme, by its definition."""
    labels, last = [], None
    for kind, length in pieces:
        if kind is None:
            labels += ["O"] * length
        elif scheme == "iob1":
            labels += [("B-" if last == kind else "I-") + kind] + ["I-" + kind] * (length - 1)
        elif scheme == "iob2" or length == 1:
            labels += [("B-" if scheme == "iob2" else "S-") + kind] + ["I-" + kind] * (length - 1)
        else:
            labels += ["B-" + kind] + ["I-" + kind] * (length - 2) + ["E-" + kind]
        last = kind
    return labels


@given(runs, st.sampled_from(SCHEMES), st.sampled_from(SCHEMES))
def test_from_any_scheme_to_any(pieces, source, target):
    assert recode(written(pieces, source), target) == written(pieces, target)
    assert recode(written(pieces, source), target, source) == written(pieces, target)


@given(st.lists(st.sampled_from(["O", "B-a", "I-a", "E-a", "S-a", "B-b", "I-b", "E-b"]), max_size=12))
def test_labels_in_impossible_places_keep_their_reading(labels):
    def chunks(labels):
        marks = ChunkReader("conlleval").marks(labels)
        return [
            (t, next(u for u in range(t + 1, len(labels) + 1) if marks[u] & END), labels[t][2:])
            for t in range(len(labels))
            if marks[t] & START
        ]

    for target in SCHEMES:
        assert chunks(recode(labels, target)) == chunks(labels)


def test_labels_without_types():
    assert recode(["B", "I", "O", "B", "B"], "iobes") == ["B", "E", "O", "S", "S"]
    assert recode([], "iobes") == []


def test_brackets_are_chunks_of_their_own():
    assert recode(["I-a", "[-a", "]-b"], "iob1") == ["I-a", "B-a", "I-b"]


@pytest.mark.parametrize(
    "labels", [["NN", "VB"], ["B-LOC", "NN"], ["B-LOC", None], ["O", 3], ["X-LOC"], ["B", "B_LOC"]]
)
def test_labels_that_are_no_chunk_labels(labels):
    with pytest.raises(InputError, match=r"position \d: expected a chunk label \(O, B-TYPE, I-TYPE, \.\.\.\), found"):
        recode(labels, "iob2")


def test_points_are_outside():
    assert recode(["B", ".", "I", "O"], "iobes") == ["S", "O", "S", "O"]


def test_fields_become_chunks():
    assert recode(["I-<title>", "<title>", "<other>"], "iobes", "grobid") == ["B-<title>", "E-<title>", "O"]
    assert recode(["x", "x", "O", "y"], "iob2", "runs") == ["B-x", "I-x", "O", "B-y"]


def test_wrong_schemes():
    with pytest.raises(InputError, match=r"scheme: expected.*labels encode chunks.*found none"):
        recode(["O"], "iob2", "none")
    with pytest.raises(InputError, match="to: expected one of iob1, iob2, iobes, found runs"):
        recode(["O"], "runs")
    with pytest.raises(InputError, match="scheme: expected one of"):
        recode(["O"], "bilou")


@pytest.mark.parametrize(
    ("write", "expected"), [(COLUMNS, "a x B-P\nb y E-P\n\nc z O\n\n"), (CRFSUITE, "B-P\tU0\\:a\tU1\\:x\n")]
)
def test_files(write, expected):
    text = "".join(converted(io.BytesIO(b"a x I-P\nb y I-P\n\nc z O\n"), COLUMNS, write, chunks="iobes"))
    assert text.startswith(expected)


def test_files_without_chunks_are_refused():
    source = io.BytesIO(b"a I-P\n\nb NN\n")
    source.name = "f.txt"
    with pytest.raises(InputError, match=r"f\.txt, sequence 1, position 0: expected a chunk label .*, found 'NN'"):
        list(converted(source, COLUMNS, COLUMNS, chunks="iob2"))


@pytest.mark.slow
def test_the_program(program, tmp_path):
    file, made = tmp_path / "in.txt", tmp_path / "out.txt"
    file.write_text("a I-P\nb I-P\n\nc I-Q\n")
    both = ["--from", "columns", "--to", "columns"]
    assert program("convert", str(file), str(made), *both, "--chunks", "iobes").status == 0
    assert made.read_text() == "a B-P\nb E-P\n\nc S-Q\n\n"
    assert (
        "expected iob1, iob2 or iobes, found bilou"
        in program("convert", str(file), str(made), *both, "--chunks", "bilou").err
    )
    assert "expected two different formats" in program("convert", str(file), str(made), *both).err
    treebank = ["--from", "conllu", "--to", "conllu"]
    assert (
        "expected two different formats" in program("convert", str(file), str(made), *treebank, "--chunks", "iob2").err
    )
    models = ["--from", "sparsecrf", "--to", "wapiti"]
    assert "not supported for models" in program("convert", str(file), str(made), *models, "--chunks", "iob2").err
