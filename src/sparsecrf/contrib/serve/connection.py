"""Closes idle connections: half a request, an answer that nobody reads."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol


class TimedConnection(AutoHTTPProtocol):  # type: ignore[misc,valid-type]
    """A connection of uvicorn, which has no limit of its own on the head of a request and on reading an answer."""

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
        """Closes the connection if no new request has arrived since the last timeout and none is being answered.

        If the last answer is still being sent, the client has not read it for all that time.
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
