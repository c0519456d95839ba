"""The vectors of words in a model file: stored, or referred to by a path and a checksum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparsecrf._core import InputError, StringTable
from sparsecrf.encoding.resources import where_it_is
from sparsecrf.encoding.vectors import WIDEST_WINDOW, WordVectors
from sparsecrf.files.container import Array

_NUMBERS, _FILE = {"column": 2**31 - 1, "window": WIDEST_WINDOW}, {"path", "words", "sha256"}


def vectors_of(record: dict[str, Any], arrays: Mapping[str, Array], source: str) -> WordVectors:
    """Those of the metadata `vectors` of the model in `source` and, if they are stored, of its arrays."""
    refers = "vectors.values" not in arrays
    if record.keys() != _NUMBERS.keys() | (_FILE if refers else set()) or not (
        all(type(record[name]) is int and 0 <= record[name] <= most for name, most in _NUMBERS.items())
        and all(isinstance(record[name], str) or (name == "words" and record[name] is None) for name in _FILE if refers)
    ):
        raise InputError(f"{source}: expected the record of word vectors, found {str(record)[:80]}")
    return _read_again(record, source) if refers else _stored(record, arrays, source)


def _stored(record: dict[str, Any], arrays: Mapping[str, Array], source: str) -> WordVectors:
    offsets = arrays["vectors.offsets"].of(f"{source}: vectors.offsets", "I64")
    text = arrays["vectors.bytes"].of(f"{source}: vectors.bytes", "U8")
    values = arrays["vectors.values"]
    n = len(offsets) - 1
    if values.dtype != "F32" or len(values.shape) != 2 or values.shape[0] != n:
        found = f"{values.dtype}{list(values.shape)}"
        raise InputError(f"{source}: vectors.values: expected F32[{n}, any width], found {found}")
    try:
        table = StringTable.from_arrays(text, offsets)
    except InputError as error:
        raise InputError(f"{source}: vectors: {error}") from error
    return WordVectors._made(table, values.data, values.shape[1], record["column"], record["window"])


def _read_again(record: dict[str, Any], source: str) -> WordVectors:
    path, words = (None if name is None else where_it_is(name, source) for name in (record["path"], record["words"]))
    assert path is not None
    try:
        found = WordVectors.load(path, words, column=record["column"], window=record["window"], store=False)
    except InputError as error:
        raise InputError(f"{source}: {error}") from error
    if found.origin is None or found.origin.sha256 != record["sha256"]:
        expected = f"the file that the model was trained with, with the SHA-256 checksum {record['sha256']}"
        raise InputError(f"{path}: expected {expected}, found another")
    return found
