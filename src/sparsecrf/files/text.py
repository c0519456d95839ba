"""Reads text files in pieces of whole sequences, in bounded memory, with line numbers for error messages."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import IO, NamedTuple, TypeAlias

from sparsecrf._core import InputError, count_columns, whole_sequences

#: A path, "-" for standard input, or a file open for bytes. Line numbers start from the attribute `first_line` of a
#: file, if it exists.
Source: TypeAlias = "str | os.PathLike[str] | IO[bytes]"

PIECE_BYTES = 1 << 17

#: First bytes of compressed files, by the name of the tool, and the command that decompresses to standard output.
_PACKED = {
    "gzip": (re.compile(rb"\x1f\x8b\x08"), "gzip -dc"),
    "bzip2": (re.compile(rb"BZh[1-9]1AY&SY"), "bzip2 -dc"),
    "xz": (re.compile(rb"\xfd7zXZ\0"), "xz -dc"),
    "zip": (re.compile(rb"PK\x03\x04"), "unzip -p"),
    "zstd": (re.compile(rb"\x28\xb5\x2f\xfd"), "zstd -dc"),
}
#: First bytes of safetensors files: the length of the header, below 2^48, and the header, which is a JSON object.
_SAFETENSORS = re.compile(rb".{6}\0\0\{", re.DOTALL)


class Piece(NamedTuple):
    """Whole sequences of a file."""

    data: bytes
    line: int  #: number of its first line


def not_decoded(error: UnicodeDecodeError, piece: Piece, source: str, expected: str) -> InputError:
    """The error for a byte of a piece that cannot be decoded."""
    before = piece.data[: error.start]
    line, byte = piece.line + before.count(b"\n"), error.start - before.rfind(b"\n")
    found = f"byte 0x{piece.data[error.start]:02X}"
    return InputError(f"{source}, line {line}, byte {byte}: expected {expected}, found {found}")


def name_of(source: Source) -> str:
    """The name of a source in error messages."""
    if source == "-":
        return "standard input"
    if isinstance(source, (str, os.PathLike)):
        return os.fsencode(source).decode("utf-8", "backslashreplace")
    return str(getattr(source, "name", "input"))


@contextmanager
def opened(source: Source) -> Iterator[IO[bytes]]:
    """The source, open for bytes. It is closed at the end unless it was open before."""
    if source == "-":
        if sys.stdin is None:
            raise InputError("standard input: expected an open stream, found a closed one")
        # The file is unbuffered, so that a read returns all that has arrived, and holds no lock if the program ends
        # meanwhile.
        yield getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
    elif isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            yield file
    else:
        yield source


def readable_twice(source: str | os.PathLike[str]) -> Source:
    """The file itself, or the whole content of a pipe in memory; a reader must `seek` to the beginning before it
    reads."""
    if os.path.isfile(source):
        return source
    with opened(source) as pipe:
        kept = BytesIO(b"".join(iter(lambda: pipe.read(PIECE_BYTES), b"")))
    kept.name = name_of(source)
    return kept


def whole_lines(data: bytes) -> int:
    """The number of bytes that form whole lines, for formats with one sequence per line."""
    return data.rfind(b"\n") + 1


def pieces(source: Source, size: int = PIECE_BYTES, whole: Callable[[bytes], int] = whole_sequences) -> Iterator[Piece]:
    """Cut a file between sequences into pieces of about `size` bytes.

    From a pipe or terminal, a sequence is yielded as soon as the blank line after it has been read. `whole` returns
    the number of bytes, from the beginning of a line, that form whole sequences.
    """
    begin = 0  # start of the line that was incomplete at the last check; there is no blank line before it

    def whole_so_far(piece: bytearray, looked_at: int) -> int:
        nonlocal begin
        begin = 0 if looked_at == 0 else begin
        end = whole(bytes(memoryview(piece)[begin:]))
        if end == 0:
            begin = max(begin, piece.rfind(b"\n", looked_at) + 1)
        return 0 if end == 0 else begin + end

    return growing_pieces(source, size, whole_so_far)


def growing_pieces(source: Source, size: int, whole: Callable[[bytearray, int], int]) -> Iterator[Piece]:
    """Cut a file into pieces of about `size` bytes. `whole` decides where: given the bytes read so far and the number
    of bytes already checked, it returns the number of bytes that form a piece, or 0 if the piece is incomplete."""
    with opened(source) as file:
        read = getattr(file, "read1", file.read)  # read would block until all `size` bytes have arrived
        rest, line, looked_at = bytearray(), getattr(file, "first_line", 1), 0
        while block := read(max(size, looked_at)):
            if line == 1 and not rest:
                _check_is_text(block, source)
            rest += block
            end = whole(rest, looked_at)
            looked_at = len(rest)
            if end > 0:
                yield Piece(bytes(memoryview(rest)[:end]), line)
                line += rest.count(b"\n", 0, end)
                del rest[:end]
                looked_at = 0
        if rest:
            yield Piece(bytes(rest), line)


def _check_is_text(block: bytes, source: Source) -> None:
    """Reject the first bytes of a model or a compressed file."""
    name, is_file = name_of(source), isinstance(source, (str, os.PathLike)) and source != "-"
    if _SAFETENSORS.match(block):
        model = shlex.quote(name) if is_file else "MODEL"
        raise InputError(
            f"{name}: expected text, found a sparsecrf model or another safetensors file; to label a file "
            f"with a model, run `sparsecrf label -m {model} FILE`; to print the model, `sparsecrf show {model}`"
        )
    for packer, (beginning, unpack) in _PACKED.items():
        if beginning.match(block):
            command = f"{unpack} {shlex.quote(name) if is_file else 'FILE'}"
            aside = "; spreadsheets are zip files, too; export text from them" if packer == "zip" else ""
            raise InputError(
                f"{name}: expected text, found a file compressed with {packer}; decompress it first ({command} > "
                f"TEXT), or use a pipe ({command} | sparsecrf ...) with - in place of the file name{aside}"
            )


def width(piece: Piece) -> int:
    """The number of columns in the first nonblank line of the piece; 0 if all lines are blank."""
    return count_columns(piece.data)
