"""Data frames with a row for each token, of pandas or polars: their sentences, and answers as a column of theirs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import InputError

#: The column, or columns, whose values say to which sentence a row belongs.
Groups: TypeAlias = str | Sequence[str]


class Sentences(NamedTuple):
    """The rows of a frame as sentences, one after the other."""

    X: Any  #: the frame, without what says which sentence a row belongs to
    lengths: list[int]
    y: Any = None  #: a label for each row, if there are any
    #: Makes a column for the frame of an array with a value for each row.
    column: Callable[[NDArray[Any]], Any] = np.asarray


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of pandas or of polars."""
    return _is_pandas(X) or is_polars(X)


def _is_pandas(X: Any) -> bool:
    return hasattr(X, "itertuples") and hasattr(X, "iloc")


def is_polars(X: Any) -> bool:
    """Whether X is a data frame of polars."""
    return hasattr(X, "iter_rows") and hasattr(X, "get_columns")


def by_groups(X: Any, groups: Any, y: Any = None, features: Iterable[str] | None = None) -> Sentences:
    """The sentences of a frame: rows that have the same value in the column `groups`, or the same values in several.

    The rows of a sentence stand together, in order. `y` has a label for each row, or is the name of a column. Tokens
    are made of the columns `features`; None: of all that are not otherwise used.
    """
    if not is_frame(X):
        raise InputError(f"groups: expected a data frame with it, found {type(X).__name__}; lists need no groups")
    names, columns = _names(groups), list(X.columns)
    label = y if isinstance(y, str) else None
    for what, wanted in (("groups", names), ("y", [label] if label else ()), ("X", features)):
        for name in () if wanted is None else wanted:
            if name not in columns:
                raise InputError(f"{what}: expected a column of X ({_listed(columns)}), found {name!r}")
    kept = [name for name in columns if name not in (*names, label)] if features is None else list(features)
    if not kept:
        raise InputError(f"X: expected a column of tokens besides {_listed([*names, label or 'y'])}, found none")
    lengths = _lengths([_values(X, name) for name in names], names, X)
    if label is not None:
        y = _values(X, label)
    elif y is not None:
        _check_beside(X, y)
        y = y.to_list() if hasattr(y, "to_list") else y
    return Sentences(X[kept], lengths, y, _column_of(X))


def check_one_of(lengths: Any, groups: Any) -> None:
    """Raise if sequences are told apart in two ways."""
    if lengths is not None:
        raise InputError(f"lengths: expected none with groups={groups!r:.60}, found both")


def _names(groups: Any) -> list[str]:
    names = [groups] if isinstance(groups, str) else list(groups)
    if not names or not all(isinstance(name, str) for name in names):
        raise InputError(f"groups: expected the name of a column, or a list of names, found {groups!r:.60}")
    return names


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(map(str, names[:10])) + (", ..." if len(names) > 10 else "")


def _values(X: Any, name: str) -> list[Any]:
    return X[name].to_list()  # type: ignore[no-any-return]


def _lengths(columns: list[list[Any]], names: list[str], X: Any) -> list[int]:
    """How many rows each sentence has. Its rows must stand together: an id that comes again could be another's."""
    ids: Any = columns[0] if len(columns) == 1 else zip(*columns, strict=True)
    lengths, seen, row = list[int](), dict[Any, int](), 0
    for group, rows in groupby(ids):
        for name, part in zip(names, (group,) if len(columns) == 1 else group, strict=True):
            if part is None or part != part or type(part).__name__ == "NAType":
                raise InputError(f"groups: expected a value of {name!r} in every row, found {part!r} in row {row}")
        if group in seen:
            remedy = "sort the frame, or name more columns: groups=['document', 'sentence']"
            raise InputError(
                f"groups: expected the rows of a sentence one after the other, found {group!r} in rows {seen[group]} "
                f"and {row} with others between; {remedy}"
            )
        seen[group] = row
        lengths.append(sum(1 for _ in rows))
        row += lengths[-1]
    return lengths


def _check_beside(X: Any, y: Any) -> None:
    """Raise for labels that are not one for each row, or in another order by their index."""
    if not hasattr(y, "__len__"):
        return
    if len(y) != len(X):
        raise InputError(f"y: expected {len(X)} labels, one for each row of X, found {len(y)}")
    if _is_pandas(X) and hasattr(y, "iloc") and not y.index.equals(X.index):
        raise InputError("y: expected the index of X, found another; y.loc[X.index] brings labels into its order")


def _column_of(X: Any) -> Callable[[NDArray[Any]], Any]:
    if is_polars(X):
        import polars

        return lambda values: polars.Series("label", values.tolist())
    import pandas

    return lambda values: pandas.Series(values.tolist(), index=X.index, name="label")


def rows_of(frame: Any, columns: bool, lengths: Sequence[int], first: int = 0) -> list[Any]:
    """The rows of a frame as tokens: mappings by the names of its columns or, with `columns`, rows of text.

    Errors name the sequence, of these lengths from number `first` on, the position and the column.
    """
    names = list(frame.columns)
    cells = [
        frame.iloc[:, k].tolist() if _is_pandas(frame) else frame.get_columns()[k].to_list() for k in range(len(names))
    ]
    for name, values in zip(names, cells, strict=True):
        _check_cells(values, name, columns, lengths, first)
    if columns:
        return list(zip(*cells, strict=True))
    return [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)]


def _check_cells(values: list[Any], name: Any, columns: bool, lengths: Sequence[int], first: int) -> None:
    """Raise for a cell that is missing or, where rows are columns of a template, no text."""
    for row, value in enumerate(values):
        if isinstance(value, str):
            continue
        if _is_missing(value):
            remedy = "fill it (X.fillna(...)) or drop the row"
        elif columns:
            remedy = "make the column text (X.astype(str))"
        else:
            continue
        i, t = _place(row, lengths)
        expected = "text" if columns else "text or a number"
        raise InputError(
            f"sequence {first + i}, position {t}, column {name!r}: expected {expected}, found {value!r:.60}; {remedy}"
        )


def _place(row: int, lengths: Sequence[int]) -> tuple[int, int]:
    """Sequence and position of a row."""
    for i, length in enumerate(lengths):
        if row < length:
            return i, row
        row -= length
    return len(lengths), row


def _is_missing(value: Any) -> bool:
    """None, NaN, and what else pandas has for it."""
    return (
        value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")
    )
