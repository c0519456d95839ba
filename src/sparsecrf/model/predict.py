"""Files with gold labels, labelled by a model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from sparsecrf._core import InputError, parse_crfsuite
from sparsecrf.encoding.formats import Format, Records
from sparsecrf.files.charset import Charset
from sparsecrf.files.text import Source, name_of
from sparsecrf.model.charset import charset_for
from sparsecrf.model.format import format_for

if TYPE_CHECKING:
    from sparsecrf.model import Model

_CELL = re.compile(r"[^ \t-\r]+")


class Predicted(NamedTuple):
    """A sequence of a file."""

    tokens: list[Any]  #: as Model.encode takes them
    gold: list[str]
    labels: list[str]  #: that the model gives it


def predicted(
    model: Model, source: Source, *, format: str | None = None, ragged: bool = False, encoding: str | None = None
) -> Iterator[Predicted]:
    """The sequences of a file of gold labels, labelled.

    `format` is by default the one that the name of the file says, or that of the training data. An InputError says if
    the data do not fit the model. With `ragged`, lines may differ in their number of columns. `encoding` is by default
    that of the training data.
    """
    of, charset = format_for(model, source, format), charset_for(model, encoding)
    of.check_columns(ragged, charset.is_bytes, "--")
    if isinstance(of, Records):
        return _of_records(model, of, source, charset)
    return (
        _of_columns(model, of, source, charset, ragged) if of.takes_template else _of_items(model, of, source, charset)
    )


def _of_records(model: Model, format: Records, source: Source, charset: Charset) -> Iterator[Predicted]:
    from sparsecrf.model.record_labeller import RecordLabeller

    name = name_of(source)
    labeller = RecordLabeller(model, format, name)
    for piece in format.pieces(source):
        records = [r for r in format.records(charset.decoded(piece, name), name, True) if r.rows]
        for record, answer in zip(records, labeller.answers(records), strict=True):
            if record.labels is None or None in record.labels:
                raise InputError(f"{name}, line {record.line}: expected a gold label for every token, found none")
            yield Predicted(record.rows, [label for label in record.labels if label], answer.labels)


def _of_items(model: Model, format: Format, source: Source, charset: Charset) -> Iterator[Predicted]:
    """CRFsuite's format."""
    labeller, name = model.labeller(), name_of(source)
    for piece in format.pieces(source):
        data = charset.decoded(piece, name).data
        text = labeller.label(data, name, 0, piece.line).decode()
        # Labels may have blanks: they are set off by a tab.
        labelled = [[line.split("\t") for line in rows.split("\n")] for rows in text.split("\n\n")[:-1]]
        for (tokens, _), rows in zip(parse_crfsuite(data, name, piece.line), labelled, strict=True):
            yield Predicted(tokens, [gold for gold, _ in rows], [label for _, label in rows])


def _of_columns(model: Model, format: Format, source: Source, charset: Charset, ragged: bool) -> Iterator[Predicted]:
    assert model.template is not None
    n_columns, name, labeller = 0, name_of(source), model.labeller()
    for piece in format.pieces(source):
        if n_columns == 0 and not ragged:
            n_columns = format.width(piece, name)
            needed = max(model.n_columns, model.template.n_columns)
            if n_columns > 0 and (n_columns <= needed or n_columns > model.n_columns + 1 > 1):
                expected = f"{needed} columns of observations and, last, the gold label"
                raise InputError(f"{name}, line {piece.line}: expected {expected}, found {n_columns} columns")
        data = charset.decoded(piece, name).data
        labelled = labeller.label(data, name, n_columns, piece.line, bytes=charset.is_bytes, ragged=ragged)
        text = labelled.decode("utf-8", "backslashreplace")
        # Columns are set off by blanks of ASCII only, as the core reads them: a word may have other space in it.
        for rows in ([_CELL.findall(line) for line in rows.split("\n")] for rows in text.split("\n\n")[:-1]):
            if ragged:
                _check_gold(rows, model.template.n_columns, f"{name}, from line {piece.line}")
            yield Predicted([row[:-2] for row in rows], [row[-2] for row in rows], [row[-1] for row in rows])


def _check_gold(rows: list[list[str]], needed: int, where: str) -> None:
    """Raise for lines too short to have a gold label after the columns that the template needs."""
    for row in rows:
        if len(row) < needed + 2:
            expected = f"{needed} columns of observations or more and, last, the gold label"
            raise InputError(f"{where}: expected {expected}, found {' '.join(row[:-1])!r:.60}")
