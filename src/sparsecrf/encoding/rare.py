"""Removes rare attributes from a corpus."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sparsecrf._core import Corpus, InputError, StringTable
from sparsecrf.encoding.vocabulary import Vocabulary


def without_rare(
    corpus: Corpus, vocabulary: Vocabulary, at_least: int, everywhere: Iterable[int] = ()
) -> tuple[Corpus, Vocabulary]:
    """The corpus and its vocabulary without attributes that occur at fewer than `at_least` positions.

    An attribute that conditions labels and label pairs is counted once per position. Attributes in `everywhere` stay:
    they are dense columns, which are not in the corpus yet.
    """
    import numpy as np

    if at_least < 1:
        raise InputError(f"at_least: expected at least 1, found {at_least}")
    arrays = corpus.to_arrays()
    counts = [np.bincount(arrays[f"{kind}_id"], minlength=corpus.n_attributes) for kind in ("unigram", "bigram")]
    kept = np.maximum(*counts) >= at_least  # [X]
    kept[list(everywhere)] = True
    names = StringTable()
    for x in np.flatnonzero(kept).tolist():
        names.intern(vocabulary.attributes[x])
    place = np.cumsum(kept) - 1  # [X] new ids of the attributes that stay
    for kind in ("unigram", "bigram"):
        arrays |= _filtered(kind, arrays, kept, place)
    arrays["n_attributes"] = len(names)
    smaller = Vocabulary(vocabulary.bigrams, vocabulary.start, vocabulary.labels, names, vocabulary.frozen)
    return Corpus.from_arrays(**arrays), smaller


def _filtered(kind: str, arrays: dict[str, Any], kept: Any, place: Any) -> dict[str, Any]:
    """The lists of one kind without the removed attributes."""
    import numpy as np

    ptr, ids, values = (arrays[f"{kind}_{part}"] for part in ("ptr", "id", "value"))
    stays = kept[ids]  # [entries]
    before = np.concatenate([[0], np.cumsum(stays)])  # [entries + 1] number of kept entries before each
    found = {"ptr": before[ptr].astype(np.int64), "id": place[ids[stays]].astype(np.int32)}
    found["value"] = None if values is None else values[stays]
    return {f"{kind}_{part}": array for part, array in found.items()}
