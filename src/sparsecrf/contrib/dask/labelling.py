"""`label`: applies a model to partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from dask import delayed
from dask.bag import Bag, from_delayed
from distributed import Client

from sparsecrf._core import InputError
from sparsecrf.contrib.dask.cluster import named_errors
from sparsecrf.lazy import np
from sparsecrf.model import Model
from sparsecrf.shards.shards import itself


def label(client: Client, model: Model, X: Any, *, marginals: bool = False) -> Any:
    """The best labels of each sequence, or its marginals, with a row for each token and a column for each label of
    model.labels.

    The function is lazy, like Dask's own functions. It returns a bag for a bag, and a list of delayed objects for a
    list of partitions. The model is sent to the cluster once, then passed from worker to worker.
    """
    return over_partitions(client, model, X, _marginals if marginals else _labels)


def over_partitions(client: Client, model: Any, X: Any, answer: Callable[[Any, list[Any]], Iterable[Any]]) -> Any:
    """Call answer(model, sequences) for each partition. `model` is anything that can be pickled."""
    # Use a task instead of scattered data, since a task is rerun if its worker is lost.
    sent = client.submit(itself, model, pure=False)
    work = partial(_partition, answer)
    if not isinstance(X, (Bag, list, tuple)):
        raise InputError(f"X: expected a bag, or a list of partitions, found {type(X).__name__}")
    parts = X.to_delayed() if isinstance(X, Bag) else X
    answers = [delayed(work, pure=False)(k, sent, part) for k, part in enumerate(parts)]
    return from_delayed(answers) if isinstance(X, Bag) else answers


def _partition(answer: Callable[[Any, list[Any]], Iterable[Any]], k: int, model: Any, part: Any) -> list[Any]:
    return list(named_errors(k, answer, model, list(part)))


def _labels(model: Model, X: list[Any]) -> list[list[str]]:
    return [model.label(sequence) if len(sequence) else [] for sequence in X]


def _marginals(model: Model, X: list[Any]) -> list[Any]:
    return [model.marginals(x) if len(x) else np.empty((0, len(model.labels))) for x in X]
