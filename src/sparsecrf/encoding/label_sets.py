"""Makes partial labels, which are sets of possible labels, from a dictionary of words."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.encoding.vocabulary import in_step


def candidate_labels(
    words: Iterable[Iterable[str]], y: Iterable[Iterable[Any]], dictionary: Mapping[str, Collection[Any]]
) -> list[list[Any]]:
    """The labels y for training, with each None replaced by the set of labels that a dictionary lists for the word.

    `words` are the words of the sequences in y. If the dictionary does not contain the word, the label stays None,
    which allows any label. All other labels stay unchanged.
    """
    sets = {word: frozenset([labels] if isinstance(labels, str) else labels) for word, labels in dictionary.items()}
    for word, labels in sets.items():
        if not labels or None in labels:
            raise InputError(
                f"dictionary, {word!r}: expected labels, found {dictionary[word]!r:.60}; leave the word out"
            )
    found = []
    for i, (own, given) in enumerate(in_step(words, {"label sequences": y})):
        own, given = list(own), list(given)
        if len(own) != len(given):
            raise InputError(f"sequence {i}: expected a label or None for each of {len(own)} words, found {len(given)}")
        found.append([sets.get(w) if label is None else label for w, label in zip(own, given, strict=True)])
    return found
