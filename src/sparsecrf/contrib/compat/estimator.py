"""sklearn-crfsuite's estimator."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from sparsecrf._core import InputError
from sparsecrf.contrib.compat.itemsequence import tokens
from sparsecrf.contrib.compat.metrics import flat_accuracy_score
from sparsecrf.contrib.compat.modelfile import FileResource
from sparsecrf.contrib.compat.tagger import ParsedDump, Tagger
from sparsecrf.contrib.compat.trainer import LinePerIterationTrainer, Trainer
from sparsecrf.contrib.compat.training_log import TrainLogParser
from sparsecrf.model import Model

#: Constructor parameters whose names differ in CRFsuite, where calibration_NAME is calibration.NAME.
_CRFSUITE_NAMES = {
    "min_freq": "feature.minfreq",
    "all_possible_states": "feature.possible_states",
    "all_possible_transitions": "feature.possible_transitions",
    "pa_type": "type",
}
Objects = NDArray[np.object_]
_NOT_OF_TRAINING = ("algorithm", "verbose", "model_filename", "keep_tempfiles", "trainer_cls")


class CRF(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """sklearn-crfsuite's CRF, trained by `sparsecrf`. It takes the parameters of `Trainer`; None means the default.

    With `model_filename`, `fit` also writes the model there, and an unfitted estimator loads it from there, in the
    format of this package or of CRFsuite. Otherwise the model is kept in memory, and a file is created only when
    `modelfile.name` is read; with `keep_tempfiles`, it is kept when the estimator is deleted.
    """

    # Parameters that do not exist in CRFsuite.
    algorithm: str | None
    verbose: bool
    model_filename: str | os.PathLike[str] | None
    keep_tempfiles: bool
    trainer_cls: type[Trainer] | None
    #: The last training run.
    training_log_: TrainLogParser | None = None
    _model: Model | None = None
    _modelfile: FileResource | None = None
    _tagger: Tagger | None = None
    _info_cached: ParsedDump | None = None

    def __init__(
        self,
        algorithm: str | None = None,
        min_freq: float | None = None,
        all_possible_states: bool | None = None,
        all_possible_transitions: bool | None = None,
        c1: float | None = None,
        c2: float | None = None,
        max_iterations: int | None = None,
        num_memories: int | None = None,
        epsilon: float | None = None,
        period: int | None = None,
        delta: float | None = None,
        linesearch: str | None = None,
        max_linesearch: int | None = None,
        calibration_eta: float | None = None,
        calibration_rate: float | None = None,
        calibration_samples: float | None = None,
        calibration_candidates: int | None = None,
        calibration_max_trials: int | None = None,
        pa_type: int | None = None,
        c: float | None = None,
        error_sensitive: bool | None = None,
        averaging: bool | None = None,
        variance: float | None = None,
        gamma: float | None = None,
        verbose: bool = False,
        model_filename: str | os.PathLike[str] | None = None,
        keep_tempfiles: bool = False,
        trainer_cls: type[Trainer] | None = None,
    ) -> None:
        given = locals()
        for name in self._get_param_names():
            setattr(self, name, given[name])

    # ---- Training

    def fit(
        self,
        X: Iterable[Iterable[Any]],
        y: Iterable[Iterable[str]],
        X_dev: Iterable[Iterable[Any]] | None = None,
        y_dev: Iterable[Iterable[str]] | None = None,
    ) -> CRF:
        """Train on sequences X with labels y; dev sequences are evaluated at every iteration (`training_log_`)."""
        if (X_dev is None) != (y_dev is None):
            raise InputError("dev data: expected both X_dev and y_dev, found only one of them")
        trainer = self._trainer()
        for group, (xs, ys) in enumerate([(X, y), (X_dev, y_dev)]):
            if xs is not None and ys is not None:
                for xseq, yseq in zip(xs, ys, strict=True):
                    trainer.append(xseq, yseq, group)
        trainer.train(self.model_filename or "", holdout=-1 if X_dev is None else 1)
        self.training_log_ = trainer.logparser
        self._model, self._tagger, self._info_cached = trainer.model, None, None
        self.modelfile.use(trainer.model)
        return self

    def _trainer(self) -> Trainer:
        params = {
            _CRFSUITE_NAMES.get(name, name.replace("calibration_", "calibration.")): value
            for name, value in self.get_params().items()
            if name not in _NOT_OF_TRAINING and value is not None
        }
        chosen: type[Trainer] = self.trainer_cls or LinePerIterationTrainer
        if not issubclass(chosen, Trainer):
            raise InputError(f"trainer_cls: expected a subclass of sparsecrf.contrib.compat.Trainer, found {chosen!r}")
        return chosen(algorithm=self.algorithm, params=params, verbose=self.verbose)

    # ---- Predictions

    def predict(self, X: Iterable[Iterable[Any]]) -> Objects:
        """The labels of each sequence: an array of lists, or a two-dimensional array if all lengths are equal."""
        return np.array(list(map(self.predict_single, X)), dtype=object)

    def predict_single(self, xseq: Iterable[Any]) -> list[str]:
        return self._fitted_tagger().tag(xseq)

    def predict_marginals(self, X: Iterable[Iterable[Any]]) -> Objects:
        """Like `predict`, with a dict {label: probability} for each token."""
        return np.array(list(map(self.predict_marginals_single, X)), dtype=object)

    def predict_marginals_single(self, xseq: Iterable[Any]) -> list[dict[str, float]]:
        tagger, items = self._fitted_tagger(), tokens(xseq)
        labels = tagger.labels()
        tagger.set(items)
        return [{label: tagger.marginal(label, t) for label in labels} for t in range(len(items))]

    def score(self, X: Iterable[Iterable[Any]], y: Iterable[Iterable[str]]) -> float:
        """The share of correctly labelled tokens. `compat.metrics` contains other scores."""
        return flat_accuracy_score(y, self.predict(X))

    def _fitted_tagger(self) -> Tagger:
        if self.tagger_ is None:
            raise NotFittedError("CRF: expected a fitted model or a model_filename, found neither: call fit first")
        return self.tagger_

    # ---- The model: None until the estimator is fitted

    @property
    def modelfile(self) -> FileResource:
        """The file of the model, created when its `name` is first read; `modelfile.cleanup()` removes it."""
        found = self._modelfile
        if found is None or (found.auto if self.model_filename is not None else not found.auto):
            found = self._modelfile = FileResource(self.model_filename, self.keep_tempfiles)
            if self._model is not None:
                found.use(self._model)
        return found

    @property
    def tagger_(self) -> Tagger | None:
        if self._tagger is None:
            tagger = Tagger()
            if self._model is not None:
                tagger.use(self._model)
            elif self.model_filename is not None:
                tagger.open(self.model_filename)
            else:
                return None
            self._tagger, self._info_cached = tagger, None
        return self._tagger

    @property
    def model_(self) -> Model | None:
        """The model. Use it to save the model, or for features that sklearn-crfsuite lacks (n-best, constraints)."""
        return None if self.tagger_ is None else self.tagger_.model

    @property
    def _info(self) -> ParsedDump | None:
        if self._info_cached is None and self.tagger_ is not None:
            self._info_cached = self.tagger_.info()
        return self._info_cached

    @property
    def classes_(self) -> list[str] | None:
        return None if self.tagger_ is None else self.tagger_.labels()

    @property
    def size_(self) -> int | None:
        """Size of the model file in bytes."""
        return None if self._info is None else int(self._info.header["size"])

    @property
    def num_attributes_(self) -> int | None:
        """Number of attributes that have a weight."""
        return None if self._info is None else len(self._info.attributes)

    @property
    def attributes_(self) -> list[str] | None:
        """Attributes that have a weight."""
        return None if self._info is None else list(self._info.attributes)

    @property
    def state_features_(self) -> dict[tuple[str, str], float] | None:
        """Weights by (attribute, label)."""
        return None if self._info is None else self._info.state_features

    @property
    def transition_features_(self) -> dict[tuple[str, str], float] | None:
        """Weights by (label, next label)."""
        return None if self._info is None else self._info.transitions

    def __sklearn_is_fitted__(self) -> bool:
        return self._model is not None or self.model_filename is not None

    def __getstate__(self) -> dict[str, Any]:
        """The state includes the model, but neither files nor anything derived from the model."""
        gone = ("_tagger", "_info_cached", "_modelfile")
        return {name: value for name, value in super().__getstate__().items() if name not in gone}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle of this class or (with `compat.install`) of sklearn-crfsuite's class, whose model is a file.

        Up to version 0.3.6, some parameters were stored only in the file; missing ones get their defaults.
        """
        file = state.get("modelfile")
        defaults = type(self)().get_params()
        if isinstance(file, FileResource):
            defaults |= {"keep_tempfiles": file.keep_tempfiles, "model_filename": None if file.auto else file.name}
            if (content := file.content()) is not None:
                tagger = Tagger()
                tagger.open_inmemory(content)
                defaults["_model"] = tagger.model
        super().__setstate__(defaults | {name: value for name, value in state.items() if name != "modelfile"})
