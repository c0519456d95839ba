"""Reads the sequences of a file that a model is to judge, each with its original text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from sparsecrf._core import InputError, parse_columns, parse_crfsuite
from sparsecrf.encoding.formats import Format, Records
from sparsecrf.encoding.formats.documents import Documents
from sparsecrf.files.charset import Charset
from sparsecrf.files.text import Piece, Source, name_of
from sparsecrf.model import Model
from sparsecrf.model.format import charset_for, format_for, with_hint

_BOM = b"\xef\xbb\xbf"


class Pooled(NamedTuple):
    """A sequence of a pool."""

    text: bytes  #: the original text, in the encoding of the file
    tokens: list[Any]  #: in the form that `Model.encode` accepts


def read_pool(
    model: Model,
    source: Source,
    *,
    format: str | None = None,
    ragged: bool = False,
    encoding: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Pooled]:
    """The sequences of a file with or without labels, which are ignored. By default, the file name determines `format`
    or, if it does not, the training data do, and `encoding` is the same as in the training data. `progress` is called
    with the number of bytes read since its last call."""
    of, charset = format_for(model, source, format), charset_for(model, encoding)
    of.check_columns(ragged, charset.is_bytes, "--")
    model.check_text()
    if charset.is_bytes:
        raise InputError("--encoding bytes is not supported by suggest, which reads words; give another encoding")
    read = _Reader(model, of, charset, name_of(source), ragged)
    for piece in of.pieces(source):
        try:
            yield from read(piece)
        except InputError as error:
            raise with_hint(error, of, piece) from None
        if progress is not None:
            progress(len(piece.data))


class _Reader:
    """Reads pieces of a pool."""

    def __init__(self, model: Model, format: Format, charset: Charset, source: str, ragged: bool) -> None:
        self._model, self._format, self._charset, self._source = model, format, charset, source
        self._ragged, self._width = ragged, 0

    def __call__(self, piece: Piece) -> Iterator[Pooled]:
        format = self._format
        each: Iterable[tuple[Piece, list[Any]]]
        if isinstance(format, Documents):  # with the other sequences of the document as context
            each = zip(format.sequences(piece), self._records(format, piece), strict=True)
        else:
            each = ((one, self._tokens(one)) for one in format.sequences(piece))
        for one, tokens in each:
            yield Pooled(self._ended(one.data.removeprefix(_BOM)), tokens)

    def _tokens(self, one: Piece) -> list[Any]:
        if isinstance(self._format, Records):
            return next(iter(self._records(self._format, one)), [])
        text = self._charset.decoded(one, self._source)
        if not self._format.takes_template:
            return parse_crfsuite(text.data, self._source, one.line)[0][0]
        (rows,), self._width = parse_columns(text.data, self._source, self._width, one.line, self._ragged)
        return self._observed(rows, one.line)

    def _records(self, format: Records, piece: Piece) -> Iterator[list[Any]]:
        for record in format.records(self._charset.decoded(piece, self._source), self._source, False):
            if self._model.n_columns and record.rows:
                format.fit_columns(record, self._model.n_columns, self._source)
            yield record.rows

    def _observed(self, rows: list[list[str]], line: int) -> list[list[str]]:
        """Columns without the label, which is optional."""
        assert self._model.template is not None
        needed = max(self._model.n_columns, self._model.template.n_columns)
        for t, row in enumerate(rows):
            if len(row) < needed or (len(row) > self._model.n_columns + 1 > 1 and not self._ragged):
                expected = f"{needed} columns of observations and, optionally, a label"
                raise InputError(f"{self._source}, line {line + t}: expected {expected}, found {len(row)}")
        return [row[:needed] for row in rows]

    def _ended(self, text: bytes) -> bytes:
        """The text of a sequence, with the separator that ends it."""
        text = text if text.endswith(b"\n") else text + b"\n"
        is_line = isinstance(self._format, Records) and self._format.one_line
        return text if is_line or text.endswith((b"\n\n", b"\n\r\n")) else text + b"\n"
