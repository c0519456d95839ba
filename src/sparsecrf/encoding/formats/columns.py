"""Column files: one token a line, the label last. A template makes attributes of the other columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sparsecrf._core import InputError, TextEncoder
from sparsecrf.encoding.formats.base import Format, Items, Layout
from sparsecrf.encoding.template import Template
from sparsecrf.files.columns import read_columns
from sparsecrf.files.text import Piece, Source, width


class Columns(Format):
    """Columns separated by blanks or tabs."""

    name = "columns"
    title = "column"
    takes_template = True

    def template_for(self, template: Template | None, n_observed: int) -> Template | None:
        """Without a template, attributes are the columns themselves and the bias."""
        return Template.of_columns(n_observed) if template is None else template

    def add(self, encoder: TextEncoder, piece: Piece, source: str, layout: Layout) -> Layout:
        template = layout.template
        if template is None:
            if layout.ragged:
                raise InputError("ragged: expected a template, which says what columns are needed, found none")
            if (columns := width(piece)) == 0:
                return layout  # blank lines
            if columns == 1:
                where = f"{source}, line {piece.line}"
                raise InputError(f"{where}: expected columns of observations before the label, found one column")
            template = Template.of_columns(columns - 1)
        n_columns = encoder.add_columns(
            piece.data, template, True, source, layout.n_columns, piece.line, layout.bytes, layout.ragged
        )
        return layout._replace(template=template, n_columns=0 if layout.ragged else n_columns)

    def read(self, source: Source, template: Template | None = None) -> Iterator[Items]:
        """A template's lines U make the attributes; plain transitions (a bare B) need no mention.

        Without a template the columns themselves are the attributes. Lines * and other lines B are an error: the
        attributes of other formats do not condition label pairs.
        """
        if template is not None:
            _check_conditions_labels(template)
        for rows in read_columns(source):
            observed = [row[:-1] for row in rows]
            if template is None:
                template = Template("".join(f"U{k}:%x[0,{k}]\n" for k in range(len(observed[0]))), source="columns")
            tokens = [
                [(name, 1.0) for name, kind in zip(names, template.kinds, strict=True) if kind == "U"]
                for names in template.attributes(observed)
            ]
            yield tokens, [row[-1] for row in rows]

    def write(self, sequences: Iterable[Items], source: str) -> Iterator[str]:
        """A column for each attribute, the label last.

        Every token must have as many attributes, without values and blanks: columns have no place for them.
        """
        width: int | None = None
        for i, (tokens, labels) in enumerate(sequences):
            for t, (attributes, label) in enumerate(zip(tokens, labels, strict=True)):
                where = f"{source}, sequence {i}, position {t}"
                width = len(attributes) if width is None else width
                if len(attributes) != width:
                    raise InputError(f"{where}: expected {width} attributes as before, found {len(attributes)}")
                for name, value in attributes:
                    if value != 1.0:
                        raise InputError(f"{where}: expected attributes without values, found {name}:{value!r}")
                cells = [*(name for name, _ in attributes), label]
                for text in cells:
                    if text.split() != [text]:
                        raise InputError(f"{where}: expected text without blanks, found {text!r}")
                yield " ".join(cells) + "\n"
            yield "\n"


def _check_conditions_labels(template: Template) -> None:
    for kind, varies in zip(template.kinds, template.varies, strict=True):
        if kind == "*" or (kind == "B" and varies):
            raise InputError(
                "template: expected no attribute that conditions label pairs, which other formats do not have, "
                f"found a line {kind}... with it"
            )
