"""What the estimators share: input, options, progress, and the answers of a trained model."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from copy import copy
from functools import partial
from itertools import chain
from numbers import Integral
from typing import Any

import numpy as np
from joblib import cpu_count, effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sparsecrf._core import Chain, Corpus, InputError
from sparsecrf.encoding.presets import preset
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.vocabulary import Bigrams
from sparsecrf.estimators.labelled import Encoding, LabelledData, MakesTemplate, weights_of, width_of
from sparsecrf.estimators.sequences import beside, sequences
from sparsecrf.model import Model
from sparsecrf.model.spans import Span, SpanReader
from sparsecrf.path import Point
from sparsecrf.path.progress import PathProgress
from sparsecrf.progress import Advance, note, progress, say
from sparsecrf.training import STOCHASTIC, Fit
from sparsecrf.training.solvers.working_set import Callback

Objects = NDArray[np.object_]


class TrainingCRF(BaseEstimator):  # type: ignore[misc]
    """An estimator that trains a `model_`. Those made of it have the parameters below, and others."""

    rho2: float
    solver: str
    template: Template | str | os.PathLike[str] | None
    features: str | None
    max_iter: int | None
    tol: float
    n_jobs: int | None
    random_state: Any
    verbose: int
    bigrams: Bigrams
    start: bool
    observed_only: bool
    gap: float | None
    callback: Callback | None

    model_: Model
    classes_: NDArray[Any]

    def _encoded(self, X: Any, y: Any, sample_weight: Any = None, lengths: Iterable[int] | None = None) -> LabelledData:
        template = self._template()
        return LabelledData.encode(
            X, y, sample_weight, lengths, template=template, bigrams=self.bigrams, start=self.start
        )

    def _template(self) -> MakesTemplate:
        """That of the parameter, which may be a file or lines; or of the features by name, for so many columns."""
        if self.features is None:
            return None if self.template is None else Template.of(self.template)
        if self.template is not None:
            raise InputError("features: expected no template with it, found both")
        preset(self.features)  # raises for a name that there is not
        return partial(_of_preset, self.features)

    def _threads(self) -> int:
        if self.n_jobs is not None and (isinstance(self.n_jobs, bool) or not isinstance(self.n_jobs, Integral)):
            raise InputError(f"n_jobs: expected None (1) or a whole number, -1 for all cores, found {self.n_jobs!r}")
        if self.n_jobs is None or self.n_jobs == 0:
            return int(effective_n_jobs(self.n_jobs))  # what joblib.parallel_config says; 0 is an error
        # Not joblib's answer for its worker processes: it allows a child of `multiprocessing` but one, and warns.
        return int(self.n_jobs if self.n_jobs > 0 else max(1, cpu_count() + 1 + self.n_jobs))

    def _options(self) -> dict[str, Any]:
        """What `fit` and `path` of the package are told."""
        random = None if self.random_state is None else check_random_state(self.random_state)
        return {
            "rho2": self.rho2,
            "solver": self.solver,
            "tol": self.tol,
            "gap": self.gap,
            "max_iter": self.max_iter,
            "observed_only": self.observed_only,
            "threads": self._threads(),
            "seed": 0 if random is None else int(random.randint(2**31 - 1)),
        }

    @contextmanager
    def _watching(self) -> Iterator[Callback]:
        """The callback that shows progress and calls the user's."""
        with progress("training", None, quiet=self.verbose != 1) as advance:

            def callback(record: dict[str, Any]) -> Any:
                if self.verbose == 1:
                    advance(note=note(record))
                elif self.verbose > 1:
                    say(note(record))
                return None if self.callback is None else self.callback(record)

            yield callback

    @contextmanager
    def _watching_path(self, score: str, folds: int = 0) -> Iterator[PathProgress]:
        """The same along a path: which fold and point, how good it is, how much time is left at least."""
        with progress("path", None, quiet=self.verbose != 1) as advance:
            yield PathWatch(self, advance, score, folds)

    def _keep(self, data: Encoding, found: Fit) -> None:
        self.model_ = data.model(found)
        if data.n_features is not None:
            self.n_features_in_ = data.n_features
        elif hasattr(self, "n_features_in_"):
            del self.n_features_in_  # of an earlier fit to matrices
        self.classes_ = np.array(data.names.labels(self.model_.labels))
        self.objective_, self.loss_, self.gap_, self.kkt_ = found.objective, found.loss, found.gap, found.kkt
        self.n_active_, self.history_, self.stopped_by_ = len(found.w), found.history, found.stopped_by
        self.n_iter_ = found.history[-1].iter if found.history else 0
        if found.stopped_by == "interrupt":
            raise KeyboardInterrupt  # what there is has been kept
        if found.stopped_by == "max_iter" and self.solver not in STOCHASTIC:
            reached, option = "before its distance to the optimum could be estimated", "tol"
            if self.gap is not None:
                share, option = found.gap / found.objective, "gap"
                reached = f"at a duality gap of {share:.2g} times the objective, above {self.gap:g}"
            elif np.isfinite(found.remaining):
                share = found.remaining / found.objective
                reached = f"at about {share:.2g} times the objective above the optimum, more than tol, {self.tol:g}"
            warnings.warn(
                f"training stopped after {self.n_iter_} iterations {reached}: increase max_iter or {option}",
                ConvergenceWarning,
                stacklevel=3,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.one_d_labels = False
        tags.input_tags.two_d_array = False
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        tags.input_tags.dict = True
        tags.non_deterministic = False
        return tags


def _of_preset(name: str, n_columns: int) -> Template:
    return Template(preset(name, n_columns), source=f"features {name!r}")


class PathWatch(PathProgress):
    """Progress of a path for an estimator: by its `verbose`, and with its callback."""

    def __init__(self, estimator: TrainingCRF, advance: Advance, score: str, folds: int) -> None:
        super().__init__(advance, score, folds)
        self._estimator = estimator

    def each(self, point: Point) -> None:
        super().each(point)
        if self._estimator.verbose > 1:
            say(self.text(point))

    def callback(self, record: dict[str, Any]) -> Any:
        super().callback(record)
        if self._estimator.verbose > 1:
            say(note(record))
        return None if self._estimator.callback is None else self._estimator.callback(record)


class BaseCRF(TrainingCRF):
    """An estimator with a `model_` that answers for sequences in memory."""

    def predict(self, X: Any, *, lengths: Iterable[int] | None = None) -> NDArray[Any]:
        """The best labels of each sequence: an array of lists, whatever their lengths.

        With `lengths`, X is flat, and so is the answer: an array with a label for each token.
        """
        found = self._predict_each(X, lengths)
        if lengths is None:
            return found
        return np.array([label for labels in found for label in labels], dtype=self.classes_.dtype)

    def _predict_each(self, X: Any, lengths: Iterable[int] | None) -> Objects:
        return self._split(X, lengths, lambda chain, corpus: self._labels(chain.viterbi(corpus)[0]), [])

    def predict_marginals(self, X: Any, *, lengths: Iterable[int] | None = None) -> NDArray[Any]:
        """P(y_t = y) of each sequence: an array of float64[T, Y], columns in the order of `classes_`.

        With `lengths`, X is flat, and so is the answer: one float64[T, Y] for all tokens.
        """
        check_is_fitted(self)
        none = np.empty((0, len(self.classes_)))
        found = self._split(X, lengths, lambda chain, corpus: chain.marginals(corpus), none)
        return found if lengths is None else np.concatenate([none, *found])

    def predict_nbest(self, X: Any, k: int, *, lengths: Iterable[int] | None = None) -> Objects:
        """The k best labellings of each sequence with their probabilities, best first: an array of lists of pairs."""

        def best(chain: Chain, corpus: Corpus) -> list[list[tuple[list[Any], float]]]:
            log_z = chain.log_partition(corpus)
            found = (chain.nbest(corpus, i, k) for i in range(corpus.n_sequences))
            return [
                [
                    (self._labels(path), float(np.exp(min(0.0, score - log_z[i]))))
                    for path, score in zip(paths, scores, strict=True)
                ]
                for i, (paths, scores) in enumerate(found)
            ]

        return self._each(X, lengths, best, [([], 1.0)])

    def predict_spans(self, X: Any, *, scheme: str = "auto", lengths: Iterable[int] | None = None) -> Objects:
        """The chunks of the best labels of each sequence, with their probabilities: an array of lists of `Span`.

        `scheme` says how labels encode chunks, as for `sparsecrf eval`. The probability is that of the labels that the
        chunk's own tokens have, whatever the others do.
        """
        check_is_fitted(self)
        reader = SpanReader(self.model_.labels, scheme)

        def spans(chain: Chain, corpus: Corpus) -> list[list[Span]]:
            path, offsets = chain.viterbi(corpus)[0], corpus.offsets.tolist()
            each = range(corpus.n_sequences)
            return [reader.spans(chain, corpus, i, path[offsets[i] : offsets[i + 1]]) for i in each]

        return self._each(X, lengths, spans, [])

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, lengths: Iterable[int] | None = None) -> float:
        """The share of tokens whose label is right. Tokens whose label is None do not count; weights as for `fit`."""
        from sparsecrf.scorers import token_accuracy_score

        lengths = None if lengths is None else [int(n) for n in lengths]
        weights = next(iter(weights_of(sample_weight, lengths).values()), None)
        return token_accuracy_score(beside(y, lengths, "y"), self._predict_each(X, lengths), weights)

    def _labels(self, ids: NDArray[np.int32]) -> list[Any]:
        return self.classes_[ids].tolist()  # type: ignore[no-any-return]

    def _split(
        self, X: Any, lengths: Iterable[int] | None, answer: Callable[[Chain, Corpus], Any], empty: Any
    ) -> Objects:
        """Cuts an answer for all tokens into those of the sequences."""

        def cut(chain: Chain, corpus: Corpus) -> list[Any]:
            found, offsets = answer(chain, corpus), corpus.offsets.tolist()
            return [found[offsets[i] : offsets[i + 1]] for i in range(corpus.n_sequences)]

        return self._each(X, lengths, cut, empty)

    def _each(
        self, X: Any, lengths: Iterable[int] | None, answer: Callable[[Chain, Corpus], list[Any]], empty: Any
    ) -> Objects:
        """An array of the answers for the sequences of X; those without tokens, which no corpus has, get `empty`."""
        check_is_fitted(self)
        sizes: list[int] = []
        filled = self._with_tokens(X, lengths, sizes)
        first = next(filled, None)
        answers: Iterator[Any] = iter(())
        if first is not None:
            corpus = self.model_.encode(chain([first], filled))
            answers = iter(answer(self.model_.chain_with(self._threads()), corpus))
        found = np.empty(len(sizes), dtype=object)
        for i, size in enumerate(sizes):
            found[i] = next(answers) if size else copy(empty)
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
