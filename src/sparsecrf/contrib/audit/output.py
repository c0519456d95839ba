"""Writes an audit as JSON lines, as a table, or as the data with additional columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.contrib.audit.result import Audit, Suspect
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
    """The printed form of a token: its text, its first column, or its first attribute."""
    if isinstance(token, str):
        return token
    if isinstance(token, dict):
        return next((f"{key}={value}" for key, value in token.items()), "")
    first = token[0] if len(token) else ""
    return first if isinstance(first, str) else str(first[0])


TABLE = ("score", "sequence", "token", "text", "label", "suggested", "probability", "given_others")


def json_lines(suspects: Sequence[Suspect], sequences: Sequence[Any]) -> Iterator[str]:
    """An object for each suspect, the most suspicious first."""
    for suspect in suspects:
        yield json.dumps({**suspect._asdict(), "text": _text(suspect, sequences)}, ensure_ascii=False) + "\n"


def table(suspects: Sequence[Suspect], sequences: Sequence[Any]) -> Iterator[str]:
    """Tab-separated lines, the first with the names of the columns."""
    yield "\t".join(TABLE) + "\n"
    for row in table_rows(suspects, sequences):
        yield "\t".join(" ".join(cell.split()) for cell in row) + "\n"


def table_rows(suspects: Sequence[Suspect], sequences: Sequence[Any]) -> Iterator[list[str]]:
    """The cells of TABLE."""
    for s in suspects:
        chances = f"{s.probability:.2g}", f"{s.given_others:.2g}"
        where = str(s.sequence), str(s.token)
        yield [f"{s.score:.2f}", *where, _text(s, sequences), str(s.label), str(s.suggested), *chances]


def columns(audit: Audit, sequences: Sequence[Any]) -> Iterator[str]:
    """All sequences in column format: the columns of a token, its label, the suggested label and the score. For tokens
    that were not judged, the last two are - and 0."""
    of_token = {(s.sequence, s.token): s for s in audit.tokens}
    for i, tokens in enumerate(sequences):
        for t, token in enumerate(tokens):
            found = of_token.get((i, t))
            are_columns = isinstance(token, list) and all(isinstance(cell, str) for cell in token)
            row = list(token) if are_columns else [text_of(token)]
            row += ["-", "-", "0"] if found is None else [str(found.label), str(found.suggested), f"{found.score:.4f}"]
            for cell in row:
                if len(cell.split()) != 1:
                    where, remedy = f"sequence {i}, token {t}", "write JSON lines (-o FILE.jsonl)"
                    raise InputError(f"{where}: column files cannot hold {cell!r:.60}; {remedy}")
            yield " ".join(row) + "\n"
        yield "\n"


def _text(suspect: Suspect, sequences: Sequence[Any]) -> str:
    return " ".join(text_of(token) for token in sequences[suspect.sequence][suspect.token : suspect.end])
