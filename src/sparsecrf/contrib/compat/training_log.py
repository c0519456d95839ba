"""Writes the log of a training run, and parses it with the same names as python-crfsuite."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from sparsecrf.lazy import np


class LabelScore(NamedTuple):
    """Counts for one label in the holdout group: tokens with this label in both the model's output and the data, in the
    output, and in the data."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


#: The fields of an iteration: the words before a value, its name, its type and its format.
NUMBERS: list[tuple[str, str, Callable[[str], Any], str]] = [
    ("Loss: ", "loss", float, "f"),
    ("Feature norm: ", "feature_norm", float, "f"),
    ("Error norm: ", "error_norm", float, "f"),
    ("Active features: ", "active_features", int, "d"),
    ("Line search trials: ", "linesearch_trials", int, "d"),
    ("Line search step: ", "linesearch_step", float, "f"),
    ("Seconds required for this iteration: ", "time", float, ".3f"),
]
_HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}\n")
_LABEL = re.compile(r" {4}(.+): \((\d+), (\d+), (\d+)\) \((?:\*{6}, \*{6}, \*{6}|(\S+), (\S+), (\S+))\)\n?$")
_MACRO = re.compile(r"Macro-average precision, recall, F1: \((\S+), (\S+), (\S+)\)")
_ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
_COUNT = re.compile(r"Number of features: (\d+)")


class TrainLogParser:
    """The content of the lines fed so far.

    An iteration is a dict: `num`, `loss` (the objective, as in CRFsuite), `feature_norm`, `error_norm` (if the solver
    computes gradients, so not for `dual`), `active_features`, `linesearch_trials`, `linesearch_step`, `time` (seconds),
    and with a holdout group `scores` by label, `avg_precision`, `avg_recall`, `avg_f1`, `item_accuracy` and
    `instance_accuracy` (as fractions, and as `..._float`). Runs of this package provide exact values instead of the
    rounded values in the text, and `kkt` and `gap` where they were computed.
    """

    def __init__(self) -> None:
        self.state: str | None = None
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []  #: all lines of the log
        self.events: list[tuple[str, int, int]] = []  #: name, first line and last line of each event

    @property
    def last_log(self) -> str:
        """The lines of the last event."""
        _, begin, end = self.events[-1]
        return "".join(self.log[begin:end])

    def feed(self, line: str) -> str | None:
        """Process a line. Returns the event that this line completes: start, featgen_progress, featgen_end, prepared,
        prepare_error, iteration, optimization_end, end, or None.
        """
        self.log.append(line)
        handle: dict[str | None, Callable[[str], str | None]] = {
            None: self._starting,
            "STARTING": self._starting,
            "FEATGEN": self._generating_features,
            "AFTER_FEATGEN": self._preparing,
            "ITERATION": self._iterating,
            "AFTER_ITERATION": self._between_iterations,
            "STORING": self._storing,
        }
        event = handle[self.state](line)
        if not self.events:
            event = "start"
        if event is not None:
            begin = self.events[-1][2] if self.events else 0
            # These events are complete only when the first line of the next event arrives.
            end = len(self.log) - (event in ("prepared", "optimization_end"))
            self.events.append((event, begin, end))
        return event

    def _starting(self, line: str) -> None:
        self.state = "FEATGEN" if line.startswith("Feature generation") else "STARTING"

    def _generating_features(self, line: str) -> str | None:
        if line == "." or line in ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"):
            self.featgen_percent += 2
            return "featgen_progress"
        if found := _COUNT.match(line):
            self.featgen_num_features = int(found[1])
        self.featgen_seconds = _seconds(line)
        if self.featgen_seconds is None:
            return None
        self.state = "AFTER_FEATGEN"
        return "featgen_end"

    def _preparing(self, line: str) -> str | None:
        if _HEAD.match(line):
            self._begin(line)
            return "prepared"
        if "terminated with error" in line:
            self.state = "AFTER_ITERATION"
            return "prepare_error"
        return None

    def _begin(self, line: str) -> None:
        head = _HEAD.match(line)
        assert head is not None
        self.state = "ITERATION"
        self.last_iteration = {"num": int(head[1]), "scores": {}}
        self.iterations.append(self.last_iteration)

    def _iterating(self, line: str) -> str | None:
        assert self.last_iteration is not None
        if line == "\n":
            self.state = "AFTER_ITERATION"
            return "iteration"
        for words, name, kind, _ in NUMBERS:
            if line.startswith(words):
                self.last_iteration[name] = kind(line[len(words) :])
        if found := _MACRO.match(line):
            averages = zip(("avg_precision", "avg_recall", "avg_f1"), found.groups(), strict=True)
            self.last_iteration.update((name, float(value)) for name, value in averages)
        if found := _ACCURACY.match(line):
            self.last_iteration |= accuracy(found[1].lower(), int(found[2]), int(found[3]))
        if found := _LABEL.match(line):
            label, *numbers = found.groups()
            shares = [None if number is None else float(number) for number in numbers[3:]]
            self.last_iteration["scores"][label] = LabelScore(*map(int, numbers[:3]), *shares)
        return None

    def _between_iterations(self, line: str) -> str | None:
        if _HEAD.match(line):
            self._begin(line)
        words = "Total seconds required for training: "
        if line.startswith(words):
            self.training_seconds = float(line[len(words) :])
        if line.startswith("Storing the model"):
            self.state = "STORING"
            return "optimization_end"
        return None

    def _storing(self, line: str) -> str | None:
        found = _seconds(line)
        self.storing_seconds = self.storing_seconds if found is None else found
        return "end" if line == "\n" else None


def accuracy(what: str, right: int, total: int) -> dict[str, Any]:
    """The fields of an iteration for the fraction of correct items or instances."""
    return {f"{what}_accuracy": Fraction(right, total), f"{what}_accuracy_float": right / total}


def _seconds(line: str) -> float | None:
    words = "Seconds required: "
    return float(line[len(words) :]) if line.startswith(words) else None


_FEATURES = ("feature.minfreq", "feature.possible_states", "feature.possible_transitions")
_TITLES = {
    "lbfgs": "L-BFGS optimization",
    "l2sgd": "Stochastic Gradient Descent (SGD)",
    "averaged-perceptron": "Averaged perceptron",
    "passive-aggressive": "Passive Aggressive",
    "arow": "Adaptive Regularization of Weights (AROW)",
}
#: The parameters in the log, in its order; all parameters for the other algorithms.
_SHOWN = {
    "lbfgs": (
        *("c1", "c2", "num_memories", "max_iterations", "epsilon", "period", "delta"),
        *("linesearch", "max_linesearch"),
    ),
    "l2sgd": ("c2", "max_iterations", "period", "delta"),
}
#: Parameters with a different name in the log of lbfgs.
_NAMES_THERE = {"period": "stop", "max_linesearch": "linesearch.max_iterations"}
#: The end of a run of lbfgs; any other reason means convergence.
_ENDS = {
    "no data": "L-BFGS terminated with error code (-1020)",
    "delta": "L-BFGS terminated with the stopping criteria",
    "max_iter": "L-BFGS terminated with the maximum number of iterations",
}


def of_feature_generation(values: Mapping[str, Any], n_features: int, seconds: float, holdout: int) -> Iterator[str]:
    """Progress in steps of 2 %, printed after the work, which takes a fraction of a second."""
    if holdout >= 0:
        yield f"Holdout group: {holdout + 1}\n"
        yield "\n"
    yield "Feature generation\n"
    yield "type: CRF1d\n"
    for name in _FEATURES:
        yield _parameter(name, values[name])
    for tenth in range(10):
        yield f"{tenth}"
        yield from "...."
    yield "10"
    yield "\n"
    yield f"Number of features: {n_features}\n"
    yield f"Seconds required: {seconds:.3f}\n"
    yield "\n"


def of_parameters(algorithm: str, values: Mapping[str, Any]) -> Iterator[str]:
    yield f"{_TITLES[algorithm]}\n"
    for name in _SHOWN.get(algorithm, [name for name in values if name not in _FEATURES]):
        yield _parameter(_NAMES_THERE.get(name, name) if algorithm == "lbfgs" else name, values[name])
    yield "\n"


def of_iteration(info: Mapping[str, Any], algorithm: str) -> Iterator[str]:
    """The lines for an iteration. `info`: as the parser returns it; missing entries are left out."""
    yield f"***** {'Epoch' if algorithm == 'l2sgd' else 'Iteration'} #{info['num']} *****\n"
    for words, name, _, pattern in NUMBERS:
        if name in info:
            yield f"{words}{info[name]:{pattern}}\n"
    if info["scores"]:
        yield "Performance by label (#match, #model, #ref) (precision, recall, F1):\n"
        for label, score in info["scores"].items():
            shares = "******, ******, ******"
            if score.ref > 0:
                shares = f"{score.precision:1.4f}, {score.recall:1.4f}, {score.f1:1.4f}"
            yield f"    {label}: ({score.match}, {score.model}, {score.ref}) ({shares})\n"
        averages = ", ".join(f"{info[f'avg_{name}']:f}" for name in ("precision", "recall", "f1"))
        yield f"Macro-average precision, recall, F1: ({averages})\n"
        for what in ("item", "instance"):
            right, total = info[f"{what}_counts"]
            yield f"{what.capitalize()} accuracy: {right} / {total} ({right / total:1.4f})\n"
    yield "\n"


def of_end(algorithm: str, stopped_by: str, seconds: float) -> Iterator[str]:
    if algorithm == "lbfgs":
        yield f"{_ENDS.get(stopped_by, 'L-BFGS resulted in convergence')}\n"
    elif algorithm == "l2sgd":
        reason = "maximum number of iterations" if stopped_by == "max_iter" else "stopping criteria"
        yield f"SGD terminated with the {reason}\n"
    elif stopped_by != "max_iter":
        yield "Terminated with the stopping criterion\n"
        yield "\n"
    yield f"Total seconds required for training: {seconds:.3f}\n"
    yield "\n"


def of_storing(active: Mapping[str, tuple[int, int]], seconds: float) -> Iterator[str]:
    """The lines about storing the model. `active`: for features, attributes and labels, the number stored and the
    number before training."""
    yield "Storing the model\n"
    for what, (n, total) in active.items():
        yield f"Number of active {what}: {n} ({total})\n"
    for what in ("labels", "attributes", "feature references for transitions", "feature references for attributes"):
        yield f"Writing {what}\n"
    yield f"Seconds required: {seconds:.3f}\n"
    yield "\n"


def _parameter(name: str, value: Any) -> str:
    text = f"{value:f}" if isinstance(value, float) else str(int(value)) if isinstance(value, int) else str(value)
    return f"{name}: {text}\n"


def holdout_scores(labels: Sequence[str], offsets: Any, gold: Any, found: Any) -> dict[str, Any]:
    """Compare the predicted labels (ids of all tokens) with the labels of the data; sequences begin at offsets."""
    Y, right = len(labels), gold == found
    counts = (np.bincount(gold[right], minlength=Y), np.bincount(found, minlength=Y), np.bincount(gold, minlength=Y))
    scores = {label: _score(*map(int, row)) for label, *row in zip(labels, *counts, strict=True)}
    # As in CRFsuite, averages are over all labels; labels that do not occur count as 0.
    averages = {
        f"avg_{name}": sum(getattr(score, name) or 0.0 for score in scores.values()) / Y
        for name in ("precision", "recall", "f1")
    }
    whole = np.logical_and.reduceat(right, offsets[:-1])
    info = {"scores": scores, **averages}
    for what, each in (("item", right), ("instance", whole)):
        n, total = int(each.sum()), len(each)
        info |= accuracy(what, n, total) | {f"{what}_counts": (n, total)}
    return info


def _score(match: int, model: int, ref: int) -> LabelScore:
    if ref == 0:
        return LabelScore(match, model, ref, None, None, None)
    precision, recall = match / model if model else 0.0, match / ref
    return LabelScore(match, model, ref, precision, recall, 2 * match / (model + ref))
