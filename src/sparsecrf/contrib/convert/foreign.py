"""Reads and writes files of other tools' models, with one module per tool.

These tools do not use a start label, and neither do the converted models. Names of attributes do not change: models of
CRF++ and Wapiti keep their template, which generates the attributes from the columns. These tools treat names as bytes.
`encoding` determines whether names are decoded, and how (files/charset.py); the model stores the encoding.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from sparsecrf._core import InputError
from sparsecrf.contrib.convert import crfpp, crfpp_binary, crfsuite, crfsuite_write, wapiti
from sparsecrf.files.atomic import write_atomically
from sparsecrf.files.charset import UTF8, Charset
from sparsecrf.model import Model
from sparsecrf.model.format import charset_for

File = str | os.PathLike[str]


def read_crfsuite(path: File) -> Model:
    """Read a model file of CRFsuite, or the text of `crfsuite dump` (weights to 6 decimals)."""
    data, source = Path(path).read_bytes(), os.fspath(path)
    read = crfsuite.from_binary if data.startswith(b"lCRF") else crfsuite.from_dump
    return read(data, source)


def read_wapiti(path: File, encoding: str = UTF8) -> Model:
    """Read a model file of Wapiti, or the text of `wapiti dump` (weights to 5 decimals, no template)."""
    data, source, charset = Path(path).read_bytes(), os.fspath(path), Charset(encoding)
    read = wapiti.from_model if data.startswith(b"#mdl#") else wapiti.from_dump
    return _for_files(read(data, source, charset), charset)


def read_crfpp(path: File, encoding: str = UTF8) -> Model:
    """Read a model of CRF++: the binary file (single-precision weights), or the text that `crf_learn -t` writes next to
    it."""
    data, source, charset = Path(path).read_bytes(), os.fspath(path), Charset(encoding)
    is_binary = crfpp_binary.is_binary(data)
    if not is_binary and not data.startswith(b"version: "):
        raise InputError(f"{source}: expected a model of CRF++ (binary or text), found {data[:20]!r}")
    read = crfpp_binary.from_binary if is_binary else crfpp.from_text
    return _for_files(read(data, source, charset), charset)


def _for_files(model: Model, charset: Charset) -> Model:
    """The model, set up for files in this encoding."""
    return model if charset.is_utf8 else model.noted(encoding=charset.name)


def write_crfsuite(model: Model, path: File) -> None:
    """Write a model as `crfsuite dump` would, with all digits. Reject bigram weights other than plain transitions, and
    weights after the start label, since CRFsuite does not support them.
    """
    write_atomically(path, crfsuite.to_dump(model).encode())


def write_crfsuite_binary(model: Model, path: File) -> None:
    """Write a model as CRFsuite's own file, which python-crfsuite and `crfsuite tag` open. Reject models that CRFsuite
    cannot express, as `write_crfsuite` does.
    """
    write_atomically(path, crfsuite_write.to_binary(model))


def write_wapiti(model: Model, path: File) -> None:
    """Write a model file of Wapiti. Reject models that Wapiti cannot express."""
    write_atomically(path, wapiti.to_model(model, charset_for(model, None)))


def write_crfpp(model: Model, path: File) -> None:
    """Write a text model of CRF++, which `crf_learn -C` converts to a binary one. Reject models that CRF++ cannot
    express."""
    write_atomically(path, crfpp.to_text(model, charset_for(model, None)))


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
