"""Files with gold labels, labelled by a model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sparsecrf._core import InputError
from sparsecrf.files.text import Piece, Source, name_of, pieces, width
from sparsecrf.model.charset import charset_for

if TYPE_CHECKING:
    from sparsecrf.model import Model

_TAB, _CELL = re.compile("\t"), re.compile(r"[^ \t-\r]+")

#: A sequence: the cells of each line. The last but one is the gold label, the last the predicted one; before them are
#: the observations, which CRFsuite's format leaves out.
Rows = list[list[str]]


def predicted(
    model: Model, source: Source, *, ragged: bool = False, encoding: str | None = None
) -> Iterator[tuple[Piece, list[Rows]]]:
    """Label a file of gold labels piece by piece: each piece, and its sequences with both labels.

    Columns if the model has a template, else CRFsuite's format. An InputError says if the columns do not fit the model.
    With `ragged`, lines may differ in their number of columns. `encoding` is by default that of the training data.
    """
    n_columns, name = 0, name_of(source)
    labeller, charset = model.labeller(), charset_for(model, encoding)
    for piece in pieces(source):
        if n_columns == 0 and model.template is not None and not ragged:
            n_columns = width(piece)
            needed = max(model.n_columns, model.template.n_columns)
            if n_columns > 0 and (n_columns <= needed or n_columns > model.n_columns + 1 > 1):
                expected = f"{needed} columns of observations and, last, the gold label"
                raise InputError(f"{name}, line {piece.line}: expected {expected}, found {n_columns} columns")
        data = charset.decoded(piece, name).data
        labelled = labeller.label(data, name, n_columns, piece.line, bytes=charset.is_bytes, ragged=ragged)
        text = labelled.decode("utf-8", "backslashreplace")
        # Labels may have blanks in CRFsuite's format, where they are set off by a tab. Columns are set off by blanks of
        # ASCII only, as the core reads them: a word may have other space in it.
        cells = _TAB.split if model.template is None else _CELL.findall
        sequences = [[cells(line) for line in rows.split("\n")] for rows in text.split("\n\n")[:-1]]
        if ragged and model.template is not None:
            _check_gold(sequences, model.template.n_columns, f"{name}, from line {piece.line}")
        yield piece, sequences


def _check_gold(sequences: list[Rows], needed: int, where: str) -> None:
    """Raise for lines too short to have a gold label after the columns that the template needs."""
    for rows in sequences:
        for row in rows:
            if len(row) < needed + 2:
                expected = f"{needed} columns of observations or more and, last, the gold label"
                raise InputError(f"{where}: expected {expected}, found {' '.join(row[:-1])!r:.60}")
