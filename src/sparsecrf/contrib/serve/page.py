"""The page at `/`: that of `sparsecrf report --try`, with this server as the labeller."""

from __future__ import annotations

from importlib.metadata import version
from typing import NamedTuple

from sparsecrf.contrib.explain import START
from sparsecrf.contrib.report.page import page_of

_SCRIPTS = ("base", "theme", "try", "server")


class Page(NamedTuple):
    html: str
    policy: str  #: what it may load and send


def make_page(*, with_token: bool) -> Page:
    """The page. It asks for the token, if one is set, and does not show the models before that."""
    content = {"name": "sparsecrf serve", "version": version("sparsecrf"), "start": START, "token": with_token}
    return Page(*page_of("server.html", content, _SCRIPTS, connects=True))
