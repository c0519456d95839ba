"""Column files of documents, as in CoNLL-2003: a sequence that begins with -DOCSTART- begins a document.

The token is the first column, and the label is the last column. Rows consist of the token, the columns of
`with_mentions`, which describe its other mentions in the document, and the other columns of the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from sparsecrf._core import InputError, whole_sequences
from sparsecrf.encoding.formats.records import Answer, Record, Records, read_records, text_lines
from sparsecrf.encoding.mentions import N_MENTION_COLUMNS, NO_MENTION, with_mentions
from sparsecrf.files.columns import CELL
from sparsecrf.files.text import PIECE_BYTES, Piece, Source, growing_pieces

MARK = "-DOCSTART-"  #: the first token of a document
_MARK = MARK.encode()

#: Maximum number of sequences of a document, including the sequence of the mark. Later sequences are read one by one,
#: so that a file with a single mark need not fit into memory.
_MOST = 500


class Documents(Records):
    """Column files that are divided into documents."""

    name = "documents"
    title = "document"
    token_a_line = True
    default_features = "documents"
    core = ("documents", "")

    def pieces(self, source: Source, size: int = PIECE_BYTES, *, inside: bool = False) -> Iterator[Piece]:
        return growing_pieces(source, size, _end_within if inside else _whole_documents)

    def independent(self, piece: Piece) -> Iterator[Piece]:
        begin, line = 0, piece.line
        for at in [*_marks(piece.data), len(piece.data)]:
            if at > begin:
                yield Piece(piece.data[begin:at], line)
                line += piece.data.count(b"\n", begin, at)
                begin = at

    def records(self, piece: Piece, source: str, labelled: bool) -> Iterator[Record]:
        document: list[_Sequence] = []
        for sequence in _sequences(piece, source, labelled):
            if sequence.is_mark or (document and not document[0].is_mark) or len(document) == _MOST:
                yield from _with_mentions(document)
                document = []
            document.append(sequence)
        yield from _with_mentions(document)

    def fit_columns(self, record: Record, n_columns: int, source: str) -> None:
        found, expected, labelled = len(record.rows[0]), n_columns, record.labels is not None
        if found == expected + 1 and not labelled:  # the last column is a label, which is not needed
            record.rows = [row[:-1] for row in record.rows]
        elif found != expected:
            observed = _counted(expected - N_MENTION_COLUMNS)
            label = "as in training and then the label" if labelled else "as in training, or one more with the label"
            raise InputError(
                f"{source}, line {record.line}: expected {observed} {label}, found "
                f"{_counted(found - N_MENTION_COLUMNS + labelled)} (one token per line, a blank line between sequences)"
            )

    def text(self, rows: list[list[str]], labels: list[str]) -> str:
        lines = [[*row, label] for row, label in zip(rows, labels, strict=True)]
        for line in lines:
            for cell in line:
                if CELL.fullmatch(cell) is None:
                    raise InputError(f"expected text without whitespace, found {cell!r:.60}")
        return "".join(" ".join(line) + "\n" for line in lines) + "\n"


class _Sequence(Record):
    def __init__(self, lines: list[str], first: int, cells: list[list[str]], labelled: bool) -> None:
        self.line, self._lines, self.is_mark = first, lines, cells[0][0] == MARK
        if labelled:
            self.labels = [found[-1] for found in cells]
        self.rows = [found[:-1] for found in cells] if labelled else cells

    def filled(self, answer: Answer) -> str:
        made = []
        for t, (line, label) in enumerate(zip(self._lines, answer.labels, strict=True)):
            cells = [line, label] if answer.probabilities is None else [line, label, f"{answer.probabilities[t]:.6f}"]
            made.append(("\t" if "\t" in line else " ").join(cells) + "\n")
        return "".join(made) + "\n"


def _sequences(piece: Piece, source: str, labelled: bool) -> Iterator[_Sequence]:
    """The sequences of a piece, without their mentions. All lines must have as many columns as the first."""
    lines, cells = list[str](), list[list[str]]()
    width = of_line = 0
    for number, line in enumerate([*text_lines(piece, source), ""], piece.line):
        found = CELL.findall(line)
        if found:
            if width == 0:
                width, of_line = len(found), number
            if len(found) != width:
                expected = f"{_counted(width)} as in line {of_line}"
                raise InputError(f"{source}, line {number}: expected {expected}, found {len(found)}: {line!r:.60}")
            if labelled and width < 2:
                raise InputError(
                    f"{source}, line {number}: expected a word first and its label last, found {line!r:.60}"
                )
            lines.append(line)
            cells.append(found)
        elif lines:
            yield _Sequence(lines, number - len(lines), cells, labelled)
            lines, cells = [], []


def _with_mentions(document: list[_Sequence]) -> list[_Sequence]:
    """The sequences of a document (or one sequence outside any document), with the columns of mentions."""
    if document and document[0].is_mark:
        for sequence, rows in zip(document, with_mentions([one.rows for one in document]), strict=True):
            sequence.rows = rows
    else:
        for sequence in document:
            sequence.rows = [[row[0], *[NO_MENTION] * N_MENTION_COLUMNS, *row[1:]] for row in sequence.rows]
    return document


def _counted(n: int) -> str:
    return "1 column" if n == 1 else f"{n} columns"


def _whole_documents(data: bytearray, looked_at: int) -> int:
    """The number of bytes that form whole documents; the bytes begin at a document or outside any document.

    The first `looked_at` bytes are known to contain no end of a document.
    """
    if (end := _end_within(data, looked_at)) > 0:
        return end
    if not data.lstrip(b"\xef\xbb\xbf \t\n\v\f\r").startswith(_MARK):
        return whole_sequences(bytes(data))
    # Counting is slow, so it is repeated only when the number of bytes has doubled.
    if (len(data) >> 12).bit_length() == (looked_at >> 12).bit_length():
        return 0
    end = whole_sequences(bytes(data))
    return end if _n_sequences(data[:end]) > _MOST else 0


def _end_within(data: bytearray, looked_at: int) -> int:
    """The offset at which the last document begins, in bytes that may begin anywhere; 0 if no document begins."""
    return max(_marks(data, max(0, data.rfind(b"\n", 0, looked_at))), default=0)


def _marks(data: bytes | bytearray, begin: int = 0) -> Iterator[int]:
    """The offsets at which documents begin, except the first line. A document begins with a mark after a blank line."""
    at = begin
    while (at := data.find(_MARK, at)) >= 0:
        line = data.rfind(b"\n", 0, at) + 1
        before = data.rfind(b"\n", 0, max(0, line - 1)) + 1
        at += len(_MARK)
        if line > 0 and data[at : at + 1].isspace() and not data[before : at - len(_MARK)].strip():
            yield line


def _n_sequences(data: bytearray) -> int:
    """The number of sequences that end with a blank line."""
    blank = [not line.strip() for line in data.split(b"\n")]
    return sum(ends and not before for before, ends in pairwise(blank))


def read_documents(source: Source) -> Iterator[tuple[list[list[str]], list[str | None]]]:
    """Read a column file of documents sequence by sequence: rows with the columns of `with_mentions`, and labels.

    A sequence that begins with -DOCSTART- begins a document; sequences before the first mark belong to no document. The
    word is the first column, and the label is the last; other columns follow the columns of mentions. `source` is a
    path, "-" (standard input) or a file open for bytes.
    """
    return read_records(Documents(), source)
