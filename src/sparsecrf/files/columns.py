"""Column files: one token per line, with the label last, and a blank line between sequences."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sparsecrf._core import parse_columns
from sparsecrf.files.text import Source, name_of, pieces

#: A column of a line, as the core reads it. Only ASCII whitespace separates columns; words may contain other
#: whitespace.
CELL = re.compile(r"[^ \t-\r]+")


def read_columns(source: Source, *, ragged: bool = False) -> Iterator[list[list[str]]]:
    """Read a column file sequence by sequence: each is a list of rows, and a row is a list of the columns of a token.

    Spaces or tabs separate columns, and blank lines separate sequences. Every line has as many columns as the first,
    unless the file is `ragged`. `source` is a path, "-" (standard input) or a file open for bytes.
    """
    n_columns = 0
    for piece in pieces(source):
        sequences, n_columns = parse_columns(piece.data, name_of(source), n_columns, piece.line, ragged)
        yield from sequences
