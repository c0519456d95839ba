"""Answers to pieces of input, also to input that is not what it should be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum

from sparsecrf._core import InputError
from sparsecrf.files.charset import Charset
from sparsecrf.files.text import Piece
from sparsecrf.progress import say


class OnError(str, Enum):
    """What becomes of a sequence that cannot be labelled."""

    STOP = "stop"
    SKIP = "skip"
    REPLACE = "replace"


class Answers:
    """Labels pieces in one encoding."""

    def __init__(self, label: Callable[[Piece], bytes], charset: Charset, source: str, on_error: OnError) -> None:
        """`label` takes whole sequences, in UTF-8 or of any bytes; errors call the input `source`."""
        self.label, self.charset, self.source, self.on_error = label, charset, source, on_error

    def __call__(self, piece: Piece) -> bytes:
        try:
            return self._labelled(piece)
        except InputError:
            if self.on_error is OnError.STOP:
                raise
        return b"".join(map(self._one, sequences(piece)))

    def _labelled(self, piece: Piece) -> bytes:
        return self.charset.encoded(self.label(self.charset.decoded(piece, self.source)), self.source)

    def _one(self, piece: Piece) -> bytes:
        """The answer to one sequence. Nothing but its blank line, if there is no other."""
        try:
            return self._labelled(piece)
        except InputError as error:
            wrong = error
        if self.on_error is OnError.REPLACE:
            repaired = self.charset.replaced(piece)
            try:
                if repaired != piece:
                    answer = self._labelled(repaired)
                    say(f"sparsecrf: {wrong}; replaced")
                    return answer
            except InputError as error:
                wrong = error
        say(f"sparsecrf: {wrong}; the sequence was skipped")
        return b"\n"


def sequences(piece: Piece) -> Iterator[Piece]:
    """The sequences of a piece, each with the blank line after it, if there is one."""
    begun, first, data = False, piece.line, bytearray()
    for number, line in enumerate(piece.data.split(b"\n")[: -1 if piece.data.endswith(b"\n") else None], piece.line):
        is_blank = not line.strip(b" \t\v\f\r")
        if is_blank and not begun:
            continue
        if not begun:
            begun, first, data = True, number, bytearray()
        data += line + b"\n"
        if is_blank:
            yield Piece(bytes(data), first)
            begun = False
    if begun:
        yield Piece(bytes(data), first)
