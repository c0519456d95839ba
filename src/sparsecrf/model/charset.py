"""The encoding of the files that a model labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparsecrf.files.charset import UTF8, Charset

if TYPE_CHECKING:
    from sparsecrf.model import Model


def charset_for(model: Model | None, given: str | None, option: str = "--encoding") -> Charset:
    """The encoding with that name; by default that of the training data, else UTF-8."""
    known = UTF8 if model is None else model.training.get("encoding", UTF8)
    return Charset(known if given is None else given, option)
