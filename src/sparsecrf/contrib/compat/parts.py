"""Labels with a CRFsuite model before the whole file is read: looks up only the part that a sequence needs."""

from __future__ import annotations

from typing import Any

from sparsecrf._core import Chain, Corpus, CrfsuiteModel, StringTable
from sparsecrf.encoding.vocabulary import BIAS, Vocabulary
from sparsecrf.model import Model

#: Looking up one name in the file takes as long as reading this many names when loading the whole file.
_NAMES_A_LOOKUP = 16


class CrfsuiteFile:
    """The content of a model file."""

    def __init__(self, content: bytes, source: str) -> None:
        self._content, self._source = content, source
        self._file = CrfsuiteModel(content, source)
        self.labels = self._file.labels
        self.label_names = [self.labels[k] for k in range(len(self.labels))]
        self._left = self._file.n_attributes // _NAMES_A_LOOKUP if self._file.has_tables else 0

    def model(self) -> Model:
        """The whole model."""
        from sparsecrf.contrib.convert.crfsuite import from_binary

        return from_binary(self._content, self._source)

    def part_for(self, items: list[Any]) -> tuple[Chain, Corpus] | None:
        """The part of the model for a sequence, and the sequence; None if enough names have been looked
        up that reading the whole model is faster."""
        if self._left <= 0:
            return None
        names = StringTable()
        Vocabulary(start=False, attributes=names).encoder(grow=True).add(items, None, 1.0, None)
        self._left -= len(names)
        attributes, chain = self._file.part(names, BIAS)
        return chain, Vocabulary(start=False, labels=self.labels, attributes=attributes).encode([items])
