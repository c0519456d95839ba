"""Labels pieces of input that may contain invalid sequences."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from sparsecrf._core import InputError
from sparsecrf.encoding.formats import Format
from sparsecrf.files.charset import Charset
from sparsecrf.files.text import Piece
from sparsecrf.progress import say


class OnError(str, Enum):
    """The treatment of a sequence that cannot be labelled."""

    STOP = "stop"
    SKIP = "skip"
    REPLACE = "replace"


class Answers:
    """Labels pieces of a file in one encoding."""

    def __init__(
        self, label: Callable[[Piece], bytes], format: Format, charset: Charset, source: str, on_error: OnError
    ) -> None:
        """`label` takes whole sequences, in UTF-8 or as arbitrary bytes; error messages call the input `source`."""
        self.label, self.format, self.charset, self.source, self.on_error = label, format, charset, source, on_error

    def __call__(self, piece: Piece) -> bytes:
        try:
            return self._labelled(piece)
        except InputError:
            if self.on_error is OnError.STOP:
                raise
        return b"".join(map(self._independent, self.format.independent(piece)))

    def _independent(self, piece: Piece) -> bytes:
        """Label sequences that belong together. If one of them is invalid, label each sequence separately."""
        try:
            return self._labelled(piece)
        except InputError:
            return b"".join(map(self._one, self.format.sequences(piece)))

    def _labelled(self, piece: Piece) -> bytes:
        return self.charset.encoded(self.label(self.charset.decoded(piece, self.source)), self.source)

    def _one(self, piece: Piece) -> bytes:
        """Label one sequence. If this fails, return an empty answer, such as a blank line."""
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
        return self.format.skipped
