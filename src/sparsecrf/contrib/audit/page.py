"""Shows an audit as one HTML page without scripts: each suspect in its sentence, with the evidence for either label."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from sparsecrf.contrib.audit.output import text_of
from sparsecrf.contrib.audit.result import Audit, Suspect
from sparsecrf.contrib.explain.token import TokenExplanation
from sparsecrf.contrib.report.page import digest, style_sheet

SUSPECTS = 200  #: default number of suspects on a page
_TERMS = 8  # number of contributions shown for each label
_AROUND = 40  # number of tokens shown before and after the suspect in a long sequence

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src '{digest}'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{name} - sparsecrf audit</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<main id="main">
<section>
<h1><span class="eyebrow">Audit</span> <bdi>{name}</bdi></h1>
<p class="note">The {n} most suspicious labels among {tokens} tokens in {sequences} sequences{missing}. Each label was
judged by a model that was trained without its sequence. "Alone" is the marginal probability of the label, and "given
the others" is its probability if all other labels of the sequence are correct. The tables show what each attribute adds
to the scores of the two labels, after the given label of the previous token.</p>
<div class="hero">
{suspects}
</div>
</section>
</main>
</body>
</html>
"""


def audit_page(audit: Audit, sequences: Sequence[Any], *, name: str = "data", top: int = SUSPECTS) -> str:
    """The page with the `top` most suspicious tokens. `sequences`: the audited sequences, without labels."""
    given = {(s.sequence, s.token): s.label for s in audit.tokens}
    shown = audit.tokens[:top]
    made = "\n".join(_suspect(k, s, audit, sequences[s.sequence], given) for k, s in enumerate(shown, 1))
    style = style_sheet()
    left = audit.n_sequences - len(audit.fold)
    return _PAGE.format(
        digest=digest(style),
        style=style,
        name=escape(name),
        n=f"{len(shown):,}",
        tokens=f"{len(audit.tokens):,}",
        sequences=f"{len(audit.fold):,}",
        missing=f" ({left:,} more were not judged: the audit was interrupted)" if left else "",
        suspects=made,
    )


def _suspect(
    rank: int, suspect: Suspect, audit: Audit, tokens: Sequence[Any], given: dict[tuple[int, int], Any]
) -> str:
    i, t = suspect.sequence, suspect.token
    labels = [given.get((i, u)) for u in range(len(tokens))]
    model = audit.model_for(suspect)
    explained = model.explain(tokens, [None if label is None else str(label) for label in labels]).tokens[t]
    label, other = str(suspect.label), str(suspect.suggested)
    chances = f"alone {suspect.probability:.2g}, given the others {suspect.given_others:.2g}"
    return (
        '<article class="card">'
        f"<h2>{rank}. {escape(text_of(tokens[t]))}: {escape(label)} or {escape(other)}?</h2>"
        f'<p class="count">sequence {i}, token {t}, score {suspect.score:.2f}; P({escape(label)}) {chances}</p>'
        f"{_sentence(tokens, labels, t)}{_terms(explained, label, other)}</article>"
    )


def _sentence(tokens: Sequence[Any], labels: Sequence[Any], t: int) -> str:
    """The tokens around the suspect with their given labels."""
    begin, end = max(0, t - _AROUND), min(len(tokens), t + _AROUND + 1)
    cells = [
        f'<span class="token{" bad" if u == t else ""}"><span class="word">{escape(text_of(tokens[u]))}</span>'
        f'<span class="tag">{escape("" if labels[u] is None else str(labels[u]))}</span></span>'
        for u in range(begin, end)
    ]
    cut = '<span class="muted">…</span>'
    return f'<div class="tokens">{cut * (begin > 0)}{"".join(cells)}{cut * (end < len(tokens))}</div>'


def _terms(token: TokenExplanation, label: str, other: str) -> str:
    """The evidence that distinguishes the two labels, the largest difference first."""
    amounts = [{(x.attribute, x.kind): x.amount for x in token.contributions(name)} for name in (label, other)]
    own, its = amounts
    every = sorted({*own, *its}, key=lambda term: (-abs(own.get(term, 0.0) - its.get(term, 0.0)), term))
    rows = [
        (attribute, kind, own.get((attribute, kind), 0.0), its.get((attribute, kind), 0.0)) for attribute, kind in every
    ]
    shown, rest = rows[:_TERMS], rows[_TERMS:]
    if rest:
        shown.append((f"{len(rest)} more", "", sum(r[2] for r in rest), sum(r[3] for r in rest)))
    body = "".join(
        f"<tr><th>{escape(attribute)}{' ' + kind if kind not in ('', 'unigram') else ''}</th>{_cell(a)}{_cell(b)}</tr>"
        for attribute, kind, a, b in shown
    )
    total = f"<tr><th>all</th>{_cell(sum(own.values()))}{_cell(sum(its.values()))}</tr>"
    head = f'<tr><th></th><th class="n">{escape(label)}</th><th class="n">{escape(other)}</th></tr>'
    return f'<table class="terms"><thead>{head}</thead><tbody>{body}</tbody><tfoot>{total}</tfoot></table>'


def _cell(amount: float) -> str:
    sign = "pos" if amount > 0 else "neg" if amount < 0 else "muted"
    return f'<td class="n {sign}">{f"{amount:+.2f}" if amount else ""}</td>'
