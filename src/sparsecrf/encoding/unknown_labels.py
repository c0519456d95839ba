"""Labels of other data that do not occur in the training data. A corpus contains no ids for them, but scores need
their names."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from sparsecrf._core import Corpus, InputError
from sparsecrf.files.charset import decoded
from sparsecrf.files.text import Source

if TYPE_CHECKING:  # labelling does not need this module
    from sparsecrf.encoding.recipe import Recipe

_SHOWN = 5  # maximum number of labels in a message


class UnknownLabels:
    """The labels of other data without an id, by token. Tokens are added one at a time."""

    def __init__(self) -> None:
        self.at: dict[int, Any] = {}  #: the unknown labels, by token number (from 0 on, over all sequences)
        self.n_labelled = 0  #: number of tokens with a label, known or not
        self._n_tokens = 0

    def add(self, label: Any, is_known: bool) -> None:
        """Add the next token; `label` is None if the label is missing."""
        if label is not None:
            self.n_labelled += 1
            if not is_known:
                self.at[self._n_tokens] = label
        self._n_tokens += 1

    def remark(self, what: str, known: Sequence[Any]) -> str | None:
        """A warning with these labels and their counts; None if all labels are known. It is an error if the data,
        called `what` in messages, contain none of the `known` labels of the training data."""
        if not self.at:
            return None
        names = listed(Counter(self.at.values()))
        if len(self.at) == self.n_labelled:
            some = ", ".join(map(repr, known[:_SHOWN]))
            raise InputError(
                f"{what}: expected labels of the training data ({some}, ...), found only {names}; is this the right "
                "file and label column?"
            )
        return (
            f"{what}: {len(self.at):,} of {self.n_labelled:,} tokens have labels that do not occur in the training "
            f"data and count as wrong: {names}"
        )


def unknown_in(source: Source, corpus: Corpus, recipe: Recipe) -> UnknownLabels:
    """The unknown labels of a file (from `readable_twice`) that was encoded as a corpus. The file is read again if the
    corpus lacks labels."""
    unknown = UnknownLabels()
    if bool((corpus.labels < 0).any()):
        if not isinstance(source, (str, os.PathLike)):
            source.seek(0)
        with decoded(source, recipe.charset) as text:
            labels = chain.from_iterable(recipe.reader.labels(text, ragged=recipe.ragged))
            for label, y in zip(labels, corpus.labels.tolist(), strict=True):
                unknown.add(certain(label, recipe.missing, recipe.label_sets), y >= 0)
    return unknown


#: Settings of a recipe that are kept in the training record: the marks of missing labels and label sets in files.
UNCERTAIN = ("missing", "label_sets")


def certain(label: str | None, missing: str, label_sets: str) -> str | None:
    """The label of a token in a file; None if it is missing or a set."""
    if label is None or label == missing or (label_sets and label_sets in label):
        return None
    return label


def listed(labels: Counter[Any]) -> str:
    """The most frequent of these labels, for a message."""
    return ", ".join(repr(label) for label, _ in labels.most_common(_SHOWN)) + (", ..." if len(labels) > _SHOWN else "")
