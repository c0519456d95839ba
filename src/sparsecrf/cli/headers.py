"""First lines of column files that are names of columns, which such files do not have."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sparsecrf._core import Corpus

if TYPE_CHECKING:
    from sparsecrf.cli.labelled import Labelled

#: What people call their columns.
_NAME = re.compile(
    "id|sentence(_id)?|text|tokens?|words?|form|lemma|[ux]?pos|pos_?tags?|feats|chunk|ner(_tags?)?|entity|tags?|"
    "labels?|class",
    re.IGNORECASE,
)
_FIRST_BYTES = 4096  # a header is shorter


def headers(data: Labelled, files: Sequence[str]) -> list[str]:
    """A remark for each file whose first line looks like names of columns: its last cell and another are such names,
    and no other token has that label."""
    if data.template is None or data.format:
        return []  # the files have no columns
    found = {file: cells for file in files if os.path.isfile(file) and _are_names(cells := _first_line(file))}
    return [
        f"{file}: the first line, {' '.join(cells)!r:.60}, looks like names of columns, which these files do not have: "
        f"it was read as a token with the label {cells[-1]!r}; leave it out"
        for file, cells in found.items()
        if _count(data, cells[-1]) <= len(found)
    ]


def _first_line(file: str) -> list[str]:
    with open(file, "rb") as opened:
        lines = opened.read(_FIRST_BYTES).lstrip().splitlines()
    return lines[0].decode("utf-8-sig", "replace").split() if lines else []


def _are_names(cells: Sequence[str]) -> bool:
    known = [_NAME.fullmatch(cell) is not None for cell in cells]
    return len(known) > 1 and known[-1] and any(known[:-1])


def _count(data: Labelled, label: str) -> int:
    """How many tokens have the label. Data that are not in memory are not counted."""
    y = data.vocabulary.labels.find(label)
    if y is None or not isinstance(data.corpus, Corpus):
        return 0
    return int(np.count_nonzero(data.corpus.labels == y))
