"""CRFsuite's models: the binary file, which the core reads (cpp/core/text/crfsuite_model.cpp) and crfsuite_write.py
writes, and the text of `crfsuite dump`.

The binary file (all numbers are little-endian; u4 is an unsigned 32-bit integer):

    header      "lCRF", u4 size of the file, "FOMC", u4 version, u4 0, u4 number of labels, u4 number of attributes,
                u4 offsets of: features, labels, attributes, and of two tables, the features of each label and attribute
    features    "FEAT", u4 size of the chunk, u4 number; each u4 type, u4 source, u4 label, f8 weight.
                Type 0: the source is an attribute; type 1: it is the previous label.
    strings     labels and attributes, one chunk each: "CQDB", u4 size, u4 flags, u4 0x62445371, u4 number of strings,
                u4 offset of their table; there, by id, u4 offset of u4 id, u4 length, bytes, 0. Offsets are relative
                to the chunk. A hash table from strings to ids lies between the strings and this table.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sparsecrf._core import CrfsuiteModel, InputError
from sparsecrf.contrib.convert.exporting import with_pairs_only
from sparsecrf.contrib.convert.importing import assemble, number_of, text_of
from sparsecrf.encoding.vocabulary import BIAS
from sparsecrf.lazy import np
from sparsecrf.model import Model
from sparsecrf.model.file import Parts

HEADER = struct.Struct("<4sI4s9I")
CQDB = struct.Struct("<4s5I")
BYTE_ORDER = 0x62445371
#: The NumPy type of a feature.
FEATURE = [("type", "<u4"), ("source", "<u4"), ("label", "<u4"), ("weight", "<f8")]
_MOST_ARROWS = 100  # maximum number of arrows in a line of a dump


def from_binary(data: bytes, source: str) -> Model:
    """Read a model from the content of a model file."""
    file = CrfsuiteModel(data, source)
    attributes, numbers, w = file.whole(BIAS)
    parts = Parts(file.labels, attributes, numbers, w, False, training={"imported_from": "crfsuite"})
    return Model._of(parts, source).compacted()


def from_dump(data: bytes, source: str) -> Model:
    """Read a model from the text of `crfsuite dump`."""
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
    states = list(_cells(sections["STATE_FEATURES"], kinds["a"], kinds["l"]))
    transitions = list(_cells(sections["TRANSITIONS"], kinds["l"], kinds["l"]))
    bias = kinds["a"].get(BIAS, len(attributes))
    return assemble(
        source,
        labels,
        attributes if BIAS in kinds["a"] else [*attributes, BIAS],
        ([cell for *cell, _ in states], [w for *_, w in states]),
        ([(bias, *cell) for *cell, _ in transitions], [w for *_, w in transitions]),
        tool="crfsuite",
    )


def _names(lines: list[tuple[str, str]]) -> list[str]:
    """The names in lines of the form `  12: name`, in order."""
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
    """The content of a line `  (0) source --> label: weight`. Names may contain arrows, so use the split that results
    in two known names."""
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
    """A model in the form of CRFsuite's files; rejects anything that they cannot express."""
    small = with_pairs_only(model, "CRFsuite")
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


class Layout(NamedTuple):
    """The size of CRFsuite's file, and the offsets of its parts, by their names in dumps."""

    size: int
    features: int
    labels: int
    attrs: int
    labelrefs: int
    attrrefs: int


def layout_of(labels: Sequence[str], attributes: Sequence[str], n_states: int, n_transitions: int) -> Layout:
    """The layout of CRFsuite's file for a model with these names and numbers of features."""
    at_labels = HEADER.size + 12 + 20 * (n_states + n_transitions)
    at_attributes = at_labels + _size_of_strings(labels)
    end = at_attributes + _size_of_strings(attributes)
    at_label_lists = end + -end % 4
    at_attribute_lists = at_label_lists + 12 + 4 * (2 * len(labels) + 2 + n_transitions)
    size = at_attribute_lists + 12 + 4 * (2 * len(attributes) + n_states)
    return Layout(size, HEADER.size, at_labels, at_attributes, at_label_lists, at_attribute_lists)


def _size_of_strings(names: Sequence[str]) -> int:
    """Header, 256 references to hash tables, the strings, two slots for each, and the table by id."""
    return CQDB.size + 8 * 256 + sum(9 + len(name.encode()) for name in names) + (2 * 8 + 4) * len(names)


def header_of(labels: Sequence[str], attributes: Sequence[str], n_states: int, n_transitions: int) -> dict[str, str]:
    """The header of CRFsuite's file for this model, as in its dumps, except for the number of features, which is always
    0 there.
    """
    size, *offsets = layout_of(labels, attributes, n_states, n_transitions)
    return {
        **{"magic": "lCRF", "size": str(size), "type": "FOMC", "version": "100"},
        **{"num_features": str(n_states + n_transitions)},
        **{"num_labels": str(len(labels)), "num_attrs": str(len(attributes))},
        **{f"off_{name}": f"0x{at:X}" for name, at in zip(Layout._fields[1:], offsets, strict=True)},
    }


def _decimal(weight: float) -> str:
    """The number with all digits, without an exponent, which parsers of dumps do not expect."""
    from decimal import Decimal

    text = f"{Decimal(repr(weight)):f}"
    return text if "." in text else f"{text}.0"


def _rows(columns: tuple[Any, Any, Any]) -> Iterator[tuple[int, int, float]]:
    return zip(*(column.tolist() for column in columns), strict=True)
