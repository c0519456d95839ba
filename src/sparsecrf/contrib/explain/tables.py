"""Shows explanations as terminal tables, for `sparsecrf show` and for `str` of an explanation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from io import StringIO
from typing import Any

from rich.box import SIMPLE
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sparsecrf.contrib.explain.of_model import ModelExplanation
from sparsecrf.contrib.explain.of_sequence import SequenceExplanation
from sparsecrf.contrib.explain.weights import START, Weight

MOST_TEMPLATES = 40  # maximum number of rows, since there may be thousands of prefixes


def as_text(tables_for: Callable[[Console], Iterable[Table]]) -> str:
    """Tables as plain text, as wide as the terminal."""
    written = StringIO()
    console = Console(file=written, highlight=False, color_system=None)
    for table in tables_for(console):
        console.print(table)
    return "\n".join(line.rstrip() for line in written.getvalue().rstrip().splitlines())


def model_tables(explained: ModelExplanation, console: Console) -> list[Table]:
    """The tables of a model, or of one label or attribute if the explanation is restricted to it."""
    top = explained.top
    if explained.attribute is not None:
        return [_weights(f"Attribute {explained.attribute}", explained.largest(top), ("previous", "label"))]
    if explained.label is not None:
        return [_weights(f"Label {explained.label}", explained.largest(top), ("attribute", "previous"))]
    tables = [_summary(explained), _templates(explained)]
    if transitions := explained.plain_transitions(top):
        matrix = _matrix(explained)
        fits = console.measure(matrix, options=console.options.update(width=10_000)).maximum <= console.width
        tables.append(matrix if fits else _weights("Transitions", transitions, ("previous", "label")))
    own = {name: explained.largest(top, label=name, transitions=False) for name in explained.weights}
    return tables + [_weights(f"Label {name}", w, ("attribute", "previous")) for name, w in own.items() if w]


def sequence_table(explained: SequenceExplanation) -> Table:
    """A row for each token: label, its probability, and the largest contributions."""
    title = f"P(labels) {explained.probability:.4g}, score {explained.score:.6g}"
    table = _table(title, ["token", "label", "P", "runner-up", "margin", "contributions"])
    table.box = SIMPLE
    for k in (2, 4):
        table.columns[k].justify = "right"
    table.columns[5].justify = "left"
    for token in explained.tokens:
        other = "" if token.runner_up is None else token.runner_up
        terms = token.contributions()
        shown = [f"{token.name_of(term)} {term.amount:+.2f}" for term in terms[: explained.top]]
        if rest := terms[len(shown) :]:
            shown.append(f"{len(rest)} more {sum(term.amount for term in rest):+.2f}")
        cells = (token.text, token.label, f"{token.probability:.3f}", other, f"{token.margin:+.2f}", ", ".join(shown))
        table.add_row(*map(Text, cells))
    return table


def _table(title: str, columns: Sequence[str]) -> Table:
    table = Table(title=escape(title), title_justify="left", title_style="bold", header_style="dim")
    for k, name in enumerate(columns):
        table.add_column(escape(name), justify="right" if k == len(columns) - 1 else "left", overflow="fold")
    return table


def _weights(title: str, weights: list[Weight], columns: tuple[str, ...]) -> Table:
    with_previous = any(weight.previous is not None for weight in weights)
    shown = [name for name in columns if name != "previous" or with_previous]
    table = _table(title, [*shown, "weight"])
    for weight in weights:
        cells = {"attribute": weight.attribute, "previous": weight.previous or "", "label": weight.label}
        style = "green" if weight.weight > 0 else "red"
        table.add_row(*(Text(cells[name]) for name in shown), Text(f"{weight.weight:+.4f}", style))
    return table


def _summary(explained: ModelExplanation) -> Table:
    counts = explained.summary
    rows = {
        "labels": str(counts["labels"]),
        "attributes": f"{counts['attributes']:,}",
        "active features": f"{counts['active_unigram']:,} for labels, {counts['active_bigram']:,} for label pairs",
        **({"for label parts": f"{counts['active_part']:,}"} if "active_part" in counts else {}),
        **({"for class pairs": f"{counts['active_class_pair']:,}"} if "active_class_pair" in counts else {}),
        **({"longer label n-grams": f"{counts['active_ngram']:,}"} if "active_ngram" in counts else {}),
        **({"vectors": "{:,} words, {:,} dimensions".format(*counts["vectors"])} if "vectors" in counts else {}),
        "start label": "yes" if counts["start"] else "no",
    }
    if explained.template is not None:
        rows[f"template ({explained.template.boundary})"] = _beginning(explained.template.text)
    for name, value in explained.training.items():
        if isinstance(value, (dict, list)):  # the history is for plots
            continue
        rows[_IN_WORDS.get(name, name)] = _number(value) + _share(name, value, explained.training.get("objective"))
    table = _table("Model", ["", "value"])
    table.columns[1].justify = "left"
    for name, text in rows.items():
        table.add_row(Text(name), Text(text))
    return table


_LINES = 12  # number of template lines to show, since presets contain many; a table lists the lines with weights


def _beginning(template: str) -> str:
    lines = template.rstrip("\n").split("\n")
    more = len(lines) - _LINES
    return "\n".join(lines if more <= 1 else [*lines[:_LINES], f"... {more} more lines (shown by --format json)"])


def _share(name: str, value: Any, objective: Any) -> str:
    """A distance to the optimum as a percentage of the optimum, if that is known. The record is checked, since it may
    contain anything."""
    numbers = all(isinstance(x, float) for x in (value, objective))
    if name not in ("gap", "remaining") or not numbers or not 0 <= value < objective:
        return ""
    return f" ({100 * value / (objective - value):.2g} %)"


#: More descriptive names for some entries of a training record.
_IN_WORDS = {
    "kkt": "KKT residual, relative",
    "gap": "training objective above optimum, at most",
    "remaining": "training objective above optimum, about",
    "stopped_by": "stopped by",
    "features": "features to choose from",
    "sequences": "training sequences",
    "tokens": "training tokens",
}


def _number(value: Any) -> str:
    """An entry of a training record as text; text is returned unchanged."""
    if value is None:
        return "not known"
    if isinstance(value, bool | str):
        return str(value)
    return f"{value:,.6g}" if isinstance(value, float) else f"{value:,}"


def _templates(explained: ModelExplanation) -> Table:
    """The lines of the template, or kinds of attributes, that the weights belong to."""
    kind = "prefix" if explained.template is None else "line"
    table = _table("Templates", [kind, "attributes", "for labels", "for label pairs", "sum of |weight|"])
    for column in table.columns[1:]:
        column.justify = "right"
    uses = explained.templates
    for use in uses[:MOST_TEMPLATES]:
        numbers = (f"{number:,}" for number in (use.attributes, use.unigram, use.bigram))
        table.add_row(Text(use.name), *numbers, f"{use.mass:,.2f}")
    if rest := uses[MOST_TEMPLATES:]:
        sums = (f"{sum(column):,}" for column in zip(*((u.attributes, u.unigram, u.bigram) for u in rest), strict=True))
        table.add_row(Text(f"{len(rest):,} more"), *sums, f"{sum(use.mass for use in rest):,.2f}")
    return table


def _matrix(explained: ModelExplanation) -> Table:
    """Plain transitions, coloured by size."""
    matrix = explained.transitions
    largest = abs(matrix).max()
    table = _table("Transitions", ["previous \\ label", *explained.labels])
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    for name, row in zip([*explained.labels, START], matrix.tolist(), strict=True):
        if name != START or any(row):
            table.add_row(Text(name), *(_shade(value, largest) for value in row))
    return table


def _shade(value: float, largest: float) -> Text:
    if value == 0:
        return Text("")
    level = 40 + round(140 * abs(value) / largest)
    colour = f"rgb(0,{level},0)" if value > 0 else f"rgb({level},0,0)"
    return Text(f"{value:+.1f}", f"white on {colour}")
