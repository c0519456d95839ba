"""Tokens of running text, with their positions."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from unicodedata import category

#: Scripts without spaces between words, as ranges of characters, each of which is a separate word.
_WITHOUT_BLANKS = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f"  # Burmese
    "\u1780-\u17ff"  # Khmer
    "\u3040-\u30ff\u31f0-\u31ff"  # Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # ideographs
    "\U00020000-\U0003ffff"
)


@cache
def _pattern() -> re.Pattern[str]:
    """A regular expression for a word: a run of letters, digits and underscores; a character of a script without
    spaces; or any other character. Marks (accents, vowel signs) belong to the preceding character: regular expressions
    do not count them as letters.
    """
    letter, mark = rf"[^\W{_WITHOUT_BLANKS}]", f"[{_marks()}]"
    return re.compile(rf"{letter}+(?:{mark}+{letter}*)*|\S{mark}*")


def _marks() -> str:
    """All Unicode marks and the zero-width joiner (used in Indic scripts), as character ranges."""
    marks = [c for c in (*range(0x300, 0x20000), *range(0xE0100, 0xE01F0)) if category(chr(c))[0] == "M" or c == 0x200D]
    first = [c for c, before in zip(marks, [-1, *marks], strict=False) if c != before + 1]
    last = [c for c, after in zip(marks, [*marks[1:], -1], strict=True) if c != after - 1]
    return "".join(f"{chr(a)}-{chr(b)}" for a, b in zip(first, last, strict=True))


def word_offsets(text: str) -> list[tuple[int, int]]:
    """The positions where the words of a text begin and end, in characters.

    A word is a run of letters, digits and underscores; punctuation marks are words of one character, and so are the
    characters of scripts without spaces between words (Chinese, Japanese, Thai, Lao, Burmese and Khmer).
    """
    return [match.span() for match in _pattern().finditer(text)]


def blank_offsets(text: str) -> list[tuple[int, int]]:
    """The positions where the tokens of a text begin and end, if only whitespace separates them: `Ave,` is one
    token."""
    return [match.span() for match in re.finditer(r"\S+", text)]


#: Functions that cut running text into tokens, by name.
TOKENIZERS: dict[str, Callable[[str], list[tuple[int, int]]]] = {"words": word_offsets, "blanks": blank_offsets}
