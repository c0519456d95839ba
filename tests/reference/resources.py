"""Lookups in resources (%d, %D): the plain twin of cpp/core/text/resources/resource.cpp."""

from collections.abc import Mapping, Sequence

from reference.word_functions import characters, lower

#: Entries of a lexicon: their words, and a class ("" if the lexicon has none).
Entries = Sequence[tuple[str, str]]


def marks(entries: Entries, words: Sequence[str], fold: bool = False) -> list[dict[str, str]]:
    """For each word of a sentence: the marks S, B, I or E of the classes that match there.

    Each class is matched separately, from left to right: the longest entry that begins at a word, then on after its
    end.
    """
    by_class: dict[str, set[tuple[str, ...]]] = {}
    for entry, name in entries:
        by_class.setdefault(name, set()).add(tuple((lower(entry) if fold else entry).split()))
    row = [lower(word) if fold else word for word in words]
    found: list[dict[str, str]] = [{} for _ in words]
    for name, wanted in by_class.items():
        t = 0
        while t < len(row):
            n = next((n for n in range(len(row) - t, 0, -1) if tuple(row[t : t + n]) in wanted), 0)
            for k in range(n):
                found[t + k][name] = "S" if n == 1 else "B" if k == 0 else "E" if k == n - 1 else "I"
            t += max(n, 1)
    return found


def of_lexicon(entries: Entries, words: Sequence[str], fold: bool = False, only: str | None = None) -> list[str]:
    """%d[row,column,NAME], or %d[row,column,NAME:only], of every word."""
    found = marks(entries, words, fold)
    if only is not None:
        return [here.get(only, "O") for here in found]
    names = list(dict.fromkeys(name for _, name in entries))
    return [
        "|".join(here[name] + (f"-{name}" if name else "") for name in names if name in here) or "O" for here in found
    ]


def of_table(table: Mapping[str, str], word: str, fold: bool = False, n: int | None = None) -> str:
    """%d[row,column,NAME], or its first n characters; among words that are equal in lower case, the first one
    counts."""
    if fold:
        by_lower: dict[str, str] = {}
        for key, value in table.items():
            by_lower.setdefault(lower(key), value)
        table, word = by_lower, lower(word)
    found = table.get(word, "-")
    return found if n is None else "".join(characters(found)[:n])
