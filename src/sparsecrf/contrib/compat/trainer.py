"""Training with python-crfsuite's interface: append sequences, set parameters, train and write a model file."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from sparsecrf._core import Corpus, FeatureSet, InputError
from sparsecrf.contrib.compat import training_log
from sparsecrf.contrib.compat.features import Features, crfsuite_features
from sparsecrf.contrib.compat.itemsequence import Data
from sparsecrf.contrib.compat.params import ALGORITHMS, Option, name_of, settings
from sparsecrf.contrib.compat.runs import RULES, Found, learn_from_mistakes, maximise_likelihood
from sparsecrf.contrib.compat.training_log import TrainLogParser
from sparsecrf.contrib.convert.crfsuite_write import to_binary
from sparsecrf.encoding.vocabulary import BIAS, Vocabulary
from sparsecrf.files.atomic import write_atomically
from sparsecrf.lazy import np
from sparsecrf.model import Model
from sparsecrf.training.feature_sets import Floats, Numbers
from sparsecrf.training.heldout import best_labels

if TYPE_CHECKING:
    from typing_extensions import Self


def _without_weights(vocabulary: Vocabulary) -> Model | None:
    """The model trained on no data, with the labels of the holdout group. None if there are no labels, since only
    CRFsuite can represent a model without labels."""
    if not len(vocabulary.labels):
        return None
    none = FeatureSet.from_numbers(len(vocabulary.labels), len(vocabulary.attributes), np.empty(0, dtype=np.int64))
    return Model(vocabulary, none, np.empty(0))


#: The content of a model's file, by format.
FORMATS: dict[str, Callable[[Model], bytes]] = {"sparsecrf": Model.to_bytes, "crfsuite": to_binary}


class BaseTrainer:
    """python-crfsuite's BaseTrainer.

    The algorithms `lbfgs` and `l2sgd` both minimise CRFsuite's objective with the same solver; `ap`, `pa` and `arow`
    are online algorithms that do not maximise a likelihood. `help` explains a parameter.

    The model file is a safetensors file, regardless of its name, unless you ask for CRFsuite's own format:
    `train(name, format="crfsuite")`, or `Trainer.model_format = "crfsuite"` if other code calls `train`.
    """

    #: The format of model files, "sparsecrf" or "crfsuite", for calls of `train` without a format.
    model_format = "sparsecrf"

    verbose = True
    #: The result of the last run; None before the first.
    model: Model | None = None

    def __new__(cls, *args: Any, **options: Any) -> Self:
        """Set attributes that subclasses need even if they do not call `__init__`, as python-crfsuite allows."""
        self = super().__new__(cls)
        self._data = Data()
        self.select("lbfgs")
        return self

    def __init__(
        self, algorithm: str | None = None, params: Mapping[str, Any] | None = None, verbose: bool = True
    ) -> None:
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)
        self.verbose = verbose

    # ---- Data

    def append(self, xseq: Iterable[Any], yseq: Iterable[str], group: int = 0) -> None:
        """Add a sequence (an `ItemSequence`, or a form that `ItemSequence` accepts) with its labels. Groups are for
        `train(holdout=)`."""
        self._data.add(xseq, yseq, group)

    def clear(self) -> None:
        """Remove all sequences."""
        self._data = Data()

    # ---- Parameters

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose `lbfgs`, `l2sgd`, `ap`, `pa` or `arow`, and reset all parameters to the defaults of that algorithm."""
        if type != "crf1d":
            raise InputError(f"type: expected 'crf1d', a linear chain, found {type!r}")
        self._algorithm = name_of(algorithm)
        self._options: dict[str, Option] = ALGORITHMS[self._algorithm]
        self._values: dict[str, Any] = {name: option.default for name, option in self._options.items()}

    def params(self) -> list[str]:
        """The names of the parameters."""
        return list(self._options)

    def set_params(self, params: Mapping[str, Any]) -> None:
        for name, value in params.items():
            self.set(name, value)

    def get_params(self) -> dict[str, Any]:
        return dict(self._values)

    def set(self, name: str, value: Any) -> None:
        self._values[name] = self._option(name).parse(value)

    def get(self, name: str) -> Any:
        self._option(name)
        return self._values[name]

    def help(self, name: str) -> str:
        """The description of a parameter."""
        return self._option(name).help

    def _option(self, name: str) -> Option:
        if name not in self._options:
            raise InputError(f"parameter: expected one of {', '.join(self._options)}, found {name!r}")
        return self._options[name]

    # ---- Training

    def train(self, model: str | os.PathLike[str], holdout: int = -1, *, format: str | None = None) -> None:
        """Train on all groups but `holdout`, evaluate on that group, and write the model unless the name is ''.

        `format`: "sparsecrf", or "crfsuite" for a file that CRFsuite and python-crfsuite open; None means
        `model_format`.
        """
        chosen_format = self.model_format if format is None else format
        if chosen_format not in FORMATS:
            raise InputError(f"format: expected one of {', '.join(FORMATS)}, found {chosen_format!r}")
        self._before_train()
        began = time.perf_counter()
        corpus, dev = self._data.split(holdout)
        features = Features(None, 0) if corpus is None else self._features(corpus)
        lines = training_log.of_feature_generation(self._values, features.size, time.perf_counter() - began, holdout)
        self._tell(lines)
        self._tell(training_log.of_parameters(self._algorithm, self._values))
        labels = self._data.label_names()

        def each(info: dict[str, Any], numbers: Numbers, w: Floats) -> None:
            if dev is not None:
                found = best_labels(dev, numbers, w)
                info |= training_log.holdout_scores(labels, dev.offsets, dev.labels, found)
            self._tell(training_log.of_iteration(info, self._algorithm), info)

        if corpus is None:
            words = "training: no sequences to train on, so the model contains no weights; call append first"
            warnings.warn(words, stacklevel=2)
            found = Found("no data" if self._algorithm == "lbfgs" else "max_iter", _without_weights)
        elif self._algorithm in RULES:
            found = learn_from_mistakes(corpus, features, self._algorithm, self._values, each)
        else:
            found = maximise_likelihood(corpus, features, settings(self._values), each)
        self._tell(training_log.of_end(self._algorithm, found.stopped_by, time.perf_counter() - began))
        self._store(found.model(self._data.vocabulary), model, chosen_format, features.size)
        self._flush()

    def _features(self, corpus: Corpus) -> Features:
        bias = self._data.vocabulary.attributes.find(BIAS)
        assert bias is not None  # the encoder adds it first
        return crfsuite_features(
            corpus,
            bias,
            minfreq=self._values["feature.minfreq"],
            possible_states=self._values["feature.possible_states"],
            possible_transitions=self._values["feature.possible_transitions"],
            listed=self._algorithm in RULES,
        )

    def _store(self, model: Model | None, path: str | os.PathLike[str], format: str, n_features: int) -> None:
        began = time.perf_counter()
        # A copy, whose vocabulary does not grow with the vocabulary of the training data.
        self.model = None if model is None else Model.from_bytes(model.to_bytes())
        if os.fspath(path):
            write_atomically(path, to_binary(None) if model is None else FORMATS[format](model))
        n_labels, attributes = len(self._data.vocabulary.labels), self._data.vocabulary.attributes
        used = set() if self.model is None else set(self.model.features.unigram_attribute.tolist())
        active = {
            "features": (0 if model is None else model.n_active, n_features),
            "attributes": (len(used), len(attributes) - (attributes.find(BIAS) is not None)),  # CRFsuite has no bias
            "labels": (n_labels, n_labels),
        }
        self._tell(training_log.of_storing(active, time.perf_counter() - began))

    # ---- Messages

    def message(self, message: str) -> None:
        """Called with every line of the log."""
        if self.verbose:
            print(message, end="")

    def _before_train(self) -> None:
        """Called before training begins."""

    def _tell(self, lines: Iterable[str], info: dict[str, Any] | None = None) -> None:
        """Pass on lines of the log, and the exact values of the iteration that they describe."""
        for line in lines:
            self.message(line)

    def _flush(self) -> None:
        """Called at the end of the log."""


class Trainer(BaseTrainer):
    """python-crfsuite's Trainer: a `BaseTrainer` that parses its own log.

    Override `message` to get all lines or, for a verbose trainer, `on_...` to get them by event.
    """

    #: The last training run; None before the first.
    logparser: TrainLogParser | None = None
    _told = 0  # number of log lines passed on so far

    def _before_train(self) -> None:
        self.logparser, self._told = TrainLogParser(), 0

    def _tell(self, lines: Iterable[str], info: dict[str, Any] | None = None) -> None:
        for line in lines:
            assert self.logparser is not None
            event = self.logparser.feed(line)
            if event == "iteration" and info is not None and self.logparser.last_iteration is not None:
                exact = {name: value for name, value in info.items() if not name.endswith("_counts")}
                self.logparser.last_iteration.update(exact)
            if not self.verbose:
                self.message(line)
            elif event is not None:
                self._dispatch(event)

    def _dispatch(self, event: str) -> None:
        parser = self.logparser
        assert parser is not None
        self._told = parser.events[-1][2]
        more: dict[str, tuple[Any, ...]] = {
            "featgen_progress": (parser.featgen_percent,),
            "iteration": (parser.last_iteration,),
        }
        getattr(self, f"on_{event}")(parser.last_log, *more.get(event, ()))

    def _flush(self) -> None:
        """Pass on lines that belong to no event, as in a run without an iteration."""
        if self.verbose and self.logparser is not None:
            self._lines("".join(self.logparser.log[self._told :]))

    def _lines(self, log: str) -> None:
        for line in log.splitlines(keepends=True):
            self.message(line)

    on_start = on_featgen_end = on_prepared = on_prepare_error = on_optimization_end = on_end = _lines

    def on_featgen_progress(self, log: str, percent: int) -> None:
        self._lines(log)

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """`info` is the entry of `logparser.iterations`."""
        self._lines(log)


class LinePerIterationTrainer(Trainer):
    """sklearn-crfsuite's log: a line for each iteration, and a table at the end."""

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        parts = [f"Iter {info['num']:<3}", f"time={info['time']:<5.2f}", f"loss={info['loss']:<8.2f}"]
        if "active_features" in info:
            parts.append(f"active={info['active_features']:<5}")
        if "avg_precision" in info:
            parts += [f"{name}={info[f'avg_{name.lower()}']:0.3f} " for name in ("precision", "recall", "F1")]
            parts.append(f"Acc(item/seq)={info['item_accuracy_float']:0.3f} {info['instance_accuracy_float']:0.3f} ")
        if "feature_norm" in info:
            parts.append(f"feature_norm={info['feature_norm']:<8.2f}")
        print(" ".join(parts).strip())

    def on_optimization_end(self, log: str) -> None:
        last = self.logparser.last_iteration if self.logparser is not None else None
        scores = last["scores"] if last is not None else {}
        if scores:
            print(f"{'Label':<12} {'Precision':>9} {'Recall':>9} {'F1':>9} {'Support':>9}")
        for label, score in sorted(scores.items()):
            numbers = (score.precision or 0.0, score.recall or 0.0, score.f1 or 0.0)
            print(f"{label:<12} {' '.join(f'{number:9.3f}' for number in numbers)} {score.ref:9}")
        super().on_optimization_end(log)
