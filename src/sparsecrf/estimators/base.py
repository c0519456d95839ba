"""The training code that the estimators share: input, options and progress."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from joblib import cpu_count, effective_n_jobs
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sparsecrf._core import InputError
from sparsecrf.compatibility import Choice, OptionError, Trait, has
from sparsecrf.encoding.recipe import Recipe
from sparsecrf.encoding.resources import checked
from sparsecrf.encoding.vectors import given_vectors
from sparsecrf.estimators.class_weights import labels_of, token_weights
from sparsecrf.estimators.frames import (
    SentenceColumn,
    check_one_of,
    of_other,
    split_sentences,
    warn_of_labels,
    warn_of_unused,
)
from sparsecrf.estimators.reading import read_other_sequences, read_sequences, warn_of_unknown
from sparsecrf.estimators.record import estimator_record
from sparsecrf.estimators.solver_options import HasSolverOptions
from sparsecrf.model import Model
from sparsecrf.model.format import FORMAT
from sparsecrf.model.joined import check_prior, like_prior
from sparsecrf.path import Point
from sparsecrf.path.progress import PathProgress
from sparsecrf.progress import Advance, note, progress, say
from sparsecrf.shards.dataset import Dataset
from sparsecrf.training import SOLVERS, Fit
from sparsecrf.training.choices import check_options, options_for
from sparsecrf.training.solvers.working_set import Callback
from sparsecrf.warn import warn_caller

#: Options in `solver_options` that this class handles itself instead of passing them to `fit` unchanged.
_HANDLED_HERE = ("class_pairs", "callback", "prior")
_CHECKED = ("solver", "rho1", "penalty", "order", "label_parts")


#: Settings of a recipe that concern only files, not sequences in memory.
_OF_FILES = ("ragged", "missing", "label_sets", "min_count")


def _check_labels(data: Dataset, prior: Model) -> None:
    """Reject a prior whose labels have a different type than the labels of the data."""
    try:
        data.names.labels(prior.labels)
    except ValueError:
        some = ", ".join(map(repr, prior.labels[:5]))
        raise InputError(f"prior: expected a model whose labels are integers, as in y, found {some}") from None


def _check_settings(recipe: Recipe) -> None:
    """Reject a recipe that the estimators do not support, before data are read."""
    _ = recipe.reader, recipe.charset  # rejects unknown names
    for name in _OF_FILES:
        if name in recipe.given():
            raise OptionError(f"{recipe[name]}: expected files (sparsecrf train), found sequences in memory")


class TrainingCRF(HasSolverOptions):
    """An estimator that trains a `model_`. `__init__` of the subclasses declares the parameters."""

    model_: Model
    classes_: NDArray[Any]

    def _encoded(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        lengths: Iterable[int] | None = None,
        sentences: SentenceColumn | None = None,
        dev: tuple[Any, Any] | None = None,
    ) -> Dataset:
        self._check_options()
        prior = self._prior()
        recipe, names = self._recipe() if prior is None else like_prior(self._recipe(), prior), None
        if sentences is not None:
            check_one_of(lengths, sentences)
            X, lengths, y, _ = split_sentences(X, sentences, y)
            names = list(X.columns)
        warn_of_labels(X, y)
        lengths = None if lengths is None else [int(n) for n in lengths]
        if self.class_weight is not None:
            y = labels_of(y, lengths)
            sample_weight = token_weights(y, self.class_weight, sample_weight, lengths)
        made = read_sequences(X, y, sample_weight, lengths, recipe=recipe, threads=self._threads())
        warn_of_unused(X, made.template)
        if prior is not None:
            _check_labels(made, prior)
        data = replace(made, frame_columns=names, prior=prior)
        return data if dev is None else self._with_dev(data, dev, sentences)

    def _with_dev(self, data: Dataset, dev: tuple[Any, Any], sentences: SentenceColumn | None) -> Dataset:
        """The data with held-out data added. The held-out data are encoded with the same vocabulary, and read as a
        frame if the training data are a frame. Warns of unknown labels."""
        lengths = None
        if sentences is not None and isinstance(dev, (tuple, list)) and len(dev) == 2:
            columns = of_other(sentences, dev[0], data.frame_columns)
            X, lengths, y, _ = split_sentences(dev[0], columns, dev[1], data.frame_columns)
            dev = X, y
        data = replace(data, dev=read_other_sequences(data, dev, lengths, self._threads()))
        warn_of_unknown(data)
        return data

    def _recipe(self) -> Recipe:
        """The recipe for converting tokens to attributes, according to the parameters."""
        recipe = self.template if isinstance(self.template, Recipe) else Recipe(template=self.template)
        plain = isinstance(self.bigrams, str) and self.bigrams == "bias"
        given: dict[str, Any] = {
            "features": self.features,
            "resources": tuple(checked(self.resources)) or None,
            "vectors": given_vectors(self.vectors),
            "bigrams": None if plain else self.bigrams,
            "start": self.start if recipe.start is None or not self.start else None,
        }
        recipe = replace(recipe, **{name: value for name, value in given.items() if value is not None})
        _check_settings(recipe)
        return recipe if recipe.features == "columns" else replace(recipe, lines=recipe.made(lambda: 1))

    def _check_options(self) -> None:
        """Reject parameters that cannot be combined, before data are encoded."""
        vectors = [] if self.vectors is None else [Choice("vectors", ..., has(Trait.DENSE))]
        given = {name: getattr(self, name) for name in _CHECKED if hasattr(self, name)}
        further = ("class_pairs", "prior", "group_weight", "order_factor")
        check_options({**given, **{name: self._option(name) for name in further}}, vectors)
        self._further_options()

    def _prior(self) -> Model | None:
        """The prior model, if there is one."""
        given = self._option("prior")
        if given is None:
            return None
        if not isinstance(given, (Model, str, os.PathLike)):
            raise InputError(f"prior: expected a Model or a model file, found {type(given).__name__}")
        prior = given if isinstance(given, Model) else Model.load(given)
        check_prior(prior)
        return prior

    def _check_n_jobs(self) -> None:
        if self.n_jobs is not None and (isinstance(self.n_jobs, bool) or not isinstance(self.n_jobs, Integral)):
            raise InputError(f"n_jobs: expected an integer (-1 for all cores) or None (1), found {self.n_jobs!r}")

    def _threads(self) -> int:
        self._check_n_jobs()
        if self.n_jobs is None or self.n_jobs == 0:
            return int(effective_n_jobs(self.n_jobs))  # the setting of joblib.parallel_config; 0 is an error
        # joblib's own value would be wrong in a child process of `multiprocessing`, where joblib allows only one
        # thread and warns.
        return int(self.n_jobs if self.n_jobs > 0 else max(1, cpu_count() + 1 + self.n_jobs))

    def _options(self) -> dict[str, Any]:
        """The options for the package's `fit` and `path`."""
        random = None if self.random_state is None else check_random_state(self.random_state)
        return {
            "rho2": self.rho2,
            "solver": self.solver,
            "tol": self.tol,
            "max_iter": self.max_iter,
            "threads": self._threads(),
            "seed": 0 if random is None else int(random.randint(2**31 - 1)),
            **self._further_options(*_HANDLED_HERE),
        }

    def _options_for(self, data: Dataset) -> dict[str, Any]:
        """The same options, with the feature space and the penalty for these data."""
        own = {name: getattr(self, name) for name in ("order", "label_parts", "penalty")}
        return options_for(data, {**self._options(), **own, "class_pairs": self._option("class_pairs")})

    @contextmanager
    def _watching(self) -> Iterator[Callback]:
        """A callback that shows progress and calls the user's callback."""
        with progress("training", None, quiet=self.verbose != 1) as advance:

            def callback(record: dict[str, Any]) -> Any:
                advance(note=note(record))
                return self._called_back(record)

            yield callback

    def _called_back(self, record: dict[str, Any]) -> Any:
        """Print an iteration if `verbose` is above 1. Return the result of the user's callback."""
        if self.verbose > 1:
            say(note(record))
        asked = self._option("callback")
        return None if asked is None else asked(record)

    @contextmanager
    def _watching_path(self, score: str, folds: int = 0) -> Iterator[PathProgress]:
        """Progress along a path: fold and point, score, and a lower bound on the remaining time."""
        with progress("path", None, quiet=self.verbose != 1) as advance:
            yield PathWatch(self, advance, score, folds)

    def _keep(self, data: Dataset, found: Fit) -> None:
        # the settings for labelling files
        format = {FORMAT: "documents"} if data.recipe.features == "documents" else {}
        self.model_ = data.model(found, {**format, **estimator_record(data)})
        if data.n_features is not None:
            self.n_features_in_ = data.n_features
        elif hasattr(self, "n_features_in_"):
            del self.n_features_in_  # an earlier fit to matrices may have set it
        if data.frame_columns is not None:
            self.feature_names_in_ = np.array(data.frame_columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.classes_ = np.array(data.names.labels(self.model_.labels))
        self.objective_, self.loss_, self.gap_, self.kkt_ = found.objective, found.loss, found.gap, found.kkt
        self.rho1_, self.rho2_, self.feature_groups_ = found.rho1, found.rho2, found.groups
        self.n_active_, self.history_, self.stopped_by_ = self.model_.n_active, found.history, found.stopped_by
        self.n_iter_ = found.history[-1].iter if found.history else 0
        if found.stopped_by == "interrupt":
            raise KeyboardInterrupt  # the result so far has been kept
        if found.objective == 0:
            return  # optimal, regardless of the reason for stopping
        if found.stopped_by == "precision" and self.tol * found.objective < found.gap < np.inf:
            warn_caller(
                f"training stopped after {self.n_iter_} iterations because no step improved the objective; it may be "
                f"up to {found.gap / found.objective:.2g} (relative) above the optimum, more than tol={self.tol:g}: "
                f"scale the values of attributes to similar sizes, increase rho2 or use solver='auto'",
                ConvergenceWarning,
            )
        if found.stopped_by == "max_iter" and not SOLVERS[self.solver].is_stochastic:
            reached, option = "before its distance to the optimum could be estimated", "tol"
            if (asked := self._option("gap")) is not None:
                share, option = found.gap / found.objective, "gap"
                reached = f"at a relative duality gap of {share:.2g}, more than gap={asked:g}"
            elif np.isfinite(found.remaining):
                share = found.remaining / found.objective
                reached = f"about {share:.2g} (relative) above the optimum, more than tol={self.tol:g}"
            warn_caller(
                f"training stopped after {self.n_iter_} iterations {reached}: increase max_iter or {option}",
                ConvergenceWarning,
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


class PathWatch(PathProgress):
    """Progress of a path for an estimator, according to its `verbose` and callback."""

    def __init__(self, estimator: TrainingCRF, advance: Advance, score: str, folds: int) -> None:
        super().__init__(advance, score, folds)
        self._estimator = estimator

    def each(self, point: Point) -> None:
        super().each(point)
        if self._estimator.verbose > 1:
            say(self.text(point))

    def callback(self, record: dict[str, Any]) -> Any:
        super().callback(record)
        return self._estimator._called_back(record)
