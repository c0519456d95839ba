"""Runs the server: uvicorn with the application, a thread that watches the model files, and a graceful shutdown."""

from __future__ import annotations

import asyncio
import os
import socket
import time
from threading import Event, Thread
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from sparsecrf._core import InputError
from sparsecrf.contrib.serve.app import make_app
from sparsecrf.contrib.serve.limits import Limits
from sparsecrf.contrib.serve.models import ServedModels
from sparsecrf.progress import say


class TimedConnection(AutoHTTPProtocol):  # type: ignore[misc,valid-type]
    """A uvicorn connection with time limits, which uvicorn lacks, on the head of a request and on reading an answer."""

    seconds = 30.0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._last: Any = None  # the request seen at the last timeout
        self._timer = self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._timer.cancel()
        super().connection_lost(exc)

    def _start_timer(self) -> asyncio.TimerHandle:
        timer: asyncio.TimerHandle = self.loop.call_later(self.seconds, self._time_is_up)
        return timer

    def _time_is_up(self) -> None:
        """Close the connection if no new request has arrived since the last timeout and no request is being answered.

        If the last answer is still being sent at that point, the client has not read it for all that time.
        """
        is_idle = self.cycle is None or self.cycle.response_complete
        if is_idle and self.cycle is self._last:
            self.transport.abort()
            return
        self._last = self.cycle
        self._timer = self._start_timer()


def timed(seconds: float) -> type[TimedConnection]:
    """A connection class with this limit."""
    return type("TimedConnection", (TimedConnection,), {"seconds": seconds})


LOOPBACK = ("127.0.0.1", "::1", "localhost")
_LOOK_EVERY_S = 1.0  # seconds between checks of the model files
_DRAIN_S = 0.5  # seconds for which open connections may send one more request after the signal
# longer than the timeouts of reverse proxies, since the side that closes first may cut off a request in flight
_KEEP_ALIVE_S = 65


class _Server(uvicorn.Server):
    """Exits with status 0 on SIGTERM and SIGINT, after all requests have been answered."""

    def __init__(self, config: uvicorn.Config, address: str, quiet: bool) -> None:
        super().__init__(config)
        self._address, self._quiet = address, quiet
        self._ending = False
        self._end_at: float | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        say(f"serving at {self._address} (press Ctrl-C to stop)", quiet=self._quiet)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._ending:  # this is the second signal
            self.should_exit = self.force_exit = True
            return
        self._ending = True

    async def on_tick(self, counter: int) -> bool:
        """Runs every tenth of a second; shuts down on request.

        First, the server stops accepting connections. uvicorn would also close idle connections, although a request may
        be about to arrive. Here, idle connections stay open for some time and are closed after their next answer.
        """
        if self._ending and self._end_at is None:
            self.config.app.state.labelling.is_closing = True  # type: ignore[union-attr]
            await asyncio.sleep(0)  # runs once, so that pending connections are accepted
            for server in self.servers:
                server.close()
            self._end_at = time.monotonic() + _DRAIN_S
        self.should_exit |= self._end_at is not None and time.monotonic() > self._end_at
        return await super().on_tick(counter)


def serve(
    models: ServedModels,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: Limits | None = None,
    token: str | None = None,
    threads: int = 0,
    quiet: bool = False,
) -> None:
    """Answer requests until the process receives a signal to end."""
    limits = limits or Limits()
    app = make_app(models, limits=limits, token=token, threads=threads)
    listening = _listening(host, port)
    config = uvicorn.Config(
        app,
        http=timed(limits.seconds),
        ws="none",
        lifespan="off",
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=int(limits.seconds) + 1,
    )
    stop = Event()
    watch = Thread(target=_watch, args=(models, stop, quiet), daemon=True)
    watch.start()
    if host not in LOOPBACK and token is None:
        say(f"--host {host}: anyone who can reach this address can send requests; --token-file requires a token")
    try:
        _Server(config, _address(listening), quiet).run(sockets=[listening])
    finally:
        stop.set()
        watch.join()
        app.state.labelling.close()
        listening.close()


def _watch(models: ServedModels, stop: Event, quiet: bool) -> None:
    while not stop.wait(_LOOK_EVERY_S):
        for line in models.reload_changed():
            say(line, quiet=quiet)


def _listening(host: str, port: int) -> socket.socket:
    """The socket that systemd has opened for this process, if any; otherwise a new one."""
    if os.environ.get("LISTEN_PID") == str(os.getpid()) and os.environ.get("LISTEN_FDS") == "1":
        return socket.socket(fileno=3)
    try:
        family, kind, protocol, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family, kind, protocol)
        try:
            if os.name == "posix":  # on other systems, this would let two servers share a port
                made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(where)
            made.listen(2048)
        except BaseException:
            made.close()
            raise
    except OSError as error:
        raise InputError(f"--host {host} --port {port}: expected an address to listen on: {error}") from None
    return made


def _address(listening: socket.socket) -> str:
    where: Any = listening.getsockname()
    if listening.family not in (socket.AF_INET, socket.AF_INET6):
        return str(where)
    host = f"[{where[0]}]" if ":" in where[0] else where[0]
    return f"http://{host}:{where[1]}/"
