"""Training as python-crfsuite has it: append sequences, set parameters, train into a file."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from sparsecrf._core import Chain, Corpus, FeatureSet, InputError
from sparsecrf.compat.data import Data
from sparsecrf.compat.features import crfsuite_features
from sparsecrf.compat.params import Option, options_of, settings
from sparsecrf.compat.stopping import Stagnation
from sparsecrf.compat.training_log import TrainingLog, holdout_scores, lines_of
from sparsecrf.encoding.vocabulary import BIAS
from sparsecrf.model import Model
from sparsecrf.training import Fit, fit


def _crfsuite_file(model: Model) -> bytes:
    from sparsecrf.model.crfsuite_write import to_binary

    return to_binary(model)


#: The content of a model's file, by format.
FORMATS: dict[str, Callable[[Model], bytes]] = {"sparsecrf": Model.to_bytes, "crfsuite": _crfsuite_file}


class Trainer:
    """python-crfsuite's Trainer. The algorithms are `lbfgs` and `l2sgd`: both are CRFsuite's objective, minimised here
    by one solver; `help` tells what a parameter means. The model file is a safetensors file, whatever its name, unless
    CRFsuite's own format is asked for: `train(name, format="crfsuite")`, or `Trainer.model_format = "crfsuite"` where
    others call `train`.
    """

    #: The format of model files, "sparsecrf" or "crfsuite", for calls of `train` that do not say.
    model_format = "sparsecrf"

    verbose = True
    #: The last training run; None before the first.
    logparser: TrainingLog | None = None
    #: What it found.
    model: Model | None = None

    def __new__(cls, *args: Any, **options: Any) -> Trainer:
        """What subclasses rely on even if they do not call `__init__`, as they need not in python-crfsuite."""
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
        """Add a sequence: an `ItemSequence` or what makes one, with its labels. Groups are for `train(holdout=)`."""
        self._data.add(xseq, yseq, group)

    def clear(self) -> None:
        """Forget all sequences."""
        self._data = Data()

    # ---- Parameters

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose `lbfgs` or `l2sgd`; all parameters take its defaults."""
        if type != "crf1d":
            raise InputError(f"type: expected 'crf1d', a linear chain, found {type!r}")
        self._options: dict[str, Option] = options_of(algorithm)
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
        """What a parameter means."""
        return self._option(name).help

    def _option(self, name: str) -> Option:
        if name not in self._options:
            raise InputError(f"parameter: expected one of {', '.join(self._options)}, found {name!r}")
        return self._options[name]

    # ---- Training

    def train(self, model: str | os.PathLike[str], holdout: int = -1, *, format: str | None = None) -> None:
        """Train on all groups but `holdout`, on which the model is evaluated, and write the model (not to '').

        `format`: "sparsecrf", or "crfsuite" for a file that CRFsuite and python-crfsuite open; None: `model_format`.
        """
        chosen_format = self.model_format if format is None else format
        if chosen_format not in FORMATS:
            raise InputError(f"format: expected one of {', '.join(FORMATS)}, found {chosen_format!r}")
        log = self.logparser = TrainingLog()
        began = time.perf_counter()
        corpus, dev = self._data.split(holdout)
        chosen = settings(self._values)
        vocabulary = self._data.vocabulary
        bias = vocabulary.attributes.find(BIAS)
        assert bias is not None  # the encoder adds it first
        features = crfsuite_features(
            corpus,
            bias,
            minfreq=chosen.minfreq,
            possible_states=chosen.possible_states,
            possible_transitions=chosen.possible_transitions,
        )
        log.featgen_num_features, log.featgen_seconds = features.size, time.perf_counter() - began
        names = ("feature.minfreq", "feature.possible_states", "feature.possible_transitions")
        self._tell("start", f"Feature generation\ntype: CRF1d\n{self._described(names)}")
        self._tell(
            "featgen_end", f"Number of features: {features.size}\nSeconds required: {log.featgen_seconds:.3f}\n\n"
        )
        self._tell("prepared", f"{self._described(name for name in self._values if name not in names)}\n")

        stagnation = Stagnation(chosen.period, chosen.delta_share * chosen.delta)

        def each(record: dict[str, Any]) -> bool:
            if record["iter"] > 0:
                info = log.add(record, 0 if dev is None else dev.n_tokens)
                self._tell("iteration", lines_of(info), info)
            return stagnation.reached(record)

        found = fit(
            corpus,
            rho1=chosen.rho1,
            rho2=chosen.rho2,
            features=features.numbers,
            solver=chosen.solver,
            solver_options=chosen.solver_options,
            max_iter=chosen.max_iter,
            tol=chosen.tol,
            dev=dev,
            callback=each,
        )
        if found.stopped_by == "callback":
            found = replace(found, stopped_by="delta")
        elif found.stopped_by == "interrupt":
            raise KeyboardInterrupt
        log.training_seconds = time.perf_counter() - began
        if dev is not None and log.last_iteration is not None:
            log.last_iteration.update(_evaluated(found, dev, self._labels()))
        ended = (
            f"Terminated with: {found.stopped_by}\nTotal seconds required for training: {log.training_seconds:.3f}\n\n"
        )
        self._tell("optimization_end", ended)
        self._store(found.model(vocabulary), model, chosen_format)

    def _store(self, model: Model, path: str | os.PathLike[str], format: str) -> None:
        from sparsecrf.files.atomic import write_atomically

        assert self.logparser is not None
        began = time.perf_counter()
        content = model.to_bytes()
        if os.fspath(path):
            write_atomically(path, FORMATS[format](model))
        self.model = Model.from_bytes(content)  # its vocabulary does not grow with that of the data
        self.logparser.storing_seconds = time.perf_counter() - began
        active = f"Number of active features: {model.n_active} ({self.logparser.featgen_num_features})\n"
        self._tell("end", f"Storing the model\n{active}Seconds required: {self.logparser.storing_seconds:.3f}\n\n")

    def _labels(self) -> list[str]:
        table = self._data.vocabulary.labels
        return [table[k] for k in range(len(table))]

    def _described(self, names: Iterable[str]) -> str:
        return "".join(f"{name}: {self._values[name]}\n" for name in names)

    # ---- Messages. Override `message` to get all lines, or, of a verbose trainer, `on_...` to get them by event.

    def message(self, message: str) -> None:
        """Gets every line of the log."""
        if self.verbose:
            print(message, end="")

    def on_start(self, log: str) -> None:
        self._lines(log)

    def on_featgen_end(self, log: str) -> None:
        self._lines(log)

    def on_prepared(self, log: str) -> None:
        self._lines(log)

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """`info` is the entry of `logparser.iterations`."""
        self._lines(log)

    def on_optimization_end(self, log: str) -> None:
        self._lines(log)

    def on_end(self, log: str) -> None:
        self._lines(log)

    def _lines(self, log: str) -> None:
        for line in log.splitlines(keepends=True):
            self.message(line)

    def _tell(self, event: str, log: str, *info: dict[str, Any]) -> None:
        assert self.logparser is not None
        self.logparser.log += log.splitlines(keepends=True)
        if self.verbose:
            getattr(self, f"on_{event}")(log, *info)
        else:
            self._lines(log)


class LinePerIterationTrainer(Trainer):
    """sklearn-crfsuite's: a line for each iteration."""

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        line = f"Iter {info['num']:<3} time={info['time']:<5.2f} loss={info['loss']:<8.2f} "
        line += f"active={info['active_features']:<5}"
        if "item_accuracy" in info:
            line += f" Acc(item)={info['item_accuracy_float']:.3f}"
        print(line)

    def on_optimization_end(self, log: str) -> None:
        last = self.logparser.last_iteration if self.logparser is not None else None
        scores = last["scores"] if last is not None else {}
        if scores:
            print(f"{'Label':<12} {'Precision':>9} {'Recall':>9} {'F1':>9} {'Support':>9}")
        for label, score in sorted(scores.items()):
            numbers = (score.precision or 0.0, score.recall or 0.0, score.f1 or 0.0)
            print(f"{label:<12} {' '.join(f'{number:9.3f}' for number in numbers)} {score.ref:9}")
        super().on_optimization_end(log)


def _evaluated(found: Fit, dev: Corpus, labels: list[str]) -> dict[str, Any]:
    chain = Chain(FeatureSet.from_numbers(dev.n_labels, dev.n_attributes, found.numbers), found.w)
    return holdout_scores(labels, dev.offsets, dev.labels, chain.viterbi(dev)[0])
