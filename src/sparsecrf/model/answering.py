"""What a model answers for sequences: labels, marginals, the best labellings, chunks; also under constraints."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sparsecrf import _core
from sparsecrf._core import Chain, Corpus, Encoder, FeatureSet, InputError, Labeller
from sparsecrf.encoding.dense import DenseColumns, VectorReader, paired
from sparsecrf.encoding.matrix import is_matrix
from sparsecrf.encoding.vocabulary import BIAS, Token, Vocabulary
from sparsecrf.model.limits import Pair, constraints_by_name, label_id
from sparsecrf.model.tokens import TokenCheck

if TYPE_CHECKING:  # NumPy is imported where it is needed: a model can be loaded without it
    import numpy as np
    from numpy.typing import NDArray

    from sparsecrf.encoding.template import Template
    from sparsecrf.encoding.vectors import WordVectors
    from sparsecrf.model.spans import Span


class AnsweringModel:
    """A model that answers. Those made of it have the attributes below (`Model`)."""

    vocabulary: Vocabulary
    features: FeatureSet
    template: Template | None
    n_columns: int
    dense: DenseColumns | None
    vectors: WordVectors | None
    labels: list[str]
    chain: Chain
    _w: Any  # float64[K], an array
    _spare: list[Encoder]  # of `label`, which no thread uses now
    _check: TokenCheck

    @cached_property
    def _single(self) -> Chain:
        """One sequence at a time runs on the caller's thread; whole corpora use all cores."""
        return Chain(self.features, self._w, threads=1)

    def chain_with(self, threads: int) -> Chain:
        """What answers for whole corpora on so many threads (0: all cores)."""
        return {0: self.chain, 1: self._single}.get(threads) or Chain(self.features, self._w, threads=threads)

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

    def checked_one(self, sequence: Iterable[Token]) -> Any:
        """The same for one sequence."""
        return self._check.one(sequence, self._knows)

    def encode_checked(self, X: Iterable[Iterable[Token]]) -> Corpus:
        """What `encode` does with sequences that have been checked."""
        return self._encode(X)

    def _knows(self, sequence: Iterable[Token]) -> bool:
        """Whether the model has an attribute of the sequence, besides the bias, or looks up vectors."""
        if self.vectors is not None:
            return True
        found = self.vocabulary.encode([sequence], features=self.features).to_arrays()
        bias = self.vocabulary.attributes.find(BIAS)
        return any((found[ids] != (-1 if bias is None else bias)).any() for ids in ("unigram_id", "bigram_id"))

    @property
    def needs_vectors(self) -> bool:
        """Whether tokens must come with vectors."""
        return self.dense is not None and self.vectors is None

    @cached_property
    def _words(self) -> _core.WordVectors | None:
        """What looks up the vectors of words."""
        return None if self.vectors is None else self.vectors.core(self.dense)

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
        constrain: str | None = None,
    ) -> list[str]:
        """Best labels.

        `allowed`: labels that may stand at each position (None: any); `forbidden`: pairs (previous, label)
        that must not occur, None for the start; `fixed`: labels already known (None: free); `constrain`: only valid
        chunk labels, by the scheme iob1, iob2 or iobes.
        """
        unconstrained = allowed is None and forbidden is None and fixed is None and constrain is None
        if unconstrained and not self.needs_vectors and (type(sequence) is list or not is_matrix(sequence)):
            # The usual case, without a corpus in between: threads that share the model meet once only.
            return self.label_plain(self.checked_one(sequence))
        corpus = self.encode([sequence])
        path, _ = self._single.viterbi(
            corpus, constraints_by_name(self.vocabulary, corpus, allowed, forbidden, fixed, constrain)
        )
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
        return self._single.marginals(corpus, constraints_by_name(self.vocabulary, corpus, **constraints))

    def nbest(self, sequence: Iterable[Token], k: int, **constraints: Any) -> list[tuple[list[str], float]]:
        """The k best labellings with their probabilities, best first. Constraints as for `label`."""
        from math import exp

        corpus = self.encode([sequence])
        known = constraints_by_name(self.vocabulary, corpus, **constraints)
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
        known = constraints_by_name(self.vocabulary, corpus, **constraints)
        path, _ = self._single.viterbi(corpus, known)
        return reader.spans(self._single, corpus, 0, path, known)

    def span_prob(self, sequence: Iterable[Token], start: int, labels: Sequence[str]) -> float:
        """Probability that the tokens from `start` on have exactly these labels, whatever the others have."""
        import numpy as np

        corpus = self.encode([sequence])
        ids = np.array([label_id(self.vocabulary, name) for name in labels], dtype=np.int32)
        return float(np.exp(self._single.span_log_prob(corpus, 0, start, ids)))
