"""Detects column files whose first line is a header; the format has none."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sparsecrf.encoding.formats import Format
    from sparsecrf.files.text import Piece
    from sparsecrf.shards.dataset import Dataset

#: Common names of columns.
_NAME = re.compile(
    "id|sentence(_id)?|text|tokens?|words?|form|lemma|[ux]?pos|pos_?tags?|feats|chunk|ner(_tags?)?|entity|tags?|"
    "labels?|class",
    re.IGNORECASE,
)
_FIRST_BYTES = 1 << 20  # number of lines of a file to look at


def headers(data: Dataset, files: Sequence[str]) -> list[str]:
    """A warning for each file whose first line looks like a header: its last cell and another are common column names,
    and no other of its first lines has that label."""
    if data.template is None or not data.recipe.reader.token_a_line:
        return []  # the files have no columns
    found = {file: cells for file in files if os.path.isfile(file) and (cells := _header(_beginning(file)))}
    return [f"{_remark(file, cells)} with the label {cells[-1]!r}; remove it" for file, cells in found.items()]


def header_remark(format: Format, first: Piece, source: str) -> str | None:
    """The same for the first piece of a file that was labelled; None if it has no header."""
    cells = _header(first.data[:_FIRST_BYTES]) if format.token_a_line else []
    return f"sparsecrf: warning: {_remark(source, cells)}; remove it" if cells else None


def _remark(file: str, cells: list[str]) -> str:
    line = " ".join(cells)
    names = "looks like names of columns, but column files have no header"
    return f"{file}: the first line, {line!r:.60}, {names}: it was read as a token"


def _beginning(file: str) -> bytes:
    with open(file, "rb") as opened:
        return opened.read(_FIRST_BYTES)


def _header(beginning: bytes) -> list[str]:
    """The cells of the first line, if they are names."""
    text = beginning.decode("utf-8-sig", "replace")
    lines = (cells for line in text.splitlines() if (cells := line.split()))
    first = next(lines, [])
    known = [_NAME.fullmatch(cell) is not None for cell in first]
    is_header = len(known) > 1 and known[-1] and any(known[:-1])
    return first if is_header and not any(cells[-1] == first[-1] for cells in lines) else []
