"""Renders formulas as MathML. Browsers draw MathML themselves, so pages need neither scripts nor a network.

Browsers need a font with mathematical tables; without one, sums are too small and subscripts are misplaced. Few systems
have such a font, so the pages include STIX Two Math, whose file comes with the package ziamath.

latex2mathml leaves unknown commands as text. This module reports them, so that `-W` stops the build.
"""

from __future__ import annotations

import re
from importlib.metadata import files
from pathlib import Path
from shutil import copyfile
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

_log = logging.getLogger(__name__)
_NAME = re.compile(r"<mi>(log|exp|sign)</mi>(?!<mo[^>]*>(&#x00028;|\())")  # add space between functions and arguments
_NORM = re.compile(r"<mo>(&#x02016;|‖)</mo>")  # give both bars of a norm the same size: browsers stretch opening bars
FONT = "STIXTwoMath-Regular.ttf"
_UNKNOWN = re.compile(r"<m[ion]>(\\[A-Za-z]+)")


def mathml(latex: str, node: nodes.Element, *, display: bool) -> str:
    """Convert a formula to MathML, and warn about parts that cannot be converted."""
    try:
        made = convert(latex, display="block" if display else "inline")
    except Exception as error:  # the converter raises many kinds of errors, without a location
        _log.warning("formula %r: %s", latex, error, location=node)
        return f"<code>{latex}</code>"
    unknown = _UNKNOWN.findall(made)
    if unknown:
        _log.warning("formula %r: MathML has no %s", latex, ", ".join(unknown), location=node)
    made = _NORM.sub(r'<mo stretchy="false">\1</mo>', made)
    return _NAME.sub(r'\g<0><mspace width="0.167em"/>', made)


def visit_math(self: Any, node: nodes.math) -> None:
    self.body.append(mathml(node.astext(), node, display=False))
    raise nodes.SkipNode


def visit_math_block(self: Any, node: nodes.math_block) -> None:
    self.body.append(self.starttag(node, "div", CLASS="math-block"))
    self.body.append(mathml(node.astext(), node, display=True))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def add_font(app: Sphinx, error: Exception | None) -> None:
    """Copy the font to the folder of the style sheet, manual.css, which refers to it."""
    if error is None and app.builder.format == "html":
        font = next(file for file in files("ziamath") or () if file.name == FONT)
        copyfile(font.locate(), Path(app.outdir, "_static", FONT))


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("build-finished", add_font)
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
