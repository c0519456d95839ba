"""Stores arrays and text in one safetensors file with a digest, which is the common format of model files and
checkpoints.

The layout (little-endian): 8 bytes with the length of the header; the header, JSON, padded with spaces to a multiple of
8: {"__metadata__": {name: text}, array: {"dtype", "shape", "data_offsets": [begin, end]}, ...}; the arrays, without
gaps. Any safetensors reader can open it. The core reads it (cpp/core/model/container.cpp), without the safetensors
package, which takes longer to import than most models take to load. It is also stricter, because it must detect every
damaged file.

The metadata contain the `format`, its `version`, and `digest`, a SHA-256 of everything else in the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from sparsecrf._core import InputError, read_container

#: safetensors' names of types, with their formats in the buffer protocol; `_SIZES` lists the bytes per value.
_TYPES: dict[str, Any] = {
    **{"F64": "d", "F32": "f", "BOOL": "?"},
    **{"I64": "q", "I32": "i", "I16": "h", "U32": "I", "U16": "H", "U8": "B"},
}
_SIZES = {"F64": 8, "I64": 8, "F32": 4, "I32": 4, "U32": 4, "I16": 2, "U16": 2, "U8": 1, "BOOL": 1}
_SIGNED, _UNSIGNED = "hilq", "BHILQ"  # format characters; their sizes depend on the system


class Array(NamedTuple):
    """The values of one array in C order, and its shape."""

    dtype: str  #: F64, I64, ...
    shape: tuple[int, ...]
    data: memoryview[Any]  #: the values, in one dimension

    def of(self, where: str, dtype: str, length: int | None = None) -> Any:
        """The values, in a form that the core accepts as an array. The array must have this type, one dimension and
        this length."""
        if self.dtype != dtype or len(self.shape) != 1 or (length is not None and len(self.data) != length):
            expected = f"{dtype}[{'any length' if length is None else length}]"
            raise InputError(f"{where}: expected {expected}, found {self.dtype}{list(self.shape)}")
        return self.data


def pack(format: str, version: int, metadata: Mapping[str, str], arrays: Mapping[str, Any]) -> bytes:
    """The content of a file. `arrays`: C-contiguous objects with the buffer protocol, such as NumPy arrays."""
    views = {name: memoryview(array) for name, array in arrays.items()}
    # Larger types come first, so that every array is aligned.
    dtypes = {name: _dtype(view) for name, view in views.items()}
    names = sorted(views, key=lambda name: (-_SIZES[dtypes[name]], name))
    described = {"format": format, "version": str(version), **metadata}
    parts = {name: Array(dtypes[name], tuple(views[name].shape or ()), _raw(views[name])) for name in names}
    described["digest"] = _digest(described, parts)
    header: dict[str, Any] = {"__metadata__": described}
    begin = 0
    for name, part in parts.items():
        end = begin + part.data.nbytes
        header[name] = {"dtype": part.dtype, "shape": list(part.shape), "data_offsets": [begin, end]}
        begin = end
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return b"".join([len(text).to_bytes(8, "little"), text, *(part.data for part in parts.values())])


def unpack(content: bytes, source: str, format: str, *versions: int) -> tuple[dict[str, str], dict[str, Array]]:
    """Metadata and arrays (views of `content`) of a file in this format and one of these versions, after all checks.
    `source` names it in messages."""
    metadata, places = read_container(content, source, format, versions)
    view = memoryview(content)
    arrays = {
        name: Array(dtype, shape, view[begin:end].cast(_TYPES[dtype]))
        for name, (dtype, shape, begin, end) in places.items()
    }
    return metadata, arrays


def _dtype(view: memoryview[Any]) -> str:
    kinds = {"d": "F64", "f": "F32", "?": "BOOL"}
    kinds |= dict.fromkeys(_SIGNED, f"I{8 * view.itemsize}") | dict.fromkeys(_UNSIGNED, f"U{8 * view.itemsize}")
    name = kinds.get(view.format)
    if name not in _TYPES:
        raise TypeError(f"expected an array of {', '.join(_TYPES)}, found the format {view.format!r}")
    return name


def _raw(view: memoryview[Any]) -> memoryview[Any]:
    return view.cast("B") if view.nbytes else memoryview(b"")  # an empty view cannot be cast


def _digest(metadata: Mapping[str, str], arrays: Mapping[str, Array]) -> str:
    """A hash of everything in the file except the digest."""
    h = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        h.update(f"{name} {array.dtype} {array.shape}".encode())
        h.update(array.data)
    return h.hexdigest()
