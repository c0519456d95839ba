"""CRF++'s binary models, as crf_learn writes them on little-endian machines.

    version, type, cost factor, maxid, xsize, bytes of the trie     U32, I32, F64, U32, U32, U32
    bytes of the labels, labels                                     U32, text with a NUL after each
    bytes of the template, its lines                                U32, likewise; NULs at the end align what follows
    trie                                                            pairs (base I32, check U32)
    weights                                                         F32[maxid]

The trie is a double array. A node is identified by its base b; its children are the entries p with check[p] = b. The
entry b + c + 1 is the child for the byte c, and base[b + c + 1] is the base of that child. The entry b marks the end of
a name, and -base[b] - 1 is the number of the name's first weight. The root's base is base[0].
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.contrib.convert.crfpp import fits, model_of
from sparsecrf.contrib.convert.importing import text_of
from sparsecrf.files.charset import UTF8_TEXT, Charset
from sparsecrf.lazy import np
from sparsecrf.model import Model

_HEADER = struct.Struct("<IidIII")
_SIZE = struct.Struct("<I")
_LONGEST_NAME = 1 << 14
_MOST_TIMES = 64  # all names together may be this many times as large as the file, since a trie shares prefixes


def is_binary(data: bytes) -> bool:
    """Whether the content of a file begins like a binary model: version 1xx and type 0."""
    return len(data) >= 8 and 100 <= int.from_bytes(data[:4], "little") < 200 and data[4:8] == bytes(4)


def from_binary(data: bytes, source: str, charset: Charset = UTF8_TEXT) -> Model:
    """Read a model in the binary format."""
    if len(data) < _HEADER.size:
        raise InputError(f"{source}: expected a model of CRF++, found {len(data)} bytes")
    _, _, cost_factor, n, _, trie_size = _HEADER.unpack_from(data)
    labels, at = _strings(data, _HEADER.size, f"{source}: labels", charset)
    lines, at = _strings(data, at, f"{source}: template", charset)
    expected = at + trie_size + 4 * n
    if len(data) != expected or trie_size % 8 != 0 or not np.isfinite(cost_factor):
        raise InputError(f"{source}: expected a complete CRF++ model of {expected} bytes, found {len(data)}")
    units = np.frombuffer(data, dtype=[("base", "<i4"), ("check", "<u4")], count=trie_size // 8, offset=at)
    w = cost_factor * np.frombuffer(data, dtype="<f4", count=n, offset=at + trie_size).astype(np.float64)
    if not np.isfinite(w).all():
        raise InputError(f"{source}: expected finite weights, found infinite weights or NaN")
    names, first = [], []
    room = most = _MOST_TIMES * len(data)
    for raw, number in _entries(units["base"], units["check"], source):
        room -= len(raw)
        if room < 0:
            raise InputError(
                f"{source}: expected names of at most {most} bytes in total (64 times the file size), found more"
            )
        name = text_of(raw, f"{source}: attribute", charset)
        if not fits(name, number, len(labels), n):
            expected_name = f"attributes U... and B... with first weights below {n}"
            raise InputError(f"{source}: expected {expected_name}, found {name[:60]!r} with {number}")
        names.append(name)
        first.append(number)
    return model_of(source, labels, lines, names, first, w)


def _strings(data: bytes, at: int, where: str, charset: Charset) -> tuple[list[str], int]:
    """Strings that end with NUL, and the position after the last one."""
    if len(data) < at + _SIZE.size:
        raise InputError(f"{where}: expected the size of the section at byte {at}, found the end of the file")
    begin = at + _SIZE.size
    end = begin + _SIZE.unpack_from(data, at)[0]
    raw = data[begin:end]
    if len(data) < end or (raw and raw[-1] != 0):
        raise InputError(f"{where}: expected {end - begin} bytes from byte {begin} on, found fewer")
    return [text_of(text, where, charset) for text in raw.split(b"\0") if text], end


def _entries(base: Any, check: Any, source: str) -> Iterator[tuple[bytes, int]]:
    """The names of a trie with their numbers, in the order of their bytes."""
    if not len(check):
        return
    place = np.argsort(check, kind="stable")  # makes the children of each node adjacent
    parents, start = np.unique(check[place], return_index=True)
    ends = [*start[1:].tolist(), len(place)]
    children = {b: (k, end) for b, k, end in zip(parents.tolist(), start.tolist(), ends, strict=True) if b > 0}
    order, bases = place.tolist(), base.tolist()
    open_nodes = [(bases[0], b"")]
    while open_nodes:
        b, prefix = open_nodes.pop()
        # a node that is reached twice has no children left, which means that the file is damaged
        begin, end = children.pop(b, (0, 0))
        if begin == end or len(prefix) > _LONGEST_NAME:
            raise InputError(f"{source}: expected names in a trie, found a branch without a name after {prefix[:40]!r}")
        for p in reversed(order[begin:end]):
            code = p - b - 1
            if 0 <= code < 256:
                open_nodes.append((bases[p], prefix + bytes([code])))
            elif code == -1 and bases[p] < 0:
                yield prefix, -bases[p] - 1
            else:
                raise InputError(f"{source}: expected names in a trie, found entry {p} out of place")
