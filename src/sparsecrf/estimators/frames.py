"""Splits pandas and polars data frames with a row for each token into sentences, and returns answers as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import InputError
from sparsecrf.encoding.template import Template
from sparsecrf.warn import warn_caller

#: The name or names of the columns that identify the sentence of a row, or an identifier of the sentence for each row.
SentenceColumn: TypeAlias = str | Sequence[Any]


#: A column with the same name as y is taken to be the labels, perhaps with changes, if it agrees with at least this
#: share of them.
_SAME_LABELS = 0.5


class Sentences(NamedTuple):
    """The rows of a frame, with the lengths of the consecutive sentences that they form."""

    X: Any  #: the frame, without the columns that identify sentences
    lengths: list[int]
    y: Any = None  #: a label for each row, if there are any
    #: Turns an array with a value for each row into a column for the frame.
    column: Callable[[NDArray[Any]], Any] = np.asarray


def is_frame(X: Any) -> bool:
    """Whether X is a pandas or polars data frame."""
    return _is_pandas(X) or is_polars(X)


def _is_pandas(X: Any) -> bool:
    return hasattr(X, "itertuples") and hasattr(X, "iloc")


def is_polars(X: Any) -> bool:
    """Whether X is a polars data frame."""
    return hasattr(X, "iter_rows") and hasattr(X, "get_columns")


def split_sentences(X: Any, sentences: Any, y: Any = None, features: Iterable[str] | None = None) -> Sentences:
    """The sentences of a frame: consecutive rows with the same value in the column `sentences`, or the same values in
    several columns.

    `sentences` may also be the values themselves, one for each row. `y` contains a label for each row, or is the name
    of a column. Tokens are made from the columns `features`; by default, from all columns that are not used otherwise,
    by name or by value.
    """
    if not is_frame(X):
        raise InputError(
            f"sentences: expected X to be a data frame, found {type(X).__name__}; omit sentences for lists"
        )
    columns = list(X.columns)
    names, values = _told_apart_by(X, sentences)
    label = y if isinstance(y, str) else None
    for what, wanted in (("sentences", names), ("y", [label] if label else ()), ("X", features)):
        for name in () if wanted is None else wanted:
            if name not in columns:
                raise InputError(f"{what}: expected a column of X ({_listed(columns)}), found {name!r}")
    if values is None:
        values = [X[name].to_list() for name in names]
    else:
        names = [name for k, name in enumerate(columns) if _agreement(cells(X, k), values[0]) == 1]
    lengths = _lengths(values, names or ["sentences"])
    if label is not None:
        y = labels_in(X[label])
    elif y is not None:
        _check_beside(X, y, "y", "labels")
        label, y = named(y), labels_in(y)
        # The labels may have been derived from a column with this name.
        if label in columns and _agreement(X[label].to_list(), y) < _SAME_LABELS:
            label = None
    kept = [name for name in columns if name not in (*names, label)] if features is None else list(features)
    if not kept:
        raise InputError(f"X: expected at least one column besides {_listed([*names, label or 'y'])}, found none")
    return Sentences(X[kept], lengths, y, _column_of(X))


def is_series(values: Any) -> bool:
    """Whether this is a pandas or polars column."""
    return hasattr(values, "to_list") and hasattr(values, "dtype")


def named(values: Any) -> str | None:
    """The name of a column; None if it has no name or is not a column."""
    name = values.name if is_series(values) else None
    return name if isinstance(name, str) else None


def labels_in(y: Any) -> Any:
    """The labels of a column, with None for missing ones; other objects are returned unchanged."""
    return [None if is_missing(label) else label for label in y.to_list()] if is_series(y) else y


def _agreement(column: Sequence[Any], values: Sequence[Any]) -> float:
    """The share of equal values among the rows with a value in both columns; 0 if there are no such rows."""
    both = [(a, b) for a, b in zip(column, values, strict=True) if not is_missing(a) and not is_missing(b)]
    return sum(bool(a == b) for a, b in both) / len(both) if both else 0.0


def check_one_of(lengths: Any, sentences: Any) -> None:
    """Reject `lengths` together with `sentences`."""
    if lengths is not None:
        how = f"={sentences!r:.60}" if isinstance(sentences, (str, list, tuple)) else ""
        raise InputError(f"lengths: cannot be combined with sentences{how}")


def of_other(sentences: Any, X: Any, features: Iterable[str] | None = None) -> Any:
    """The column names in `sentences`, to identify the sentences of another frame in the same way."""
    if not is_frame(X) or isinstance(sentences, str):
        return sentences
    if isinstance(sentences, (list, tuple)) and all(name in X.columns for name in sentences):
        return sentences
    name = named(sentences)
    if name is None or name not in X.columns or name in (features or ()):
        raise InputError(
            "sentences: with dev, expected the name of a column in both frames, found "
            f"{type(sentences).__name__} for one frame"
        )
    return name


def _told_apart_by(X: Any, sentences: Any) -> tuple[list[str], list[list[Any]] | None]:
    """The names of the columns that identify sentences; or, if they are not given by name, a value for each row."""
    if isinstance(sentences, str):
        return [sentences], None
    if isinstance(sentences, (list, tuple)):
        by_name = len(sentences) > 0 and all(isinstance(name, str) for name in sentences)
        if by_name and (len(sentences) != len(X) or all(name in X.columns for name in sentences)):
            return list(sentences), None
        is_flat = all(value is None or isinstance(value, str) or not hasattr(value, "__len__") for value in sentences)
    else:
        is_flat = is_series(sentences) or getattr(sentences, "ndim", 0) == 1
    if not is_flat or len(sentences) == 0:
        found = f"{sentences!r:.60}" if isinstance(sentences, (list, tuple, int)) else type(sentences).__name__
        raise InputError(
            f"sentences: expected the name of a column, or a list of names, found {found}; keep the columns in X and "
            "give their names: sentences='sentence'"
        )
    _check_beside(X, sentences, "sentences", "values")
    return [], [sentences.to_list() if is_series(sentences) else list(sentences)]


def _listed(names: Sequence[Any]) -> str:
    return ", ".join(map(str, names[:10])) + (", ..." if len(names) > 10 else "")


def cells(frame: Any, k: int) -> list[Any]:
    """The values of the k-th column. Two columns may have the same name."""
    found: list[Any] = frame.iloc[:, k].tolist() if _is_pandas(frame) else frame.get_columns()[k].to_list()
    return found


def _lengths(columns: list[list[Any]], names: list[str]) -> list[int]:
    """The number of rows in each sentence. The rows of a sentence must be adjacent: an id that occurs again could be a
    different sentence."""
    ids: Any = columns[0] if len(columns) == 1 else zip(*columns, strict=True)
    lengths, seen, row = list[int](), dict[Any, int](), 0
    for group, rows in groupby(ids):
        for name, part in zip(names, (group,) if len(columns) == 1 else group, strict=len(columns) > 1):
            if is_missing(part):
                raise InputError(f"sentences: expected a value of {name!r} in every row, found {part!r} in row {row}")
        if group in seen:
            remedy = "sort the frame, or give more columns: sentences=['document', 'sentence']"
            raise InputError(
                f"sentences: expected the rows of a sentence to be adjacent, found {group!r} in rows "
                f"{seen[group]} and {row} with rows of other sentences between them; {remedy}"
            )
        seen[group] = row
        lengths.append(sum(1 for _ in rows))
        row += lengths[-1]
    return lengths


def _check_beside(X: Any, values: Any, what: str, plural: str) -> None:
    """Reject labels or sentences whose number or index differs from the rows of X."""
    if not hasattr(values, "__len__"):
        return
    if len(values) != len(X):
        raise InputError(f"{what}: expected {len(X)} {plural}, one for each row of X, found {len(values)}")
    if _is_pandas(X) and hasattr(values, "iloc") and not values.index.equals(X.index):
        order = f"{what}.loc[X.index] brings the {plural} into the order of X"
        raise InputError(f"{what}: expected the same index as X, found a different index; {order}")


def _column_of(X: Any) -> Callable[[NDArray[Any]], Any]:
    if is_polars(X):
        import polars

        return lambda values: polars.Series("label", values.tolist())
    import pandas

    return lambda values: pandas.Series(values.tolist(), index=X.index, name="label")


def rows_of(frame: Any, columns: bool, lengths: Sequence[int], first: int = 0) -> list[Any]:
    """The rows of a frame as tokens: mappings by column name or, with `columns`, rows of text.

    The rows form sequences of these lengths, numbered from `first` on. Errors name the sequence, the position and the
    column.
    """
    names = list(frame.columns)
    by_column = [cells(frame, k) for k in range(len(names))]
    for name, values in zip(names, by_column, strict=True):
        _check_cells(values, name, columns, lengths, first)
    if columns:
        return list(zip(*by_column, strict=True))
    return [dict(zip(names, row, strict=True)) for row in zip(*by_column, strict=True)]


def _check_cells(values: list[Any], name: Any, columns: bool, lengths: Sequence[int], first: int) -> None:
    """Reject a missing cell or, for template columns, a cell that is not text."""
    for row, value in enumerate(values):
        if isinstance(value, str):
            continue
        if is_missing(value):
            remedy = "fill it (X.fillna(...)) or drop the row"
        elif columns:
            remedy = "make the column text (X.astype(str)), or leave it out"
        else:
            continue
        i, t = _place(row, lengths)
        expected = "text" if columns else "text or a number"
        raise InputError(
            f"sequence {first + i}, position {t}, column {name!r}: expected {expected}, found {value!r:.60}; {remedy}"
        )


def _place(row: int, lengths: Sequence[int]) -> tuple[int, int]:
    """The sequence and the position of a row."""
    for i, length in enumerate(lengths):
        if row < length:
            return i, row
        row -= length
    return len(lengths), row


def is_missing(value: Any) -> bool:
    """Whether a cell is None, NaN, or another missing value of pandas."""
    return (
        value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")
    )


def frames_in(X: Any) -> list[Any]:
    """X itself if it is a data frame, otherwise its items that are. A generator is not inspected, since it can be read
    only once."""
    if is_frame(X):
        return [X]
    return list(X) if isinstance(X, (list, tuple)) and len(X) > 0 and all(map(is_frame, X)) else []


def warn_of_labels(X: Any, y: Any) -> None:
    """Warn if a column of the frames contains the label of every token whose label is known."""
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
        warn_caller(
            f"X: column {alike[0][1]!r} equals y at every token; if the column contains the label, leave it out of X"
        )


def warn_of_unused(X: Any, template: Template | None) -> None:
    """Warn of columns of the frames that a template does not read."""
    frames = frames_in(X)
    if not frames or template is None or not 0 < template.n_columns < len(frames[0].columns):
        return
    names = [repr(name) for name in frames[0].columns]
    read, others = names[: template.n_columns], names[template.n_columns :]
    taken = f"column {read[0]} is used as the word" if len(read) == 1 else f"the template reads {', '.join(read)}"
    warn_caller(
        f"X: {taken}; {', '.join(others)} {'is' if len(others) == 1 else 'are'} not used, because the template "
        "reads only the first columns"
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
