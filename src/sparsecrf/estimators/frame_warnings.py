"""Warnings about data frames whose columns are probably used by mistake."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from sparsecrf.encoding.template import Template
from sparsecrf.estimators.frames import cells, is_frame, is_missing
from sparsecrf.warn import warn_caller


def frames_in(X: Any) -> list[Any]:
    """X itself, or its items, if they are data frames. A generator is not inspected, since it can be read only once."""
    if is_frame(X):
        return [X]
    return list(X) if isinstance(X, (list, tuple)) and len(X) > 0 and all(map(is_frame, X)) else []


def warn_of_labels(X: Any, y: Any) -> None:
    """Warn if a column of the frames has the label of every token whose label is known."""
    frames = frames_in(X)
    if not frames or not hasattr(y, "__len__") or isinstance(y, str):
        return
    labels = _each(y)
    alike, n_known = list(enumerate(frames[0].columns)), 0  # columns that equal y so far
    for frame in frames:
        own = list(islice(labels, len(frame)))
        n_known += sum(not is_missing(label) for label in own)
        alike = [(k, name) for k, name in alike if k < len(frame.columns) and _has(cells(frame, k), own)]
        if not alike:
            return
    if n_known > 0:
        warn_caller(f"X, column {alike[0][1]!r}: the same as y at every token; is it the label? Leave it out of X")


def warn_of_unused(X: Any, template: Template | None) -> None:
    """Warn of columns of the frames that a template does not read."""
    frames = frames_in(X)
    if not frames or template is None or not 0 < template.n_columns < len(frames[0].columns):
        return
    names = [repr(name) for name in frames[0].columns]
    read, others = names[: template.n_columns], names[template.n_columns :]
    taken = f"column {read[0]} is taken for the word" if len(read) == 1 else f"the template reads {', '.join(read)}"
    warn_caller(
        f"X: {taken}; {', '.join(others)} {'is' if len(others) == 1 else 'are'} not used. The first columns are read"
    )


def _each(y: Iterable[Any]) -> Iterator[Any]:
    """The labels of all tokens, given as one list or as a list per sequence."""
    for item in y.tolist() if hasattr(y, "tolist") else y:
        if isinstance(item, (str, set, frozenset)) or not hasattr(item, "__iter__"):
            yield item
        else:
            yield from item


def _has(values: list[Any], labels: list[Any]) -> bool:
    """Whether the values equal all known labels."""
    return all(
        is_missing(label)
        or (
            not is_missing(value)
            and (isinstance(value, type(label)) or isinstance(label, type(value)))
            and bool(value == label)
        )
        for value, label in zip(values, labels, strict=False)
    )
