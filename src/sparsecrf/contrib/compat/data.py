"""The sequences that a trainer was given, in groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sparsecrf._core import Corpus, Encoder, InputError
from sparsecrf.contrib.compat.errors import WrongType
from sparsecrf.contrib.compat.itemsequence import encoded, text_of, tokens
from sparsecrf.encoding.vocabulary import BIAS, Vocabulary


class Data:
    """Sequences are encoded immediately, so the caller may change its objects afterwards."""

    def __init__(self) -> None:
        #: Of all groups: CRFsuite's models have the labels of the holdout group, too.
        self.vocabulary = Vocabulary(start=False)
        self._encoder = self._new_encoder()
        self._corpus: Corpus | None = None  # sequences encoded before the last `split`
        self._groups: list[int] = []

    def _new_encoder(self) -> Encoder:
        tables = self.vocabulary
        return Encoder(
            attributes=tables.attributes, labels=tables.labels, bigram=None, bias=BIAS, start=False, grow=True
        )

    def add(self, xseq: Iterable[Any], yseq: Iterable[str], group: int) -> None:
        where = f"sequence {len(self._groups)}"
        items, labels = tokens(xseq), [text_of(y, where) if isinstance(y, bytes) else y for y in yseq]
        if len(items) != len(labels):
            raise InputError(
                f"{where}: expected as many labels as items, found {len(items)} items, {len(labels)} labels"
            )
        for label in labels:  # the encoder would read None as a missing label
            if not isinstance(label, str):
                raise WrongType(f"{where}: expected labels to be text, found {type(label).__name__} {label!r}"[:160])
        if items:  # an empty sequence adds nothing
            encoded(items, lambda readable: self._encoder.add(readable, labels))
            self._groups.append(group)

    def label_names(self) -> list[str]:
        table = self.vocabulary.labels
        return [table[k] for k in range(len(table))]

    def split(self, holdout: int) -> tuple[Corpus | None, Corpus | None]:
        """The sequences to train on, and those of the group `holdout`; None if there are none."""
        import numpy as np

        if len(self._groups) > (0 if self._corpus is None else self._corpus.n_sequences):
            new = self._encoder.build()
            self._corpus = new if self._corpus is None else _joined(self._corpus, new)
        held = np.array(self._groups, dtype=np.int64) == holdout
        if self._corpus is None or held.all():
            return None, self._corpus
        if not held.any():
            return self._corpus, None
        return self._corpus.subset(np.flatnonzero(~held)), self._corpus.subset(np.flatnonzero(held))


def _joined(first: Corpus, second: Corpus) -> Corpus:
    """The sequences of both; the second vocabulary extends the first. Neither has weights."""
    import numpy as np

    a, b = first.to_arrays(), second.to_arrays()
    arrays = {name: np.concatenate([a[name], b[name]]) for name in ("lengths", "labels")}
    for kind in ("unigram", "bigram"):
        for part in (f"{kind}_id", f"{kind}_value"):
            arrays[part] = np.concatenate([a[part], b[part]])
        pointers = a[f"{kind}_ptr"], b[f"{kind}_ptr"]
        arrays[f"{kind}_ptr"] = np.concatenate([pointers[0], pointers[0][-1] + pointers[1][1:]])
    return Corpus.from_arrays(n_labels=second.n_labels, n_attributes=second.n_attributes, **arrays)
