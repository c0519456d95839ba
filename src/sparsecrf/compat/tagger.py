"""Tagging as python-crfsuite has it: open a model, set a sequence, ask about it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sparsecrf._core import Chain, Corpus, InputError
from sparsecrf.compat.itemsequence import tokens, without_bytes
from sparsecrf.model import Model

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass
class ParsedDump:
    """What is in a model, as python-crfsuite gives it. Numbers of header, labels and attributes are text there."""

    header: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)  #: id by name
    attributes: dict[str, str] = field(default_factory=dict)  #: id by name
    transitions: dict[tuple[str, str], float] = field(default_factory=dict)  #: [from, to]
    state_features: dict[tuple[str, str], float] = field(default_factory=dict)  #: [attribute, label]


class Tagger:
    """python-crfsuite's Tagger, for model files of this package and of CRFsuite."""

    def __init__(self) -> None:
        self._model: Model | None = None
        self._unread: tuple[bytes, str] | None = None  # a model of CRFsuite that nobody has asked yet, and its name
        self._size: int | None = None  # bytes of the file
        self._corpus: Corpus | None = None
        self._marginals: NDArray[np.float64] | None = None

    # ---- Models

    def open(self, name: str | os.PathLike[str]) -> contextlib.closing[Tagger]:
        """Open a model file; `with` closes it.

        One of CRFsuite is read when the first question is asked: whether it is whole is known now, damage then.
        """
        with open(name, "rb", buffering=0) as file:
            return self._opened(file.read(), os.fspath(name))

    def open_inmemory(self, value: bytes) -> contextlib.closing[Tagger]:
        """Open a model from the content of its file."""
        return self._opened(value, "the model in memory")

    def _opened(self, content: bytes, source: str) -> contextlib.closing[Tagger]:
        if content.startswith(b"lCRF"):
            from sparsecrf.model.crfsuite import header_in

            header_in(content, source)
            self.close()
            self._unread = (content, source)
        else:
            try:
                model = Model.from_bytes(content)
            except InputError as error:
                raise InputError(
                    f"{source}: expected a model of sparsecrf or CRFsuite, found none ({error})"
                ) from error
            self.use(model)
        self._size = len(content)
        return contextlib.closing(self)

    @property
    def model(self) -> Model | None:
        """None when closed."""
        if self._unread is not None:
            from sparsecrf.model.crfsuite import from_binary

            size = self._size
            self.use(from_binary(*self._unread))
            self._size = size
        return self._model

    def use(self, model: Model) -> None:
        """Use a model that is already in memory."""
        if model.template is not None:
            raise InputError("tagger: expected a model of attributes, found one with a template: use sparsecrf.Model")
        self._model, self._unread, self._size = model, None, None
        self._chain = Chain(model.features, model.w, threads=1)  # one sequence at a time: no use for more threads
        self._corpus = self._marginals = None

    def close(self) -> None:
        self._model = self._unread = None
        self._corpus = self._marginals = None

    def labels(self) -> list[str]:
        return list(self._opened_model().labels)

    def _opened_model(self) -> Model:
        model = self.model
        if model is None:
            raise InputError("tagger: expected an open model, found none: call open first")
        return model

    # ---- One sequence

    def set(self, xseq: Iterable[Any]) -> None:
        """Take a sequence: an `ItemSequence` or what makes one."""
        model, items = self._opened_model(), tokens(xseq)
        try:
            self._corpus = model.vocabulary.encode([items]) if items else None
        except InputError:
            text = without_bytes(items)
            if text is None:
                raise
            self._corpus = model.vocabulary.encode([text])
        self._marginals = None

    def tag(self, xseq: Iterable[Any] | None = None) -> list[str]:
        """The best labels of this sequence, or of the one that was set."""
        if xseq is not None:
            self.set(xseq)
        names = self._opened_model().labels
        if self._corpus is None:
            return []
        return [names[k] for k in self._chain.viterbi(self._corpus)[0].tolist()]

    def probability(self, yseq: Iterable[str | bytes]) -> float:
        """P(labels | sequence) for the sequence that was set."""
        import numpy as np

        self._opened_model()
        ids = np.array([self._label_id(y) for y in yseq], dtype=np.int32)
        length = 0 if self._corpus is None else self._corpus.n_tokens
        if len(ids) != length:
            raise InputError(f"labels: expected as many as the sequence has items, {length}, found {len(ids)}")
        if self._corpus is None:
            return 1.0
        return float(np.exp(self._chain.span_log_prob(self._corpus, 0, 0, ids)))

    def marginal(self, y: str | bytes, pos: int) -> float:
        """P(label at this position | sequence) for the sequence that was set."""
        k = self._label_id(y)
        length = 0 if self._corpus is None else self._corpus.n_tokens
        if self._corpus is None or not 0 <= pos < length:
            raise InputError(f"position: expected 0 to {length - 1}, found {pos}")
        if self._marginals is None:
            self._marginals = self._chain.marginals(self._corpus)
        return float(self._marginals[pos, k])

    def _label_id(self, name: str | bytes) -> int:
        model = self._opened_model()
        found = model.vocabulary.labels.find(name.decode() if isinstance(name, bytes) else name)
        if found is None:
            # The type of error that python-crfsuite has for it.
            raise RuntimeError(f"expected a label of the model ({', '.join(model.labels[:10])}), found {name!r}")
        return found

    # ---- What is in the model

    def info(self) -> ParsedDump:
        """Labels, attributes and weights that are not zero, with all their digits.

        The size is that of the model's file, the rest of the header that of CRFsuite's file of such a model.
        """
        from sparsecrf.model.crfsuite import header_of

        model = self._dumped_model()
        names, labels = model.vocabulary.attributes, model.labels
        features, weights = model.features, model.w.tolist()
        x, y = features.unigram_attribute.tolist(), features.unigram_label.tolist()
        states = {(names[a], labels[b]): w for a, b, w in zip(x, y, weights, strict=False) if w != 0}
        matrix = model.transitions()[:-1]  # without the start, which CRFsuite does not have
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
        """Write the model as text, to standard output if there is no file name."""
        from sparsecrf.model.crfsuite import to_dump
        from sparsecrf.model.foreign import write_crfsuite

        model = self._dumped_model()
        if filename is None:
            print(to_dump(model), end="")
        else:
            write_crfsuite(model, filename)

    def _dumped_model(self) -> Model:
        model = self.model
        if model is None:
            raise RuntimeError("Tagger is closed")  # python-crfsuite's type of error here
        return model
