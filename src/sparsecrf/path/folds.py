"""Assigns sequences to folds, which are held out in turn, and keeps groups together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from sparsecrf._core import InputError
from sparsecrf.training.feature_sets import Numbers

DOCUMENT = "-DOCSTART-"


def documents(sequences: Iterable[Any], mark: str = DOCUMENT) -> Numbers:
    """The number of each sequence's document, for `groups=`: a sequence that begins with `mark` begins a new document.

    A sequence is a list of tokens; a token is text, a row of columns (its first cell counts) or a mapping (any value).
    """
    return np.cumsum([_begins(sequence, mark) for sequence in sequences], dtype=np.int64)


def _begins(sequence: Sequence[Any], mark: str) -> bool:
    if not len(sequence):
        return False
    token = sequence[0]
    if isinstance(token, str):
        return token == mark
    values = token.values() if hasattr(token, "values") else token[:1]
    return any(isinstance(value, str) and value == mark for value in values)


def dealt(n: int, folds: int, *, groups: Any, shuffle: bool, seed: int) -> Iterator[tuple[Numbers, Numbers]]:
    """For each fold, the sequences (of 0 .. n - 1) to train on and the sequences to hold out.

    Without `groups`, every sequence is a group of its own. Shuffled groups are assigned in random order, large ones
    first, each to the fold with the fewest sequences; otherwise folds are consecutive.
    """
    place, sizes = _grouped(n, groups)
    if not 2 <= folds <= len(sizes):
        what = "sequences" if groups is None else "groups"
        raise InputError(f"folds: expected 2 to {len(sizes)}, the number of {what}, found {folds}")
    if groups is None and shuffle:
        fold = np.empty(n, dtype=np.int64)
        fold[np.random.default_rng(seed).permutation(n)] = np.arange(n) % folds
    else:
        fold = (_shuffled(sizes, folds, seed) if shuffle else _consecutive(sizes, folds))[place]
    for k in range(folds):
        yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


def _grouped(n: int, groups: Any) -> tuple[Numbers, Numbers]:
    """The group of each sequence, numbered in order of first occurrence, and the sizes of the groups."""
    if groups is None:
        return np.arange(n), np.ones(n, dtype=np.int64)
    given = list(groups)
    if len(given) != n:
        raise InputError(f"groups: expected {n} values, one for each sequence, found {len(given)}")
    number: dict[Any, int] = {}
    place = np.array([number.setdefault(group, len(number)) for group in given], dtype=np.int64)
    return place, np.bincount(place)


def _shuffled(sizes: Numbers, folds: int, seed: int) -> Numbers:
    """The fold of each group."""
    order = np.random.default_rng(seed).permutation(len(sizes))
    filled, fold = np.zeros(folds, dtype=np.int64), np.empty(len(sizes), dtype=np.int64)
    for group in order[np.argsort(-sizes[order], kind="stable")]:
        fold[group] = np.argmin(filled)
        filled[fold[group]] += sizes[group]
    return fold


def _consecutive(sizes: Numbers, folds: int) -> Numbers:
    """The fold of each group, in order. The position of a group's middle among all sequences determines its fold; no
    fold is empty."""
    middle = np.cumsum(sizes) - sizes / 2
    fold: Numbers = np.minimum(folds - 1, (middle * folds / sizes.sum()).astype(np.int64))
    for k in range(len(sizes)):  # advance by at most one fold, and leave a group for each later fold
        before = int(fold[k - 1]) if k else -1
        fold[k] = max(min(int(fold[k]), before + 1), folds - (len(sizes) - k))
    return fold
