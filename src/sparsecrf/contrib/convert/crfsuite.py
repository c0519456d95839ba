"""CRFsuite's models: the binary file (written by crfsuite_write.py), and the text of `crfsuite dump`.

The binary file (all numbers are little-endian; u4 is an unsigned 32-bit integer):

    header      "lCRF", u4 size of the file, "FOMC", u4 version, u4 0, u4 number of labels, u4 number of attributes,
                u4 offsets of: features, labels, attributes, and of two tables, the features of each label and attribute
    features    "FEAT", u4 size of the chunk, u4 number; each u4 type, u4 source, u4 label, f8 weight.
                Type 0: the source is an attribute; type 1: it is the previous label.
    strings     labels and attributes, a chunk each: "CQDB", u4 size, u4 flags, u4 0x62445371, u4 number of strings,
                u4 offset of their table; there, by id, u4 offset of u4 id, u4 length, bytes, 0. Offsets are relative
                to the chunk. A hash table, from strings to ids, is between them and the table.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sparsecrf._core import InputError, StringTable
from sparsecrf.contrib.convert.foreign import number_of, table_of, text_of
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.encoding.vocabulary import BIAS
from sparsecrf.model import Model
from sparsecrf.model.file import Parts

HEADER = struct.Struct("<4sI4s9I")
CQDB = struct.Struct("<4s5I")
BYTE_ORDER = 0x62445371
#: A feature, as a type of NumPy.
FEATURE = [("type", "<u4"), ("source", "<u4"), ("label", "<u4"), ("weight", "<f8")]
_MOST_ARROWS = 100  # maximum number of arrows in a line of a dump


class Header(NamedTuple):
    """The layout of a model file."""

    n_labels: int
    n_attributes: int
    at_features: int
    at_labels: int
    at_attributes: int


def header_in(data: bytes, source: str) -> Header:
    """The header of a model file; raises if this is not a complete model file."""
    if len(data) < HEADER.size:
        raise InputError(f"{source}: expected a CRFsuite model of at least {HEADER.size} bytes, found {len(data)}")
    magic, size, kind, version, _, *places = HEADER.unpack_from(data)
    if (magic, kind, version) != (b"lCRF", b"FOMC", 100) or size != len(data):
        raise InputError(
            f"{source}: expected a CRFsuite model (lCRF, FOMC, version 100) of {size} bytes, "
            f"found {magic!r}, {kind!r}, version {version}, {len(data)} bytes"
        )
    return Header(*places[:5])


def from_binary(data: bytes, source: str) -> Model:
    """Read a model from the content of a model file."""
    import numpy as np

    n_labels, n_attributes, at_features, at_labels, at_attributes = header_in(data, source)
    labels = _strings(data, at_labels, n_labels, f"{source}: labels")
    attributes = _strings(data, at_attributes, n_attributes, f"{source}: attributes")
    chunk, _, n = _unpack(struct.Struct("<4sII"), data, at_features, f"{source}: features")
    row = np.dtype(FEATURE)
    begin = at_features + 12
    if chunk != b"FEAT" or begin + n * row.itemsize > len(data):
        raise InputError(f"{source}: expected {n} features at byte {at_features} of {len(data)}, found {chunk!r}")
    features = np.frombuffer(data, row, n, begin)
    transition = features["type"] == 1
    limit = np.where(transition, n_labels, n_attributes)
    wrong = (features["type"] > 1) | (features["source"] >= limit) | (features["label"] >= n_labels)
    wrong |= ~np.isfinite(features["weight"])
    if wrong.any():
        k = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"{source}: feature {k}: expected type 0 or 1, a source below {limit[k]}, a label below {n_labels} and a "
            f"finite weight, found {features[k].tolist()}"
        )
    return _from_tables(source, labels, attributes, features[~transition], features[transition])


def _from_tables(source: str, labels: StringTable, attributes: StringTable, states: Any, transitions: Any) -> Model:
    """Build a model from arrays with the fields source, label and weight. Names are not decoded, since there may be a
    million."""
    import numpy as np

    n_named = len(attributes)
    bias = attributes.intern(BIAS)
    numbering = Numbering(len(labels), len(attributes))
    numbers = np.concatenate(
        [
            numbering.unigram(states["source"].astype(np.int64), states["label"].astype(np.int64)),
            numbering.bigram(bias, transitions["source"].astype(np.int64), transitions["label"].astype(np.int64)),
        ]
    )
    w = np.concatenate([states["weight"], transitions["weight"]])
    if (numbers[1:] <= numbers[:-1]).any():  # CRFsuite's features are already in this order
        order = np.argsort(numbers, kind="stable")
        numbers, w = numbers[order], w[order]
    parts = Parts(labels, attributes, numbers, w, False, None, 0, {"imported_from": "crfsuite"})
    model = Model._of(parts, source)
    used = np.bincount(states["source"], minlength=n_named)[:n_named].all()
    return model if used and w.all() and len(transitions) and bias == n_named else model.compacted()


def _unpack(layout: struct.Struct, data: bytes, at: int, where: str) -> tuple[Any, ...]:
    if at + layout.size > len(data):
        raise InputError(
            f"{where}: expected {layout.size} bytes at byte {at}, found the end of the file at {len(data)}"
        )
    return layout.unpack_from(data, at)


def _strings(data: bytes, at: int, n: int, where: str) -> StringTable:
    """The strings of a CQDB chunk by id."""
    import numpy as np

    chunk, _, _, order, n_links, links = _unpack(CQDB, data, at, where)
    if chunk != b"CQDB" or order != BYTE_ORDER or n_links < n:
        raise InputError(f"{where}: expected {n} strings in a CQDB chunk, found {chunk!r} with {n_links} strings")
    if at + links + 4 * n > len(data):
        raise InputError(
            f"{where}: expected {n} offsets at byte {at + links}, found the end of the file at {len(data)}"
        )
    raw = np.frombuffer(data, np.uint8)
    links_of = np.frombuffer(data, np.dtype("<u4"), n, at + links).astype(np.int64)
    begin = at + links_of + 8  # start of each string, after its id and length
    wrong = (links_of == 0) | (begin > len(data))
    inside = np.where(wrong, 8, begin)  # positions in the file, even of invalid strings
    heads = raw[inside[:, None] + np.arange(-8, 0)].view("<u4").astype(np.int64).reshape(n, 2)
    length = heads[:, 1]
    wrong |= (heads[:, 0] != np.arange(n)) | (length == 0) | (inside + length > len(data))
    wrong |= raw[np.where(wrong, 0, inside + length - 1)] != np.where(wrong, raw[0], 0)
    if wrong.any():
        k = int(np.flatnonzero(wrong)[0])
        raise InputError(f"{where}: expected string {k} at byte {at + int(links_of[k])}, found damaged data")
    ends = np.concatenate([[0], np.cumsum(length - 1)]).astype(np.int64)
    if ends[-1] > len(data):  # without this check, a file could request a hundred times its size in memory
        raise InputError(f"{where}: expected separate strings, found overlapping strings")
    text = raw[np.repeat(begin - ends[:-1], length - 1) + np.arange(ends[-1])]
    try:
        return StringTable.from_arrays(text, ends)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error


def from_dump(data: bytes, source: str) -> Model:
    """Read a model from the text of `crfsuite dump`."""
    import numpy as np

    sections: dict[str, list[tuple[str, str]]] = {}
    current: list[tuple[str, str]] | None = None
    for number, line in enumerate(text_of(data, source).split("\n"), 1):
        where = f"{source}, line {number}"
        if line.endswith(" = {"):
            current = sections.setdefault(line[: -len(" = {")], [])
        elif line == "}":
            current = None
        elif current is not None:
            current.append((where, line))
        elif line:
            raise InputError(f"{where}: expected a section of `crfsuite dump`, NAME = {{, found {line[:40]!r}")
    names = ["FILEHEADER", "LABELS", "ATTRIBUTES", "TRANSITIONS", "STATE_FEATURES"]
    if list(sections) != names or current is not None:
        raise InputError(f"{source}: expected complete sections {', '.join(names)}, found {', '.join(sections)}")
    labels, attributes = _names(sections["LABELS"]), _names(sections["ATTRIBUTES"])
    kinds = {name: {text: k for k, text in enumerate(list_)} for name, list_ in (("l", labels), ("a", attributes))}
    fields = np.dtype([("source", "i8"), ("label", "i8"), ("weight", "f8")])
    states = list(_cells(sections["STATE_FEATURES"], kinds["a"], kinds["l"]))
    transitions = list(_cells(sections["TRANSITIONS"], kinds["l"], kinds["l"]))
    tables = table_of(labels, "label", source), table_of(attributes, "attribute", source)
    return _from_tables(source, *tables, np.array(states, fields), np.array(transitions, fields))


def _names(lines: list[tuple[str, str]]) -> list[str]:
    """`  12: name`, in order."""
    names = []
    for k, (where, line) in enumerate(lines):
        number, found, name = line.partition(": ")
        if not found or number.strip() != str(k):
            raise InputError(f"{where}: expected '{k}: name', found {line[:40]!r}")
        names.append(name)
    return names


def _cells(
    lines: list[tuple[str, str]], sources: dict[str, int], labels: dict[str, int]
) -> Iterator[tuple[int, int, float]]:
    """`  (0) source --> label: weight`. Names may contain arrows, so use the split that results in two known names."""
    for where, line in lines:
        names, _, weight = line.partition(") ")[2].rpartition(": ")
        parts = names.split(" --> ", _MOST_ARROWS + 1)
        if len(parts) > _MOST_ARROWS:  # each arrow is tried as a split, in time proportional to the length of the line
            raise InputError(f"{where}: expected names with fewer than {_MOST_ARROWS} arrows, found {line[:80]!r}")
        splits = [(" --> ".join(parts[:k]), " --> ".join(parts[k:])) for k in range(1, len(parts))]
        cells = [(sources[a], labels[b]) for a, b in splits if a in sources and b in labels]
        if len(cells) != 1:
            raise InputError(f"{where}: expected an unambiguous '(type) name --> label: weight', found {line[:80]!r}")
        yield *cells[0], number_of(weight, where)


class Written(NamedTuple):
    """A model in the form of CRFsuite's files. Attributes with a state feature are numbered in order."""

    labels: list[str]
    attributes: list[str]
    states: tuple[Any, Any, Any]  #: arrays of attribute, label and weight, sorted by attribute and label
    transitions: tuple[Any, Any, Any]  #: arrays of previous label, label and weight


def as_written(model: Model) -> Written:
    """A model in the form of CRFsuite's files; raises for anything they cannot express."""
    import numpy as np

    if model.dense is not None:
        raise InputError("CRFsuite models cannot contain vectors, but this model does")
    small = model.without_parts().compacted()
    matrix, Y = small.transitions(), len(small.labels)
    plain, names = set(small.plain_attributes()), small.vocabulary.attributes
    for x in sorted(set(small.features.bigram_attribute.tolist())):
        if names[x] not in plain:
            raise InputError(
                f"CRFsuite models support only plain transitions, found transition weights for attribute {names[x]!r}"
            )
    if matrix[Y].any():
        found = small.labels[int(abs(matrix[Y]).argmax())]
        raise InputError(
            f"CRFsuite models have no start label: expected no weights for it, found a weight for label {found!r}; "
            "train with --no-start"
        )
    if small.features.n_ngram:
        n = small.features.n_ngram
        raise InputError(f"CRFsuite models cannot contain label n-grams longer than pairs: expected none, found {n}")
    features = small.features
    used, place = np.unique(features.unigram_attribute, return_inverse=True)
    before, label = matrix[:Y].nonzero()
    return Written(
        labels=small.labels,
        attributes=[names[x] for x in used.tolist()],
        states=(place, features.unigram_label, small.w[: len(place)]),
        transitions=(before, label, matrix[before, label]),
    )


def to_dump(model: Model) -> str:
    """The text that `crfsuite dump` would print for the model, but with all digits of the weights."""
    labels, attributes, states, transitions = as_written(model)
    for name in (*labels, *attributes):
        if "\n" in name:
            raise InputError(f"dumps of CRFsuite models contain one name per line: expected one line, found {name!r}")
    cells = {
        "TRANSITIONS": [f"  (1) {labels[a]} --> {labels[b]}: {_decimal(w)}" for a, b, w in _rows(transitions)],
        "STATE_FEATURES": [f"  (0) {attributes[a]} --> {labels[b]}: {_decimal(w)}" for a, b, w in _rows(states)],
    }
    header = header_of(labels, attributes, len(states[0]), len(transitions[0]))
    sections = {
        "FILEHEADER": [f"  {name}: {value}" for name, value in header.items()],
        "LABELS": [f"  {k:5}: {name}" for k, name in enumerate(labels)],
        "ATTRIBUTES": [f"  {k:5}: {name}" for k, name in enumerate(attributes)],
        **cells,
    }
    return "".join("\n".join([f"{name} = {{", *lines, "}", "", ""]) for name, lines in sections.items())


def header_of(labels: Sequence[str], attributes: Sequence[str], n_states: int, n_transitions: int) -> dict[str, str]:
    """The header of CRFsuite's file for this model, as in its dumps, except for the number of features, which is always
    0 there.
    """
    n = n_states + n_transitions
    at_labels = HEADER.size + 12 + 20 * n
    at_attributes = at_labels + _size_of_strings(labels)
    at_label_lists = _aligned(at_attributes + _size_of_strings(attributes))
    at_attribute_lists = at_label_lists + 12 + 4 * (2 * len(labels) + 2 + n_transitions)
    size = at_attribute_lists + 12 + 4 * (2 * len(attributes) + n_states)
    offsets = {
        "features": HEADER.size,
        "labels": at_labels,
        "attrs": at_attributes,
        "labelrefs": at_label_lists,
        "attrrefs": at_attribute_lists,
    }
    return {
        **{"magic": "lCRF", "size": str(size), "type": "FOMC", "version": "100"},
        **{"num_features": str(n), "num_labels": str(len(labels)), "num_attrs": str(len(attributes))},
        **{f"off_{name}": f"0x{at:X}" for name, at in offsets.items()},
    }


def _size_of_strings(names: Sequence[str]) -> int:
    """Header, 256 references to hash tables, the strings, two slots for each, and the table by id."""
    return CQDB.size + 8 * 256 + sum(9 + len(name.encode()) for name in names) + (2 * 8 + 4) * len(names)


def _aligned(offset: int) -> int:
    return offset + -offset % 4


def _decimal(weight: float) -> str:
    """All digits, without an exponent, which parsers of dumps do not expect."""
    from decimal import Decimal

    text = f"{Decimal(repr(weight)):f}"
    return text if "." in text else f"{text}.0"


def _rows(columns: tuple[Any, Any, Any]) -> Iterator[tuple[int, int, float]]:
    return zip(*(column.tolist() for column in columns), strict=True)
