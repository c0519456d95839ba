"""Scores for scikit-learn: functions of gold and predicted label sequences, and scorers made from them.

All scores are fractions from 0 to 1; larger is better. Tokens whose gold label is None or a set do not count, since the
right label is unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sklearn.metrics import make_scorer

from sparsecrf._core import InputError
from sparsecrf.chunks import OUTSIDE, Scheme
from sparsecrf.metrics import ChunkScore, evaluate, mean_rates
from sparsecrf.tables import counted

Labels = Iterable[Sequence[Any]]
AVERAGES = ("macro", "weighted")  # averages for label_f1_score


def token_accuracy_score(y_true: Labels, y_pred: Labels, sample_weight: Any = None) -> float:
    """The share of tokens with the right label; `sample_weight` contains a number for each sequence or each token."""
    right = total = 0.0
    for gold, predicted, weight in _in_step(y_true, y_pred, sample_weight):
        weights = weight if hasattr(weight, "__iter__") else [weight] * len(gold)
        for g, p, w in zip(gold, predicted, weights, strict=True):
            if g is not None:
                total += w
                right += w * (g == p)
    return float(right / total) if total else 0.0


def sequence_accuracy_score(y_true: Labels, y_pred: Labels, sample_weight: Any = None) -> float:
    """The share of sequences whose labels are all right; `sample_weight` contains a number for each sequence. Sequences
    whose gold labels are all None or sets do not count."""
    right = total = 0.0
    for gold, predicted, weight in _in_step(y_true, y_pred, sample_weight):
        known = [(g, p) for g, p in zip(gold, predicted, strict=True) if g is not None]
        if known or not gold:
            total += weight
            right += weight * all(g == p for g, p in known)
    return float(right / total) if total else 0.0


def chunk_f1_score(y_true: Labels, y_pred: Labels, *, scheme: str = "auto") -> float:
    """F1 of chunks, as in conlleval (see `sparsecrf.chunks` for the schemes); 0 if there are no chunks. Where a gold
    label is None, both labels count as O.
    """
    found = evaluate(_as_text(y_true, y_pred), scheme)
    f1 = found.f1
    if f1 is None and scheme == "auto" and {name for pair in found.confusion for name in pair} <= OUTSIDE:
        return 0.0
    if f1 is None:
        raise InputError(
            f"chunk_f1: expected labels that encode chunks (B-TYPE, I-TYPE, O, ...; scheme {scheme}), found "
            "labels that do not"
        )
    return f1 / 100


def label_f1_score(
    y_true: Labels, y_pred: Labels, *, average: str = "macro", labels: Collection[Any] | None = None
) -> float:
    """Token-level F1 of labels, for labels that do not encode chunks: the mean over labels, unweighted ("macro") or
    weighted by gold frequency ("weighted"). `labels`: average only over these labels, such as all except O; None means
    all gold and predicted labels.
    """
    if average not in AVERAGES:
        raise InputError(f"average: expected one of {', '.join(AVERAGES)}, found {average!r}")
    found = evaluate(_as_text(y_true, y_pred), Scheme.NONE)
    chosen = None if labels is None else {str(label) for label in labels}
    absent = ChunkScore(0, 0, 0)  # a requested label that occurs nowhere counts as 0, as in scikit-learn
    scores = list(found.labels.values()) if chosen is None else [found.labels.get(name, absent) for name in chosen]
    weights = [1 if average == "macro" else score.gold for score in scores]
    return mean_rates(scores, weights)[2] / 100


token_accuracy = make_scorer(token_accuracy_score)
sequence_accuracy = make_scorer(sequence_accuracy_score)
chunk_f1 = make_scorer(chunk_f1_score)
label_f1_macro = make_scorer(label_f1_score, average="macro")
label_f1_weighted = make_scorer(label_f1_score, average="weighted")


def _as_text(y_true: Labels, y_pred: Labels) -> Iterable[tuple[list[str | None], list[str]]]:
    for gold, predicted, _ in _in_step(y_true, y_pred, None):
        yield [None if label is None else str(label) for label in gold], [str(label) for label in predicted]


def _in_step(y_true: Labels, y_pred: Labels, weight: Any) -> Iterable[tuple[Sequence[Any], Sequence[Any], Any]]:
    y_true, y_pred = list(y_true), list(y_pred)
    weights: list[Any] = [1.0] * len(y_true) if weight is None else list(weight)
    for name, values in (("predictions", y_pred), ("sample_weight", weights)):
        if len(values) != len(y_true):
            raise InputError(
                f"expected an entry of {name} for each label sequence, found {len(y_true)} label sequences and "
                f"{len(values)} {name}"
            )
    for i, (gold, predicted) in enumerate(zip(y_true, y_pred, strict=True)):
        if len(gold) != len(predicted):
            raise InputError(
                f"sequence {i}: expected as many labels as predictions, found {counted(len(gold), 'label')} and "
                f"{counted(len(predicted), 'prediction')}"
            )
        if hasattr(weights[i], "__len__") and len(weights[i]) != len(gold):
            raise InputError(
                f"sequence {i}: expected {counted(len(gold), 'weight')}, one per token, found {len(weights[i])}"
            )
        yield [None if isinstance(label, (set, frozenset)) else label for label in gold], predicted, weights[i]
