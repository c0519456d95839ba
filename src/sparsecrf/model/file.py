"""A model in one file, `*.safetensors` (files/container.py describes the layout).

    labels.bytes, labels.offsets            U8, I64[Y + 1]  UTF-8 of all labels; label k is offsets[k] .. offsets[k + 1]
    attributes.bytes, attributes.offsets    U8, I64[X + 1]  likewise
    features                                I64[K]          sorted numbers of the features (encoding/numbering.py)
    weights                                 F64[K]          none is zero

Models with label n-grams of three or more labels use version 2, with the additional arrays

    ngrams.attribute, ngrams.length         I64[n]          of the last n features, in their order
    ngrams.labels                           I64             their labels one after the other; Y is the start

Version 3 stores the same content in fewer bytes, with rounded weights (compact.py). All versions contain these
metadata as JSON: `start` (true or false: whether a start label precedes the first position), `template` (its text and
the convention of its boundary cells, or null), `n_columns` (the number of observation columns in training; 0 means
unknown) and `training` (how the weights were found). If labels have parts, `parts` lists the names of the parts and the
parts of each label (encoding/label_parts.py). If tokens have vectors, `dense` contains their standardisation
(encoding/dense.py), and `vectors` identifies the column with the words that they belong to (encoding/vectors.py).
Feature numbers take only 8 bytes each, far less than the strings, and can be checked in one pass.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from sparsecrf._core import InputError, ModelParts, StringTable
from sparsecrf.encoding.ngrams import Ngrams
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.files.atomic import write_atomically
from sparsecrf.files.container import Array, pack
from sparsecrf.lazy import np
from sparsecrf.model.compact import in_byte_order, pack_arrays

if TYPE_CHECKING:
    from sparsecrf.encoding.dense import DenseColumns
    from sparsecrf.encoding.label_parts import LabelParts
    from sparsecrf.encoding.template import Template
    from sparsecrf.encoding.vectors import WordVectors

FORMAT, VERSION, WITH_NGRAMS, COMPACT = "sparsecrf model", 1, 2, 3
IN_MEMORY = "model in memory"
_BEGIN = 200  # leading bytes that identify a file
_NGRAMS = {"ngrams.attribute", "ngrams.length", "ngrams.labels"}
_VECTORS = {"vectors.bytes", "vectors.offsets", "vectors.values"}


class Parts(NamedTuple):
    """The content of a model file. The core reads it (cpp/core/model/model_file.cpp)."""

    labels: StringTable
    attributes: StringTable  #: attributes with a weight
    numbers: Any  #: [K] int64, the features by number, in ascending order
    w: Any  #: [K] float64, their weights
    start: bool  #: whether a start label precedes the first position
    template: Template | None = None
    n_columns: int = 0  #: number of columns of observations; 0 means any number
    training: Mapping[str, Any] = MappingProxyType({})  #: how the weights were found, in JSON values
    ngrams: Ngrams | None = None  #: label n-grams of the last features, in order
    dense: DenseColumns | None = None  #: standardisation of token vectors; None means no vectors
    label_parts: LabelParts | None = None  #: parts of labels; None means no parts
    vectors: WordVectors | None = None  #: word vectors; None if the model contains none


def used(parts: Parts) -> Parts:
    """The same model without zero weights, and without attributes whose weights are all zero, as stored in a file."""
    ngrams = Ngrams.none() if parts.ngrams is None else parts.ngrams
    numbering = Numbering.with_parts(len(parts.labels), len(parts.attributes), parts.label_parts)
    n_pairs = len(parts.w) - len(ngrams.attribute)
    longer = ngrams.where(parts.w[n_pairs:] != 0)
    numbers = parts.numbers[:n_pairs][parts.w[:n_pairs] != 0]
    attribute = numbering.attribute(numbers)
    stays = np.zeros(len(parts.attributes), dtype=np.bool_)
    stays[attribute] = stays[longer.attribute] = True
    if stays.all() and parts.w.all():
        return parts._replace(ngrams=longer or None)
    kept, place_of = np.flatnonzero(stays), np.cumsum(stays) - 1  # x becomes its index among the kept attributes
    numbers = numbering.moved(numbers, place_of[attribute], len(kept))
    if longer:
        longer = longer._replace(attribute=place_of[longer.attribute].astype(np.int32))
        first = numbering._replace(n_attributes=len(kept)).first_ngram
        numbers = np.concatenate([numbers, first + np.arange(len(longer.attribute))])
    names = StringTable()
    for x in kept.tolist():
        names.intern(parts.attributes[x])
    return parts._replace(attributes=names, numbers=numbers, w=parts.w[parts.w != 0], ngrams=longer or None)


def save(content: bytes, path: str | os.PathLike[str]) -> None:
    """Write a model's file atomically."""
    directory = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(directory):
        raise InputError(f"{os.fspath(path)}: the directory {directory} does not exist")
    write_atomically(path, content)


def to_bytes(parts: Parts, compact: tuple[str, float] | None = None) -> bytes:
    """The content of a model's file. The same model gives the same bytes.

    `compact`: the type that `compact.rounded` rounded the weights to, and their scale.
    """
    arrays: dict[str, Any] = {"features": parts.numbers, "weights": parts.w}
    if compact is None:
        arrays |= names(parts.labels, parts.attributes)
    else:
        parts = in_byte_order(parts)
        arrays = pack_arrays(parts, *compact)
    try:
        training = json.dumps(dict(parts.training), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"training record: expected JSON values (null for non-finite numbers): {error}") from error
    metadata = {
        "start": json.dumps(parts.start),
        "template": json.dumps(template_to_json(parts.template)),
        "n_columns": json.dumps(parts.n_columns),
        "training": training,
    }
    if parts.dense is not None:
        metadata["dense"] = json.dumps(parts.dense.to_json(), allow_nan=False)
    if parts.vectors is not None:
        metadata["vectors"] = json.dumps(parts.vectors.to_json())
        if parts.vectors.origin is None:
            words, offsets = parts.vectors.table.to_arrays()
            stored = zip(sorted(_VECTORS), (words, offsets, parts.vectors.values), strict=True)
            arrays |= dict(stored)
    if parts.label_parts is not None:
        metadata["parts"] = json.dumps(parts.label_parts.to_json())
    if parts.ngrams is not None:
        longer = zip(sorted(_NGRAMS), (parts.ngrams.attribute, parts.ngrams.labels, parts.ngrams.length), strict=True)
        arrays |= {name: values.astype("int64") for name, values in longer}
    if compact is not None:
        return pack(FORMAT, COMPACT, metadata | {"scale": json.dumps(compact[1])}, arrays)
    return pack(FORMAT, VERSION if parts.ngrams is None else WITH_NGRAMS, metadata, arrays)


def read(path: str | os.PathLike[str]) -> tuple[ModelParts, str]:
    """The content of a model file, and the name of the file in errors."""
    source = os.fspath(path)
    try:
        return ModelParts.open(source, source), source
    except InputError:
        with open(path, "rb") as file:
            _check_kind(file.read(_BEGIN) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b"", source)
        raise


def from_bytes(data: bytes) -> tuple[ModelParts, str]:
    """Like `read`, for the content of a file."""
    content = data if isinstance(data, bytes) else bytes(data)
    try:
        return ModelParts.from_bytes(content, IN_MEMORY), IN_MEMORY
    except InputError:
        _check_kind(content[:_BEGIN], IN_MEMORY)
        raise


def options_of(parts: ModelParts, source: str) -> dict[str, Any]:
    """The keyword arguments for the constructor of a model."""
    template, training, of_labels, vectors = (
        json.loads(parts.metadata.get(name, "null")) for name in ("template", "training", "parts", "vectors")
    )
    made = {"template": template_from_json(template, source), "n_columns": parts.n_columns, "training": training}
    if "dense" in parts.metadata:
        from sparsecrf.encoding.dense import DenseColumns

        made["dense"] = DenseColumns(parts.mean, parts.scale)
    if of_labels is not None:
        from sparsecrf.encoding.label_parts import LabelParts

        rows = map(tuple, of_labels["of_labels"])
        made["label_parts"] = LabelParts(tuple(of_labels["names"]), tuple(rows), tuple(of_labels.get("classes", ())))
    if vectors is not None:
        made["vectors"] = _vectors(parts, vectors, source)
    return made


def _vectors(parts: ModelParts, record: dict[str, Any], source: str) -> WordVectors:
    from sparsecrf.encoding.resources import where_it_is
    from sparsecrf.encoding.vectors import WordVectors

    if (stored := parts.vectors) is not None:
        return WordVectors._made(stored.words, stored.values, stored.width, stored.column, stored.window)
    path, words = (name and where_it_is(name, source) for name in (record["path"], record["words"]))
    try:
        found = WordVectors.load(path, words, column=record["column"], window=record["window"], store=False)
    except InputError as error:
        raise InputError(f"{source}: {error}") from error
    if found.origin is None or found.origin.sha256 != record["sha256"]:
        expected = f"the file that the model was trained with, with the SHA-256 checksum {record['sha256']}"
        raise InputError(f"{path}: expected {expected}, found a different file")
    return found


#: First bytes of files that users mistake for models, with the kind of file and the tool that opens it.
_OTHERS = {
    b"lCRF": ("a model of CRFsuite", "crfsuite"),
    b"#mdl#": ("a model of Wapiti", "wapiti"),
    b"version: ": ("a text model of CRF++", "crf++"),
    b"d\0\0\0\0\0\0\0": ("a model of CRF++", "crf++"),
    b"FILEHEADER = {": ("a dump of a CRFsuite model", "crfsuite"),
}


def _check_kind(begin: bytes, source: str) -> None:
    """Reject text, and models of other tools and pickles, with advice on how to open them."""
    if begin[8:9] == b"{":
        return  # the first 8 bytes are the length of the header and may be anything
    for mark, (what, tool) in _OTHERS.items():
        if begin.startswith(mark):
            way = f"`sparsecrf convert {source} NEW --from {tool} --to sparsecrf` converts it"
            also = "; sparsecrf.contrib.compat.Tagger opens it as it is" if mark == b"lCRF" else ""
            raise InputError(f"{source}: expected a {FORMAT}, found {what}; {way}{also}")
    if begin[:1] == b"\x80" and begin[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        way = "pickle.load or joblib.load open it (only if you trust it), and its model_.save(FILE) makes a model file"
        raise InputError(f"{source}: expected a {FORMAT}, found a pickle; {way}")
    if line := _first_line(begin):
        way = "if it is training data, use `sparsecrf train` to make a model"
        raise InputError(f"{source}: expected a {FORMAT}, found text that begins with {line[:40]!r}; {way}")


def _first_line(begin: bytes) -> str | None:
    """The first line of a file that begins with these bytes, if it is text (the last character may be cut)."""
    try:
        text = begin.decode("utf-8", "strict" if len(begin) < _BEGIN else "ignore")
    except UnicodeDecodeError:
        return None
    is_text = len(text.encode()) > len(begin) - 4 and all(c.isprintable() or c in "\t\r\n" for c in text)
    return next(filter(None, map(str.strip, text.splitlines())), None) if is_text else None


def names(labels: StringTable, attributes: StringTable) -> dict[str, Any]:
    """Labels and attributes as arrays of a file."""
    arrays: dict[str, Any] = {}
    for name, table in (("labels", labels), ("attributes", attributes)):
        arrays[f"{name}.bytes"], arrays[f"{name}.offsets"] = table.to_arrays()
    return arrays


def strings(arrays: Mapping[str, Array], name: str, source: str) -> StringTable:
    """The string table that `names` stored as `name`."""
    offsets = arrays[f"{name}.offsets"].of(f"{source}: {name}.offsets", "I64")
    text = arrays[f"{name}.bytes"].of(f"{source}: {name}.bytes", "U8")
    try:
        return StringTable.from_arrays(text, offsets)
    except InputError as error:
        raise InputError(f"{source}: {name}: {error}") from error


def template_to_json(template: Template | None) -> dict[str, Any] | None:
    """The entries of a template. `bytes` and `resources` are written only if needed, so that files of other templates
    do not change."""
    if template is None:
        return None
    record = {"text": template.text, "boundary": template.boundary} | ({"bytes": True} if template.bytes else {})
    resources: list[Any] = template.resources
    return record | ({"resources": [resource.to_json() for resource in resources]} if resources else {})


def template_from_json(record: Any, source: str) -> Template | None:
    if record is None:
        return None
    if (
        not isinstance(record, dict)
        or record.keys() - {"bytes", "resources"} != {"text", "boundary"}
        or not all(isinstance(value, _TEMPLATE.get(name, str)) for name, value in record.items())
    ):
        raise InputError(f"{source}: expected a template's text and boundary, found {str(record)[:80]}")
    from sparsecrf.encoding.template import Template

    resources = []
    if "resources" in record:
        from sparsecrf.encoding.resources import Resource

        resources = [Resource.from_json(one, source) for one in record["resources"]]
    return Template(record["text"], record["boundary"], f"{source}: template", record.get("bytes", False), resources)


_TEMPLATE: dict[str, type] = {"bytes": bool, "resources": list}
