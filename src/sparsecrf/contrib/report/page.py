"""Makes one HTML page from data, text, style and scripts."""

from __future__ import annotations

import base64
import hashlib
import html
import json
from importlib.resources import files
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.contrib.report.of_model import model_data
from sparsecrf.contrib.report.of_sentences import sentence_data
from sparsecrf.contrib.report.pack import Names
from sparsecrf.contrib.report.trial import trial_data
from sparsecrf.files.text import Source
from sparsecrf.model import Model

#: The scripts, each after those that it depends on.
SCRIPTS = (
    "base",
    "theme",
    "rows",
    "summary",
    "curves",
    "grid",
    "maps",
    "weights",
    "scores",
    "token",
    "sentences",
    "main",
)
#: Additional scripts of a page with a labeller.
TRIAL_SCRIPTS = ("tagger", "try", "inside")
STYLES = ("base", "parts")
_WASM, _OWN_SERVER = " 'wasm-unsafe-eval'", " connect-src 'self';"

# Characters that would end the element, or, in old browsers, a line of JavaScript.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def make_report(
    model: Model,
    *,
    name: str = "model",
    data: Source | None = None,
    format: str | None = None,
    max_sentences: int = 300,
    max_weights: int = 200_000,
    trial: bool = False,
    example: str | None = None,
) -> str:
    """A self-contained HTML page about a model: its weights and its training.

    `data`, a labelled file, adds scores and `max_sentences` sentences, those with errors first, with the evidence for
    each label. By default, the file name determines its `format` or, if it does not, the training data do. At most the
    `max_weights` largest weights are listed. With `trial`, the page labels text that a reader types, beginning with
    `example`; it then contains the model and the labeller as WebAssembly (`make wasm`).
    """
    for what, value in (("max_sentences", max_sentences), ("max_weights", max_weights)):
        if value < 1:
            raise InputError(f"{what}: expected a number of at least 1, found {value}")
    names = Names()
    content = model_data(model, name, max_weights, names)
    content["sentences"] = None if data is None else sentence_data(model, data, max_sentences, names, format=format)
    content["names"] = names.all
    if trial:
        content["try"] = trial_data(model, example or "")
    scripts = (*SCRIPTS[:-1], *TRIAL_SCRIPTS, SCRIPTS[-1]) if trial else SCRIPTS
    # A policy that allows compiling WebAssembly, but not running text as code.
    return page_of("page.html", content, scripts, compiles=trial)[0]


def page_of(
    name: str, content: dict[str, Any], scripts: tuple[str, ...], *, compiles: bool = False, connects: bool = False
) -> tuple[str, str]:
    """A page of the folder `page` around its data, and its policy. `compiles` and `connects`: whether scripts may
    compile WebAssembly, and connect to the server of the page. `frame.html` contains the common parts of all pages."""
    style, script = style_sheet(), f'"use strict";\n(() => {{\n{_joined("js", scripts)}}})();\n'
    # Nothing else may be loaded or sent, and only this script runs, so text from the data can never run as code.
    policy = (
        f"default-src 'none'; script-src '{digest(script)}'{_WASM * compiles}; style-src '{digest(style)}'; "
        f"img-src data:;{_OWN_SERVER * connects} base-uri 'none'; form-action 'none'"
    )
    nav, rest = _read(name).split("<!-- main -->\n")
    main, footer = rest.split("<!-- footer -->\n")
    parts = {
        "policy": html.escape(policy, quote=True).replace("&#x27;", "'"),
        "title": html.escape(content["name"]) + ("" if connects else " \u2013 sparsecrf report"),
        "style": style,
        "nav": nav,
        "main": main.replace("{{try}}", _read("try.html")),
        "footer": footer,
        "data": as_script_text(content),
        "script": script,
    }
    # Replace in one pass from left to right, so that inserted text is not searched for placeholders.
    pieces, rest = [], _read("frame.html")
    for key, text in parts.items():
        before, mark, rest = rest.partition(f"{{{{{key}}}}}")
        assert mark, f"frame.html: expected {{{{{key}}}}}"
        pieces += [before, text]
    return "".join([*pieces, rest]), policy


def as_script_text(content: Any) -> str:
    """JSON that cannot end the script element that contains it, even if the content contains end tags."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":")).translate(_ESCAPES)


def style_sheet() -> str:
    """The style of the page, also for other pages."""
    return _joined("css", STYLES)


def _joined(kind: str, names: tuple[str, ...]) -> str:
    return "".join(_read(f"{name}.{kind}") for name in names)


def _read(name: str) -> str:
    return (files("sparsecrf.contrib.report") / "page" / name).read_text(encoding="utf-8")


def digest(text: str) -> str:
    """The hash by which a page's policy allows an inline script or style."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
