"""Links that work on a repository's page and in the built manual: pages are written for the first.

A page links to other pages and to files of the repository by relative paths. When Sphinx reads a page, links to the
examples and the changelog become links to their pages of the manual. Links to files that the manual does not have
(from docs/internals, and to benchmarks and experiments) become addresses of the repository.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_REPOSITORY = "https://github.com/sparsecrf/sparsecrf/blob/main"
#: Links to files outside of docs, and where the manual has their content.
_MOVED = (
    (re.compile(r"\]\(\.\./examples/(\w+)\.py\)"), r"](gallery/\1.rst)"),
    (re.compile(r"\]\(\.\./examples/?\)"), "](gallery/index.rst)"),
    (re.compile(r"\]\(\.\./CHANGELOG\.md\)"), "](changelog.md)"),
    (re.compile(r"\]\(\.\./((?:benchmarks|experiments)/[^)]+)\)"), rf"]({_REPOSITORY}/\1)"),
    (re.compile(r"\]\(\.\./\.\./([^)]+)\)"), rf"]({_REPOSITORY}/\1)"),
)


def in_manual(text: str) -> str:
    """A page with the links of the manual."""
    for pattern, link in _MOVED:
        text = pattern.sub(link, text)
    return text


def _read(app: Sphinx, name: str, source: list[str]) -> None:
    source[0] = in_manual(source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
