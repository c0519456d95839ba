"""CRFsuite's data files: one line per token, with its label and attributes. The attributes condition labels; plain
transitions are added."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sparsecrf._core import TextEncoder
from sparsecrf.encoding.formats.base import Format, Layout
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.vocabulary import BIAS
from sparsecrf.files.crfsuite import Items, crfsuite_lines, read_crfsuite
from sparsecrf.files.text import Piece, Source


class CrfSuite(Format):
    """Lines of the form label TAB attribute[:value] TAB ..."""

    name = "crfsuite"
    title = "CRFsuite"
    not_in_labels = "\t\r\n\0"
    suffix = ".crfsuite"

    def add(self, encoder: TextEncoder, piece: Piece, source: str, layout: Layout) -> Layout:
        encoder.add_crfsuite(piece.data, BIAS, source, piece.line)
        return Layout()

    def read(self, source: Source, template: Template | None = None) -> Iterator[Items]:
        return read_crfsuite(source)

    def write(self, sequences: Iterable[Items], source: str) -> Iterator[str]:
        for tokens, labels in sequences:
            yield from crfsuite_lines(tokens, labels)
