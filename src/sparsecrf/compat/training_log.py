"""What a training run did, under the names that python-crfsuite's log parser has for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple


class LabelScore(NamedTuple):
    """Of one label in the holdout group: tokens that have it by both, by the model, by the data."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


@dataclass
class TrainingLog:
    """Filled as the run goes on.

    An iteration has `num`, `loss` (the objective, as CRFsuite has it), `active_features`, `time` (seconds), `kkt` and
    `gap` where they were computed, and with a holdout group `item_accuracy`; the last one also has what a look at
    every label of the holdout group tells: `scores`, `avg_precision`, `avg_recall`, `avg_f1`, `instance_accuracy`.
    """

    iterations: list[dict[str, Any]] = field(default_factory=list)
    featgen_num_features: int | None = None
    featgen_seconds: float | None = None
    training_seconds: float | None = None
    storing_seconds: float | None = None
    log: list[str] = field(default_factory=list)  #: lines

    @property
    def last_iteration(self) -> dict[str, Any] | None:
        return self.iterations[-1] if self.iterations else None

    def add(self, record: dict[str, Any], n_holdout: int) -> dict[str, Any]:
        """Takes the record of an iteration; `n_holdout` tokens are in the holdout group."""
        before = sum(info["time"] for info in self.iterations)
        info = {
            "num": record["iter"],
            "scores": {},
            "loss": record["objective"],
            "active_features": record["active_unigram"] + record["active_bigram"],
            "time": record["time_s"] - before,
        }
        info |= {name: record[name] for name in ("kkt", "gap") if record[name] is not None}
        if record["dev_error"] is not None:
            wrong = round(record["dev_error"] / 100 * n_holdout)
            info |= _accuracy("item", n_holdout - wrong, n_holdout)
        self.iterations.append(info)
        return info


def holdout_scores(labels: Sequence[str], offsets: Any, gold: Any, found: Any) -> dict[str, Any]:
    """How the labels that were found (ids of all tokens) compare with those of the data; sequences begin at offsets."""
    import numpy as np

    Y, right = len(labels), gold == found
    counts = (np.bincount(gold[right], minlength=Y), np.bincount(found, minlength=Y), np.bincount(gold, minlength=Y))
    scores = {label: _score(*map(int, row)) for label, *row in zip(labels, *counts, strict=True)}
    # As CRFsuite averages: over all labels, those that do not occur count 0.
    averages = {
        f"avg_{name}": sum(getattr(score, name) or 0.0 for score in scores.values()) / Y
        for name in ("precision", "recall", "f1")
    }
    whole = np.logical_and.reduceat(right, offsets[:-1])
    accuracies = _accuracy("item", int(right.sum()), len(gold)) | _accuracy("instance", int(whole.sum()), len(whole))
    return {"scores": scores, **averages, **accuracies}


def _score(match: int, model: int, ref: int) -> LabelScore:
    if ref == 0:
        return LabelScore(match, model, ref, None, None, None)
    precision, recall = match / model if model else 0.0, match / ref
    return LabelScore(match, model, ref, precision, recall, 2 * match / (model + ref))


def _accuracy(what: str, right: int, total: int) -> dict[str, Any]:
    return {f"{what}_accuracy": Fraction(right, total), f"{what}_accuracy_float": right / total}


def lines_of(info: dict[str, Any]) -> str:
    """An iteration in the words of CRFsuite's log."""
    lines = [
        f"***** Iteration #{info['num']} *****",
        f"Loss: {info['loss']:f}",
        f"Active features: {info['active_features']}",
        f"Seconds required for this iteration: {info['time']:.3f}",
    ]
    if "item_accuracy" in info:
        lines.append(f"Item accuracy: {info['item_accuracy_float']:.4f}")
    return "".join(f"{line}\n" for line in [*lines, ""])
