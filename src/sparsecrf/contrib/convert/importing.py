"""Shared code of the readers of other tools' models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from sparsecrf._core import InputError, StringTable
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.files.charset import UTF8_TEXT, Charset
from sparsecrf.lazy import np
from sparsecrf.model import Model


def text_of(raw: bytes, where: str, charset: Charset = UTF8_TEXT) -> str:
    """Decode names, which are bytes in other tools."""
    try:
        return charset.text(raw)
    except UnicodeDecodeError as error:
        found = f"byte 0x{raw[error.start]:02x} in {raw[:40]!r}"
        raise InputError(f"{where}: expected {charset.title}, found {found}; give its encoding") from error


def number_of(raw: bytes | str, where: str) -> float:
    """A weight in decimal notation."""
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
    """A model from cells by id, as `Model.from_cells` takes them, with their weights. Cells with weight 0 are left
    out."""
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
