"""Constraints on the labels of sequences, by name."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from sparsecrf._core import Constraints, Corpus, InputError
from sparsecrf.encoding.vocabulary import Vocabulary

#: A label pair, None for the start of the sequence.
Pair = tuple[str | None, str]


def constraints_by_name(
    vocabulary: Vocabulary,
    corpus: Corpus,
    allowed: Sequence[Collection[str] | None] | None = None,
    forbidden: Collection[Pair] | None = None,
    fixed: Sequence[str | None] | None = None,
) -> Constraints | None:
    """Constraints by name for a corpus of one sequence."""
    if allowed is None and forbidden is None and fixed is None:
        return None
    import numpy as np

    n_labels, length = len(vocabulary.labels), corpus.n_tokens
    for name, given in (("allowed", allowed), ("fixed", fixed)):
        if given is not None and len(given) != length:
            raise InputError(f"{name}: expected {length} entries, one per token, found {len(given)}")
    masks = None
    if allowed is not None:
        masks = np.ones((length, n_labels), dtype=np.bool_)
        for t, names in enumerate(allowed):
            if names is not None:
                masks[t] = False
                masks[t, [label_id(vocabulary, name) for name in names]] = True
    pairs = None
    if forbidden is not None:
        pairs = np.zeros((n_labels + 1, n_labels), dtype=np.bool_)
        for previous, y in forbidden:
            row = n_labels if previous is None else label_id(vocabulary, previous)
            pairs[row, label_id(vocabulary, y)] = True
    known = None
    if fixed is not None:
        known = np.array([-1 if y is None else label_id(vocabulary, y) for y in fixed], dtype=np.int32)
    return Constraints(n_labels, masks, pairs, known)


def label_id(vocabulary: Vocabulary, name: str) -> int:
    found = vocabulary.labels.find(name)
    if found is None:
        known = ", ".join(vocabulary.labels[k] for k in range(min(10, len(vocabulary.labels))))
        raise InputError(f"expected a label of the model ({known}), found {name!r}")
    return found
