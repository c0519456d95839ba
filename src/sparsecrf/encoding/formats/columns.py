"""Column files: one token per line, with the label last. A template generates attributes from the other columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sparsecrf._core import InputError, TextEncoder
from sparsecrf.encoding.formats.base import Format, Labelled, Layout
from sparsecrf.encoding.template import Template
from sparsecrf.files.columns import read_columns
from sparsecrf.files.text import Piece, Source, width

_FIRST_CELL = re.compile(rb"^[ \t\v\f]*([^ \t-\r]+)", re.MULTILINE)


class Columns(Format):
    """Columns separated by spaces or tabs."""

    name = "columns"
    title = "column"
    takes_template = True
    has_columns = True
    token_a_line = True

    def template_for(self, template: Template | None, n_observed: int) -> Template | None:
        """The template; if there is none, the attributes are the columns themselves and the bias."""
        return Template.of_columns(n_observed) if template is None else template

    def width(self, piece: Piece, source: str) -> int:
        return width(piece)

    def first_column(self, piece: Piece, source: str) -> Iterator[str]:
        return (match[1].decode("utf-8", "replace") for match in _FIRST_CELL.finditer(piece.data))

    def add(self, encoder: TextEncoder, piece: Piece, source: str, layout: Layout) -> Layout:
        template, columns = layout.template, width(piece)
        if template is None:
            if layout.ragged:
                raise InputError("ragged needs a template, which determines the required columns")
            if columns == 0:
                return layout  # all lines are blank
        needed = 2 if template is None else template.n_columns + 1
        if columns == 1 < needed and layout.n_columns == 0 and (template is None or b"\0" not in piece.data):
            raise InputError(_only_one(piece, source, needed))  # the core reports NUL bytes of binary files
        template = Template.of_columns(columns - 1) if template is None else template
        n_columns = encoder.add_columns(
            piece.data, template, source, layout.n_columns, piece.line, layout.bytes, layout.ragged
        )
        return layout._replace(template=template, n_columns=0 if layout.ragged else n_columns)

    def read_rows(self, source: Source, *, ragged: bool = False) -> Iterator[Labelled]:
        for rows in read_columns(source, ragged=ragged):
            yield [row[:-1] for row in rows], [row[-1] for row in rows]

    def write_rows(self, sequences: Iterable[Labelled], source: str) -> Iterator[str]:
        for i, (rows, labels) in enumerate(sequences):
            for t, (row, label) in enumerate(zip(rows, labels, strict=True)):
                for text in (*row, label):
                    if text.split() != [text]:
                        where = f"{source}, sequence {i}, position {t}"
                        raise InputError(f"{where}: expected text without whitespace, found {text!r}")
                yield " ".join((*row, label)) + "\n"
            yield "\n"


def _only_one(piece: Piece, source: str, needed: int) -> str:
    """The message about a file whose first nonblank line has one column, although `needed` columns are expected."""
    lines = enumerate(piece.data.split(b"\n"), piece.line)
    number, line = next((number, line) for number, line in lines if line.strip())
    looks = "; this looks like CSV" if b"," in line else ""
    return (
        f"{source}, line {number}: expected {needed} or more columns, with the label in the last one, found 1 "
        f"(columns are separated by spaces or tabs{looks})"
    )
