"""Tagging with python-crfsuite's interface: open a model, set a sequence, and query it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sparsecrf._core import Chain, Corpus, CrfsuiteModel, InputError, StringTable
from sparsecrf.contrib.compat.itemsequence import encoded, tokens
from sparsecrf.encoding.vocabulary import BIAS, Vocabulary
from sparsecrf.lazy import NDArray, np
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
        """The part of the model that a sequence needs, and the encoded sequence. None if so many names have been looked
        up that reading the whole model is faster."""
        if self._left <= 0:
            return None
        names = StringTable()
        Vocabulary(start=False, attributes=names).encoder(grow=True).add(items, None, 1.0, None)
        self._left -= len(names)
        attributes, chain = self._file.part(names, BIAS)
        return chain, Vocabulary(start=False, labels=self.labels, attributes=attributes).encode([items])


#: Types of items that the encoder reads as python-crfsuite does. Text is excluded, since python-crfsuite reads its
#: characters as names.
_PLAIN = frozenset((dict, list, tuple))


@dataclass
class ParsedDump:
    """The content of a model as python-crfsuite returns it: the numbers of the header, and the ids of labels and
    attributes, are strings."""

    header: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)  #: id by name
    attributes: dict[str, str] = field(default_factory=dict)  #: id by name
    transitions: dict[tuple[str, str], float] = field(default_factory=dict)  #: [from, to]
    state_features: dict[tuple[str, str], float] = field(default_factory=dict)  #: [attribute, label]


class Tagger:
    """python-crfsuite's Tagger, for model files of this package and of CRFsuite."""

    _model: Model | None
    _file: CrfsuiteFile | None  # a CRFsuite model file
    _size: int | None  # bytes of the file
    _whole: Chain | None  # the chain of the whole model
    # The sequence that was set, and its chain.
    _chain: Chain | None
    _corpus: Corpus | None
    _marginals: NDArray[np.float64] | None
    _items: list[Any] | None  # items of a sequence that needed no corpus so far

    def __init__(self) -> None:
        self.close()

    # ---- Models

    def open(self, name: str | os.PathLike[str]) -> contextlib.closing[Tagger]:
        """Open a model file; `with` closes it.

        A CRFsuite model is read lazily: this method detects truncation, but damage to a part is detected when that part
        is used.
        """
        with open(name, "rb", buffering=0) as file:
            return self._opened(file.read(), os.fspath(name))

    def open_inmemory(self, value: bytes) -> contextlib.closing[Tagger]:
        """Open a model from the content of its file."""
        return self._opened(value, "the model in memory")

    def _opened(self, content: bytes, source: str) -> contextlib.closing[Tagger]:
        if content.startswith(b"lCRF"):
            file = CrfsuiteFile(content, source)
            self.close()
            self._file = file
        else:
            try:
                model = Model.from_bytes(content)
            except InputError as error:
                raise InputError(
                    f"{source}: expected a sparsecrf or CRFsuite model, found another file ({error})"
                ) from error
            self.use(model)
        self._size = len(content)
        return contextlib.closing(self)

    @property
    def model(self) -> Model | None:
        """The open model; None if the tagger is closed."""
        if self._model is None and self._file is not None:
            self._model = self._file.model()
        return self._model

    def use(self, model: Model) -> None:
        """Use a model that is already in memory."""
        if model.template is not None:
            raise InputError(
                "tagger: expected a model without a template, found a model with a template; use sparsecrf.Model"
            )
        if model.dense is not None:
            raise InputError(
                "tagger: expected a model without vectors, found a model with vectors; use sparsecrf.Model"
            )
        self.close()
        self._model = model

    def close(self) -> None:
        self._model = self._file = self._size = self._whole = None
        self._chain = self._corpus = self._marginals = self._items = None

    def labels(self) -> list[str]:
        return list(self._labels())

    def _labels(self) -> list[str]:
        return self._opened_model().labels if self._file is None else self._file.label_names

    def _opened_model(self) -> Model:
        model = self.model
        if model is None:
            raise InputError("tagger: expected an open model, found none: call open first")
        return model

    # ---- One sequence

    def set(self, xseq: Iterable[Any]) -> None:
        """Set the sequence, given as an `ItemSequence` or in a form that `ItemSequence` accepts."""
        if self._file is None:
            self._opened_model()
        items = tokens(xseq)
        self._corpus = self._marginals = self._items = None
        if not items:
            return
        self._chain, self._corpus = encoded(items, self._encoded)

    def _encoded(self, items: list[Any]) -> tuple[Chain, Corpus]:
        """The sequence, and the model or the part of it that the sequence needs."""
        if self._model is None and self._file is not None and (found := self._file.part_for(items)) is not None:
            return found
        model = self._opened_model()
        if self._whole is None:
            # More threads would not help with one sequence at a time.
            self._whole = Chain(model.features, model.w, threads=1)
        return self._whole, model.vocabulary.encode([items])

    def tag(self, xseq: Iterable[Any] | None = None) -> list[str]:
        """The best labels of this sequence, or of the one that was set."""
        if xseq is not None:
            if (quick := self._tag_quickly(xseq)) is not None:
                return quick
            self.set(xseq)
        names = self._labels()
        self._encode()
        if self._chain is None or self._corpus is None:
            return []
        return [names[k] for k in self._chain.viterbi(self._corpus)[0].tolist()]

    def _tag_quickly(self, xseq: Iterable[Any]) -> list[str] | None:
        """The best labels without building a corpus; None if a corpus is needed. Other queries about the sequence build
        it."""
        if self._model is None or type(xseq) is not list or not xseq or not _PLAIN.issuperset(map(type, xseq)):
            return None
        try:
            found = self._model.label_each([xseq], self._model.labels)[0]
        except InputError:
            return None  # the items are bytes, or invalid; building the corpus reads them or raises a clear error
        self._chain = self._corpus = self._marginals = None
        self._items = list(xseq)
        return found

    def _encode(self) -> None:
        """Make the corpus of a sequence that has only been tagged."""
        if self._items is not None:
            (self._chain, self._corpus), self._items = self._encoded(list(self._items)), None

    def probability(self, yseq: Iterable[str | bytes]) -> float:
        """P(labels | sequence) for the sequence that was set."""
        self._labels()
        self._encode()
        ids = np.array([self._label_id(y) for y in yseq], dtype=np.int32)
        length = 0 if self._corpus is None else self._corpus.n_tokens
        if len(ids) != length:
            raise InputError(f"labels: expected {length} labels, one per item, found {len(ids)}")
        if self._chain is None or self._corpus is None:
            return 1.0
        return float(np.exp(self._chain.span_log_prob(self._corpus, 0, 0, ids)))

    def marginal(self, y: str | bytes, pos: int) -> float:
        """P(label at this position | sequence) for the sequence that was set."""
        k = self._label_id(y)
        self._encode()
        length = 0 if self._corpus is None else self._corpus.n_tokens
        if self._chain is None or self._corpus is None or not 0 <= pos < length:
            raise InputError(f"position: expected 0 to {length - 1}, found {pos}")
        if self._marginals is None:
            self._marginals = self._chain.marginals(self._corpus)
        return float(self._marginals[pos, k])

    def _label_id(self, name: str | bytes) -> int:
        table = self._opened_model().vocabulary.labels if self._file is None else self._file.labels
        found = table.find(name.decode() if isinstance(name, bytes) else name)
        if found is None:
            # The type of error that python-crfsuite raises.
            raise RuntimeError(f"expected a label of the model ({', '.join(self._labels()[:10])}), found {name!r}")
        return found

    # ---- Content of the model

    def info(self) -> ParsedDump:
        """Labels, attributes and nonzero weights, with all their digits.

        The size is the size of the model's file; the rest of the header is what CRFsuite's file would contain.
        """
        from sparsecrf.contrib.convert.crfsuite import header_of

        if self._file is not None and not self._file.label_names:  # the model was trained without data
            return ParsedDump(header=header_of([], [], 0, 0))
        model = self._dumped_model()
        names, labels = model.vocabulary.attributes, model.labels
        features, weights = model.features, model.w.tolist()
        x, y = features.unigram_attribute.tolist(), features.unigram_label.tolist()
        states = {(names[a], labels[b]): w for a, b, w in zip(x, y, weights, strict=False) if w != 0}
        matrix = model.transitions()[:-1]  # without the start label, which CRFsuite does not have
        pairs = {(labels[a], labels[b]): float(matrix[a, b]) for a, b in zip(*matrix.nonzero(), strict=True)}
        attributes = dict.fromkeys(name for name, _ in states)
        header = header_of(labels, list(attributes), len(states), len(pairs))
        header["size"] = str(len(model.to_bytes()) if self._size is None else self._size)
        return ParsedDump(
            header=header,
            labels={name: str(k) for k, name in enumerate(labels)},
            attributes={name: str(k) for k, name in enumerate(attributes)},
            transitions=pairs,
            state_features=states,
        )

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the model as text, to standard output if no file name is given."""
        from sparsecrf.contrib.convert.crfsuite import to_dump
        from sparsecrf.contrib.convert.foreign import write_crfsuite

        model = self._dumped_model()
        if filename is None:
            print(to_dump(model), end="")
        else:
            write_crfsuite(model, filename)

    def _dumped_model(self) -> Model:
        model = self.model
        if model is None:
            raise RuntimeError("Tagger is closed")  # the type of error that python-crfsuite raises
        return model.without_parts()
