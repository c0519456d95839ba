"""Access control: if a token is set, requests must carry it."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from sparsecrf.contrib.serve.errors import RequestError


class Access:
    """Compares the token of requests."""

    def __init__(self, token: str | None) -> None:
        self._expected = None if token is None else b"Bearer " + token.encode()

    @property
    def is_needed(self) -> bool:
        return self._expected is not None

    def allows(self, scope: Mapping[str, Any]) -> bool:
        """Whether a request has the token. Takes constant time, so that the time reveals nothing about the token."""
        if self._expected is None:
            return True
        given = next((value for name, value in scope["headers"] if name == b"authorization"), b"")
        return hmac.compare_digest(given, self._expected)

    def check(self, scope: Mapping[str, Any]) -> None:
        if not self.allows(scope):
            raise RequestError(
                HTTPStatus.UNAUTHORIZED,
                "the token of this server",
                "a wrong token, or none",
                where="header Authorization",
                instead="Authorization: Bearer TOKEN",
                headers={"www-authenticate": "Bearer"},
            )
