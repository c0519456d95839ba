"""The sequences of files, in the form that `Model.explain` takes, to show suspects in context."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sparsecrf.encoding.formats import Records
from sparsecrf.encoding.recipe import Recipe
from sparsecrf.files.charset import decoded
from sparsecrf.files.text import Source, name_of


def tokens_of_files(sources: Iterable[Source], recipe: Recipe) -> Iterator[list[Any]]:
    """The tokens of each sequence, without labels, in the order in which the files are encoded: rows of columns, or
    lists of attributes with their values."""
    for source in sources:
        with decoded(source, recipe.charset) as text:
            yield from _tokens(text, recipe)


def _tokens(source: Source, recipe: Recipe) -> Iterator[list[Any]]:
    format = recipe.reader
    if isinstance(format, Records):
        for piece in format.pieces(source):
            yield from (record.rows for record in format.records(piece, name_of(source), True) if record.rows)
    elif format.takes_template:
        yield from (rows for rows, _ in format.read_rows(source, ragged=recipe.ragged))
    else:
        yield from (tokens for tokens, _ in format.read(source))


def text_of(token: Any) -> str:
    """How to print a token: its text, its first column, or its first attribute."""
    if isinstance(token, str):
        return token
    if isinstance(token, dict):
        return next((f"{key}={value}" for key, value in token.items()), "")
    first = token[0] if len(token) else ""
    return first if isinstance(first, str) else str(first[0])
