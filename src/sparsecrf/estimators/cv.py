"""CRFCV: a CRF whose rho1, and optionally rho2, are chosen by cross-validation along the regularisation path."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from sparsecrf._core import InputError
from sparsecrf.defaults import ORDER, PENALTY, RHO2, SOLVER, TOL
from sparsecrf.encoding.label_parts import LabelPartsChoice
from sparsecrf.encoding.recipe import Recipe
from sparsecrf.encoding.resources import Resource
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.vectors import WordVectors
from sparsecrf.encoding.vocabulary import Bigrams
from sparsecrf.estimators.answering import BaseCRF
from sparsecrf.estimators.class_weights import ClassWeight
from sparsecrf.estimators.frames import SentenceColumn
from sparsecrf.estimators.scoring import Scoring, falling, score_for
from sparsecrf.estimators.solver_options import keeps_parameters
from sparsecrf.path import Path, cross_validate
from sparsecrf.path.both import AskedRho2
from sparsecrf.shards.dataset import Dataset
from sparsecrf.training.feature_sets import Numbers
from sparsecrf.training.penalties import PenaltyChoice
from sparsecrf.training.value_sizes import warn_of_sizes

SELECTION = ("best", "one_se")


class CRFCV(BaseCRF):
    """Linear-chain CRF with an elastic net whose rho1 is chosen by cross-validation.

    On the training part of each fold, models are fitted for decreasing rho1, each starting from the previous one, and
    scored on the held-out part. The final model is fitted to all data with the chosen rho1.

    Parameters
    ----------
    rho1s : values of rho1 to choose from; None means a search: rho1 decreases until the score gets worse, then values
        around the best are tried.
    n_rho, rho_min_ratio : use a grid instead of the search: `n_rho` values (20) from the rho1 where the first weight
        becomes nonzero down to `rho_min_ratio` times that (1e-3, or down to the default rho1 of `CRF` if that is
        lower).
    rho2 : a number, or "search": rho1 and rho2 are chosen together.
    cv : number of folds, or a splitter of scikit-learn; None means 5.
    shuffle : assign sequences, or whole `groups`, to folds at random (by `random_state`); otherwise folds are
        consecutive.
    scoring : auto (chunk_f1 if labels encode chunks, else token_accuracy), sequence_accuracy, label_f1_macro,
        label_f1_weighted, a scorer of `sparsecrf.scorers` or scikit-learn (which sees single labels), or a function of
        gold and predicted label sequences; larger is better.
    selection : best, or one_se: the largest rho1 (the fewest weights, in a search over both penalties) whose score is
        within one standard error of the best.

    All other parameters are those of `CRF`.

    Attributes
    ----------
    rho1_, rho2_ : the chosen penalties.
    rho1s_, rho2s_, scores_, standard_errors_, n_actives_ : along the path (decreasing rho1, then increasing rho2): mean
        score over the folds, its standard error, and the number of weights of the model fitted to all data.
    best_index_ : the index of the chosen penalties in these arrays.
    score_name_ : the name of the score.
    edge_ : lower or upper if the best rho1 is the smallest or largest value on the path, otherwise None.
    n_fits_ : number of fits in the search, on folds and on all data.

    All other attributes are those of `CRF`.
    """

    @keeps_parameters
    def __init__(
        self,
        rho1s: Iterable[float] | None = None,
        rho2: AskedRho2 = RHO2,
        solver: str = SOLVER,
        template: Recipe | Template | str | os.PathLike[str] | None = None,
        max_iter: int | None = None,
        tol: float = TOL,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        *,
        features: str | None = None,
        resources: Iterable[Resource] | None = None,
        vectors: WordVectors | str | os.PathLike[str] | None = None,
        n_rho: int | None = None,
        rho_min_ratio: float | None = None,
        cv: Any = None,
        shuffle: bool = True,
        scoring: Scoring = "auto",
        selection: str = "best",
        bigrams: Bigrams = "bias",
        start: bool = True,
        order: int | None = ORDER,
        label_parts: LabelPartsChoice | None = None,
        class_weight: ClassWeight = None,
        penalty: PenaltyChoice = PENALTY,
        solver_options: Mapping[str, Any] | None = None,
    ) -> None: ...

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        lengths: Iterable[int] | None = None,
        sentences: SentenceColumn | None = None,
        groups: Any = None,
    ) -> CRFCV:
        """Choose the penalty and train.

        `groups` contains a value for each sequence, such as its document. Sequences with the same value are held out
        together; if `cv` is a splitter, the groups are passed to it. The other arguments are those of `CRF.fit`. Issues
        a `PathWarning` if the best rho1 is at an edge of the path.
        """
        if self.selection not in SELECTION:
            raise InputError(f"selection: expected one of {', '.join(SELECTION)}, found {self.selection!r}")
        self._check_one_fit()
        data = self._encoded(X, y, sample_weight, lengths, sentences)
        warn_of_sizes(data)
        score, folds = score_for(self.scoring, data), self._folds(data.places, groups)
        n_folds = folds["folds"] if isinstance(folds["folds"], int) else len(folds["folds"])
        with self._watching_path(score.name, n_folds) as watch:
            path = cross_validate(
                data.corpus,
                **folds,
                rho1=falling(self.rho1s),
                n_rho=self.n_rho,
                rho_min_ratio=self.rho_min_ratio,
                error=score,
                each=watch.each,
                callback=watch.callback,
                **self._options_for(data),
            )
        self.n_fits_ = (n_folds + 1) * len(path)
        self._choose(data, path)
        return self

    def _choose(self, data: Dataset, path: Path) -> None:
        """Keep the penalties and scores of a path, and the model of the chosen fit."""
        assert path.errors is not None
        assert path.standard_errors is not None
        self.rho1s_, self.rho2s_, self.scores_ = path.rho1, path.rho2, 1 - path.errors / 100
        self.standard_errors_ = path.standard_errors / 100
        self.score_name_, self.edge_ = path.score, path.edge
        self.n_actives_ = np.array([len(found.w) for found in path])
        chosen = path.best if self.selection == "best" else path.one_se
        assert chosen is not None
        self.best_index_ = chosen
        self._keep(data, path[chosen])

    def _folds(self, places: Sequence[int], groups: Any) -> dict[str, Any]:
        """The folds of X for `cross_validate`, given the positions of its sequences in the corpus."""
        folds: Any = 5 if self.cv is None else self.cv
        if not isinstance(folds, Integral):
            pairs = check_cv(folds).split(np.zeros(len(places)), groups=groups)
            return {"folds": list(_in_corpus(pairs, places))}
        if groups is not None:
            groups = list(groups)
            if len(groups) != len(places):
                raise InputError(f"groups: expected {len(places)} values, one for each sequence, found {len(groups)}")
            groups = [group for group, place in zip(groups, places, strict=True) if place >= 0]
        return {"folds": int(folds), "groups": groups, "shuffle": self.shuffle}


def _in_corpus(folds: Iterable[tuple[Any, Any]], places: Sequence[int]) -> Iterator[tuple[Numbers, Numbers]]:
    """Convert folds of the sequences of X to folds of the corpus, which contains no empty sequences."""
    of_corpus = np.array(places, dtype=np.int64)
    for fold in folds:
        train, left_out = (of_corpus[np.asarray(part)] for part in fold)
        yield train[train >= 0], left_out[left_out >= 0]
