"""Computes the objective and the test score of any tool from its model file."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from benchmarks.tasks import Files, Task
from numpy.typing import NDArray

from sparsecrf import Model, Template, Vocabulary, read_columns
from sparsecrf.contrib.convert.foreign import READERS
from sparsecrf.encoding.vocabulary import BIAS
from sparsecrf.metrics import evaluate
from sparsecrf.shards.dataset import encode_columns
from sparsecrf.training import weights_in
from sparsecrf.training.heldout import best_labels
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalty import ElasticNet


@dataclass(frozen=True)
class Score:
    objective: float  #: loss + rho1 |w|_1 + rho2/2 |w|^2
    active: int  #: number of nonzero weights
    test_error: float  #: percent of tokens
    test_f1: float | None  #: F1 of chunks in percent; None if labels do not encode chunks


class Encoded:
    """The data of a task, encoded with one template."""

    def __init__(self, task: Task, files: Files, template: Template) -> None:
        self.vocabulary = Vocabulary(start=False)
        train = encode_columns([files.train], self.vocabulary, template, grow=True).corpus
        self.test = encode_columns([files.test], self.vocabulary, template).corpus
        self.objective = Objective(train, ElasticNet(task.rho1, task.rho2), threads=1)


class Scorer:
    """The data of a task, encoded once, for all models of all tools."""

    def __init__(self, task: Task, files: Files) -> None:
        self.task, self.files = task, files
        self.gold = [[row[-1] for row in rows] for rows in read_columns(files.test)]
        self._encoded: dict[tuple[str, str], Encoded] = {}

    def encoded(self, template: Template) -> Encoded:
        key = template.text, template.boundary
        if key not in self._encoded:
            self._encoded[key] = Encoded(self.task, self.files, template)
        return self._encoded[key]

    def __call__(self, path: pathlib.Path, form: str) -> Score:
        """`form`: sparsecrf, crfsuite, wapiti or crf++."""
        model = Model.load(path) if form == "sparsecrf" else READERS[form](path)
        if form == "crfsuite":
            model = _with_bias_of_template(model)
        # Wapiti writes its lines in lower case and has other names for cells beyond the ends of a sentence.
        data = self.encoded(model.template if form == "wapiti" and model.template else Template(self.task.template))
        weights = weights_in(model, data.vocabulary)
        kept = weights.w != 0
        if kept.sum() != (model.w != 0).sum():
            raise ValueError(f"{path}: expected attributes and labels of the training data only, found others")
        numbers, w = weights.numbers[kept], weights.w[kept]
        loss, _ = data.objective.loss_grad(data.objective.working_set(numbers), w)
        predicted = best_labels(data.test, numbers, w, threads=1)
        found = evaluate(self._pairs(data, predicted))
        return Score(loss + data.objective.penalty.value(w), len(w), found.token_error, found.f1)

    def _pairs(self, data: Encoded, predicted: NDArray[np.int32]) -> Iterator[tuple[list[str], list[str]]]:
        """The gold labels of each test sequence, which may not occur in the training data, and the predicted labels."""
        names, offsets = data.vocabulary.labels, data.test.offsets
        for gold, begin, end in zip(self.gold, offsets[:-1], offsets[1:], strict=True):
            yield gold, [names[k] for k in predicted[begin:end]]


def _with_bias_of_template(model: Model) -> Model:
    """Give CRFsuite's plain transitions, which have no attribute, the attribute of a template's line B."""
    old = model.vocabulary
    new = Vocabulary(old.bigrams, start=False)
    for k in range(len(old.labels)):
        new.labels.intern(old.labels[k])
    for k in range(len(old.attributes)):
        name = old.attributes[k]
        new.attributes.intern("B" if name == BIAS else name)
    return Model(new, model.features, model.w)
