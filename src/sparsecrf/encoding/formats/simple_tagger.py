"""Data files of MALLET's SimpleTagger: the features of a token and then its label, separated by spaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sparsecrf._core import InputError, parse_crfsuite
from sparsecrf.compatibility import OptionError
from sparsecrf.encoding.formats.base import Format
from sparsecrf.encoding.formats.crfsuite import CrfSuite
from sparsecrf.encoding.template import Template
from sparsecrf.files.crfsuite import Items
from sparsecrf.files.text import PIECE_BYTES, Piece, Source, name_of

_BOM = b"\xef\xbb\xbf"


class SimpleTagger(CrfSuite):
    """Lines of the form feature feature ... label. They are rewritten in CRFsuite's format, which the core reads."""

    name = "simpletagger"
    title = "SimpleTagger"
    suffix = ""

    def __init__(self, *, labelled: bool = True) -> None:
        self._labelled = labelled
        self.name = "simpletagger" if labelled else "simpletagger:unlabelled"

    def variant(self, choice: str, option: str) -> Format:
        if choice != "unlabelled":
            raise OptionError(
                f"{option}: expected simpletagger or simpletagger:unlabelled, found simpletagger:{choice}"
            )
        return SimpleTagger(labelled=False)

    def pieces(self, source: Source, size: int = PIECE_BYTES, *, inside: bool = False) -> Iterator[Piece]:
        for piece in super().pieces(source, size, inside=inside):
            yield piece if inside else self._as_crfsuite(piece)  # with `inside`, offsets count the bytes of the file

    def _as_crfsuite(self, piece: Piece) -> Piece:
        data = piece.data.removeprefix(_BOM) if piece.line == 1 else piece.data
        return Piece(b"\n".join(map(self._line, data.split(b"\n"))), piece.line)

    def _line(self, line: bytes) -> bytes:
        words = line.replace(b"\\", b"\\\\").replace(b":", b"\\:").split()
        if not words:
            return b""
        label = words.pop() if self._labelled else b"_"
        return b"\t".join([label, *dict.fromkeys(words)])  # features are binary even if they are listed several times

    def read(self, source: Source, template: Template | None = None) -> Iterator[Items]:
        for piece in self.pieces(source):
            yield from parse_crfsuite(piece.data, name_of(source), piece.line)

    def write(self, sequences: Iterable[Items], source: str) -> Iterator[str]:
        for i, (tokens, labels) in enumerate(sequences):
            for t, (attributes, label) in enumerate(zip(tokens, labels, strict=True)):
                words = [*(name for name, _ in attributes), label]
                wrong = [f"{name}:{value!r}" for name, value in attributes if value != 1.0]
                wrong += [repr(word) for word in words if word.encode().split() != [word.encode()]]
                if wrong:
                    expected = "attributes without values and names without whitespace"
                    raise InputError(f"{source}, sequence {i}, position {t}: expected {expected}, found {wrong[0]:.60}")
                yield " ".join(words) + "\n"
            yield "\n"
