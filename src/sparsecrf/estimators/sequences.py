"""Reads sequences, labels and weights in all accepted forms, one sequence at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.encoding.matrix import Csr, is_matrix
from sparsecrf.estimators.frames import is_frame, is_polars, labels_in, rows_of

#: Code that makes a frame for each sentence, by whether the frame is from polars.
_HOW_TO_SPLIT = {
    False: "parts = [part for _, part in frame.groupby('sentence', sort=False)]",
    True: "parts = frame.partition_by('sentence', maintain_order=True)",
}
_OF_PARTS = "X = [part[['word', 'tag']] for part in parts], y = [part['label'].to_list() for part in parts]"


def sequences(X: Any, lengths: Iterable[int] | None = None, *, columns: bool = False) -> Iterator[Any]:
    """The token sequences of X, all of which have a length: its items, or the parts into which `lengths` cuts it.

    Matrices become `Csr`. The rows of a data frame become mappings by column name or, with `columns`, rows of text.
    """
    if lengths is not None:
        lengths = list(lengths)
        if is_frame(X):
            check_lengths(lengths, len(X), "X")
            X = rows_of(X, columns, lengths)
        X = cut(Csr(X) if is_matrix(X) else X, lengths, "X")
    elif is_matrix(X):
        raise InputError("X: a single matrix for all sequences needs lengths=")
    elif is_frame(X):
        hint = "sentences= with the column that identifies the sentences, or a frame for each"
        split = _HOW_TO_SPLIT[is_polars(X)]
        raise InputError(
            f"X: expected lengths= with one data frame for all sequences, {hint}; found none of these. The searches "
            f"of scikit-learn (GridSearchCV, cross_val_score) split by sentence if X and y are lists: {split}, then, "
            f"with the names of your columns, {_OF_PARTS}"
        )
    elif X is None or isinstance(X, (str, bytes, Mapping)) or not hasattr(X, "__iter__"):
        raise InputError(f"X: expected a list of sequences, found {_described(X)}")
    for i, sequence in enumerate(X):
        if type(sequence) is list:  # the usual case, which needs no checks for matrices and frames
            yield sequence
        elif isinstance(sequence, (str, bytes, Mapping)):
            if isinstance(sequence, str) and len(sequence.split()) > 1:
                hint = "split texts into tokens as in training, such as [text.split() for text in X]"
            else:
                hint = "X is a list of sequences of tokens; for a single sentence, pass [X]"
            raise InputError(f"sequence {i}: expected a list of tokens, found {_described(sequence)}; {hint}")
        elif is_matrix(sequence) or isinstance(sequence, Csr):
            matrix = sequence if isinstance(sequence, Csr) else Csr(sequence)
            matrix.check_finite(i)
            yield matrix
        elif is_frame(sequence):
            yield rows_of(sequence, columns, [len(sequence)], i)
        else:
            yield sequence if hasattr(sequence, "__len__") else _listed(sequence, i)


def beside(values: Any, lengths: Iterable[int] | None, what: str) -> Iterable[Any]:
    """Labels or weights of the tokens, sequence by sequence; split by `lengths` if they are flat."""
    if values is None:
        raise InputError(f"{what}: training requires {what} to be passed, but the target {what} is None")
    if lengths is not None and hasattr(values, "__len__") and len(values) > 0 and _is_flat(next(iter(values))):
        return cut(values, lengths, what)
    return _items(values, what)


def labels_beside(y: Any, lengths: Iterable[int] | None, what: str = "y") -> Iterator[Any]:
    """The labels of each sequence; None for missing values in a data frame column."""
    return map(labels_in, beside(y, lengths, what))


def cut(values: Any, lengths: Iterable[int], what: str) -> Iterator[Any]:
    """Consecutive parts of these lengths, which must cover all values."""
    values = values if hasattr(values, "__len__") else list(values)
    lengths, begin = list(lengths), 0
    check_lengths(lengths, len(values), what)
    for length in lengths:
        yield values[begin : begin + length]
        begin += length


def check_lengths(lengths: list[int], total: int, what: str) -> None:
    """Reject lengths that do not add up to `total`, the length of `what`."""
    for i, length in enumerate(lengths):
        if length < 0:
            raise InputError(f"lengths: expected a length >= 0 for sequence {i}, found {length}")
    if sum(lengths) != total:
        raise InputError(f"lengths: expected a sum of {total}, the length of {what}, found {sum(lengths)}")


def _items(values: Any, what: str) -> Iterator[Any]:
    if isinstance(values, (str, bytes, Mapping)) or not hasattr(values, "__iter__"):
        raise InputError(f"{what}: expected a list of sequences, found {_described(values)}")
    for i, value in enumerate(values):
        if _is_flat(value):
            raise InputError(f"{what}, sequence {i}: expected a list with an entry for each token, found {value!r}")
        yield value


def _is_flat(value: Any) -> bool:
    """Whether this is one label (or a set of possible labels) or one weight, not a sequence of them."""
    return value is None or isinstance(value, (str, bytes, set, frozenset)) or not hasattr(value, "__iter__")


def _listed(sequence: Any, i: int) -> list[Any]:
    try:
        return list(sequence)
    except TypeError:
        raise InputError(f"sequence {i}: expected a list of tokens, found {_described(sequence)}") from None


def _described(x: Any) -> str:
    return "None" if x is None else f"{type(x).__name__} {repr(x)[:60]}"
