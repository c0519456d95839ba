"""Character encodings of files. Inside the program, all text is UTF-8.

A charset is UTF-8, another character encoding that Python supports (latin-1, cp1252, euc-jp, gb18030, ...), or
"bytes": a file of arbitrary bytes, whose columns are kept unchanged. In names of attributes and labels, bytes that are
not part of well-formed UTF-8 are then written as \\xe9.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, cast

from sparsecrf._core import InputError
from sparsecrf.compatibility import OptionError
from sparsecrf.files.text import Piece, Source, name_of, not_decoded, opened

UTF8, BYTES = "utf-8", "bytes"
#: Bytes that separate columns and lines. Files are cut into sequences before they are decoded.
_ASCII = bytes([*b"\t\n\v\f\r", *range(0x20, 0x7F)])
_ESCAPED = re.compile(r"\\x([89a-f][0-9a-f])")
#: The character that replaces bytes that cannot be decoded.
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


class Charset:
    """A character encoding, given by name. `option` is the user's name for the setting."""

    def __init__(self, name: str = UTF8, option: str = "encoding") -> None:
        self.name = BYTES if name == BYTES else _codec(name, option)
        self.is_bytes = self.name == BYTES
        self.is_utf8 = self.name == UTF8
        self.title = self.name.upper() if self.is_utf8 else f"text in {self.name}"

    def decoded(self, piece: Piece, source: str) -> Piece:
        """The piece in UTF-8. A piece in UTF-8 is returned unchanged and may be malformed: the core checks it."""
        if self.is_bytes or self.is_utf8:
            return piece
        try:
            return piece._replace(data=piece.data.decode(self.name).encode())
        except UnicodeDecodeError as error:
            raise not_decoded(error, piece, source, f"text in {self.name}") from None

    def replaced(self, piece: Piece) -> Piece:
        """The piece in the same encoding, with bytes that cannot be decoded and NULs replaced by U+FFFD (? in encodings
        other than UTF-8)."""
        codec = UTF8 if self.is_bytes else self.name
        text = piece.data.decode(codec, "replace").replace("\0", _REPLACEMENT)
        return piece._replace(data=text.encode(codec, "replace"))

    def encoded(self, text: bytes, source: str) -> bytes:
        """Text in UTF-8, such as labelled output, converted to this encoding."""
        if self.is_bytes or self.is_utf8:
            return text
        try:
            return text.decode().encode(self.name)
        except UnicodeEncodeError as error:
            found = error.object[error.start]
            raise InputError(f"{source}: expected labels that {self.name} can encode, found {found!r}") from None

    def text(self, raw: bytes) -> str:
        """Decode a name, or other text to show. Raises UnicodeDecodeError."""
        return raw.decode(UTF8, "backslashreplace") if self.is_bytes else raw.decode(self.name)

    def raw(self, name: str) -> bytes:
        """The bytes of a name in this encoding; escaped bytes are converted back to bytes."""
        if not self.is_bytes:
            try:
                return name.encode(self.name)
            except UnicodeEncodeError:
                raise InputError(f"encoding: expected names that {self.name} can encode, found {name!r:.60}") from None
        if "\\x" in name:
            escaped = _ESCAPED.sub(lambda match: chr(0xDC00 + int(match[1], 16)), name)
            original = escaped.encode(UTF8, "surrogateescape")
            if self.text(original) == name:
                return original
        return name.encode()


def _codec(name: str, option: str) -> str:
    """Python's name of the encoding, which must allow files to be split into lines."""
    try:
        codec = codecs.lookup(name).name
        keeps_ascii = _ASCII.decode(codec) == _ASCII.decode()
    except UnicodeError:
        keeps_ascii = False
    except (LookupError, ValueError):
        expected = "utf-8, latin-1, cp1252 or another text encoding, or bytes"
        raise OptionError(f"{option}: expected {expected}, found {name!r:.60}") from None
    if not keeps_ascii:
        raise OptionError(f"{option}: expected an encoding that extends ASCII, found {name}: convert the file to UTF-8")
    return UTF8 if codec in ("utf-8", "utf-8-sig") else codec


UTF8_TEXT = Charset()


class _Decoded:
    """A file that is converted to UTF-8 while it is read."""

    def __init__(self, file: IO[bytes], charset: Charset, name: str) -> None:
        self.name, self._file, self._charset = name, file, charset
        codec = UTF8 if charset.is_bytes else charset.name
        self._decoder = codecs.getincrementaldecoder(codec)("backslashreplace" if charset.is_bytes else "strict")

    def read(self, size: int) -> bytes:
        while block := self._file.read(size):
            if text := self._decode(block):
                return text
        return self._decode(b"", final=True)

    def _decode(self, block: bytes, *, final: bool = False) -> bytes:
        try:
            return self._decoder.decode(block, final).encode()
        except UnicodeDecodeError as error:
            found = f"byte 0x{error.object[error.start]:02X}"
            raise InputError(f"{self.name}: expected text in {self._charset.name}, found {found}") from None


@contextmanager
def decoded(source: Source, charset: Charset) -> Iterator[Source]:
    """The source in UTF-8, for readers that support nothing else."""
    if charset.is_utf8:
        yield source
        return
    with opened(source) as file:
        yield cast("IO[bytes]", _Decoded(file, charset, name_of(source)))
