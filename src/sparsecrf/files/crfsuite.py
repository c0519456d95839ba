"""CRFsuite's data files: lines of the form label TAB attribute[:value] TAB ..., with a blank line between sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sparsecrf._core import parse_crfsuite
from sparsecrf.files.text import Source, name_of, pieces

#: A sequence: the attributes of each token with their values, and the label of each token.
Items = tuple[list[list[tuple[str, float]]], list[str]]


def read_crfsuite(source: Source) -> Iterator[Items]:
    """Read a CRFsuite file sequence by sequence: attributes with values, and labels."""
    for piece in pieces(source):
        yield from parse_crfsuite(piece.data, name_of(source), piece.line)


def crfsuite_lines(tokens: Iterable[Iterable[str | tuple[str, float]]], labels: Iterable[str]) -> Iterator[str]:
    """The lines of one sequence, including the blank line after it."""
    for attributes, label in zip(tokens, labels, strict=True):
        yield "\t".join([_escaped(label), *map(_field, attributes)]) + "\n"
    yield "\n"


def _field(attribute: str | tuple[str, float]) -> str:
    name, value = (attribute, 1.0) if isinstance(attribute, str) else attribute
    return _escaped(name) if value == 1.0 else f"{_escaped(name)}:{value!r}"


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace(":", "\\:")
