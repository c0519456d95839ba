"""Prediction methods of fitted estimators for sequences in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sparsecrf._core import Chain, Constraints, Corpus, InputError
from sparsecrf.estimators.base import TrainingCRF
from sparsecrf.estimators.blocks import CORPUS_TOKENS, QUICK_TOKENS, in_blocks
from sparsecrf.estimators.frames import SentenceColumn, Sentences, check_one_of, split_sentences
from sparsecrf.estimators.reading import weights_of, width_of, with_dense
from sparsecrf.estimators.sequences import labels_beside, sequences
from sparsecrf.model.limits import chunk_constraints
from sparsecrf.model.spans import Span, SpanReader

Objects = NDArray[np.object_]


class BaseCRF(TrainingCRF):
    """An estimator with a `model_` that labels sequences in memory."""

    def predict(
        self,
        X: Any,
        *,
        lengths: Iterable[int] | None = None,
        sentences: SentenceColumn | None = None,
        dense: Any = None,
        constrain: str | None = None,
    ) -> Any:
        """The best labels of each sequence, as an array of lists even if all sequences have the same length.

        `dense` contains the vectors of the tokens, in the form that `fit` accepts. `constrain` allows only chunk labels
        that are valid in this scheme (iob1, iob2 or iobes). Use `predict(X).tolist()` for `json.dumps`.

        With `lengths`, X is flat, and the result is a flat array with a label for each token. With `sentences`, X is a
        data frame, and the result is a series with the same index.
        """
        X, lengths, column = self._flat(with_dense(X, dense, lengths, sentences), lengths, sentences)
        found = self._predict_each(X, lengths, constrain)
        if lengths is None:
            return found
        return column(np.array([label for labels in found for label in labels], dtype=self.classes_.dtype))

    def _flat(
        self, X: Any, lengths: Iterable[int] | None, sentences: SentenceColumn | None
    ) -> tuple[Any, Iterable[int] | None, Callable[[NDArray[Any]], Any]]:
        """Return X, the lengths of its sequences, and a function that converts answers for all tokens to a column."""
        if sentences is None:
            return X, lengths, np.asarray
        check_is_fitted(self)
        check_one_of(lengths, sentences)
        found = self._sentences(X, sentences)
        return found.X, found.lengths, found.column

    def _sentences(self, X: Any, sentences: SentenceColumn, y: Any = None) -> Sentences:
        """The sentences of a frame, with the columns that training used."""
        return split_sentences(X, sentences, y, getattr(self, "feature_names_in_", None))

    def _labelled(
        self, X: Any, y: Any, lengths: Iterable[int] | None, sentences: SentenceColumn | None
    ) -> tuple[Any, Any, list[int] | None]:
        """X, y and the lengths of the sequences; with `sentences`, X is a data frame."""
        if sentences is not None:
            check_one_of(lengths, sentences)
            X, lengths, y, _ = self._sentences(X, sentences, y)
        return X, y, None if lengths is None else [int(n) for n in lengths]

    def _predict_each(self, X: Any, lengths: Iterable[int] | None, constrain: str | None = None) -> Objects:
        self._check_fitted()
        model = self.model_
        by_corpus = not model.has_plain_transitions or hasattr(self, "n_features_in_") or model.dense is not None
        if by_corpus or constrain is not None:

            def best(chain: Chain, corpus: Corpus) -> list[Any]:
                return self._labels(chain.viterbi(corpus, self._limits(corpus, constrain))[0])

            return self._split(X, lengths, best, [])
        names = self.classes_.tolist()
        # A single sequence, for example in a server.
        if lengths is None and type(X) is list and len(X) == 1 and type(X[0]) is list and X[0]:
            alone = np.empty(1, dtype=object)
            alone[:] = model.label_each([model.checked_one(X[0])], names)
            return alone
        return self._in_blocks(X, lengths, QUICK_TOKENS, lambda block: model.label_each(block, names), [])

    def _check_fitted(self) -> None:
        if not hasattr(self, "model_"):  # faster than scikit-learn's check, and sufficient here
            check_is_fitted(self)
        self._check_n_jobs()

    def _limits(self, corpus: Corpus, constrain: str | None) -> Constraints | None:
        return chunk_constraints(self.model_.labels, corpus, constrain)

    def predict_marginals(
        self,
        X: Any,
        *,
        lengths: Iterable[int] | None = None,
        sentences: SentenceColumn | None = None,
        dense: Any = None,
        constrain: str | None = None,
    ) -> NDArray[Any]:
        """The marginal probabilities P(y_t = y) of each sequence: an array of float64[T, Y], with the labels in the
        order of `classes_`. With `constrain` (see `predict`), only valid label sequences count.

        With `lengths` or `sentences`, X is flat, and the result is one float64[T, Y] for all tokens.
        """
        check_is_fitted(self)
        X, lengths, _ = self._flat(with_dense(X, dense, lengths, sentences), lengths, sentences)
        none = np.empty((0, len(self.classes_)))

        def marginals(chain: Chain, corpus: Corpus) -> NDArray[np.float64]:
            return chain.marginals(corpus, self._limits(corpus, constrain))

        found = self._split(X, lengths, marginals, none)
        return found if lengths is None else np.concatenate([none, *found])

    def predict_proba(self, X: Any, **options: Any) -> NDArray[Any]:
        """Another name for `predict_marginals`, as in scikit-learn: the probability of each of `classes_` for each
        token."""
        return self.predict_marginals(X, **options)

    def predict_nbest(
        self,
        X: Any,
        k: int,
        *,
        lengths: Iterable[int] | None = None,
        sentences: SentenceColumn | None = None,
        constrain: str | None = None,
    ) -> Objects:
        """The k best label sequences of each sequence with their probabilities, best first: an array of lists of pairs.
        With `constrain` (see `predict`), the probabilities refer to valid label sequences only.
        """
        X, lengths, _ = self._flat(X, lengths, sentences)

        def best(chain: Chain, corpus: Corpus) -> list[list[tuple[list[Any], float]]]:
            limits = self._limits(corpus, constrain)
            log_z = chain.log_partition(corpus, limits)
            found = (chain.nbest(corpus, i, k, limits) for i in range(corpus.n_sequences))
            return [
                [
                    (self._labels(path), float(np.exp(min(0.0, score - log_z[i]))))
                    for path, score in zip(paths, scores, strict=True)
                ]
                for i, (paths, scores) in enumerate(found)
            ]

        return self._each(X, lengths, best, [([], 1.0)])

    def predict_spans(
        self,
        X: Any,
        *,
        scheme: str = "auto",
        lengths: Iterable[int] | None = None,
        sentences: SentenceColumn | None = None,
        constrain: str | None = None,
    ) -> Objects:
        """The spans of the best labels of each sequence, with their probabilities: an array of lists of `Span`.

        Spans are chunks (B-TYPE, I-TYPE, ...) or, if labels do not encode chunks, fields: runs of equal labels.
        `scheme` is the span encoding, as in `sparsecrf eval`. The probability of a span is the probability of the
        labels of its tokens, summed over all labels of the other tokens. For `constrain`, see `predict`.
        """
        check_is_fitted(self)
        X, lengths, _ = self._flat(X, lengths, sentences)
        reader = SpanReader(self.model_.labels, scheme)

        def spans(chain: Chain, corpus: Corpus) -> list[list[Span]]:
            limits = self._limits(corpus, constrain)
            path, offsets = chain.viterbi(corpus, limits)[0], corpus.offsets.tolist()
            each = range(corpus.n_sequences)
            return [reader.spans(chain, corpus, i, path[offsets[i] : offsets[i + 1]], limits) for i in each]

        return self._each(X, lengths, spans, [])

    def calibrate(
        self, X: Any, y: Any, *, lengths: Iterable[int] | None = None, sentences: SentenceColumn | None = None
    ) -> BaseCRF:
        """Calibrate `predict_set` on held-out data, which training must not have seen: at least 19 fully labelled
        sequences, preferably several hundred. `model_` then contains thresholds, which are saved in its file."""
        from sparsecrf.model.calibrating import calibrated

        self._check_fitted()
        X, y, lengths = self._labelled(X, y, lengths, sentences)
        name_of = dict(zip(self.classes_.tolist(), self.model_.labels, strict=True))

        def name(label: Any) -> Any:
            """The name of a label. Anything else, such as a set, is left to the check."""
            return name_of.get(label, label) if isinstance(label, Hashable) else label

        labels = (list(map(name, own)) for own in labels_beside(y, lengths))
        tokens = sequences(X, lengths, columns=self.model_.template is not None)
        self.model_ = calibrated(self.model_, zip(tokens, labels, strict=True))
        return self

    def predict_set(
        self,
        X: Any,
        coverage: float = 0.95,
        *,
        of: str = "sequences",
        max_size: int = 10,
        lengths: Iterable[int] | None = None,
        sentences: SentenceColumn | None = None,
    ) -> Objects:
        """Sets of answers that contain the right answer with probability `coverage`: an array with an entry for each
        sequence. Call `calibrate` first.

        `of="sequences"`: label sequences with their probabilities, best first. "tokens": for each token, labels with
        their probabilities. "spans": for each span of the best labels, a `SpanSet` of types, where None means "not a
        span". A set is None (abstention) if it would contain more than `max_size` answers. See docs/guarantees.md for
        the guarantee.
        """
        from sparsecrf.model.answer_sets import SetFinder

        check_is_fitted(self)
        X, lengths, _ = self._flat(X, lengths, sentences)
        find = SetFinder(self.model_.training, self.model_.labels, coverage, of, max_size)
        names = self.classes_.tolist()
        empty: list[Any] = [([], 1.0)] if of == "sequences" else []
        return self._each(X, lengths, lambda chain, corpus: find(chain, corpus, names), empty)

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        lengths: Iterable[int] | None = None,
        sentences: SentenceColumn | None = None,
        dense: Any = None,
    ) -> float:
        """The share of tokens whose label is predicted correctly. Tokens whose label is None or a set do not count;
        for the weights, see `fit`."""
        from sparsecrf.scorers import token_accuracy_score

        check_is_fitted(self)
        X, y, lengths = self._labelled(X, y, lengths, sentences)
        X = with_dense(X, dense, lengths)
        weights = next(iter(weights_of(sample_weight, lengths).values()), None)
        return token_accuracy_score(labels_beside(y, lengths), self._predict_each(X, lengths), weights)

    def save(self, path: str | os.PathLike[str], *, compact: bool | str = False) -> None:
        """Write the model to a file for `CRF.load`, `Model.load` and the command line; for `compact`, see `Model.save`.

        The file contains everything needed for labelling, and no code. It does not contain attributes that only
        training needs, such as `solver` and `history_`; use pickle, joblib or skops to keep them.
        """
        check_is_fitted(self)
        self.model_.save(path, compact=compact)

    def _labels(self, ids: NDArray[np.int32]) -> list[Any]:
        return self.classes_[ids].tolist()  # type: ignore[no-any-return]

    def _split(
        self, X: Any, lengths: Iterable[int] | None, answer: Callable[[Chain, Corpus], Any], empty: Any
    ) -> Objects:
        """Split an answer for all tokens by sequence."""

        def cut(chain: Chain, corpus: Corpus) -> list[Any]:
            found, offsets = answer(chain, corpus), corpus.offsets.tolist()
            return [found[offsets[i] : offsets[i + 1]] for i in range(corpus.n_sequences)]

        return self._each(X, lengths, cut, empty)

    def _each(
        self, X: Any, lengths: Iterable[int] | None, answer: Callable[[Chain, Corpus], list[Any]], empty: Any
    ) -> Objects:
        """An array of the answers for the sequences of X; sequences without tokens, which a corpus cannot contain, get
        `empty`."""
        self._check_fitted()
        model = self.model_

        def of_block(block: list[Any]) -> list[Any]:
            return answer(model.chain_with(1), model.encode_checked(block))

        return self._in_blocks(X, lengths, CORPUS_TOKENS, of_block, empty)

    def _in_blocks(
        self,
        X: Any,
        lengths: Iterable[int] | None,
        size: int,
        answer: Callable[[list[Any]], list[Any]],
        empty: Any,
    ) -> Objects:
        """An array of the answers for the sequences of X; `answer` computes the answers for a list of sequences."""
        sizes: list[int] = []
        filled = self.model_.checked(self._with_tokens(X, lengths, sizes))
        answers = iter(list(in_blocks(filled, size, answer, self._threads)))
        found = np.empty(len(sizes), dtype=object)
        for i, n in enumerate(sizes):
            found[i] = next(answers) if n else copy(empty)
        return found

    def _with_tokens(self, X: Any, lengths: Iterable[int] | None, sizes: list[int]) -> Iterator[Any]:
        expected = getattr(self, "n_features_in_", None)
        for i, sequence in enumerate(sequences(X, lengths, columns=self.model_.template is not None)):
            sizes.append(len(sequence))
            if expected is not None:
                found = width_of(sequence)
                if found != expected:
                    found_text = "no matrix" if found is None else found
                    raise InputError(f"sequence {i}: expected a matrix of {expected} columns, found {found_text}")
            if len(sequence) > 0:
                yield sequence
