"""A model: labels, attributes and sparse weights, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import Chain, Constraints, Corpus, FeatureSet, InputError
from sparsecrf.vocabulary import Bigrams, Token, Vocabulary

#: A label pair, None for the start of the sequence.
Pair = tuple[str | None, str]


class Model:
    """A linear-chain CRF with fixed weights. Nothing changes after construction: threads may share one."""

    def __init__(self, vocabulary: Vocabulary, features: FeatureSet, w: NDArray[np.float64]) -> None:
        self.vocabulary = vocabulary
        self.features = features
        self.w = w
        self.labels = [vocabulary.labels[k] for k in range(len(vocabulary.labels))]
        # One sequence at a time runs on the caller's thread; whole corpora use all cores.
        self.chain = Chain(features, w)
        self._single = Chain(features, w, threads=1)

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
        u = np.array(unigram_cells, dtype=np.int32).reshape(-1, 2)
        b = np.array(bigram_cells, dtype=np.int32).reshape(-1, 3)
        # Weights follow the canonical order of features.
        u_order, b_order = np.lexsort(u.T[::-1]), np.lexsort(b.T[::-1])
        w = np.concatenate(
            [
                np.fromiter(unigram.values(), dtype=np.float64, count=len(u))[u_order],
                np.fromiter(bigram.values(), dtype=np.float64, count=len(b))[b_order],
            ]
        )
        columns = [np.ascontiguousarray(column) for column in (*u.T, *b.T)]
        return cls(vocabulary, FeatureSet(start_id, len(vocabulary.attributes), *columns), w)

    @property
    def n_active(self) -> int:
        """Number of non-zero weights."""
        return int(np.count_nonzero(self.w))

    def encode(self, X: Iterable[Iterable[Token]], y: Iterable[Iterable[str | None]] | None = None) -> Corpus:
        """Encode sequences with this model's labels and attributes; unknown attributes are left out."""
        return self.vocabulary.encode(X, y)

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
        corpus = self.encode([sequence])
        path, _ = self._single.viterbi(corpus, self._constraints(corpus, allowed, forbidden, fixed))
        return [self.labels[k] for k in path]

    def marginals(self, sequence: Iterable[Token], **constraints: Any) -> NDArray[np.float64]:
        """P(y_t = y): a row for each token, a column for each of `labels`. Constraints as for `label`."""
        corpus = self.encode([sequence])
        return self._single.marginals(corpus, self._constraints(corpus, **constraints))

    def nbest(self, sequence: Iterable[Token], k: int, **constraints: Any) -> list[tuple[list[str], float]]:
        """The k best labellings with their probabilities, best first. Constraints as for `label`."""
        corpus = self.encode([sequence])
        known = self._constraints(corpus, **constraints)
        paths, scores = self._single.nbest(corpus, 0, k, known)
        log_z = self._single.log_partition(corpus, known)[0]
        return [
            ([self.labels[y] for y in path], float(np.exp(min(0.0, score - log_z))))
            for path, score in zip(paths, scores, strict=True)
        ]

    def log_prob(self, sequence: Iterable[Token], labels: Iterable[str | None]) -> float:
        """log P(labels | sequence); labels that are None are summed over."""
        return float(self._single.log_prob(self.encode([sequence], [labels]))[0])

    def span_prob(self, sequence: Iterable[Token], start: int, labels: Sequence[str]) -> float:
        """Probability that the tokens from `start` on have exactly these labels, whatever the others have."""
        corpus = self.encode([sequence])
        ids = np.array([_label_id(self.vocabulary, name) for name in labels], dtype=np.int32)
        return float(np.exp(self._single.span_log_prob(corpus, 0, start, ids)))

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
