"""`sparsecrf show`: what is in a model."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from sparsecrf.model import Model

_TOP = 10  # weights of each label in a text
_LIKE = 20_000  # names at most that an unknown one is compared with


class Format(str, Enum):
    """How weights are written."""

    text = "text"
    tsv = "tsv"
    json = "json"


class Weight(NamedTuple):
    """A weight by name; previous is None for unigram weights, the empty text for the start label."""

    attribute: str
    previous: str | None
    label: str
    weight: float


def show(
    model: Annotated[str, typer.Argument(help="A model file.", metavar="MODEL", show_default=False)],
    top: Annotated[
        int | None, typer.Option(min=1, help="How many weights, largest first: of each label as text, 10; else all.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="Only weights of this label.", metavar="L")] = None,
    attribute: Annotated[str | None, typer.Option(help="Only weights of this attribute.", metavar="X")] = None,
    format: Annotated[
        Format, typer.Option(help="text: tables; tsv: attribute, previous label, label, weight; json: all of it.")
    ] = Format.text,
) -> None:
    """Show a model: labels, weights, transitions, and how close to the optimum its training came.

    As tsv, the previous label is empty for weights of single labels and \\[start] at the start of a sequence.
    """
    from sparsecrf.cli.files import check_readable
    from sparsecrf.model import Model

    check_readable(model)
    loaded = Model.load(model)
    if label is not None:
        _check_known("label", label, loaded.labels)
    if attribute is not None:
        table = loaded.vocabulary.attributes
        _check_known("attribute", attribute, (table[k] for k in range(len(table))))
    chosen = _weights(loaded, label, attribute)
    if format is Format.tsv:
        _write_tsv(chosen[:top])
    elif format is Format.json:
        print(json.dumps(_as_json(loaded, chosen[:top]), ensure_ascii=False))
    else:
        _print_tables(loaded, chosen, label, attribute, top)


def _check_known(what: str, name: str, known: Iterable[str]) -> None:
    from difflib import get_close_matches

    from sparsecrf import InputError

    names = list(known)
    if name not in names:
        like = [known for known in names if abs(len(known) - len(name)) <= 3][:_LIKE]
        near = ", ".join(map(repr, get_close_matches(name, like, 5, 0.5) or names[:5]))
        raise InputError(f"expected one of the model's {len(names)} {what}s (such as {near}), found {name!r}")


def _weights(model: Model, label: str | None, attribute: str | None) -> list[Weight]:
    """The non-zero weights of a label and an attribute (None: of all), the largest first."""
    features, names, labels = model.features, model.vocabulary.attributes, [*model.labels, ""]
    n, w = features.n_unigram, model.w.tolist()
    unigram = zip(features.unigram_attribute.tolist(), features.unigram_label.tolist(), w[:n], strict=True)
    found = [(x, None, y, weight) for x, y, weight in unigram]
    bigram = (features.bigram_attribute, features.bigram_previous, features.bigram_label)
    found += zip(*(column.tolist() for column in bigram), w[n:], strict=True)
    x_asked = None if attribute is None else names.find(attribute)
    y_asked = None if label is None else labels.index(label)
    kept = [
        (x, previous, y, weight)
        for x, previous, y, weight in found
        if x_asked in (None, x) and y_asked in (None, y) and weight != 0
    ]
    kept.sort(key=lambda cell: -abs(cell[3]))
    return [Weight(names[x], None if p is None else labels[p], labels[y], weight) for x, p, y, weight in kept]


def _previous(weight: Weight) -> str:
    return "" if weight.previous is None else weight.previous or "[start]"


def _write_tsv(weights: Iterable[Weight]) -> None:
    lines = (f"{w.attribute}\t{_previous(w)}\t{w.label}\t{w.weight!r}\n" for w in weights)
    sys.stdout.writelines(["attribute\tprevious\tlabel\tweight\n", *lines])


def _summary(model: Model) -> dict[str, Any]:
    return {
        "labels": len(model.labels),
        "attributes": len(model.vocabulary.attributes),
        "active_unigram": model.features.n_unigram,
        "active_bigram": model.features.n_bigram,
        "start": model.vocabulary.start,
    }


def _as_json(model: Model, weights: Iterable[Weight]) -> dict[str, Any]:
    template = model.template
    return {
        **_summary(model),
        "label_names": model.labels,
        "template": None if template is None else {"text": template.text, "boundary": template.boundary},
        "training": model.training,
        "weights": [{**weight._asdict(), "previous": _previous(weight) or None} for weight in weights],
    }


def _print_tables(
    model: Model, chosen: list[Weight], label: str | None, attribute: str | None, top: int | None
) -> None:
    from rich.console import Console

    console = Console(highlight=False)
    if attribute is not None:
        console.print(_weight_table(f"Attribute {attribute}", chosen[:top], ("previous", "label")))
        return
    if label is None:
        console.print(_summary_table(model))
    plain = set(model.plain_attributes())
    transitions = [weight for weight in chosen if weight.attribute in plain and weight.previous is not None]
    if label is None and transitions:
        matrix = _matrix(model)
        fits = console.measure(matrix, options=console.options.update(width=10_000)).maximum <= console.width
        largest = _weight_table("Transitions", transitions[: top or _TOP], ("previous", "label"))
        console.print(matrix if fits else largest)
        chosen = [weight for weight in chosen if weight.attribute not in plain or weight.previous is None]
    for name in [label] if label is not None else model.labels:
        own = [weight for weight in chosen if weight.label == name]
        if own:
            console.print(_weight_table(f"Label {name}", own[: top or _TOP], ("attribute", "previous")))


def _table(title: str, columns: Sequence[str]) -> Table:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=escape(title), title_justify="left", title_style="bold", header_style="dim")
    for k, name in enumerate(columns):
        table.add_column(escape(name), justify="right" if k == len(columns) - 1 else "left", overflow="fold")
    return table


def _weight_table(title: str, weights: list[Weight], columns: tuple[str, ...]) -> Table:
    from rich.text import Text

    with_previous = any(weight.previous is not None for weight in weights)
    shown = [name for name in columns if name != "previous" or with_previous]
    table = _table(title, [*shown, "weight"])
    for weight in weights:
        cells = {"attribute": weight.attribute, "previous": _previous(weight), "label": weight.label}
        style = "green" if weight.weight > 0 else "red"
        table.add_row(*(Text(cells[name]) for name in shown), Text(f"{weight.weight:+.4f}", style))
    return table


def _summary_table(model: Model) -> Table:
    from rich.text import Text

    table = _table("Model", ["", "value"])
    counts = _summary(model)
    rows = {
        "labels": str(counts["labels"]),
        "attributes": f"{counts['attributes']:,}",
        "active features": f"{counts['active_unigram']:,} of labels, {counts['active_bigram']:,} of label pairs",
        "start label": "yes" if counts["start"] else "no",
    }
    if model.template is not None:
        rows[f"template ({model.template.boundary})"] = model.template.text.rstrip("\n")
    for name, value in model.training.items():
        rows[name] = f"{value:.6g}" if isinstance(value, float) else "not known" if value is None else str(value)
    for name, text in rows.items():
        table.add_row(Text(name), Text(text))
    table.columns[1].justify = "left"
    return table


def _matrix(model: Model) -> Table:
    """Plain transitions, coloured by size."""
    from rich.text import Text

    matrix = model.transitions()
    largest = abs(matrix).max()
    table = _table("Transitions", ["previous \\ label", *model.labels])
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    for name, row in zip([*model.labels, "[start]"], matrix.tolist(), strict=True):
        if name != "[start]" or any(row):
            table.add_row(Text(name), *(_shade(value, largest) for value in row))
    return table


def _shade(value: float, largest: float) -> Any:
    from rich.text import Text

    if value == 0:
        return Text("")
    level = 40 + round(140 * abs(value) / largest)
    colour = f"rgb(0,{level},0)" if value > 0 else f"rgb({level},0,0)"
    return Text(f"{value:+.1f}", f"white on {colour}")
