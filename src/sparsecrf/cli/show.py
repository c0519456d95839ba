"""`sparsecrf show`: prints the content of a model."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any, Literal

from sparsecrf.cli.files import check_readable
from sparsecrf.cli.options import ANY_MODEL, for_typer
from sparsecrf.declared import parameter

if TYPE_CHECKING:
    from sparsecrf.contrib.explain import ModelExplanation

_TOP = 10  # number of weights of each label in text output


@for_typer
def show(
    model: str = parameter(..., ANY_MODEL),
    top: int | None = parameter(
        None, "Number of weights to show, largest first; the default is 10 per label for text, otherwise all.", min=1
    ),
    label: str | None = parameter(None, "Show only weights for this label.", metavar="L"),
    attribute: str | None = parameter(None, "Show only weights for this attribute.", metavar="X"),
    format: Literal["text", "tsv", "json"] = parameter(
        "text", "text: tables; tsv: attribute, previous label, label, weight; json: everything."
    ),
) -> None:
    """Show a model: labels, weights, transitions, the contribution of each template line, and the optimality gap of
    training.

    With --format tsv, the previous label is empty for weights of single labels, and \\[start] at the start of a
    sequence.
    """
    from sparsecrf.contrib.convert.foreign import open_model

    check_readable(model)
    shown = _TOP if top is None and format == "text" and attribute is None else top
    explained = open_model(model).explain(top=shown, label=label, attribute=attribute)
    if format == "tsv":
        lines = (f"{w.attribute}\t{w.previous or ''}\t{w.label}\t{w.weight!r}\n" for w in explained.largest(shown))
        _write("".join(["attribute\tprevious\tlabel\tweight\n", *lines]))
    elif format == "json":
        _write(json.dumps(_as_json(explained), ensure_ascii=False) + "\n")
    else:
        _print_tables(explained)


def _write(text: str) -> None:
    """Write data in UTF-8, as in files, regardless of the encoding of the terminal."""
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode())


def _as_json(explained: ModelExplanation) -> dict[str, Any]:
    template = explained.template
    return {
        **explained.summary,
        "label_names": explained.labels,
        "template": None if template is None else {"text": template.text, "boundary": template.boundary},
        "templates": [use._asdict() for use in explained.templates],
        "training": explained.training,
        "weights": [weight._asdict() for weight in explained.largest(explained.top)],
    }


def _print_tables(explained: ModelExplanation) -> None:
    from rich.console import Console

    from sparsecrf.contrib.explain.tables import model_tables

    console = Console(highlight=False)
    for table in model_tables(explained, console):
        console.print(table)
