"""Counts and small tables as text, and tables as HTML for notebooks. The HTML needs no scripts or style sheets and
takes the colours of the page."""

from __future__ import annotations

from collections.abc import Sequence

_CELL = "padding:.15em .6em;border:0;color:inherit;vertical-align:top"


def counted(n: int, noun: str) -> str:
    """A number with its noun, which takes an s in the plural."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def text_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Align the columns of a table; the first column is text, and the other columns are numbers."""
    every = [head, *rows]
    widths = [max(len(row[k]) for row in every) for k in range(len(head))]
    lines = []
    for row in every:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def html_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], note: str = "") -> str:
    """An HTML table with a title and a note below. All text is escaped, since labels and attributes come from data."""
    from html import escape  # imported here, because `label` must start quickly

    parts = [f"<b>{escape(title)}</b>"]
    if rows:
        body = "".join(_row("td", row) for row in rows)
        parts.append(
            f"<table style='border-collapse:collapse;color:inherit'><thead>{_row('th', head)}</thead>"
            f"<tbody>{body}</tbody></table>"
        )
    if note:
        parts.append(f"<div style='opacity:.75'>{escape(note)}</div>")
    return f"<div style='color:inherit'>{''.join(parts)}</div>"


def _row(kind: str, cells: Sequence[str]) -> str:
    from html import escape

    align = ("left", *["right"] * (len(cells) - 1))
    made = (
        f"<{kind} style='{_CELL};text-align:{side}'>{escape(cell)}</{kind}>"
        for side, cell in zip(align, cells, strict=True)
    )
    return f"<tr style='background:none'>{''.join(made)}</tr>"
