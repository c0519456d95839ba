"""Queries of a model for labels, marginals, n-best lists and chunks, optionally with constraints."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sparsecrf._core import Chain, Constraints, Corpus, FeatureSet, InputError
from sparsecrf._core import Model as CoreModel
from sparsecrf.encoding.dense import DenseColumns, VectorReader, paired
from sparsecrf.encoding.matrix import is_matrix
from sparsecrf.encoding.vocabulary import BIAS, Token, Vocabulary
from sparsecrf.lazy import NDArray, np
from sparsecrf.model.limits import Pair, constraints_by_name, label_id
from sparsecrf.model.tokens import TokenCheck

if TYPE_CHECKING:
    from sparsecrf.encoding.template import Template
    from sparsecrf.encoding.vectors import WordVectors
    from sparsecrf.model.spans import Span


class AnsweringModel:
    """The query methods of a model. Subclasses (`Model`) define the attributes below."""

    vocabulary: Vocabulary
    features: FeatureSet
    template: Template | None
    n_columns: int
    dense: DenseColumns | None
    vectors: WordVectors | None
    labels: list[str]
    training: dict[str, Any]
    chain: Chain  #: the object that labels whole corpora, on all cores
    _single: Chain  # an object that labels on the caller's thread
    _core: CoreModel  # the model in the core
    _check: TokenCheck

    def chain_with(self, threads: int) -> Chain:
        """An object that labels whole corpora on this number of threads (0 means all cores)."""
        return self._core.chain(threads)

    def encode(
        self, X: Iterable[Iterable[Token]], y: Iterable[Iterable[str | None]] | None = None, *, dense: Any = None
    ) -> Corpus:
        """Encode sequences with this model's labels and attributes; unknown attributes are left out.

        If the model has a template, tokens are rows of columns, without the label; otherwise they have a form that
        `Vocabulary.encode` accepts. If the model has dense columns and does not look up its own `vectors`, tokens are
        pairs (attributes, vector), or `dense` contains a matrix for each sequence or one matrix for all of them.
        """
        if dense is not None:
            if self.vectors is not None:
                raise InputError("dense: not supported by a model that looks up its own word vectors")
            if self.dense is None:
                raise InputError("dense: not supported by a model without dense columns")
            X = paired(X, dense)
        return self.encode_checked(self.checked(X), y)

    def encode_checked(self, X: Iterable[Iterable[Token]], y: Iterable[Iterable[str | None]] | None = None) -> Corpus:
        """Encode sequences, as `encode` does, that have already been checked."""
        if y is None and self.template is not None and not self.needs_vectors:
            return self._core.encode(X)  # rows of columns are not matrices
        reader = None if self.dense is None or self.vectors is not None else VectorReader(self.dense.width)
        tokens = X if reader is None else reader.attributes(X)
        words = None if self.vectors is None else self.vectors.core(self.dense)
        corpus = self.vocabulary.encode(tokens, y, template=self.template, features=self.features, words=words)
        if reader is None or self.dense is None:
            return corpus
        return self.dense.added(corpus, reader.matrix(), self.vocabulary.attributes)

    def _encode_one(self, sequence: Iterable[Token]) -> Corpus:
        if self._is_plain(sequence):
            return self._core.encode([self.checked_one(sequence)])
        return self.encode([sequence])

    def _is_plain(self, sequence: Iterable[Token]) -> bool:
        """Whether the core can read the tokens: attributes or columns, not matrix rows or pairs with vectors."""
        return not self.needs_vectors and (type(sequence) is list or not is_matrix(sequence))

    def checked(self, X: Iterable[Iterable[Token]]) -> Iterator[Any]:
        """The checked sequences. Raises an error for tokens of a different kind than in training; warns if no attribute
        is in the model."""
        return iter(X) if self.needs_vectors else self._check.each(X, self._knows)

    def checked_one(self, sequence: Iterable[Token]) -> Any:
        """A single sequence, after the same checks as in `checked`."""
        return self._check.one(sequence, self._knows)

    def _knows(self, sequence: Iterable[Token]) -> bool:
        """Whether the model contains an attribute of the sequence, besides the bias, or looks up vectors."""
        if self.vectors is not None:
            return True
        found = self.vocabulary.encode([sequence], features=self.features).to_arrays()
        bias = self.vocabulary.attributes.find(BIAS)
        return any((found[ids] != (-1 if bias is None else bias)).any() for ids in ("unigram_id", "bigram_id"))

    @property
    def needs_vectors(self) -> bool:
        """Whether callers must pass vectors with the tokens."""
        return self.dense is not None and self.vectors is None

    def check_text(self) -> None:
        """Raise an error unless text files can be labelled."""
        if self.needs_vectors:
            raise InputError(
                "label: text files need a model that contains word vectors (train --vectors, CRF(vectors=...)); the "
                "tokens of this model must come with vectors"
            )

    def label_text(self, piece: bytes, source: str, n_columns: int = 0, line: int = 1, **options: Any) -> bytes:
        """Label whole sequences of a text file: columns if the model has a template, else CRFsuite's format.

        `source` and `line` (the number of the first line) are for error messages. `n_columns` is the number of columns
        in each line; 0 means as many as in the first line. The options are those of `sparsecrf label`
        (`_core.Model.label_text`).
        """
        return self._core.label_text(piece, source, n_columns, line, **options)

    def label_records(self, piece: bytes, format: str, field: str, line: int = 1) -> bytes | None:
        """Best labels of whole records of a file that the core reads (`Records.core`). None if some records are not
        plain; Python must then read them."""
        return self._core.label_records(piece, format, field, line)

    def label(
        self,
        sequence: Iterable[Token],
        *,
        allowed: Sequence[Collection[str] | None] | None = None,
        forbidden: Collection[Pair] | None = None,
        fixed: Sequence[str | None] | None = None,
        constrain: str | None = None,
    ) -> list[str]:
        """The best labels of the tokens.

        `allowed`: the labels that each position may have (None for any). `forbidden`: pairs (previous label, label)
        that must not occur; the previous label None is the start. `fixed`: labels already known (None if free).
        `constrain`: predict only chunk labels that are valid in this scheme (iob1, iob2 or iobes).
        """
        if not self._is_plain(sequence):
            corpus = self.encode([sequence])
            limits = constraints_by_name(self.vocabulary, corpus.n_tokens, allowed, forbidden, fixed, constrain)
            path, _ = self._single.viterbi(corpus, limits)
            return [self.labels[k] for k in path]
        tokens = self.checked_one(sequence)
        limits = None
        if allowed is not None or forbidden is not None or fixed is not None or constrain is not None:
            tokens = list(tokens)
            limits = constraints_by_name(self.vocabulary, len(tokens), allowed, forbidden, fixed, constrain)
        return self.label_each([tokens], self.labels, limits)[0]

    def label_each(
        self, sequences: Iterable[Iterable[Token]], names: list[Any], limits: Constraints | None = None
    ) -> list[list[Any]]:
        """Best labels of several sequences (not matrices), with these label names. Callers must have checked that the
        tokens fit the model."""
        return self._core.label(sequences, names, limits)

    def marginals(self, sequence: Iterable[Token], **constraints: Any) -> NDArray[np.float64]:
        """P(y_t = y): one row for each token, one column for each of `labels`. For constraints, see `label`."""
        corpus = self._encode_one(sequence)
        return self._single.marginals(corpus, constraints_by_name(self.vocabulary, corpus.n_tokens, **constraints))

    def nbest(self, sequence: Iterable[Token], k: int, **constraints: Any) -> list[tuple[list[str], float]]:
        """The k best label sequences with their probabilities, best first. For constraints, see `label`."""
        from math import exp

        corpus = self._encode_one(sequence)
        known = constraints_by_name(self.vocabulary, corpus.n_tokens, **constraints)
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
        """The spans of the best labels with their probabilities. For constraints, see `label`.

        Spans are chunks (B-TYPE, I-TYPE, ...) or, if labels do not encode chunks, fields: runs of equal labels. Tokens
        labelled O are in no span. `scheme` is the span encoding, as in `sparsecrf eval`.
        """
        from sparsecrf.model.spans import SpanReader

        reader, corpus = SpanReader(self.labels, scheme), self._encode_one(sequence)
        known = constraints_by_name(self.vocabulary, corpus.n_tokens, **constraints)
        path, _ = self._single.viterbi(corpus, known)
        return reader.spans(self._single, corpus, 0, path, known)

    def text_spans(self, text: str, *, tokenizer: str | None = None, **options: Any) -> list[Span]:
        """The spans of running text. Unlike in `spans`, `start` and `end` count characters: `text[start:end]`.

        `tokenizer`: "words" splits off punctuation, "blanks" does not; the default is the tokenizer whose tokens look
        like the training data. The model's template must read words only, such as `features="words"`.
        """
        from sparsecrf.encoding.token_survey import tokenizer_of
        from sparsecrf.files.words import TOKENIZERS

        self.check_text()
        if self.template is None:
            raise InputError(
                "text: expected a model with a template (features=, template=), found a model without a template"
            )
        if not isinstance(text, str):
            raise InputError(f"text: expected a string, found {text!r:.60}")
        name = tokenizer_of(self.training) if tokenizer is None else tokenizer
        if name not in TOKENIZERS:
            raise InputError(f"tokenizer: expected one of {', '.join(TOKENIZERS)}, found {tokenizer!r}")
        places = TOKENIZERS[name](text)
        if not places:
            return []
        found = self.spans([[text[a:b]] for a, b in places], **options)
        return [span._replace(start=places[span.start][0], end=places[span.end - 1][1]) for span in found]

    def predict_set(
        self, X: Iterable[Iterable[Token]], coverage: float = 0.95, *, of: str = "sequences", max_size: int = 10
    ) -> list[Any]:
        """Sets of answers that contain the right answer with probability `coverage`, one for each sequence. The model
        must be calibrated (`Model.calibrated`, `CRF.calibrate`, `sparsecrf calibrate`).

        For `of` and `max_size`, see `CRF.predict_set`.
        """
        from sparsecrf.model.answer_sets import SetFinder

        find = SetFinder(self.training, self.labels, coverage, of, max_size)
        return [find(self._single, self._encode_one(sequence), self.labels)[0] for sequence in X]

    def span_prob(self, sequence: Iterable[Token], start: int, labels: Sequence[str]) -> float:
        """The probability that the tokens from `start` on have exactly these labels, summed over all labels of the
        other tokens."""
        corpus = self._encode_one(sequence)
        ids = np.array([label_id(self.vocabulary, name) for name in labels], dtype=np.int32)
        return float(np.exp(self._single.span_log_prob(corpus, 0, start, ids)))
