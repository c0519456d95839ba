"""Sequences, labels and weights as people give them, one sequence at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.encoding.matrix import Csr, is_matrix


def sequences(X: Any, lengths: Iterable[int] | None = None, *, columns: bool = False) -> Iterator[Any]:
    """The token sequences of X, each with a length: those that `lengths` cut it into, or its items.

    Matrices come as `Csr`. The rows of a pandas data frame are mappings by the names of its columns, or, with
    `columns`, rows of text.
    """
    if lengths is not None:
        X = cut(Csr(X) if is_matrix(X) else X, lengths, "X")
    elif is_matrix(X):
        raise InputError("X: expected lengths= with one matrix for all sequences, found none")
    elif hasattr(X, "itertuples"):
        hint = "or a frame for each: [frame for _, frame in X.groupby(...)]"
        raise InputError(f"X: expected lengths= with one data frame for all sequences, {hint}; found neither")
    elif X is None or isinstance(X, (str, bytes, Mapping)) or not hasattr(X, "__iter__"):
        raise InputError(f"X: expected a list of sequences, found {_described(X)}")
    for i, sequence in enumerate(X):
        if isinstance(sequence, (str, bytes, Mapping)):
            hint = "X is a list of sequences, one sentence is [[...]]"
            raise InputError(f"sequence {i}: expected a list of tokens, found {_described(sequence)}; {hint}")
        if is_matrix(sequence) or isinstance(sequence, Csr):
            matrix = sequence if isinstance(sequence, Csr) else Csr(sequence)
            matrix.check_finite(i)
            yield matrix
        elif hasattr(sequence, "itertuples"):
            rows = sequence.values.tolist() if columns else sequence.to_dict("records")
            _check_cells(rows if columns else (row.values() for row in rows), list(sequence.columns), i, columns)
            yield rows
        else:
            yield sequence if hasattr(sequence, "__len__") else _listed(sequence, i)


def _check_cells(rows: Iterable[Iterable[Any]], names: list[Any], i: int, columns: bool) -> None:
    """Raise for a cell of a data frame that is missing or, where rows are columns of a template, no text."""
    for t, row in enumerate(rows):
        for name, value in zip(names, row, strict=False):
            if columns and isinstance(value, str):
                continue
            if _is_missing(value):
                remedy = "fill it (X.fillna(...)) or drop the row"
            elif columns:
                remedy = "make the column text (X.astype(str))"
            else:
                continue
            expected = "text" if columns else "text or a number"
            raise InputError(
                f"sequence {i}, position {t}, column {name!r}: expected {expected}, found {value!r:.60}; {remedy}"
            )


def _is_missing(value: Any) -> bool:
    """None, NaN, and what else pandas has for it."""
    return (
        value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")
    )


def beside(values: Any, lengths: Iterable[int] | None, what: str) -> Iterable[Any]:
    """What comes with the tokens (labels, weights), a sequence for each; cut by `lengths` if it is flat."""
    if values is None:
        raise InputError(f"{what}: training requires {what} to be passed, but the target {what} is None")
    if lengths is not None and hasattr(values, "__len__") and len(values) > 0 and _is_flat(next(iter(values))):
        return cut(values, lengths, what)
    return _items(values, what)


def cut(values: Any, lengths: Iterable[int], what: str) -> Iterator[Any]:
    """Parts of these lengths, one after the other; together they must be everything."""
    values = values if hasattr(values, "__len__") else list(values)
    lengths, total, begin = list(lengths), len(values), 0
    for i, length in enumerate(lengths):
        if length < 0:
            raise InputError(f"lengths: expected a length of 0 or more for sequence {i}, found {length}")
    if sum(lengths) != total:
        raise InputError(f"lengths: expected a sum of {total}, the length of {what}, found {sum(lengths)}")
    for length in lengths:
        yield values[begin : begin + length]
        begin += length


def _items(values: Any, what: str) -> Iterator[Any]:
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__iter__"):
        raise InputError(f"{what}: expected a list of sequences, found {_described(values)}")
    for i, value in enumerate(values):
        if _is_flat(value):
            raise InputError(f"{what}, sequence {i}: expected a list with an entry for each token, found {value!r}")
        yield value


def _is_flat(value: Any) -> bool:
    """One label or weight, not a sequence of them."""
    return value is None or isinstance(value, (str, bytes)) or not hasattr(value, "__iter__")


def _listed(sequence: Any, i: int) -> list[Any]:
    try:
        return list(sequence)
    except TypeError:
        raise InputError(f"sequence {i}: expected a list of tokens, found {_described(sequence)}") from None


def _described(x: Any) -> str:
    return "None" if x is None else f"{type(x).__name__} {repr(x)[:60]}"
