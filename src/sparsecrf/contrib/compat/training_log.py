"""Parses the log of a training run line by line, with the names of python-crfsuite's parser."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple


class LabelScore(NamedTuple):
    """Counts for one label in the holdout group: tokens with it in both, in the model's output, in the data."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


#: The fields of an iteration: the words before a number, its name, how it is read and written.
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

    An iteration is a dict: `num`, `loss` (the objective, as in CRFsuite), `feature_norm`, `error_norm`,
    `active_features`, `linesearch_trials`, `linesearch_step`, `time` (seconds), and with a holdout group `scores` by
    label, `avg_precision`, `avg_recall`, `avg_f1`, `item_accuracy` and `instance_accuracy` (fractions, and as
    `..._float`). Runs of this package have exact numbers there, not those of the text, and `kkt` and `gap` where they
    were computed.
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
        self.events: list[tuple[str, int, int]] = []  #: name, first and last line

    @property
    def last_log(self) -> str:
        """The lines of the last event."""
        _, begin, end = self.events[-1]
        return "".join(self.log[begin:end])

    def feed(self, line: str) -> str | None:
        """Take a line. Returns the event that is complete with it: start, featgen_progress, featgen_end, prepared,
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
            # These are complete only when the first line of the next event arrives.
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
    """The fields of an iteration for the fraction of items or instances that are right."""
    return {f"{what}_accuracy": Fraction(right, total), f"{what}_accuracy_float": right / total}


def _seconds(line: str) -> float | None:
    words = "Seconds required: "
    return float(line[len(words) :]) if line.startswith(words) else None
