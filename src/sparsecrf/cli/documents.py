"""Whether files have documents, and a warning if a model expects them and a file has none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sparsecrf.encoding.formats.documents import MARK, Documents

if TYPE_CHECKING:
    from sparsecrf.encoding.formats import Format
    from sparsecrf.files.text import Piece

_FIRST_BYTES = 1 << 18  # number of lines of a training file to look at


def has_documents(file: str) -> bool:
    """Whether the beginning of a training file has documents."""
    if not os.path.isfile(file):
        return False
    with open(file, "rb") as opened:
        return opened.read(_FIRST_BYTES).count(f"\n{MARK}".encode()) >= 2


class SeenDocuments:
    """Whether a file that a model labels has documents, if the model expects them."""

    def __init__(self, format: Format, source: str) -> None:
        self._source, self._missing = source, isinstance(format, Documents)

    def watched(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        """Pass on the pieces of the file and look for documents in them."""
        for piece in pieces:
            self._missing = self._missing and MARK.encode() not in piece.data
            yield piece

    def look(self, rows: list[list[str]]) -> None:
        """The same for a sequence."""
        self._missing = self._missing and rows[0][0] != MARK

    @property
    def remark(self) -> str | None:
        """A warning if there are none, else None."""
        if not self._missing:
            return None
        return (
            f"sparsecrf: warning: {self._source}: expected documents that begin with {MARK}, as in training, found "
            "none: words were labelled without their other mentions, which costs accuracy"
        )
