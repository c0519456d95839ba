"""Converts the scores by which estimators choose rho1 (names, scikit-learn scorers, functions) to errors on a
corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from inspect import Parameter, signature
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from sklearn.metrics import get_scorer, get_scorer_names

from sparsecrf._core import Corpus, InputError
from sparsecrf.chunks import are_chunk_labels
from sparsecrf.path import Score
from sparsecrf.path.scores import CHUNKS, TOKENS, Unknown, by_sequence
from sparsecrf.scorers import chunk_f1_score, label_f1_score, sequence_accuracy_score, token_accuracy_score
from sparsecrf.shards.dataset import Dataset
from sparsecrf.training.feature_sets import Floats
from sparsecrf.training.heldout import Labels

Scoring: TypeAlias = str | Callable[..., float]

#: Functions of gold and predicted label sequences, with values from 0 to 1; larger is better.
SCORING: dict[str, Callable[..., float]] = {
    "token_accuracy": token_accuracy_score,
    "sequence_accuracy": sequence_accuracy_score,
    "chunk_f1": chunk_f1_score,
    "label_f1_macro": partial(label_f1_score, average="macro"),
    "label_f1_weighted": partial(label_f1_score, average="weighted"),
}
_NAMES: dict[Callable[..., float], str] = {
    token_accuracy_score: TOKENS,
    sequence_accuracy_score: "sequence accuracy",
    chunk_f1_score: CHUNKS,
}


def score_for(scoring: Scoring, data: Dataset, unknown: Unknown | None = None) -> Score:
    """The error, in percent, for a score: 100 (1 - score). `unknown`: gold labels that are not in `data`."""
    chunks = are_chunk_labels(data.label_names, ())
    if scoring == "auto":
        scoring = "chunk_f1" if chunks else "token_accuracy"
    function, given, sign = _function(scoring)
    if function is chunk_f1_score and "scheme" not in given:
        # The labels of all data decide this, because all labels of a fold may be outside chunks.
        if not chunks:
            known = ", ".join(data.label_names[:10])
            raise InputError(f"scoring: expected labels that encode chunks (B-TYPE, I-TYPE, O, ...), found {known}")
        given = {**given, "scheme": "conlleval"}
    labels = [*data.names.labels(data.label_names), None]  # index -1 stands for a missing label or a set
    score = partial(_of_tokens, function) if _is_of_tokens(function) else function

    def error(corpus: Corpus, predicted: Labels) -> float:
        return float(100 * (1 - sign * score(*by_sequence(corpus, predicted, labels, unknown or {}), **given)))

    name = scoring if isinstance(scoring, str) else getattr(function, "__name__", "score")
    return Score(_NAMES.get(function, name.replace("_", " ")), error)


def _function(scoring: Scoring) -> tuple[Callable[..., float], dict[str, Any], int]:
    """The function of gold and predicted labels, its options, and the sign that makes larger values better."""
    scorer: Any = scoring
    if isinstance(scoring, str):
        if scoring in SCORING:
            return SCORING[scoring], {}, 1
        if scoring not in get_scorer_names():
            known = ", ".join(("auto", *SCORING))
            raise InputError(f"scoring: expected one of {known}, a scikit-learn score or a function, found {scoring!r}")
        scorer = get_scorer(scoring)
    if not hasattr(scorer, "_score_func"):
        if not callable(scorer) or len(_required(scorer)) > 2:
            raise InputError(
                "scoring: expected a function of gold and predicted label sequences, or a scorer from make_scorer, "
                f"found {scorer!r:.80}"
            )
        return scorer, {}, 1
    # A scikit-learn scorer calls an estimator, and contains a function of labels, options and a sign.
    asked = _response_method(scorer)
    if asked != "predict":
        raise InputError(f"scoring: expected a score that compares labels, found a score that needs {asked}")
    return scorer._score_func, scorer._kwargs, scorer._sign


def _response_method(scorer: Any) -> Any:
    """The method that a scikit-learn scorer calls. Up to version 1.3, only the class of the scorer reveals it."""
    of_class = {"_ProbaScorer": "predict_proba", "_ThresholdScorer": "decision_function"}
    return getattr(scorer, "_response_method", of_class.get(type(scorer).__name__, "predict"))


def _required(function: Callable[..., float]) -> list[Parameter]:
    try:
        parameters = signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    positional = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    return [p for p in parameters if p.kind in positional and p.default is Parameter.empty]


def _is_of_tokens(function: Callable[..., float]) -> bool:
    """Whether this is one of scikit-learn's own functions, which take single labels, not label sequences."""
    return str(getattr(function, "__module__", "")).startswith("sklearn.")


def _of_tokens(function: Callable[..., float], gold: Iterable[Any], predicted: Iterable[Any], **given: Any) -> float:
    """Apply a function of single labels to the labels of all sequences; tokens whose gold label is None do not
    count."""
    pairs = zip(chain.from_iterable(gold), chain.from_iterable(predicted), strict=True)
    known = [pair for pair in pairs if pair[0] is not None]
    return float(function([g for g, _ in known], [p for _, p in known], **given))


def falling(rho1s: Iterable[float] | None) -> Floats | None:
    """Values of rho1 in decreasing order, as along a path."""
    return None if rho1s is None else np.sort(np.asarray(list(rho1s), dtype=np.float64))[::-1]
