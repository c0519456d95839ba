"""Digests of exact values: two numbers have the same digest only if all their bits are equal."""

from __future__ import annotations

import hashlib
import re
import struct
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from typing import Any

import numpy as np

#: Hexadecimal digits kept of a SHA-256: 48 bits distinguish a few thousand values, and the file stays small.
DIGITS = 12


def digest(value: Any) -> str:
    """The digest of a value: None, text, bytes, numbers, arrays, and lists, mappings and dataclasses of these."""
    state = hashlib.sha256()
    _feed(state, value)
    return state.hexdigest()[:DIGITS]


def _feed(state: Any, value: Any) -> None:
    """Every value is preceded by its type and size, so that no two values feed the same bytes."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int)):
        _put(state, "i", repr(value).encode())
    elif isinstance(value, float):
        _put(state, "f", struct.pack("<d", value))
    elif isinstance(value, str):
        _put(state, "s", value.encode())
    elif isinstance(value, (bytes, bytearray, memoryview)):
        _put(state, "b", bytes(value))
    elif isinstance(value, np.ndarray) and value.dtype != object:
        _put(state, f"a{value.dtype.str}{value.shape}", np.ascontiguousarray(value).tobytes())
    elif isinstance(value, Mapping):
        _put(state, "m", str(len(value)).encode())
        for key, item in value.items():
            _feed(state, key)
            _feed(state, item)
    elif isinstance(value, (list, tuple, np.ndarray)):
        _put(state, "l", str(len(value)).encode())
        for item in value:
            _feed(state, item)
    else:
        raise TypeError(f"digest: expected numbers, text, arrays or containers of them, found {type(value)}")


def _put(state: Any, kind: str, content: bytes) -> None:
    state.update(f"{kind}{len(content)}:".encode())
    state.update(content)


#: Fields that differ between identical runs or releases: times, the package's version, and the file's digest, which
#: covers both.
_VOLATILE = (
    rb'(\\?"(?:time_s|elapsed)\\?": ?)[-+.e0-9]+',
    rb'(\\?"version\\?": ?\\?")[^"\\]*',
    rb'("digest": ?")[0-9a-f]*',
)


def stable_file(content: bytes) -> tuple[bytes, bytes]:
    """The bytes of a safetensors file (model, checkpoint, vocabulary) without what two equal runs do not share: its
    header and its arrays."""
    length = int.from_bytes(content[:8], "little")
    header = content[8 : 8 + length].rstrip(b" ")
    for pattern in _VOLATILE:
        header = re.sub(pattern, rb"\1", header)
    return header, content[8 + length :]
