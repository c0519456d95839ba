"""Constraints on the labels of sequences: given by name, or implied by a scheme of chunk labels."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

from sparsecrf._core import Constraints, Corpus, InputError
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.lazy import NDArray, np
from sparsecrf.model.chunk_rules import forbidden_pairs

#: A label pair; the first label is None at the start of the sequence.
Pair = tuple[str | None, str]


def chunk_constraints(
    labels: Sequence[str], corpus: Corpus, scheme: str | None, known: NDArray[np.int32] | None = None
) -> Constraints | None:
    """Constraints for all sequences of a corpus: only labels that are valid in a chunk scheme (None allows all labels),
    and known labels, int32[P] by id (-1 if free)."""
    if scheme is None:
        return None if known is None else Constraints(len(labels), fixed=known)
    pairs, last = _rules(tuple(labels), scheme)
    return Constraints(len(labels), _with_ends(None, last, corpus.offsets[1:]), pairs, known)


@lru_cache(maxsize=8)  # cached for sequences that are labelled one at a time
def _rules(labels: tuple[str, ...], scheme: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """The result of `forbidden_pairs` as arrays: bool[Y + 1, Y] and bool[Y]."""
    pairs, last = (np.frombuffer(flags, dtype=np.bool_) for flags in forbidden_pairs(labels, scheme))
    return pairs.reshape(-1, len(labels)), last


def _with_ends(masks: NDArray[np.bool_] | None, last: NDArray[np.bool_], ends: Any) -> NDArray[np.bool_] | None:
    """The labels that are allowed at each position, bool[P, Y] (None allows all), without the labels that must not end
    a sequence at its last position."""
    if not last.any():
        return masks
    if masks is None:
        masks = np.ones((ends[-1], len(last)), dtype=np.bool_)
    masks[np.asarray(ends) - 1] &= ~last
    return masks


def constraints_by_name(
    vocabulary: Vocabulary,
    length: int,
    allowed: Sequence[Collection[str] | None] | None = None,
    forbidden: Collection[Pair] | None = None,
    fixed: Sequence[str | None] | None = None,
    constrain: str | None = None,
) -> Constraints | None:
    """Constraints from the arguments of `Model.label`, for a sequence of this length."""
    if allowed is None and forbidden is None and fixed is None and constrain is None:
        return None
    n_labels = len(vocabulary.labels)
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
    if constrain is not None:
        of_scheme, last = _rules(tuple(vocabulary.labels[k] for k in range(n_labels)), constrain)
        pairs = of_scheme if pairs is None else pairs | of_scheme
        masks = _with_ends(masks, last, [length]) if length else masks
    return Constraints(n_labels, masks, pairs, known)


def label_id(vocabulary: Vocabulary, name: str) -> int:
    try:
        found = vocabulary.labels.find(name)
    except TypeError:  # the name is not text, or is text that UTF-8 cannot encode
        found = None
    if found is None:
        known = ", ".join(vocabulary.labels[k] for k in range(min(10, len(vocabulary.labels))))
        raise InputError(f"expected a label of the model ({known}), found {name!r}")
    return found
