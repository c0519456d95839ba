"""Resource limits of requests."""

from __future__ import annotations

from dataclasses import dataclass

MAX_BODY_MB, MAX_TOKENS, TIME_LIMIT_S = 4.0, 100_000, 30.0  #: default values
MAX_NBEST = 100
#: Maximum number of values in an answer (marginals, labels of n-best labellings) for each allowed token.
NUMBERS_PER_TOKEN = 20
#: Explanations take a Python object for each weight that applies.
EXPLAINED_PER_REQUEST = 1_000
#: Maximum size of all bodies in memory at a time, in units of the largest allowed body.
BODIES = 16


@dataclass(frozen=True)
class Limits:
    """Limits on single requests."""

    body: int = int(MAX_BODY_MB * 2**20)  #: bytes
    tokens: int = MAX_TOKENS
    seconds: float = TIME_LIMIT_S  #: time to send the body, and again to compute the answer
