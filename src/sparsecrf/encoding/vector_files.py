"""Reads files of word vectors: text in the format of word2vec and GloVe, or NumPy's `.npy` with a file of words."""

from __future__ import annotations

import hashlib
import os
from typing import Any, NamedTuple, TypeAlias

from sparsecrf._core import InputError, StringTable, VectorText
from sparsecrf.lazy import NDArray, np

Path: TypeAlias = str | os.PathLike[str]
_BLOCK = 1 << 22  # number of bytes read at a time
_LONGEST_LINE = 1 << 26  # bytes


class VectorTable(NamedTuple):
    """The content of a file of word vectors."""

    words: StringTable  #: the words, each listed once
    values: NDArray[np.float32]  #: [words, width]
    sha256: str  #: checksum of the file, or of both files


def is_npy(path: Path) -> bool:
    return os.fspath(path).endswith(".npy")


def check_files(path: Path, words: Path | None) -> None:
    """Reject missing files and invalid combinations."""
    if is_npy(path) and words is None:
        raise InputError(f"{os.fspath(path)}: an .npy file of vectors needs a second file with the words of its rows")
    if words is not None and not is_npy(path):
        raise InputError(f"{os.fspath(path)}: this is not an .npy file, so it cannot have a separate file of words")
    for file in (path, *(() if words is None else (words,))):
        if not os.path.isfile(file):  # a pipe could block
            found = "something else" if os.path.exists(file) else "none"
            raise InputError(f"vectors: expected the file {os.fspath(file)}, found {found}")


def width_of(path: Path, words: Path | None = None) -> int:
    """The length of the vectors, determined from the first lines."""
    check_files(path, words)
    if is_npy(path):
        matrix = _matrix(path)
        if len(matrix) == 0:
            raise InputError(f"{os.fspath(path)}: expected a row of numbers for each word, found none")
        return int(matrix.shape[1])
    text = VectorText(os.fspath(path))
    with open(path, "rb") as file:  # read lines up to a vector, since word2vec's first line may be wrong
        while text.n_lines == 0 and (line := file.readline(_LONGEST_LINE)):
            text.add(line)
    if text.n_lines == 0:
        raise InputError(f"{os.fspath(path)}: expected lines with a word and its numbers, found none")
    return text.width


def read_vectors(path: Path, words: Path | None = None, wanted: StringTable | None = None) -> VectorTable:
    """Read a file in pieces and check all lines. If `wanted` is given, keep only these words and their lowercase
    forms."""
    check_files(path, words)
    digest = hashlib.sha256()
    if words is not None:
        return _read_npy(path, words, wanted, digest)
    name = os.fspath(path)
    text = VectorText(name, os.path.getsize(path), wanted)
    rest = b""
    with open(path, "rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
            end = block.rfind(b"\n") + 1
            if end:
                text.add(rest + block[:end])
                rest = b""
            rest += block[end:]
            if len(rest) > _LONGEST_LINE:
                raise InputError(
                    f"{name}: expected lines with a word and its numbers, found a line of {len(rest):,} bytes"
                )
    if rest:
        text.add(rest)
    if text.n_lines == 0:
        raise InputError(f"{name}: expected lines with a word and its numbers, found none")
    return VectorTable(*text.take(), digest.hexdigest())


def _read_npy(path: Path, words: Path, wanted: StringTable | None, digest: Any) -> VectorTable:
    for file_name in (words, path):
        with open(file_name, "rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    matrix = _matrix(path)
    try:
        with open(words, encoding="utf-8", newline="\n") as lines:
            names = [line.rstrip("\r\n") for line in lines]
    except UnicodeDecodeError as error:
        raise InputError(f"{os.fspath(words)}: expected words in UTF-8, found {error.reason}") from error
    if len(names) != len(matrix):
        expected = f"{len(names):,} rows, one for each line of {os.fspath(words)}"
        raise InputError(f"{os.fspath(path)}: expected {expected}, found {len(matrix):,}")
    kept, table = kept_rows(names, wanted)
    values = np.ascontiguousarray(matrix if len(kept) == len(matrix) else matrix[kept], dtype=np.float32)
    check_finite(values, table, os.fspath(path))
    return VectorTable(table, values, digest.hexdigest())


def _matrix(path: Path) -> NDArray[Any]:
    """The array of a file, memory-mapped."""
    try:
        matrix: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise InputError(f"{os.fspath(path)}: expected an array of numbers, found {error}") from error
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu":
        found = f"shape {matrix.shape} of {matrix.dtype}"
        raise InputError(f"{os.fspath(path)}: expected a matrix of numbers with a row for each word, found {found}")
    return matrix


def lowered(word: str) -> str:
    """The lowercase form that the core looks up. Each character is converted separately: unlike `str.lower`, this does
    not treat a final sigma in a special way."""
    return "".join(map(str.lower, word))


def kept_rows(names: list[str], wanted: StringTable | None) -> tuple[list[int], StringTable]:
    """The row numbers of the wanted words (the first of duplicates), and these words."""
    table, kept = StringTable(), []
    of: set[str] | None = None
    if wanted is not None:
        of = {wanted[k] for k in range(len(wanted))}
        of |= {lowered(word) for word in of}
    for k, word in enumerate(names):
        if of is not None and word not in of:
            continue
        before = len(table)
        if table.intern(word) == before:
            kept.append(k)
    return kept, table


def check_finite(values: NDArray[np.float32], words: StringTable, source: str) -> None:
    """Reject the first number that is not finite."""
    rows = 1 + _BLOCK // max(1, values.shape[1])
    for begin in range(0, len(values), rows):
        bad = np.argwhere(~np.isfinite(values[begin : begin + rows]))
        if len(bad):
            row, column = bad[0]
            row += begin
            found = values[row, column]
            raise InputError(
                f"{source}: vector of {words[int(row)]!r}, number {column + 1}: expected a finite number, found {found}"
            )
