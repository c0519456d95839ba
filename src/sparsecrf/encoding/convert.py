"""Data files from one format to another, sequence by sequence."""

from __future__ import annotations

from collections.abc import Iterator

from sparsecrf.encoding.formats import Format
from sparsecrf.encoding.template import Template
from sparsecrf.files.text import Source, name_of


def converted(source: Source, read: Format, write: Format, template: Template | None = None) -> Iterator[str]:
    """The lines of a file in the format `write` with the sequences of one in the format `read`.

    A template makes the attributes if the format takes one.
    """
    read.check_template(template, "template")
    if read.takes_template and write.takes_template and template is None:
        return write.write_rows(read.read_rows(source), name_of(source))  # columns stay columns
    return write.write(read.read(source, template), name_of(source))
