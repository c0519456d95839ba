"""Remarks about documents: files that have them and training that does not look, models that look and files without."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sparsecrf.encoding.formats.documents import MARK, Documents

if TYPE_CHECKING:
    from sparsecrf.encoding.formats import Format

_FIRST_BYTES = 1 << 18  # of a file are looked at


def unused_documents(file: str, features: str | None) -> str | None:
    """That the words of a training file stand in documents, if nothing was asked of these; None: there is nothing to
    say."""
    if features != "words" or not os.path.isfile(file) or _beginning(file).count(f"\n{MARK}".encode()) < 2:
        return None
    return (
        f"{file} has documents ({MARK}): --features documents also sees where else in its document a word stands; "
        "such a model labels whole documents"
    )


def missing_documents(format: Format, beginning: bytes, source: str) -> str | None:
    """That a file to be labelled has no documents, by how it begins; None: there is nothing to say."""
    if not isinstance(format, Documents) or MARK.encode() in beginning:
        return None
    return (
        f"sparsecrf: warning: {source}: expected documents that begin with {MARK}, as in training, found none at its "
        "beginning: words were labelled without their other mentions, and worse for it"
    )


def missing_in_file(format: Format, file: str) -> str | None:
    """The same of a file that can be read again."""
    return missing_documents(format, _beginning(file), file) if os.path.isfile(file) else None


def _beginning(file: str) -> bytes:
    with open(file, "rb") as opened:
        return opened.read(_FIRST_BYTES)
