"""Display names of the tokens of a sequence, for explanations and plots."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sparsecrf.encoding.matrix import is_matrix
from sparsecrf.encoding.vocabulary import Token


def named_tokens(sequence: Iterable[Token]) -> tuple[Any, list[str]]:
    """The sequence in a form that can be read more than once, and the names of its tokens."""
    if is_matrix(sequence):
        rows: Any = sequence
        return rows, [str(t) for t in range(rows.shape[0])]
    tokens = [list(token) if isinstance(token, Iterator) else token for token in sequence]
    return tokens, [_name(token) for token in tokens]


def _name(token: Token) -> str:
    """The token itself if it is text, otherwise the first text in it."""
    if isinstance(token, str):
        return token
    if isinstance(token, Mapping):
        texts = [value for value in token.values() if isinstance(value, str)]
        return texts[0] if texts else ", ".join(map(str, token))
    first = next(iter(token), "")
    return first if isinstance(first, str) else str(first[0])
