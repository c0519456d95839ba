"""Arrays and text in one safetensors file, with a digest: the common format of model files and checkpoints.

The layout (little-endian): 8 bytes with the length of the header; the header, JSON, padded with spaces to a multiple of
8: {"__metadata__": {name: text}, array: {"dtype", "shape", "data_offsets": [begin, end]}, ...}; the arrays, without
gaps. Any safetensors reader can open it. This reader uses neither the safetensors package nor NumPy, since both take
longer to import than most models take to load. It is also stricter, because it must detect every damaged file.

The metadata contain the `format`, its `version`, and `digest`, a SHA-256 of everything else in the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from math import prod
from typing import Any, NamedTuple

from sparsecrf._core import InputError

_LONGEST_HEADER = 100_000_000  # as in the safetensors package
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
        """The values, in a form that the core accepts as an array. Raises unless the array has this type, one dimension
        and this length."""
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


def unpack(data: memoryview, source: str, format: str, *versions: int) -> tuple[dict[str, str], dict[str, Array]]:
    """Metadata and arrays (views of `data`) of a file in this format and one of these versions, after all checks.

    `data` begins at a multiple of 8 in memory. `source` names it in messages.
    """
    header, begin = _header(data, source, format)
    described = header.pop("__metadata__", {})
    if not isinstance(described, dict) or not all(isinstance(value, str) for value in described.values()):
        raise InputError(f"{source}: expected metadata that map names to strings, found other metadata")
    _check_format(described, source, format, versions)
    arrays = _arrays(header, data[begin:], source)
    digest = described.pop("digest", None)
    if digest != _digest(described, arrays):
        raise InputError(f"{source}: expected content with digest {digest}, found damaged content")
    return described, arrays


def _check_format(described: Mapping[str, str], source: str, format: str, versions: tuple[int, ...]) -> None:
    found = described.get("format", "another kind of file")
    if found != format:
        raise InputError(f"{source}: expected a {format}, found {found!r}")
    if described.get("version") not in [str(version) for version in versions]:
        known = " or ".join(map(str, versions))
        raise InputError(
            f"{source}: expected a {format} of version {known}, found version {described.get('version')!r}; "
            "newer files require a newer version of sparsecrf"
        )


def _header(data: memoryview, source: str, format: str) -> tuple[dict[str, Any], int]:
    """The header, and the offset at which the arrays begin."""

    def wrong(found: str) -> InputError:
        return InputError(f"{source}: expected a {format} (safetensors), found {found}")

    if data.nbytes < 10:
        raise wrong(f"{data.nbytes} bytes")
    length = int.from_bytes(data[:8], "little")
    if length > min(_LONGEST_HEADER, data.nbytes - 8) or length % 8:
        raise wrong(f"a file of another kind, or an incomplete one ({data.nbytes} bytes, header of {length})")
    text = bytes(data[8 : 8 + length])
    if not text.startswith(b"{"):
        raise wrong(f"a header that begins with {text[:8]!r}")
    try:
        header = json.loads(text.rstrip(b" ").decode("utf-8"), object_pairs_hook=_distinct, parse_constant=_refuse)
        json.dumps(header, ensure_ascii=False).encode()  # an escape may have produced half of a surrogate pair
    except (ValueError, RecursionError) as error:
        raise wrong(f"a header that is not a JSON object ({error})") from error
    return header, 8 + length


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("duplicate name")
    return made


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a number")


def _arrays(header: Mapping[str, Any], data: memoryview, source: str) -> dict[str, Array]:
    """Views of the arrays, which are contiguous and fill the file to its end."""
    where: list[tuple[int, int, str]] = []
    for name, entry in header.items():
        dtype, shape, begin, end = _entry(entry, f"{source}: expected for array {name!r}")
        size = prod(shape) * _SIZES[dtype]
        if not 0 <= begin <= end or end - begin != size or begin % _SIZES[dtype]:
            raise InputError(f"{source}: expected array {name!r} in {size} aligned bytes, found bytes {begin} to {end}")
        where.append((begin, end, name))
    at, arrays = 0, {}
    for begin, end, name in sorted(where):
        if begin != at or end > data.nbytes:
            raise InputError(f"{source}: expected array {name!r} at {at} of {data.nbytes} bytes, found it at {begin}")
        dtype = header[name]["dtype"]
        arrays[name] = Array(dtype, tuple(header[name]["shape"]), data[begin:end].cast(_TYPES[dtype]))
        at = end
    if at != data.nbytes:
        raise InputError(f"{source}: expected {at} bytes of arrays, found {data.nbytes}")
    return arrays


def _entry(entry: Any, where: str) -> tuple[str, list[int], int, int]:
    """dtype, shape, begin and end of an array, each checked to be of the right type."""
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise InputError(f"{where} dtype, shape and data_offsets, found {str(entry)[:80]}")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in _TYPES:
        raise InputError(f"{where} a dtype of {', '.join(_TYPES)}, found {str(dtype)[:80]}")
    for name, numbers in (("shape", shape), ("data_offsets", offsets)):
        if not isinstance(numbers, list) or not all(type(n) is int and 0 <= n < 2**63 for n in numbers):
            raise InputError(f"{where} integers from 0 to 2^63 - 1 as {name}, found other values")
    if len(shape) > 8:
        raise InputError(f"{where} at most 8 dimensions, found {len(shape)}")
    if len(offsets) != 2:
        raise InputError(f"{where} two data_offsets, found {len(offsets)}")
    return dtype, shape, offsets[0], offsets[1]


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
