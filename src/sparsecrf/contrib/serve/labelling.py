"""Handles POST /label: reads a body within limits, answers the request on a thread, and counts it."""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any, NamedTuple

from sparsecrf.contrib.serve.answer import answer
from sparsecrf.contrib.serve.errors import RequestError, too_large
from sparsecrf.contrib.serve.limits import BODIES, Limits
from sparsecrf.contrib.serve.metrics import Metrics
from sparsecrf.contrib.serve.models import ServedModels
from sparsecrf.contrib.serve.request import LabelRequest, parse


class Access:
    """Checks the token of requests."""

    def __init__(self, token: str | None) -> None:
        self._expected = None if token is None else b"Bearer " + token.encode()

    @property
    def is_needed(self) -> bool:
        return self._expected is not None

    def allows(self, scope: Mapping[str, Any]) -> bool:
        """Whether a request contains the token. Takes constant time, so that the time reveals nothing about the
        token."""
        if self._expected is None:
            return True
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        return hmac.compare_digest(given, self._expected)

    def check(self, scope: Mapping[str, Any]) -> None:
        if not self.allows(scope):
            raise RequestError(
                HTTPStatus.UNAUTHORIZED,
                "the token for this server",
                "a wrong token or no token",
                where="header Authorization",
                instead="Authorization: Bearer TOKEN",
                headers={"www-authenticate": "Bearer"},
            )


Receive = Callable[[], Awaitable[Any]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

# Handing a request to another thread takes longer than answering a small request, so small requests are answered
# immediately. These are requests for labels only, with at most this many bytes and this many steps of Viterbi, T Y^2.
_QUICK_BYTES, _QUICK_STEPS = 16_384, 200_000


class _Answered(NamedTuple):
    content: bytes
    model: str
    sentences: int
    tokens: int


class _Gone(Exception):
    """The client has closed the connection."""


class Labelling:
    """An ASGI application for one route."""

    def __init__(
        self, models: ServedModels, limits: Limits, access: Access, metrics: Metrics, threads: int = 0
    ) -> None:
        self._models, self._limits, self._access, self._metrics = models, limits, access, metrics
        self._pool = ThreadPoolExecutor(threads or os.cpu_count() or 1, thread_name_prefix="label")
        self._bytes = 0  # bytes of bodies in memory
        self.is_closing = False  #: whether to tell clients to close their connections

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        began, metrics = time.perf_counter(), self._metrics
        status, headers = HTTPStatus.OK, {}
        metrics.in_flight += 1
        try:
            self._access.check(scope)
            with self._room() as room:
                found = await self._answer(await self._body(scope, receive, room))
            content = found.content
            metrics.add_work(found.model, found.sentences, found.tokens)
        except RequestError as error:
            status, headers, content = error.status, error.headers, error.body()
        except _Gone:
            return
        except BaseException:
            status = HTTPStatus.INTERNAL_SERVER_ERROR  # the caller answers the request and logs the error
            raise
        finally:
            metrics.in_flight -= 1
            metrics.add(int(status), time.perf_counter() - began)
        if self.is_closing:
            headers = {**headers, "connection": "close"}
        about = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(content))]
        about += [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": int(status), "headers": about})
        await send({"type": "http.response.body", "body": content})

    # ---- Reading.
    async def _body(self, scope: dict[str, Any], receive: Receive, room: _Room) -> bytes:
        headers = dict(scope["headers"])
        if headers.get(b"content-encoding", b"identity") != b"identity":
            raise RequestError(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "uncompressed JSON", repr(headers[b"content-encoding"])[2:42],
                where="header Content-Encoding", instead="an uncompressed body",
            )  # fmt: skip
        length = headers.get(b"content-length", b"")
        if length.isdigit():
            room.take(int(length))
        task, expired = asyncio.current_task(), False
        assert task is not None

        def expire() -> None:
            nonlocal expired
            expired = True
            task.cancel()

        timer = asyncio.get_running_loop().call_later(self._limits.seconds, expire)
        try:
            return await self._received(receive, room)
        except asyncio.CancelledError:
            if not expired:
                raise
            if hasattr(task, "uncancel"):  # available from Python 3.11 on
                task.uncancel()
            raise RequestError(
                HTTPStatus.REQUEST_TIMEOUT, f"a complete request within {self._limits.seconds:g} s", "part of it",
                where="body", headers={"connection": "close"},
            ) from None  # fmt: skip
        finally:
            timer.cancel()

    async def _received(self, receive: Receive, room: _Room) -> bytes:
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _Gone
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            room.take(size)
            if not message.get("more_body", False):
                return b"".join(parts)

    @contextmanager
    def _room(self) -> Iterator[_Room]:
        """Reserve room for a body. The total size of all bodies is limited, too."""
        room = _Room(self)
        try:
            yield room
        finally:
            self._bytes -= room.taken

    # ---- Answering.
    async def _answer(self, body: bytes) -> _Answered:
        deadline = time.monotonic() + self._limits.seconds
        if len(body) <= _QUICK_BYTES:
            request = self._parsed(body)
            labels = len(self._models.find(request.model).loaded.model.labels)
            if request.wants_labels_only and request.n_tokens * labels**2 <= _QUICK_STEPS:
                return self._answered(request, deadline)
            return await self._on_thread(lambda: self._answered(request, deadline), deadline)
        return await self._on_thread(lambda: self._answered(self._parsed(body), deadline), deadline)

    def _parsed(self, body: bytes) -> LabelRequest:
        return parse(body, self._limits, self._models.tokenizer)

    async def _on_thread(self, work: Callable[[], _Answered], deadline: float) -> _Answered:
        def work_in_time() -> _Answered:
            if time.monotonic() > deadline:
                raise busy(f"requests that waited for {self._limits.seconds:g} s")
            return work()

        return await asyncio.get_running_loop().run_in_executor(self._pool, work_in_time)

    def _answered(self, request: LabelRequest, deadline: float) -> _Answered:
        served = self._models.find(request.model)
        found = answer(served.loaded.model, served.name, request, self._limits, deadline)
        content = json.dumps(found, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
        return _Answered(content, served.name, len(request.sentences), request.n_tokens)

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)


class _Room:
    """Memory for a body, reserved as it arrives."""

    def __init__(self, labelling: Labelling) -> None:
        self._labelling, self.taken = labelling, 0

    def take(self, size: int) -> None:
        """Reserve this many bytes in total."""
        limit = self._labelling._limits.body
        if size > limit:
            raise too_large(f"at most {limit} bytes", f"{size} or more", "body")
        more = max(0, size - self.taken)
        if more and self._labelling._bytes + more > BODIES * limit:
            raise busy("more requests than fit into memory")
        self.taken += more
        self._labelling._bytes += more


def busy(found: str) -> RequestError:
    return RequestError(
        HTTPStatus.SERVICE_UNAVAILABLE, "fewer requests at a time", found, where="server",
        instead="the same request in a second", headers={"retry-after": "1"},
    )  # fmt: skip
