"""Converts the package's docstrings, which are plain text with `names` in backticks, to reStructuredText.

Characters that reStructuredText would treat as markup are escaped (|w|_1 is a norm), indented lines (formulas) are kept
unchanged, and the entries of sections (Parameters, Attributes) become definition lists.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any

from sphinx.application import Sphinx

_MARKUP = re.compile(r"(`[^`]*`)|([*|\\]|(?<=\w)_(?=\W|$))")
_AS_IT_STANDS = re.compile(r"    |\S+ {2,}\S")  # formulas; two columns
_OF_SKLEARN = re.compile(r"set_\w+_request|get_metadata_routing|get_params|set_params")


def escaped(line: str) -> str:
    """Escape every *, |, \\ and trailing _ outside backticks."""
    return _MARKUP.sub(lambda found: found[1] or f"\\{found[2]}", line)


def plain(lines: list[str]) -> list[str]:
    """Convert the lines of a docstring to reStructuredText."""
    made: list[str] = []
    section = False
    for blank, group in groupby(lines, key=lambda line: not line.strip()):
        paragraph = list(group)
        if blank:
            made.append("")
        elif len(paragraph) > 1 and set(paragraph[1].strip()) == {"-"}:
            section = True
            made += [f".. rubric:: {paragraph[0].strip()}", "", *_definitions(paragraph[2:])]
        elif section and paragraph[0].startswith("The others"):  # a sentence at the end of a section
            made += map(escaped, paragraph)
        elif section:
            made += _definitions(paragraph)
        elif _AS_IT_STANDS.match(paragraph[0]):
            made += ["::", "", *(f"    {line}" for line in paragraph)]
        else:
            made += _with_list(paragraph)
    return made


def _definitions(lines: list[str]) -> list[str]:
    """Convert entries `name : text`, whose further lines are indented."""
    made: list[str] = []
    for line in lines:
        name, colon, text = line.partition(" : ")
        made += [f"``{name}``", f"    {escaped(text)}"] if colon and name[:1].strip() else [escaped(line)]
    return made


def _with_list(lines: list[str]) -> list[str]:
    """Add blank lines before and after lists with dashes."""
    made: list[str] = []
    inside = False
    for line in lines:
        item = line.startswith("- ")
        if made and inside != (item or (inside and line.startswith("  "))):
            made.append("")
        inside = item or (inside and line.startswith("  "))
        made.append(escaped(line))
    return made


def _process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = plain(lines)


def _skip(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Skip the methods that scikit-learn adds, because their descriptions refer to its manual."""
    return True if _OF_SKLEARN.fullmatch(name) else None


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("autodoc-process-docstring", _process)
    app.connect("autodoc-skip-member", _skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
