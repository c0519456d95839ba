"""Column files of documents, as CoNLL has them: a sequence that begins with -DOCSTART- begins a document.

The token is the first column, the label the last. Tokens get the columns of `with_mentions`: where else in the document
they stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from sparsecrf._core import InputError, whole_sequences
from sparsecrf.encoding.formats.records import Answer, Record, Records, read_records, text_lines
from sparsecrf.encoding.mentions import N_MENTION_COLUMNS, NO_MENTION, with_mentions
from sparsecrf.files.text import PIECE_BYTES, Piece, Source, pieces

MARK = "-DOCSTART-"  #: the first token of a document
_MARK, _BLANKS = MARK.encode(), b" \t\v\f\r"
_CELL = re.compile(r"[^ \t-\r]+")  # not other space, which a word may have in it

#: Sequences of a document. What comes after them is taken sentence by sentence, so that a file with a single mark need
#: not be in memory as a whole.
_MOST = 500


class Documents(Records):
    """Columns in documents."""

    name = "documents"
    title = "document"
    default_features = "documents"

    def pieces(self, source: Source, size: int = PIECE_BYTES) -> Iterator[Piece]:
        return pieces(source, size, _whole_documents, from_start=True)

    def records(self, piece: Piece, source: str, labelled: bool) -> Iterator[Record]:
        document: list[_Sequence] = []
        for sequence in _sequences(piece, source, labelled):
            if sequence.is_mark or (document and not document[0].is_mark) or len(document) == _MOST:
                yield from _with_mentions(document)
                document = []
            document.append(sequence)
        yield from _with_mentions(document)

    def text(self, rows: list[list[str]], labels: list[str]) -> str:
        for row, label in zip(rows, labels, strict=True):
            if len(row) not in (1, 1 + N_MENTION_COLUMNS) or any(cell.split() != [cell] for cell in (row[0], label)):
                raise InputError(
                    "expected a token of one word without blanks, and a label without blanks, found "
                    f"{' '.join(row)!r:.60} and {label!r:.60}"
                )
        return "".join(f"{row[0]} {label}\n" for row, label in zip(rows, labels, strict=True)) + "\n"


class _Sequence(Record):
    def __init__(self, lines: list[str], first: int, source: str, labelled: bool) -> None:
        self.line, self._lines = first, lines
        cells = [_CELL.findall(line) for line in lines]
        if labelled:
            for k, found in enumerate(cells):
                if len(found) < 2:
                    where = f"{source}, line {first + k}"
                    raise InputError(f"{where}: expected a word and, last, its label, found {found[0]!r:.60}")
            self.labels = [found[-1] for found in cells]
        self.words = [found[0] for found in cells]
        self.is_mark = self.words[0] == MARK

    def filled(self, answer: Answer) -> str:
        made = []
        for t, (line, label) in enumerate(zip(self._lines, answer.labels, strict=True)):
            cells = [line, label] if answer.probabilities is None else [line, label, f"{answer.probabilities[t]:.6f}"]
            made.append(("\t" if "\t" in line else " ").join(cells) + "\n")
        return "".join(made) + "\n"


def _sequences(piece: Piece, source: str, labelled: bool) -> Iterator[_Sequence]:
    lines, first = list[str](), piece.line
    for number, line in enumerate([*text_lines(piece, source), ""], piece.line):
        if _CELL.search(line):
            first = first if lines else number
            lines.append(line)
        elif lines:
            yield _Sequence(lines, first, source, labelled)
            lines = []


def _with_mentions(document: list[_Sequence]) -> list[_Sequence]:
    """The sequences of a document, or one that belongs to none, with their rows."""
    if document and document[0].is_mark:
        for sequence, rows in zip(document, with_mentions([one.words for one in document]), strict=True):
            sequence.rows = rows
    else:
        for sequence in document:
            sequence.rows = [[word, *[NO_MENTION] * N_MENTION_COLUMNS] for word in sequence.words]
    return document


def _whole_documents(data: bytes) -> int:
    """How many of the bytes, which begin where a document does or outside of any, are whole documents."""
    at = len(data)
    while (at := data.rfind(_MARK, 0, at)) > 0:
        if _begins_sequence(data, at):
            return at
    end = whole_sequences(data)
    goes_on = data.lstrip(b"\xef\xbb\xbf" + _BLANKS + b"\n").startswith(_MARK) and _n_sequences(data[:end]) <= _MOST
    return 0 if goes_on else end


def _begins_sequence(data: bytes, at: int) -> bool:
    """Whether the mark at this byte is a whole cell, the first of a sequence."""
    before, here = data.rfind(b"\n", 0, max(0, at - 1)) + 1, data[at + len(_MARK) : at + len(_MARK) + 1]
    return here.isspace() and data[at - 1 : at] == b"\n" and not data[before:at].strip()


def _n_sequences(data: bytes) -> int:
    """The number of sequences that a blank line ends."""
    blank = [not line.strip() for line in data.split(b"\n")]
    return sum(ends and not before for before, ends in pairwise(blank))


def read_documents(source: Source) -> Iterator[tuple[list[list[str]], list[str | None]]]:
    """Read a column file of documents sequence by sequence: rows with the columns of `with_mentions`, and labels.

    A sequence that begins with -DOCSTART- begins a document; sequences before the first belong to none. The word is the
    first column, the label the last; others are not read. `source` is a path, "-" (standard input) or a file open for
    bytes.
    """
    return read_records(Documents(), source)
