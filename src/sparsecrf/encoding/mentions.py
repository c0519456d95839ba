"""Describes the other mentions of a word in its document in columns that a template can read.

News articles give a person's full name once and then only the last name, so the context of another mention helps as
much as a word's own context.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sparsecrf import _core
from sparsecrf._core import InputError

NO_MENTION = "_none"  #: the content of the cells if there is no other mention

#: Number of columns after the word, which is column 0. They contain the case of the other mentions and, for each of two
#: other mentions, the word before it, the mention itself and the word after it.
N_MENTION_COLUMNS = 7


def with_mentions(document: Iterable[Iterable[str | Iterable[str]]]) -> list[list[list[str]]]:
    """The sequences of one document as rows of columns, which describe the other mentions of each word in the document.

    Call this function once per document: all sequences in a call form one document.

    A token is a word, or a row of columns that begins with it. In a row, seven columns follow the word:

    - 1: the case of its other mentions: `x` if one is in lower case; `C` if one has a capital letter and then lower
      case, and is not the first word of its sequence; `U` if one is in upper case; several of these letters; or `n` for
      none of these;
    - 2, 3, 4: the word before the first other mention, that mention, and the word after it;
    - 5, 6, 7: the same for the second other mention.

    Other columns follow. Mentions of a word are equal to it except for case. If there is no other mention, cells
    contain `_none`; beyond the ends of a sequence, they contain `_B-1` and `_B+1`.

    >>> with_mentions([["Mr", "Blair"], ["Blair", "left"]])[1][0]
    ['Blair', 'C', 'Mr', 'Blair', '_B+1', '_none', '_none', '_none']
    """
    rows = [_rows(sequence, i) for i, sequence in enumerate(document)]
    return _core.with_mentions(rows)


def _rows(sequence: Iterable[str | Iterable[str]], i: int) -> list[list[str]]:
    if not _is_list(sequence):
        raise InputError(f"sequence {i}: expected a list of tokens, found {sequence!r:.60}")
    rows = []
    for t, token in enumerate(sequence):
        row = [token] if isinstance(token, str) else list(token) if _is_list(token) else []
        if not row or not isinstance(row[0], str):
            found = f"found {token!r:.60}"
            raise InputError(f"sequence {i}, position {t}: expected a word, or a row that begins with it, {found}")
        rows.append(row)
    return rows


def _is_list(value: object) -> bool:
    """Whether the value is a list of items, not text or a mapping."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping))
