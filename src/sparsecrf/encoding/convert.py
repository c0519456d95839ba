"""Converts data files from one format to another, sequence by sequence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.chunks import recode
from sparsecrf.encoding.formats import Format
from sparsecrf.encoding.template import Template
from sparsecrf.files.text import Source, name_of


def converted(
    source: Source, read: Format, write: Format, template: Template | None = None, chunks: str | None = None
) -> Iterator[str]:
    """Read sequences in the format `read` and yield the lines of a file in the format `write`.

    A template makes the attributes if the format uses one. `chunks`: the scheme (iob1, iob2, iobes) of the new labels.
    """
    read.check_template(template, "template")
    name = name_of(source)
    if read.takes_template and write.takes_template and template is None:
        return write.write_rows(_recoded(read.read_rows(source), chunks, name), name)  # columns stay columns
    return write.write(_recoded(read.read(source, template), chunks, name), name)


def _recoded(
    sequences: Iterable[tuple[Any, list[str]]], chunks: str | None, source: str
) -> Iterator[tuple[Any, list[str]]]:
    for i, (tokens, labels) in enumerate(sequences):
        try:
            yield tokens, labels if chunks is None else recode(labels, chunks)
        except InputError as error:
            raise InputError(f"{source}, sequence {i}, {error}") from None
