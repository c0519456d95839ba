"""Data files from one format to another, sequence by sequence."""

from __future__ import annotations

from collections.abc import Iterator

from sparsecrf._core import InputError
from sparsecrf.encoding.template import Template
from sparsecrf.files.columns import read_columns
from sparsecrf.files.crfsuite import crfsuite_lines, read_crfsuite
from sparsecrf.files.text import Source, name_of


def columns_to_crfsuite(source: Source, template: Template | None = None) -> Iterator[str]:
    """Lines of a CRFsuite file. A template's lines U make its attributes; plain transitions (a bare B) need no mention.

    Without a template the columns themselves are the attributes. Lines * and other lines B are an error: CRFsuite has
    no attributes that condition label pairs.
    """
    if template is not None:
        for kind, varies in zip(template.kinds, template.varies, strict=True):
            if kind == "*" or (kind == "B" and varies):
                raise InputError(
                    "template: expected no attribute that conditions label pairs, which CRFsuite does not have, "
                    f"found a line {kind}... with it"
                )
    for rows in read_columns(source):
        observed = [row[:-1] for row in rows]
        if template is None:
            template = Template("".join(f"U{k}:%x[0,{k}]\n" for k in range(len(observed[0]))), source="columns")
        kinds = template.kinds
        made = (
            [name for name, kind in zip(names, kinds, strict=True) if kind == "U"]
            for names in template.attributes(observed)
        )
        yield from crfsuite_lines(made, (row[-1] for row in rows))


def crfsuite_to_columns(source: Source) -> Iterator[str]:
    """Lines of a column file: a column for each attribute, the label last.

    Every token must have as many attributes, without values and blanks: columns have no place for them.
    """
    width: int | None = None
    for i, (tokens, labels) in enumerate(read_crfsuite(source)):
        for t, (attributes, label) in enumerate(zip(tokens, labels, strict=True)):
            where = f"{name_of(source)}, sequence {i}, position {t}"
            width = len(attributes) if width is None else width
            if len(attributes) != width:
                raise InputError(f"{where}: expected {width} attributes as before, found {len(attributes)}")
            for name, value in attributes:
                if value != 1.0:
                    raise InputError(f"{where}: expected attributes without values, found {name}:{value!r}")
            for text in (*(name for name, _ in attributes), label):
                if text.split() != [text]:
                    raise InputError(f"{where}: expected text without blanks, found {text!r}")
            yield " ".join([*(name for name, _ in attributes), label]) + "\n"
        yield "\n"
