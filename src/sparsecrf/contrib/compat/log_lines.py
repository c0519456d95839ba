"""The log of a training run in CRFsuite's format, which programs parse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sparsecrf.contrib.compat.training_log import NUMBERS, LabelScore, accuracy

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
#: Parameters that have another name in the log of lbfgs.
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
    """`info`: as the parser returns it; missing entries are left out."""
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
    """`active`: of features, attributes and labels, how many are in the file and how many there were."""
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
    """Compare the predicted labels (ids of all tokens) with those of the data; sequences begin at offsets."""
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
