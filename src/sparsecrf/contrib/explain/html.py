"""Explanations for notebooks, in HTML without scripts or style sheets that suits light and dark pages.

Text keeps the colour of the page; translucent backgrounds show sign and size: blue for evidence for a label, orange for
evidence against it. Every name is escaped, because labels and attributes come from data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from math import inf, isinf

from sparsecrf.contrib.explain.of_model import ModelExplanation
from sparsecrf.contrib.explain.of_sequence import SequenceExplanation
from sparsecrf.contrib.explain.token import TokenExplanation
from sparsecrf.contrib.explain.weights import START, Weight
from sparsecrf.tables import counted

_FOR, _AGAINST = "38,132,214", "230,126,20"  # red, green, blue
_CELL = "padding:.15em .6em;border:0;color:inherit;vertical-align:top"
_MOST_LABELS = 30  # maximum number of labels for which a transition matrix is easy to read
_MOST_TEMPLATES = 15
_OPEN_LABELS = 12  # number of labels whose tables are open at first; all others are folded


def sequence_html(explained: SequenceExplanation) -> str:
    """A row for each token, shaded by the uncertainty of its label, with the main contributions."""
    largest = max((abs(term.amount) for token in explained.tokens for term in token.contributions()), default=1.0)
    rows = [
        (
            _td(escape(token.text), _background(_AGAINST, 2 * (1 - token.probability))),
            _td(f"<b>{escape(token.label)}</b>", "white-space:nowrap"),
            _td(f"{token.probability:.3f}", "text-align:right"),
            _td("" if token.runner_up is None else escape(token.runner_up), "white-space:nowrap"),
            _td(_margin(token.margin), "text-align:right"),
            _td(_margin(token.path_margin), "text-align:right"),
            _td(_terms(token, explained.top, largest)),
        )
        for token in explained.tokens
    ]
    head = ("token", "label", "P", "runner-up", "margin", "path margin", "contributions")
    return _page(
        f"P(labels) {explained.probability:.4g}, score {explained.score:.6g}. Tokens with doubtful labels are shaded.",
        _table(head, rows),
    )


def model_html(explained: ModelExplanation) -> str:
    """Counts and certificate; transitions; templates; the largest weights of each label and of label pairs."""
    weights, bigrams = explained.weights, explained.bigrams
    largest = max((abs(w.weight) for own in (*weights.values(), bigrams) for w in own[:1]), default=1.0)

    def of_labels(weight: Weight) -> str:
        return escape(weight.attribute)

    def of_pairs(weight: Weight) -> str:
        return f"{escape(weight.attribute)}: {_pair(weight)}"

    boxes = [_weights(f"<b>{escape(name)}</b>", own, largest, of_labels) for name, own in weights.items() if own]
    parts = []
    if explained.label is None and explained.attribute is None:
        parts = [_fold("Transitions", _transitions(explained)), _fold("Templates", _templates(explained))]
    parts.append(_fold("Labels", _side_by_side(boxes), len(boxes) <= _OPEN_LABELS))
    if bigrams:
        parts.append(_fold("Label pairs", _weights("attribute: previous → label", bigrams, largest, of_pairs)))
    return _page(_counts(explained), *parts)


def _counts(explained: ModelExplanation) -> str:
    counts = explained.summary
    said = [
        f"{counted(counts['labels'], 'label')}, {counted(counts['attributes'], 'attribute')}",
        f"{counted(counts['active_unigram'], 'weight')} for labels, {counts['active_bigram']:,} for label pairs",
    ]
    for name, value in explained.training.items():
        if isinstance(value, bool | int | float | str):
            said.append(escape(f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}"))
    return "; ".join(said)


def _transitions(explained: ModelExplanation) -> str:
    matrix = explained.transitions
    largest = float(abs(matrix).max())
    if largest == 0:
        return "none"
    if len(explained.labels) > _MOST_LABELS:
        return _weights("previous → label", explained.plain_transitions(explained.top), largest, _pair)
    rows = [
        (_td(escape(name), "text-align:right"), *(_cell(value, largest, "+.1f") for value in row))
        for name, row in zip([*explained.labels, START], matrix.tolist(), strict=True)
        if name != START or any(row)
    ]
    return _table(("previous \\ label", *map(escape, explained.labels)), rows)


def _templates(explained: ModelExplanation) -> str:
    uses = explained.templates[:_MOST_TEMPLATES]
    largest = max((use.mass for use in uses), default=0.0) or 1.0
    rows = [
        (
            _td(f"<code style='background:none;color:inherit'>{escape(use.name)}</code>"),
            *(_td(f"{number:,}", "text-align:right") for number in (use.attributes, use.unigram, use.bigram)),
            _cell(use.mass, largest, ",.1f"),
        )
        for use in uses
    ]
    kind = "prefix" if explained.template is None else "line"
    more = len(explained.templates) - len(uses)
    head = (kind, "attributes", "for labels", "for label pairs", "sum of |weight|")
    return _table(head, rows) + (f"and {more:,} more" if more > 0 else "")


def _weights(title: str, weights: Iterable[Weight], largest: float, name: Callable[[Weight], str]) -> str:
    return _table((title, ""), [(_td(name(w)), _cell(w.weight, largest, "+.3f")) for w in weights])


def _pair(weight: Weight) -> str:
    return f"{escape(weight.previous or '')} → {escape(weight.label)}"


def _terms(token: TokenExplanation, top: int | None, largest: float) -> str:
    terms = token.contributions()
    shown = terms[:top]
    chips = [
        f'<span title="{escape(f"{term.kind}: value {term.value:g}, weight {term.weight:+.4g}")}" style="display:'
        f"inline-block;margin:0 .3em .1em 0;padding:0 .35em;border-radius:.3em;{_signed(term.amount, largest)}"
        f'">{escape(token.name_of(term, "→"))} {term.amount:+.2f}</span>'
        for term in shown
    ]
    if rest := terms[len(shown) :]:
        chips.append(
            f'<span style="display:inline-block">{len(rest)} more {sum(term.amount for term in rest):+.2f}</span>'
        )
    return "".join(chips)


def _margin(value: float) -> str:
    return ("∞" if value == inf else "-∞") if isinf(value) else f"{value:+.2f}"


def _signed(value: float, largest: float) -> str:
    return _background(_FOR if value > 0 else _AGAINST, abs(value) / largest)


def _background(colour: str, share: float) -> str:
    """The background for a share; 1 gives the strongest colour. Black and white text is readable on all backgrounds."""
    return f"background:rgba({colour},{0.5 * min(1.0, max(0.0, share)):.2f})"


def _cell(value: float, largest: float, form: str) -> str:
    return _td(format(value, form) if value else "", "text-align:right;" + _signed(value, largest))


def _td(content: str, style: str = "") -> str:
    align = "" if "text-align" in style else ";text-align:left"
    return f'<td style="{_CELL}{align};{style}">{content}</td>'


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """`head` and cells are HTML already."""
    top = "".join(
        f'<th style="{_CELL};text-align:left;font-weight:normal;opacity:.7;border-bottom:1px solid">{name}</th>'
        for name in head
    )
    body = "".join(f'<tr style="background:none">{"".join(row)}</tr>' for row in rows)
    style = "border-collapse:collapse;border:0;margin:.3em 0;font-size:inherit;color:inherit"
    return f'<table style="{style}"><thead><tr style="background:none">{top}</tr></thead><tbody>{body}</tbody></table>'


def _fold(title: str, content: str, is_open: bool = True) -> str:
    mark = " open" if is_open else ""
    return (
        f'<details{mark} style="overflow-x:auto"><summary style="cursor:pointer">{title}</summary>{content}</details>'
    )


def _side_by_side(boxes: Iterable[str]) -> str:
    inside = "".join(f"<div>{box}</div>" for box in boxes)
    return f'<div style="display:flex;flex-wrap:wrap;gap:0 1.5em;align-items:flex-start">{inside}</div>'


def _page(title: str, *parts: str) -> str:
    style = "color:inherit;font-size:13px;line-height:1.5;overflow-x:auto"
    return f'<div style="{style}"><div>{title}</div>{"".join(parts)}</div>'
