"""sklearn-crfsuite's metrics: scikit-learn's metrics over the tokens of all sequences, with the same options."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sklearn import metrics

from sparsecrf.contrib.compat.utils import flatten

Labels = Iterable[Iterable[str]]


def flat_accuracy_score(y_true: Labels, y_pred: Labels, **options: Any) -> float:
    """The share of correctly labelled tokens."""
    return float(metrics.accuracy_score(flatten(y_true), flatten(y_pred), **options))


def flat_precision_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    return metrics.precision_score(flatten(y_true), flatten(y_pred), **options)


def flat_recall_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    return metrics.recall_score(flatten(y_true), flatten(y_pred), **options)


def flat_f1_score(y_true: Labels, y_pred: Labels, **options: Any) -> Any:
    return metrics.f1_score(flatten(y_true), flatten(y_pred), **options)


def flat_fbeta_score(y_true: Labels, y_pred: Labels, beta: float, **options: Any) -> Any:
    return metrics.fbeta_score(flatten(y_true), flatten(y_pred), beta=beta, **options)


def flat_classification_report(y_true: Labels, y_pred: Labels, labels: Any = None, **options: Any) -> Any:
    """Precision, recall and F1 by label: text, or a dict with output_dict=True."""
    return metrics.classification_report(flatten(y_true), flatten(y_pred), labels=labels, **options)


def sequence_accuracy_score(y_true: Labels, y_pred: Labels) -> float:
    """The share of sequences whose labels are all correct; 0 without sequences."""
    right = [list(a) == list(b) for a, b in zip(y_true, y_pred, strict=True)]
    return sum(right) / len(right) if right else 0.0
