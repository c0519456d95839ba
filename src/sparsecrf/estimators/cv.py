"""CRFCV: a CRF whose rho1 is chosen by cross-validation along the regularisation path."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from sparsecrf._core import Corpus, InputError
from sparsecrf.chunks import are_chunk_labels
from sparsecrf.defaults import N_RHO, RHO2, RHO_MIN_RATIO, SOLVER, TOL
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.vocabulary import Bigrams
from sparsecrf.estimators.base import BaseCRF
from sparsecrf.estimators.labelled import LabelledData
from sparsecrf.path import ErrorRate, cross_validate
from sparsecrf.scorers import chunk_f1_score, sequence_accuracy_score, token_accuracy_score
from sparsecrf.training.feature_sets import Numbers
from sparsecrf.training.heldout import Labels
from sparsecrf.training.solvers.working_set import Callback

#: Functions of gold and predicted label sequences, from 0 to 1, larger is better.
SCORING: dict[str, Callable[..., float]] = {
    "token_accuracy": token_accuracy_score,
    "sequence_accuracy": sequence_accuracy_score,
    "chunk_f1": chunk_f1_score,
}
SELECTION = ("best", "one_se")


class CRFCV(BaseCRF):
    """Linear-chain CRF with an elastic net whose rho1 is chosen by cross-validation.

    The path of solutions for falling rho1 is followed on the training part of each fold, every solution starting the
    next, and scored on the part left out. The model is that of the whole data at the chosen rho1.

    Parameters
    ----------
    rho1s : values of rho1 to choose from; None: `n_rho` values from where the first weight appears down to
        `rho_min_ratio` times that.
    cv : number of folds (dealt at random by `random_state`), or a splitter of scikit-learn; None: 5.
    scoring : token_accuracy, sequence_accuracy, chunk_f1, a scorer of `sparsecrf.scorers`, or a function of gold and
        predicted label sequences; larger is better.
    selection : best, or one_se: the largest rho1 whose score is within one standard error of the best.

    The others are those of `CRF`.

    Attributes
    ----------
    rho1_ : the chosen rho1.
    rho1s_, scores_, standard_errors_, n_actives_ : along the path, by falling rho1: mean score over the folds, its
        standard error, and the number of weights of the model of all data.
    best_index_ : which of them was chosen.

    The others are those of `CRF`.
    """

    def __init__(
        self,
        rho1s: Iterable[float] | None = None,
        rho2: float = RHO2,
        solver: str = SOLVER,
        template: Template | str | os.PathLike[str] | None = None,
        max_iter: int | None = None,
        tol: float = TOL,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        *,
        n_rho: int = N_RHO,
        rho_min_ratio: float = RHO_MIN_RATIO,
        cv: Any = None,
        scoring: str | Callable[..., float] = "token_accuracy",
        selection: str = "best",
        bigrams: Bigrams = "bias",
        start: bool = True,
        observed_only: bool = False,
        gap: float | None = None,
        callback: Callback | None = None,
    ) -> None:
        self.rho1s = rho1s
        self.rho2 = rho2
        self.solver = solver
        self.template = template
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.n_rho = n_rho
        self.rho_min_ratio = rho_min_ratio
        self.cv = cv
        self.scoring = scoring
        self.selection = selection
        self.bigrams = bigrams
        self.start = start
        self.observed_only = observed_only
        self.gap = gap
        self.callback = callback

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, lengths: Iterable[int] | None = None, groups: Any = None
    ) -> CRFCV:
        """Choose rho1 and train. `groups` go to the splitter; see `CRF.fit` for the others."""
        if self.selection not in SELECTION:
            raise InputError(f"selection: expected one of {', '.join(SELECTION)}, found {self.selection!r}")
        data = self._encoded(X, y, sample_weight, lengths)
        folds: Any = 5 if self.cv is None else self.cv
        if isinstance(folds, Integral):
            folds = int(folds)
        else:
            folds = _in_corpus(check_cv(folds).split(np.zeros(len(data.places)), groups=groups), data.places)
        with self._watching() as callback:
            path = cross_validate(
                data.corpus,
                folds=folds,
                rho1=None if self.rho1s is None else np.sort(np.asarray(list(self.rho1s), dtype=np.float64))[::-1],
                n_rho=self.n_rho,
                rho_min_ratio=self.rho_min_ratio,
                error=_error(self.scoring, data),
                callback=callback,
                **self._options(),
            )
        assert path.errors is not None
        assert path.standard_errors is not None
        self.rho1s_, self.scores_ = path.rho1, 1 - path.errors / 100
        self.standard_errors_ = path.standard_errors / 100
        self.n_actives_ = np.array([len(found.w) for found in path])
        chosen = path.best if self.selection == "best" else path.one_se
        assert chosen is not None
        self.best_index_, self.rho1_ = chosen, float(self.rho1s_[chosen])
        self._keep(data, path[chosen])
        return self


def _in_corpus(folds: Iterable[tuple[Any, Any]], places: list[int]) -> Iterator[tuple[Numbers, Numbers]]:
    """Folds of the sequences of X as folds of the corpus, which lacks those without tokens."""
    of_corpus = np.array(places, dtype=np.int64)
    for fold in folds:
        train, left_out = (of_corpus[np.asarray(part)] for part in fold)
        yield train[train >= 0], left_out[left_out >= 0]


def _error(scoring: str | Callable[..., float], data: LabelledData) -> ErrorRate:
    """The error, in percent, that goes with a score."""
    if isinstance(scoring, str) and scoring not in SCORING:
        raise InputError(f"scoring: expected one of {', '.join(SCORING)} or a function, found {scoring!r}")
    score: Any = SCORING[scoring] if isinstance(scoring, str) else scoring
    given, sign = dict[str, Any](), 1
    if hasattr(score, "_score_func"):
        # A scorer of scikit-learn asks an estimator; what it asks with is a function of labels, options and a sign.
        score, given, sign = score._score_func, score._kwargs, score._sign
    if score is chunk_f1_score and "scheme" not in given:
        # By all labels: those of a fold may be outside all of them.
        if not are_chunk_labels(data.label_names, ()):
            known = ", ".join(data.label_names[:10])
            raise InputError(f"scoring: expected labels that encode chunks (B-TYPE, I-TYPE, O, ...), found {known}")
        given = {**given, "scheme": "conlleval"}
    labels = [*data.names.labels(data.label_names), None]  # the last one, -1, is missing

    def error(corpus: Corpus, predicted: Labels) -> float:
        bounds = list(pairwise(corpus.offsets.tolist()))
        gold, best = corpus.labels.tolist(), predicted.tolist()
        by_sequence = ([[labels[y] for y in ids[begin:end]] for begin, end in bounds] for ids in (gold, best))
        return float(100 * (1 - sign * score(*by_sequence, **given)))

    return error
