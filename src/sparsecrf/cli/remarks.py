"""Warnings about input that is unlike the training data, lacks documents, or contains a header."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from sparsecrf._core import InputError
from sparsecrf.encoding.formats import COLUMNS, Format, Records, format_named, format_of
from sparsecrf.encoding.formats.documents import MARK, Documents
from sparsecrf.encoding.formats.plain_text import PlainText
from sparsecrf.encoding.token_survey import mismatch, tokenizer_of
from sparsecrf.files.charset import Charset
from sparsecrf.files.columns import read_columns
from sparsecrf.files.crfsuite import read_crfsuite
from sparsecrf.files.text import Piece
from sparsecrf.files.words import TOKENIZERS

if TYPE_CHECKING:
    from sparsecrf.model import Model
    from sparsecrf.shards.dataset import Dataset

_TOKENS = 100  # number of tokens to look at, which takes a few milliseconds after the output is written
# enough lines to contain these tokens, even with comments and blank lines
_FIRST_LINES = re.compile(rb"(?:[^\n]*\n){0,400}")
_FEWEST = 50  # minimum number of tokens, since one or two sentences may consist only of new words
_SHARE = 0.05
# To recognise the format of a file: the number of lines to inspect, the minimum, and the bytes to search for them.
_LINES, _FEWEST_LINES, _SHAPE_BYTES = 20, 3, 1 << 14


def unknown_remark(
    model: Model, format: Format, charset: Charset, piece: Piece, source: str, *, ragged: bool
) -> str | None:
    """A warning if the model contains almost none of the attributes of the first tokens of a file, else None.

    A model with few weights contains few attributes of any text, but then many attributes of the model occur in the
    text. The warning therefore requires both shares to be small. `piece` is the first piece of the file.
    """
    if model.vectors is not None or charset.is_bytes:
        return None  # the model also uses the vectors of words, or the data are bytes, not text
    n_tokens, found, find = 0, set[str](), model.vocabulary.attributes.find
    try:
        for attributes in _sequences(model, format, charset.decoded(piece, source), source, ragged):
            n_tokens += len(attributes)
            found.update(name for names in attributes for name in names)
            if n_tokens >= _TOKENS:
                break
    except InputError:
        return None  # already reported when it was labelled
    known = sum(find(name) is not None for name in found)
    if n_tokens < _FEWEST or known >= _SHARE * min(len(found), len(model.vocabulary.attributes)):
        return None
    return (
        f"sparsecrf: warning: {source}: the model contains {known:,} of the {len(found):,} different attributes of the "
        f"first {n_tokens:,} tokens; is this the kind of input that it was trained on? `sparsecrf show` lists "
        "the attributes of the model"
    )


def name_remark(format: Format, output: str) -> str | None:
    """A warning if the name of the output suggests another format than the one in which labels are written: the format
    of the input, or JSON lines if the input is plain text."""
    by_name = format_of(output)
    written = format_named("jsonl", "--format") if isinstance(format, PlainText) else format
    if by_name is COLUMNS or by_name.suffix == written.suffix:
        return None
    return (
        f"sparsecrf: warning: {output}: expected {by_name.title} data according to the file name, wrote "
        f"{written.title} data; `sparsecrf convert {output} NEW --from {written.name} --to {by_name.name}` changes the "
        "format"
    )


def tokenizer_remark(model: Model, format: Format, charset: Charset, first: Piece, source: str) -> str | None:
    """A warning if running text was tokenized differently from the training data, else None."""
    if not isinstance(format, Records) or format.tokenizer is None:
        return None
    said = mismatch(model.training, format.tokenizer)
    if said is None or not _has_text(format, charset, first, source):
        return None
    other = next(name for name in TOKENIZERS if name != format.tokenizer)
    advice = "; if the text is already tokenized, use --format tokens" if isinstance(format, PlainText) else ""
    if tokenizer_of(model.training) == other:
        advice = f"; --tokenizer {other} suits this model"
    return f"sparsecrf: warning: {source}: {said}{advice}"


def _has_text(format: Records, charset: Charset, first: Piece, source: str) -> bool:
    """Whether any record contains running text; JSON lines may contain tokens instead."""
    try:
        return any(record.has_spans for record in format.records(charset.decoded(first, source), source, False))
    except InputError:
        return False  # already reported when it was labelled


def _sequences(model: Model, format: Format, piece: Piece, source: str, ragged: bool) -> Iterator[list[list[str]]]:
    """The attributes of each of the first tokens, sequence by sequence; a long sequence may be cut off."""
    template = model.template
    begun = _FIRST_LINES.match(piece.data)
    if begun is not None and begun.end() > 0:
        piece = Piece(begun[0], piece.line)
    for one in format.sequences(piece):
        if template is None:
            for tokens, _ in read_crfsuite(BytesIO(one.data)):
                yield [[name for name, _ in token] for token in tokens]
        elif isinstance(format, Records):
            yield from (template.attributes(r.rows[:_TOKENS]) for r in format.records(one, source, False) if r.rows)
        else:
            yield from (template.attributes(rows) for rows in read_columns(BytesIO(one.data), ragged=ragged))


def shape_remark(model: Model, format: Format, first: Piece, source: str) -> str | None:
    """A warning if the first lines look like CSV, or like a column file that is read as plain text, else None."""
    text = first.data[:_SHAPE_BYTES].decode("utf-8", "replace")
    lines = [line.split() for line in text.splitlines() if line.strip()][:_LINES]
    if len(lines) < _FEWEST_LINES:
        return None
    if format is COLUMNS and all(len(cells) == 1 and "," in cells[0][1:-1] for cells in lines):
        return (
            f"sparsecrf: warning: {source}: every line is one column that contains a comma, as in CSV; columns are "
            "separated by spaces or tabs"
        )
    labels = set(model.labels)
    if isinstance(format, PlainText) and all(len(cells) > 1 and cells[-1] in labels for cells in lines):
        return (
            f"sparsecrf: warning: {source}: every line ends with a label, as in a column file, but was labelled as a "
            "sentence; if it contains one token per line, use --format columns"
        )
    return None


_FIRST_BYTES = 1 << 18  # number of bytes of a training file to look at


def has_documents(file: str) -> bool:
    """Whether the beginning of a training file contains documents."""
    if not os.path.isfile(file):
        return False
    with open(file, "rb") as opened:
        return opened.read(_FIRST_BYTES).count(f"\n{MARK}".encode()) >= 2


class SeenDocuments:
    """Checks whether a file contains documents, if the model that labels it expects them."""

    def __init__(self, format: Format, source: str) -> None:
        self._source, self._missing = source, isinstance(format, Documents)

    def watched(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        """Yield the pieces of the file unchanged, and look for documents in them."""
        for piece in pieces:
            self._missing = self._missing and MARK.encode() not in piece.data
            yield piece

    def look(self, rows: list[list[str]]) -> None:
        """Look for documents in the rows of one sequence."""
        self._missing = self._missing and rows[0][0] != MARK

    @property
    def remark(self) -> str | None:
        """A warning if the data contain no document mark, else None."""
        if not self._missing:
            return None
        return (
            f"sparsecrf: warning: {self._source}: expected documents that begin with {MARK}, as in training, found "
            "none; words were labelled without their other mentions, which lowers accuracy"
        )


#: Common names of columns.
_NAME = re.compile(
    "id|sentence(_id)?|text|tokens?|words?|form|lemma|[ux]?pos|pos_?tags?|feats|chunk|ner(_tags?)?|entity|tags?|"
    "labels?|class",
    re.IGNORECASE,
)
_HEADER_BYTES = 1 << 20  # number of bytes of a file to look at


def headers(data: Dataset, files: Sequence[str]) -> list[str]:
    """A warning for each file whose first line looks like a header: its last cell and at least one other cell are
    common column names, and no other line near the top ends with the same cell."""
    if data.template is None or not data.recipe.reader.token_a_line:
        return []  # the files have no columns
    found = {file: cells for file in files if os.path.isfile(file) and (cells := _header(_beginning(file)))}
    return [f"{_remark(file, cells)} with the label {cells[-1]!r}; remove it" for file, cells in found.items()]


def header_remark(format: Format, first: Piece, source: str) -> str | None:
    """The warning of `headers` about the first piece of a file that was labelled; None if the piece has no header."""
    cells = _header(first.data[:_HEADER_BYTES]) if format.token_a_line else []
    return f"sparsecrf: warning: {_remark(source, cells)}; remove it" if cells else None


def _remark(file: str, cells: list[str]) -> str:
    line = " ".join(cells)
    names = "looks like column names, but column files have no header"
    return f"{file}: the first line, {line!r:.60}, {names}; the line was read as a token"


def _beginning(file: str) -> bytes:
    with open(file, "rb") as opened:
        return opened.read(_HEADER_BYTES)


def _header(beginning: bytes) -> list[str]:
    """The cells of the first line, if they are column names; otherwise an empty list."""
    text = beginning.decode("utf-8-sig", "replace")
    lines = (cells for line in text.splitlines() if (cells := line.split()))
    first = next(lines, [])
    known = [_NAME.fullmatch(cell) is not None for cell in first]
    is_header = len(known) > 1 and known[-1] and any(known[:-1])
    return first if is_header and not any(cells[-1] == first[-1] for cells in lines) else []
