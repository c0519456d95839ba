"""Writes the binary file of CRFsuite, as CRFsuite itself would: the same features, names and tables in the same order.

crfsuite.py describes the layout of the parts that it reads. For tagging, CRFsuite also needs:

    strings     after the header of a chunk of strings, 256 pairs: u4 offset of a hash table (0: none), u4 slots.
                A string with the hash h is in table h % 256, which has two slots for each of its strings: at slot
                (h >> 8) % slots or, if that is taken, at the next free slot. A slot has u4 h and u4 offset of the
                string.
    references  "LFRF" for labels, "AFRF" for attributes, u4 size, u4 number, by id u4 offset in the file of a list:
                u4 number, u4 numbers of the features that have this source. Labels have two more offsets, which are 0.

The hash is lookup3 of a string with the 0 at its end (`CrfsuiteModel.hash`).
"""

from __future__ import annotations

import struct
from typing import Any

from sparsecrf._core import CrfsuiteModel, InputError
from sparsecrf.contrib.convert.crfsuite import BYTE_ORDER, CQDB, FEATURE, HEADER, Written, as_written, layout_of
from sparsecrf.lazy import np
from sparsecrf.model import Model

_TABLES = 256


def to_binary(model: Model | None) -> bytes:
    """The content of CRFsuite's model file. None means a model without labels, which is what CRFsuite trains without
    data."""
    nothing = (np.empty(0, np.int64),) * 3
    written = Written([], [], nothing, nothing) if model is None else as_written(model)
    labels, attributes, states, transitions = written
    features = np.zeros(len(states[0]) + len(transitions[0]), np.dtype(FEATURE))
    n = len(states[0])
    features["type"][n:] = 1
    for k, field in enumerate(("source", "label", "weight")):
        features[field] = np.concatenate([states[k], transitions[k]])
    at = layout_of(labels, attributes, n, len(transitions[0]))
    if at.size >= 2**32:
        raise InputError(f"CRFsuite model files are limited to 4 GB: expected a smaller model, found {at.size} bytes")
    size, *offsets = at
    # as in CRFsuite's own files, the header counts 0 features; the true number is in the chunk FEAT
    counts = (0, len(labels), len(attributes))
    header = HEADER.pack(b"lCRF", size, b"FOMC", 100, *counts, *offsets)
    chunk = struct.pack("<4sII", b"FEAT", 12 + features.nbytes, len(features)) + features.tobytes()
    content = b"".join([header, chunk, _strings(labels), _strings(attributes)])
    return b"".join(
        [
            content.ljust(at.labelrefs, b"\0"),
            _references(b"LFRF", transitions[0], n, len(labels), at.labelrefs),
            _references(b"AFRF", states[0], 0, len(attributes), at.attrrefs),
        ]
    )


def _references(name: bytes, sources: Any, first: int, n: int, at: int) -> bytes:
    """The numbers of the features of each source 0, ..., n - 1, in a chunk that begins at byte `at` of the file.

    `sources` contains the sources of the features first, first + 1, ..., in ascending order.
    """
    empty = 2 if name == b"LFRF" else 0
    counts = np.bincount(sources, minlength=n)
    ends = np.cumsum(counts + 1)
    words = np.empty(len(sources) + n, np.dtype("<u4"))  # content of all lists
    words[ends - counts - 1] = counts
    is_number = np.ones(len(words), np.bool_)
    is_number[ends - counts - 1] = False
    words[is_number] = first + np.arange(len(sources))
    begin = 12 + 4 * (n + empty)
    table = np.zeros(n + empty, np.dtype("<u4"))
    table[:n] = at + begin + 4 * (ends - counts - 1)
    return struct.pack("<4sII", name, begin + words.nbytes, n + empty) + table.tobytes() + words.tobytes()


def _strings(names: list[str]) -> bytes:
    """A chunk of strings."""
    encoded = [name.encode() + b"\0" for name in names]
    for name in encoded:
        if b"\0" in name[:-1]:
            raise InputError(f"names in CRFsuite models cannot contain NUL, found NUL in {name[:-1]!r}")
    lengths = np.array([len(name) for name in encoded], dtype=np.int64)
    data_begin = CQDB.size + 8 * _TABLES
    ends = np.cumsum(lengths + 8)
    offsets = data_begin + ends - lengths - 8
    data = b"".join(struct.pack("<II", k, len(name)) + name for k, name in enumerate(encoded))
    hashes = [CrfsuiteModel.hash(name[:-1]) for name in encoded]
    tables, references = _hash_tables(hashes, offsets.tolist(), data_begin + len(data))
    links = data_begin + len(data) + len(tables)
    size = links + 4 * len(names)
    header = CQDB.pack(b"CQDB", size, 0, BYTE_ORDER, len(names), links if names else 0)
    return b"".join([header, references, data, tables, offsets.astype("<u4").tobytes()])


def _hash_tables(hashes: list[int], offsets: list[int], at: int) -> tuple[bytes, bytes]:
    """All hash tables, the first of which begins at byte `at` of the chunk, and the references to the tables."""
    members: list[list[tuple[int, int]]] = [[] for _ in range(_TABLES)]
    for h, offset in zip(hashes, offsets, strict=True):
        members[h % _TABLES].append((h, offset))
    slots = np.zeros((2 * len(hashes), 2), dtype=np.dtype("<u4"))
    references, begin = [], 0
    for table in members:
        n = 2 * len(table)
        references += [at + 8 * begin if n else 0, n]
        taken: dict[int, tuple[int, int]] = {}
        for h, offset in table:
            k = (h >> 8) % n
            while k in taken:
                k = (k + 1) % n
            taken[k] = (h, offset)
        if taken:
            slots[[begin + k for k in taken]] = list(taken.values())
        begin += n
    return slots.tobytes(), np.array(references, dtype="<u4").tobytes()
