"""Models of other tools, with one module per tool, and shared code.

These tools do not use a start label, and neither do the converted models. Names of attributes do not change: models of
CRF++ and Wapiti keep their template, which generates the attributes from the columns. These tools treat names as bytes.
`encoding` determines how names are decoded, or that they stay bytes (files/charset.py); the model stores the encoding.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparsecrf._core import InputError, StringTable
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.files.atomic import write_atomically
from sparsecrf.files.charset import UTF8, UTF8_TEXT, Charset
from sparsecrf.model import Model
from sparsecrf.model.format import charset_for

if TYPE_CHECKING:
    from sparsecrf.encoding.template import Template

File = str | os.PathLike[str]


def read_crfsuite(path: File) -> Model:
    """Read a model file of CRFsuite, or the text of `crfsuite dump` (weights to 6 decimals)."""
    from sparsecrf.contrib.convert.crfsuite import from_binary, from_dump

    data, source = Path(path).read_bytes(), os.fspath(path)
    return from_binary(data, source) if data.startswith(b"lCRF") else from_dump(data, source)


def read_wapiti(path: File, encoding: str = UTF8) -> Model:
    """Read a model file of Wapiti, or the text of `wapiti dump` (weights to 5 decimals, no template)."""
    from sparsecrf.contrib.convert.wapiti import from_dump, from_model

    data, source, charset = Path(path).read_bytes(), os.fspath(path), Charset(encoding)
    of = from_model if data.startswith(b"#mdl#") else from_dump
    return _for_files(of(data, source, charset), charset)


def read_crfpp(path: File, encoding: str = UTF8) -> Model:
    """Read a model of CRF++, binary (single-precision weights) or the text that `crf_learn -t` writes next to it."""
    from sparsecrf.contrib.convert.crfpp import from_text
    from sparsecrf.contrib.convert.crfpp_binary import from_binary, is_binary

    data, source, charset = Path(path).read_bytes(), os.fspath(path), Charset(encoding)
    if is_binary(data):
        return _for_files(from_binary(data, source, charset), charset)
    if not data.startswith(b"version: "):
        raise InputError(f"{source}: expected a model of CRF++ (binary or text), found {data[:20]!r}")
    return _for_files(from_text(data, source, charset), charset)


def _for_files(model: Model, charset: Charset) -> Model:
    """The model, set up for files in this encoding."""
    return model if charset.is_utf8 else model.noted(encoding=charset.name)


def write_crfsuite(model: Model, path: File) -> None:
    """Write a model as `crfsuite dump` would, with all digits. Bigram weights other than plain transitions, and weights
    after the start, are an error, since CRFsuite does not support them.
    """
    from sparsecrf.contrib.convert.crfsuite import to_dump

    write_atomically(path, to_dump(model).encode())


def write_crfsuite_binary(model: Model, path: File) -> None:
    """Write a model as CRFsuite's own file, which python-crfsuite and `crfsuite tag` open. Raise for models that
    CRFsuite cannot express, as in `write_crfsuite`.
    """
    from sparsecrf.contrib.convert.crfsuite_write import to_binary

    write_atomically(path, to_binary(model))


def write_wapiti(model: Model, path: File) -> None:
    """Write a model file of Wapiti. Raise for models that Wapiti cannot express."""
    from sparsecrf.contrib.convert.wapiti import to_model

    write_atomically(path, to_model(model, charset_for(model, None)))


def write_crfpp(model: Model, path: File) -> None:
    """Write a text model of CRF++, which `crf_learn -C` converts to a binary one. Raise for models that CRF++ cannot
    express."""
    from sparsecrf.contrib.convert.crfpp import to_text

    write_atomically(path, to_text(model, charset_for(model, None)))


READERS: dict[str, Callable[..., Model]] = {"crfsuite": read_crfsuite, "wapiti": read_wapiti, "crf++": read_crfpp}
WRITERS: dict[str, Callable[[Model, File], None]] = {
    "crfsuite": write_crfsuite,
    "crfsuite-binary": write_crfsuite_binary,
    "wapiti": write_wapiti,
    "crf++": write_crfpp,
}


#: The first bytes of other tools' model files.
_MARKS = {b"lCRF": "crfsuite", b"FILEHEADER = {": "crfsuite", b"#mdl#": "wapiti", b"version: ": "crf++"}


def open_model(path: File) -> Model:
    """Read a model of this package, CRFsuite, Wapiti or CRF++, recognised by its first bytes."""
    with open(path, "rb") as file:
        begin = file.read(16)
    for mark, tool in _MARKS.items():
        if begin.startswith(mark) and begin[8:9] != b"{":  # where the header of a sparsecrf model would begin
            return READERS[tool](path)
    return Model.load(path)


def text_of(raw: bytes, where: str, charset: Charset = UTF8_TEXT) -> str:
    """Decode names, which are bytes in other tools."""
    try:
        return charset.text(raw)
    except UnicodeDecodeError as error:
        found = f"byte 0x{raw[error.start]:02x} in {raw[:40]!r}"
        raise InputError(f"{where}: expected {charset.title}, found {found}; give its encoding") from error


def number_of(raw: bytes | str, where: str) -> float:
    """A weight in decimal notation."""
    from math import isfinite

    try:
        value = float(raw)
    except ValueError:
        value = float("nan")
    if not isfinite(value):
        raise InputError(f"{where}: expected a weight, found {raw[:40]!r}")
    return value


def table_of(names: Sequence[str], what: str, source: str) -> StringTable:
    """Names by id. Errors refer to a name as `what`."""
    table = StringTable()
    for k, name in enumerate(names):
        if table.intern(name) != k:
            raise InputError(f"{source}: expected distinct {what}s, found {name!r} twice")
    return table


def assemble(
    source: str,
    labels: Sequence[str],
    attributes: Sequence[str],
    unigram: tuple[Any, Any],
    bigram: tuple[Any, Any],
    *,
    tool: str,
    template: Template | None = None,
    n_columns: int = 0,
) -> Model:
    """A model from cells by id (as for `Model.from_cells`) with their weights; cells with weight 0 are left out."""
    import numpy as np

    tables = table_of(labels, "label", source), table_of(attributes, "attribute", source)
    kept = []
    for (cells, w), width in ((unigram, 2), (bigram, 3)):
        cells, w = np.asarray(cells, dtype=np.int64).reshape(-1, width), np.asarray(w, dtype=np.float64)
        active = w != 0
        kept += [cells[active], w[active]]
    conditioning = frozenset(attributes[x] for x in np.unique(kept[2][:, 0]))
    training: Mapping[str, Any] = {"imported_from": tool}
    try:
        vocabulary = Vocabulary(bigrams=conditioning, start=False, labels=tables[0], attributes=tables[1])
        made = Model.from_cells(vocabulary, *kept, template=template, n_columns=n_columns, training=training)
        return made.compacted()
    except InputError as error:
        raise InputError(f"{source}: {error}") from error
