"""The routes of the server, as an ASGI application."""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from importlib.metadata import version
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from sparsecrf.contrib.explain import START
from sparsecrf.contrib.report.page import page_of
from sparsecrf.contrib.serve.errors import RequestError
from sparsecrf.contrib.serve.labelling import Access, Labelling
from sparsecrf.contrib.serve.limits import Limits
from sparsecrf.contrib.serve.metrics import CONTENT_TYPE, Metrics
from sparsecrf.contrib.serve.models import Served, ServedModels
from sparsecrf.contrib.serve.openapi import description

_SCRIPTS = ("base", "theme", "try", "server")


class Page(NamedTuple):
    html: str
    policy: str  #: the rules for what the page may load and send


def make_page(*, with_token: bool) -> Page:
    """The page. It asks for the token, if one is set, and does not show the models before that."""
    content = {"name": "sparsecrf serve", "version": version("sparsecrf"), "start": START, "token": with_token}
    return Page(*page_of("server.html", content, _SCRIPTS, connects=True))


JSON = "application/json"


def make_app(
    models: ServedModels, *, limits: Limits | None = None, token: str | None = None, threads: int = 0
) -> Starlette:
    """The application. `token`: the token that clients must send (`Authorization: Bearer TOKEN`); None means no token.
    `threads`: number of labelling threads (0 means one per core)."""
    access, metrics = Access(token), Metrics()
    labelling = Labelling(models, limits or Limits(), access, metrics, threads)
    page, api = make_page(with_token=access.is_needed), json.dumps(description(models)).encode()

    async def show_page(_: Request) -> Response:
        return Response(page.html, media_type="text/html", headers={"content-security-policy": page.policy})

    async def list_models(request: Request) -> Response:
        access.check(request.scope)
        return _json({"models": [{**one.loaded.about, "loaded": one.loaded.time} for one in models]})

    async def health(request: Request) -> Response:
        stale = any(one.error is not None for one in models)
        found: dict[str, Any] = {"status": "degraded" if stale else "ok"}
        if access.allows(request.scope):  # without the token, the answer only says whether the server works
            found["version"] = version("sparsecrf")
            found["models"] = {one.name: _state(one) for one in models}
        return _json(found)

    async def show_metrics(request: Request) -> Response:
        access.check(request.scope)
        return Response(metrics.text(models), headers={"content-type": CONTENT_TYPE})

    async def describe(request: Request) -> Response:
        access.check(request.scope)
        return Response(api, media_type=JSON)

    app = Starlette(
        routes=[
            Route("/label", labelling, methods=["POST"]),
            Route("/", show_page),
            Route("/models", list_models),
            Route("/health", health),
            Route("/metrics", show_metrics),
            Route("/openapi.json", describe),
        ],
        exception_handlers={HTTPException: _no_such_page, RequestError: _refused, Exception: _failed},
    )
    app.state.labelling = labelling
    return app


def _json(content: Any) -> Response:
    return Response(json.dumps(content, ensure_ascii=False).encode(), media_type=JSON)


def _state(one: Served) -> dict[str, Any]:
    return {"status": "ok" if one.error is None else "stale", "loaded": one.loaded.time, "error": one.error}


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestError)
    return Response(error.body(), int(error.status), error.headers, JSON)


async def _no_such_page(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path, allowed = request.url.path, (error.headers or {}).get("Allow", "")
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        expected, found = f"{allowed} {path}", f"{request.method} {path}"
    else:
        expected = "POST /label, GET /, /models, /health, /metrics or /openapi.json"
        found = f"{request.method} {path[:80]}"
    headers = {"allow": allowed} if allowed else {}
    refused = RequestError(HTTPStatus(error.status_code), expected, found, where="address", headers=headers)
    return await _refused(request, refused)


async def _failed(request: Request, error: Exception) -> Response:
    if isinstance(error, asyncio.CancelledError):
        raise error
    refused = RequestError(HTTPStatus.INTERNAL_SERVER_ERROR, "an answer", "a server error, which has been logged")
    return await _refused(request, refused)
