"""Computes label sequences and marginals for plots of many sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.model import Model

_END: Any = object()


def in_step(gold: Iterable[Sequence[str | None]], predicted: Iterable[Any]) -> Iterator[tuple[str | None, Any]]:
    """The gold and predicted labels of all tokens; the numbers and lengths of sequences must agree."""
    for i, (ys, zs) in enumerate(zip_longest(gold, predicted, fillvalue=_END)):
        if ys is _END or zs is _END:
            more, fewer = ("predicted", "gold") if ys is _END else ("gold", "predicted")
            raise InputError(
                f"sequence {i}: expected as many predicted as gold sequences, found more {more} than {fewer} sequences"
            )
        for labels in (ys, zs):
            if isinstance(labels, str):
                raise InputError(f"sequence {i}: expected a list of labels, found the text {labels!r}")
        if len(ys) != len(zs):
            raise InputError(f"sequence {i}: expected {len(ys)} predictions, one per token, found {len(zs)}")
        yield from zip(ys, zs, strict=True)


def labelled(model: Model, X: Iterable[Iterable[Any]]) -> list[list[str]]:
    """The best labels of all sequences, on all cores."""
    corpus = model.encode(X)
    found, _ = model.chain.viterbi(corpus)
    names, offsets = [model.labels[k] for k in found], corpus.offsets
    return [names[a:b] for a, b in pairwise(offsets)]


def probabilities(model: Model, X: Iterable[Iterable[Any]]) -> list[Any]:
    """P(y_t = y) of all sequences, float64[T, Y] each, on all cores."""
    corpus = model.encode(X)
    found, offsets = model.chain.marginals(corpus), corpus.offsets
    return [found[a:b] for a, b in pairwise(offsets)]
