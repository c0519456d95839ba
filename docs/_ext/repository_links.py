"""Converts links that work in the repository to links that work in the built manual.

Pages link to other pages and to files of the repository by relative paths. When Sphinx reads a page, links to the
examples and the changelog become links to their pages in the manual. Links to files outside the manual (from
docs/internals, and to benchmarks and experiments) become repository addresses.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_REPOSITORY = "https://github.com/sparsecrf/sparsecrf/blob/main"
#: Links to files outside docs, and the links that replace them in the manual.
_MOVED = (
    (re.compile(r"\]\(\.\./examples/(\w+)\.py\)"), r"](gallery/\1.rst)"),
    (re.compile(r"\]\(\.\./examples/?\)"), "](gallery/index.rst)"),
    (re.compile(r"\]\(\.\./CHANGELOG\.md\)"), "](changelog.md)"),
    (re.compile(r"\]\(\.\./((?:benchmarks|experiments)/[^)]+)\)"), rf"]({_REPOSITORY}/\1)"),
    (re.compile(r"\]\(\.\./\.\./([^)]+)\)"), rf"]({_REPOSITORY}/\1)"),
)


def in_manual(text: str) -> str:
    """Convert the links of a page for the manual."""
    for pattern, link in _MOVED:
        text = pattern.sub(link, text)
    return text


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    source[0] = in_manual(source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
