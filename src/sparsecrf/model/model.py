"""A model: labels, attributes and sparse weights, and what can be asked of it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from sparsecrf import _core
from sparsecrf._core import Chain, Constraints, Corpus, Encoder, FeatureSet, InputError, Labeller, StringTable
from sparsecrf.encoding.dense import DenseColumns, VectorReader, paired
from sparsecrf.encoding.label_parts import LabelParts
from sparsecrf.encoding.matrix import is_matrix
from sparsecrf.encoding.ngrams import Ngrams
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.encoding.vocabulary import BIAS, Bigrams, Token, Vocabulary, bigrams_of
from sparsecrf.model.compact import RECORD, kind_of, rounded
from sparsecrf.model.file import IN_MEMORY, Parts, from_bytes, read, save, to_bytes
from sparsecrf.model.tokens import TokenCheck

if TYPE_CHECKING:  # NumPy is imported where it is needed: a model can be loaded without it
    import numpy as np
    from numpy.typing import NDArray

    from sparsecrf.encoding.template import Template
    from sparsecrf.encoding.vectors import WordVectors
    from sparsecrf.explain import ModelExplanation, SequenceExplanation
    from sparsecrf.model.spans import Span

#: A label pair, None for the start of the sequence.
Pair = tuple[str | None, str]


class Model:
    """A linear-chain CRF with fixed weights. Nothing changes after construction: threads may share one."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        features: FeatureSet,
        w: Any,
        *,
        template: Template | None = None,
        n_columns: int = 0,
        training: Mapping[str, Any] | None = None,
        dense: DenseColumns | None = None,
        label_parts: LabelParts | None = None,
        vectors: WordVectors | None = None,
    ) -> None:
        """`w`: an array with a float64 for each feature. A file also keeps `template`, which makes the attributes from
        columns, `n_columns`, the columns of observations (0: any number), and `training`: how the weights were found,
        in JSON values (rho1, rho2, objective, loss, kkt, gap, ...). `dense` says how the vectors of tokens are
        standardised; None: tokens have none. `vectors` are those of words, which the model looks up itself; None:
        tokens come with theirs, if there are any. `label_parts` names the parts of labels, if the features have any.
        """
        found = (len(vocabulary.labels), len(vocabulary.attributes))
        if found != (features.n_labels, features.n_attributes):
            raise InputError(
                f"vocabulary: expected that of the features, with {features.n_labels} labels and "
                f"{features.n_attributes} attributes, found {found[0]} and {found[1]}"
            )
        if (0 if label_parts is None else len(label_parts.names)) != features.n_parts:
            raise InputError(f"label_parts: expected the {features.n_parts} of the features, found others")
        if (() if label_parts is None else label_parts.class_cells) != tuple(features.class_cells):
            raise InputError("label_parts: expected the classes of the features, found others")
        if label_parts is not None and dense is not None:
            raise InputError("label_parts: expected none with dense columns, found some")
        if vectors is not None and (dense is None or dense.width != vectors.n_dense):
            found_width = "none" if dense is None else dense.width
            raise InputError(f"vectors: expected those of the dense columns, {found_width}, found {vectors.n_dense}")
        self.vocabulary = vocabulary.freeze()
        self.features = features
        self.template = template
        self.n_columns = n_columns
        self.dense = dense
        self.vectors = vectors
        self.label_parts = label_parts
        self.training: dict[str, Any] = dict(training or {})
        self._w = w
        self.labels = [vocabulary.labels[k] for k in range(len(vocabulary.labels))]
        self.chain = Chain(features, w)
        self._spare: list[Encoder] = []  # encoders of `label` that no thread uses now
        self._check = TokenCheck(self.training, vocabulary.attributes, template is not None)

    @classmethod
    def from_weights(
        cls,
        labels: Iterable[str],
        unigram: Mapping[tuple[str, str], float],
        bigram: Mapping[tuple[str, str | None, str], float] | None = None,
        *,
        bigrams: Bigrams | None = None,
        start: bool = True,
    ) -> Model:
        """Make a model from weights by name: unigram[attribute, label], bigram[attribute, previous, label].

        The previous label None is the start of the sequence. `bigrams` says which attributes condition label
        pairs; left out, those that have a bigram weight do.
        """
        bigram = bigram or {}
        conditioning = frozenset(x for x, _, _ in bigram)
        vocabulary = Vocabulary(bigrams=conditioning if bigrams is None else bigrams, start=start)
        for name in labels:
            vocabulary.labels.intern(name)
        unigram_cells = [(vocabulary.attributes.intern(x), _label_id(vocabulary, y)) for x, y in unigram]
        start_id = len(vocabulary.labels)
        bigram_cells = [
            (
                vocabulary.attributes.intern(x),
                start_id if previous is None else _label_id(vocabulary, previous),
                _label_id(vocabulary, y),
            )
            for x, previous, y in bigram
        ]
        return cls.from_cells(vocabulary, unigram_cells, list(unigram.values()), bigram_cells, list(bigram.values()))

    @classmethod
    def from_cells(
        cls,
        vocabulary: Vocabulary,
        unigram: Any,
        unigram_w: Any,
        bigram: Any,
        bigram_w: Any,
        *,
        template: Template | None = None,
        n_columns: int = 0,
        training: Mapping[str, Any] | None = None,
    ) -> Model:
        """Make a model from weights by id, in any order: of the cells (attribute, label) and (attribute, previous,
        label), arrays of two and of three columns. The previous label `len(labels)` is the start.
        """
        import numpy as np

        u = np.asarray(unigram, dtype=np.int32).reshape(-1, 2)
        b = np.asarray(bigram, dtype=np.int32).reshape(-1, 3)
        # Weights follow the canonical order of features.
        orders = (np.lexsort(u.T[::-1]), np.lexsort(b.T[::-1]))
        w = np.concatenate(
            [np.asarray(v, dtype=np.float64)[order] for v, order in zip((unigram_w, bigram_w), orders, strict=True)]
        )
        columns = [np.ascontiguousarray(column) for column in (*u.T, *b.T)]
        features = FeatureSet(len(vocabulary.labels), len(vocabulary.attributes), *columns)
        return cls(vocabulary, features, w, template=template, n_columns=n_columns, training=training)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read the file of a model."""
        return cls._of(read(path), os.fspath(path))

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """The model in the content of a file."""
        return cls._of(from_bytes(data), IN_MEMORY)

    @classmethod
    def _of(cls, parts: Parts, source: str) -> Model:
        n_labels, n_attributes = len(parts.labels), len(parts.attributes)
        try:
            table = None if parts.ngrams is None else parts.ngrams.table(n_labels)
            rows = None if parts.label_parts is None else parts.label_parts.core
            features = FeatureSet.from_numbers(n_labels, n_attributes, parts.numbers, table, rows)
            longer = () if parts.ngrams is None else parts.ngrams.attribute
            bigrams = bigrams_of(parts.attributes, parts.numbers, Numbering.of(features), longer)
            vocabulary = Vocabulary(bigrams, parts.start, parts.labels, parts.attributes)
            return cls(
                vocabulary,
                features,
                parts.w,
                template=parts.template,
                n_columns=parts.n_columns,
                training=parts.training,
                dense=parts.dense,
                label_parts=parts.label_parts,
                vectors=parts.vectors,
            )
        except InputError as error:
            raise InputError(f"{source}: {error}") from error

    def save(self, path: str | os.PathLike[str], *, compact: bool | str = False) -> None:
        """Write the model to a file: its weights that are not zero, and the attributes that have one.

        `compact`: in about a quarter of the bytes, with weights rounded to 16 bits (True, or "int16"), which changes
        each by at most its largest / 65534; "float32" rounds less. `training["compact"]["error"]` of the model in the
        file says by how much.
        """
        save(self.to_bytes(compact=compact), path)

    def to_bytes(self, *, compact: bool | str = False) -> bytes:
        """What `save` writes."""
        kind = kind_of(compact)
        if kind is None:
            return to_bytes(self._parts())
        made, scale = self._rounded(kind)
        return to_bytes(made._parts(), (kind, scale))

    def _rounded(self, kind: str) -> tuple[Model, float]:
        """The model that a compact file holds, and the scale of its weights; its features are those of this one."""
        import numpy as np

        w, scale = rounded(self.w, kind)
        before = self.training.get(RECORD, {}).get("error", 0.0)  # if this model was rounded itself
        record = {"weights": kind, "error": before + float(np.abs(w - self.w).max(initial=0.0))}
        return self._with(w=w, training={**self.training, RECORD: record}), scale

    def _with(self, **changed: Any) -> Model:
        """The same model but for what is given: as for the constructor, and `features` and `w`."""
        own = {"features": self.features, "w": self.w, "template": self.template, "n_columns": self.n_columns}
        own |= {"training": self.training, "dense": self.dense, "label_parts": self.label_parts}
        own |= {"vectors": self.vectors}
        return Model(self.vocabulary, **{**own, **changed})

    def compacted(self) -> Model:
        """The same model without weights that are zero and attributes that have none: what a file keeps.

        Answers are the same, probabilities to rounding. Which attributes condition label pairs is now known from the
        weights.
        """
        return self._of(self._parts(), "model")

    def scaled(self, factor: float) -> Model:
        """The model with all weights multiplied by a number: the larger it is, the surer the model. If it is above 0,
        the best labels stay as they are."""
        return self._with(w=factor * self.w)

    def without_parts(self) -> Model:
        """The same model with the weights of parts of labels added to those of the labels that have them, and those of
        pairs of classes to those of label pairs: its answers are the same, probabilities to rounding. Itself, if labels
        have no parts."""
        if self.label_parts is None:
            return self
        from sparsecrf.model.whole_labels import whole_labels

        features, w = whole_labels(self.features, self.w)
        return self._with(features=features, w=w, label_parts=None)

    def _parts(self) -> Parts:
        """What a file keeps: weights that are not zero, and the attributes that have one."""
        import numpy as np

        features, n_pairs = self.features, len(self.features) - self.features.n_ngram
        active = np.flatnonzero(self.w[:n_pairs])
        longer = Ngrams.of(features).where(self.w[n_pairs:] != 0)
        attribute = np.concatenate([features.unigram_attribute, features.bigram_attribute])[active]
        kept = np.unique(np.concatenate([attribute, longer.attribute]))
        # x becomes the place of x among the attributes that stay.
        place = np.searchsorted(kept, attribute).astype(np.int64)
        numbers = Numbering.of(features).moved(features.numbers[active], place, len(kept))
        w = self.w[self.w != 0]
        ngrams = None
        if longer:
            ngrams = longer._replace(attribute=np.searchsorted(kept, longer.attribute).astype(np.int32))
            first = Numbering.of(features)._replace(n_attributes=len(kept)).first_ngram
            numbers = np.concatenate([numbers, first + np.arange(len(longer.attribute))])
        old_names, names = self.vocabulary.attributes, StringTable()
        for x in kept.tolist():
            names.intern(old_names[x])
        about = (self.vocabulary.start, self.template, self.n_columns, self.training)
        more = (ngrams, self.dense, self.label_parts, self.vectors)
        return Parts(self.vocabulary.labels, names, numbers, w, *about, *more)

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return Model.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        return f"<Model: {len(self.labels)} labels, {self.n_attributes} attributes, {self.n_active} weights>"

    def _repr_html_(self) -> str:
        """For notebooks."""
        from sparsecrf.model.card import model_card

        return model_card(self)

    @property
    def w(self) -> NDArray[np.float64]:
        """The weights, one for each of `features`."""
        import numpy as np

        return np.asarray(self._w)

    @cached_property
    def _single(self) -> Chain:
        """One sequence at a time runs on the caller's thread; whole corpora use all cores."""
        return Chain(self.features, self._w, threads=1)

    def chain_with(self, threads: int) -> Chain:
        """What answers for whole corpora on so many threads (0: all cores)."""
        return {0: self.chain, 1: self._single}.get(threads) or Chain(self.features, self._w, threads=threads)

    @property
    def n_active(self) -> int:
        """Number of non-zero weights."""
        import numpy as np

        return int(np.count_nonzero(self.w))

    @property
    def n_attributes(self) -> int:
        """Number of attributes with a non-zero weight: those that a file keeps. `vocabulary` may know more."""
        import numpy as np

        features = self.features
        attribute = np.concatenate([features.unigram_attribute, features.bigram_attribute, features.ngrams[0]])
        return len(np.unique(attribute[np.flatnonzero(self.w)]))

    def encode(
        self, X: Iterable[Iterable[Token]], y: Iterable[Iterable[str | None]] | None = None, *, dense: Any = None
    ) -> Corpus:
        """Encode sequences with this model's labels and attributes; unknown attributes are left out.

        Tokens of a model with a template are rows of columns, without the label; else as for `Vocabulary.encode`. Those
        of a model with dense columns are pairs (attributes, vector); or `dense` has a matrix for each sequence, or one
        for all of them; unless the model has `vectors`, which it looks up.
        """
        if dense is not None:
            if self.vectors is not None:
                raise InputError("dense: expected none for a model that looks up the vectors of words, found some")
            if self.dense is None:
                raise InputError("dense: expected none for a model without dense columns, found some")
            X = paired(X, dense)
        return self._encode(self.checked(X), y)

    def _encode(self, X: Iterable[Iterable[Token]], y: Iterable[Iterable[str | None]] | None = None) -> Corpus:
        """Without a check of what tokens are."""
        reader = None if self.dense is None or self.vectors is not None else VectorReader(self.dense.width)
        tokens = X if reader is None else reader.attributes(X)
        corpus = self.vocabulary.encode(tokens, y, template=self.template, features=self.features, words=self._words)
        if reader is None or self.dense is None:
            return corpus
        return self.dense.added(corpus, reader.matrix(), self.vocabulary.attributes)

    def checked(self, X: Iterable[Iterable[Token]]) -> Iterator[Any]:
        """The sequences. Raises for tokens of another kind than in training; warns if the model knows none of them."""
        return iter(X) if self.needs_vectors else self._check.each(X, self._knows)

    @property
    def needs_vectors(self) -> bool:
        """Whether tokens must come with vectors."""
        return self.dense is not None and self.vectors is None

    @cached_property
    def _words(self) -> _core.WordVectors | None:
        """What looks up the vectors of words."""
        return None if self.vectors is None else self.vectors.core(self.dense)

    def checked_one(self, sequence: Iterable[Token]) -> Any:
        """The same for one sequence."""
        return self._check.one(sequence, self._knows)

    def encode_checked(self, X: Iterable[Iterable[Token]]) -> Corpus:
        """What `encode` does with sequences that have been checked."""
        return self._encode(X)

    @cached_property
    def has_plain_transitions(self) -> bool:
        """Whether label pairs have the same weights at every position."""
        if self.features.n_ngram:
            return False
        plain = [self.vocabulary.attributes.find(name) for name in self.plain_attributes()]
        return set(self.features.bigram_attribute.tolist()) <= set(plain)

    def _knows(self, sequence: Iterable[Token]) -> bool:
        """Whether the model has an attribute of the sequence, besides the bias."""
        found = self.vocabulary.encode([sequence], features=self.features).to_arrays()["unigram_id"]
        bias = self.vocabulary.attributes.find(BIAS)
        return bool((found != (-1 if bias is None else bias)).any())

    def labeller(self) -> Labeller:
        """What labels text files: column files if the model has a template, else those of CRFsuite."""
        if self.needs_vectors:
            raise InputError(
                "label: expected for text files a model that has the vectors of words (train --vectors, "
                "CRF(vectors=...)), found one whose tokens must come with vectors"
            )
        bias = BIAS if self.template is None else ""
        tables = (self.vocabulary.attributes, self.vocabulary.labels)
        return Labeller(self.template, *tables, self._single, self.vocabulary.start, bias, self.n_columns, self._words)

    def label(
        self,
        sequence: Iterable[Token],
        *,
        allowed: Sequence[Collection[str] | None] | None = None,
        forbidden: Collection[Pair] | None = None,
        fixed: Sequence[str | None] | None = None,
    ) -> list[str]:
        """Best labels.

        `allowed`: labels that may stand at each position (None: any); `forbidden`: pairs (previous, label)
        that must not occur, None for the start; `fixed`: labels already known (None: free).
        """
        unconstrained = allowed is None and forbidden is None and fixed is None and not self.needs_vectors
        if unconstrained and (type(sequence) is list or not is_matrix(sequence)):
            # The usual case, without a corpus in between: threads that share the model meet once only.
            return self.label_plain(self.checked_one(sequence))
        corpus = self.encode([sequence])
        path, _ = self._single.viterbi(corpus, self._constraints(corpus, allowed, forbidden, fixed))
        return [self.labels[k] for k in path]

    def label_plain(self, sequence: Iterable[Token]) -> list[str]:
        """Best labels, for callers that have made sure that the tokens are what the model was trained on."""
        encoder = self._encoder()
        encoder.add(sequence)
        found = encoder.label(self._single, self.labels)
        self._spare.append(encoder)
        return found

    def label_each(self, sequences: Iterable[Iterable[Token]], names: list[Any]) -> list[list[Any]]:
        """Best labels of several sequences, which are no matrices, by these names of the labels; as `label_plain`."""
        encoder = self._encoder()
        lengths = [encoder.add(sequence) for sequence in sequences]
        found, begin = encoder.label(self._single, names), 0
        self._spare.append(encoder)
        apart = []
        for length in lengths:
            apart.append(found[begin : begin + length])
            begin += length
        return apart

    def _encoder(self) -> Encoder:
        """One that no other thread uses."""
        try:
            return self._spare.pop()
        except IndexError:
            return self.vocabulary.encoder(template=self.template, features=self.features, words=self._words)

    def marginals(self, sequence: Iterable[Token], **constraints: Any) -> NDArray[np.float64]:
        """P(y_t = y): a row for each token, a column for each of `labels`. Constraints as for `label`."""
        corpus = self.encode([sequence])
        return self._single.marginals(corpus, self._constraints(corpus, **constraints))

    def nbest(self, sequence: Iterable[Token], k: int, **constraints: Any) -> list[tuple[list[str], float]]:
        """The k best labellings with their probabilities, best first. Constraints as for `label`."""
        from math import exp

        corpus = self.encode([sequence])
        known = self._constraints(corpus, **constraints)
        paths, scores = self._single.nbest(corpus, 0, k, known)
        log_z = self._single.log_partition(corpus, known)[0]
        return [
            ([self.labels[y] for y in path], exp(min(0.0, score - log_z)))
            for path, score in zip(paths, scores, strict=True)
        ]

    def log_prob(self, sequence: Iterable[Token], labels: Iterable[str | None]) -> float:
        """log P(labels | sequence); labels that are None are summed over."""
        return float(self._single.log_prob(self.encode([sequence], [labels]))[0])

    def spans(self, sequence: Iterable[Token], *, scheme: str = "auto", **constraints: Any) -> list[Span]:
        """The chunks of the best labels (B-TYPE, I-TYPE, ...) with their probabilities. Constraints as for `label`.

        `scheme` says how labels encode chunks, as for `sparsecrf eval`.
        """
        from sparsecrf.model.spans import SpanReader

        reader, corpus = SpanReader(self.labels, scheme), self.encode([sequence])
        path, _ = self._single.viterbi(corpus, self._constraints(corpus, **constraints))
        return reader.spans(self._single, corpus, 0, path)

    def span_prob(self, sequence: Iterable[Token], start: int, labels: Sequence[str]) -> float:
        """Probability that the tokens from `start` on have exactly these labels, whatever the others have."""
        import numpy as np

        corpus = self.encode([sequence])
        ids = np.array([_label_id(self.vocabulary, name) for name in labels], dtype=np.int32)
        return float(np.exp(self._single.span_log_prob(corpus, 0, start, ids)))

    @overload
    def explain(
        self, sequence: None = None, *, top: int | None = 10, label: str | None = None, attribute: str | None = None
    ) -> ModelExplanation: ...

    @overload
    def explain(
        self, sequence: Iterable[Token], labels: Iterable[str | None] | None = None, *, top: int | None = 5
    ) -> SequenceExplanation: ...

    def explain(self, sequence: Any = None, labels: Any = None, **options: Any) -> Any:
        """What the model has learnt; or, with a sequence, why it has its labels.

        explain(top=10, label=None, attribute=None): the `top` largest weights of each label (None: all), or only those
        of one label or attribute; transitions; what the lines of the template are good for.
        explain(sequence, labels=None, top=5): what each attribute and transition adds to the score of the best labels,
        or of those given (None: the best there), and margins; `top` contributions of each token are printed.
        """
        from sparsecrf.explain import explain_model, explain_sequence

        if sequence is not None:
            return explain_sequence(self, sequence, labels, **options)
        if labels is not None:
            raise InputError("labels: expected the sequence that they are of, found none")
        return explain_model(self, **options)

    def transitions(self) -> NDArray[np.float64]:
        """Plain transitions, weights that hold at every position: float64[Y + 1, Y], previous label by label.

        The last row is the start. They are the bigram weights of the bias, and of lines of a template without macro;
        those of pairs of classes of labels are added to those of their labels.
        """
        import numpy as np

        if self.features.n_class:
            return self.without_parts().transitions()
        Y, features = len(self.labels), self.features
        matrix = np.zeros((Y + 1, Y))
        weights = self.w[features.n_unigram : features.n_unigram + features.n_bigram]
        for name in self.plain_attributes():
            here = features.bigram_attribute == self.vocabulary.attributes.find(name)
            matrix[features.bigram_previous[here], features.bigram_label[here]] += weights[here]
        return matrix

    def plain_attributes(self) -> list[str]:
        """The model's attributes that condition label pairs at every position."""
        names = [BIAS]
        if self.template is not None:
            lines = self.template
            made = lines.attributes([[""] * max(1, lines.n_columns)])[0]  # of lines that do not vary, those everywhere
            every = zip(made, lines.kinds, lines.varies, strict=True)
            names += [name for name, kind, varies in every if kind != "U" and not varies]
        return [name for name in dict.fromkeys(names) if self.vocabulary.attributes.find(name) is not None]

    def _constraints(
        self,
        corpus: Corpus,
        allowed: Sequence[Collection[str] | None] | None = None,
        forbidden: Collection[Pair] | None = None,
        fixed: Sequence[str | None] | None = None,
    ) -> Constraints | None:
        """Constraints by name for a corpus of one sequence."""
        if allowed is None and forbidden is None and fixed is None:
            return None
        import numpy as np

        n_labels, length = len(self.labels), corpus.n_tokens
        for name, given in (("allowed", allowed), ("fixed", fixed)):
            if given is not None and len(given) != length:
                raise InputError(f"{name}: expected {length} entries, one per token, found {len(given)}")
        masks = None
        if allowed is not None:
            masks = np.ones((length, n_labels), dtype=np.bool_)
            for t, names in enumerate(allowed):
                if names is not None:
                    masks[t] = False
                    masks[t, [_label_id(self.vocabulary, name) for name in names]] = True
        pairs = None
        if forbidden is not None:
            pairs = np.zeros((n_labels + 1, n_labels), dtype=np.bool_)
            for previous, y in forbidden:
                row = n_labels if previous is None else _label_id(self.vocabulary, previous)
                pairs[row, _label_id(self.vocabulary, y)] = True
        known = None
        if fixed is not None:
            known = np.array([-1 if y is None else _label_id(self.vocabulary, y) for y in fixed], dtype=np.int32)
        return Constraints(n_labels, masks, pairs, known)


def _label_id(vocabulary: Vocabulary, name: str) -> int:
    found = vocabulary.labels.find(name)
    if found is None:
        known = ", ".join(vocabulary.labels[k] for k in range(min(10, len(vocabulary.labels))))
        raise InputError(f"expected a label of the model ({known}), found {name!r}")
    return found
