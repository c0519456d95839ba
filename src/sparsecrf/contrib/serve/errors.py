"""Errors in response to requests. They state the expected input, the input found, its location, and a suggestion."""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from typing import Any

from sparsecrf._core import InputError

# Any sequence number is relative to a part of the request, so it is not shown.
_MESSAGE = re.compile(
    r"(?:(?:sequence \d+(?:, )?)?(?P<position>[^:]{0,80}): )?expected (?P<expected>.*?), found (?P<found>.*)", re.S
)


class RequestError(Exception):
    """A request that is answered with an error."""

    def __init__(
        self,
        status: HTTPStatus,
        expected: str,
        found: str,
        *,
        where: str = "",
        instead: str = "",
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(f"{where + ': ' if where else ''}expected {expected}, found {found}")
        self.status, self.headers = status, headers or {}
        self._fields = {"expected": expected, "found": found, "where": where, "instead": instead}

    @staticmethod
    def of_input(error: InputError, where: str, instead: str) -> RequestError:
        """A request error for an input error that the model raised, with its location in the request."""
        parts = _MESSAGE.fullmatch(str(error))
        expected, found = "sentences that the model can label", str(error)
        if parts is not None:
            expected, found = parts["expected"], parts["found"]
            where = f"{where}, {parts['position']}" if parts["position"] else where
        return wrong(expected, found, where, instead)

    def body(self) -> bytes:
        fields: dict[str, Any] = {"status": int(self.status), "message": str(self), **self._fields}
        return json.dumps({"error": fields}).encode()  # in ASCII, since the input may contain unpaired surrogates


def too_large(expected: str, found: str, where: str) -> RequestError:
    """The error for a request that exceeds a limit."""
    status, instead = HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "several requests with fewer sentences each"
    return RequestError(status, expected, found, where=where, instead=instead)


def wrong(expected: str, found: str, where: str, instead: str = "") -> RequestError:
    """The error for a request that cannot be understood, or that the model cannot answer."""
    return RequestError(HTTPStatus.UNPROCESSABLE_ENTITY, expected, found, where=where, instead=instead)
