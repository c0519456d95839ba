"""Dense columns, which give every token a vector of numbers in addition to its attributes.

A column is an attribute, `dense[j]`, that occurs at every position. Its features are ordinary features with numbers,
weights and penalties. The core sums them as matrices (cpp/core/inference/dense_columns.hpp). Columns are standardised,
x' = (x - mean) scale, so that one penalty works for all columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sparsecrf._core import Corpus, InputError, StringTable
from sparsecrf.lazy import NDArray, np


def name_of(column: int) -> str:
    """The attribute of a dense column."""
    return f"dense[{column}]"


def name_columns(attributes: StringTable, n: int) -> None:
    """Give ids to n columns, before a corpus with these columns is encoded."""
    for j in range(n):
        attributes.intern(name_of(j))


def has_vector(token: Any) -> bool:
    """Whether a token is a pair (attributes, vector)."""
    return isinstance(token, tuple) and len(token) == 2 and hasattr(token[1], "shape") and hasattr(token[1], "dtype")


def paired(X: Iterable[Any], dense: Any) -> Iterator[list[tuple[Any, Any]]]:
    """Pair the tokens of sequences with their vectors: a matrix for each sequence, or one matrix for all of them."""
    flat = hasattr(dense, "shape") and len(dense.shape) == 2
    given, begin, i = (None if flat else iter(dense)), 0, -1
    for i, sequence in enumerate(X):
        tokens = list(sequence)
        if given is None:
            rows = dense[begin : begin + len(tokens)]
            begin += len(tokens)
        else:
            rows = next(given, None)
            if rows is None:
                raise InputError(f"dense: expected a matrix for each sequence, found only {i}")
        rows = np.asarray(rows)
        if len(rows) != len(tokens):
            raise InputError(f"sequence {i}: expected a vector for each of {len(tokens)} tokens, found {len(rows)}")
        yield list(zip(tokens, rows, strict=True))
    left = len(dense) - begin if given is None else sum(1 for _ in given)
    if left > 0:
        what = "vectors than tokens" if given is None else "matrices than sequences"
        raise InputError(f"dense: expected no more {what}, found {left} more")


class VectorReader:
    """Separates vectors from tokens in sequences of pairs (attributes, vector)."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._rows: list[Any] = []

    @classmethod
    def of(cls, first: Any) -> VectorReader | None:
        """The reader for sequences, given the first nonempty sequence; None if its tokens have no vectors."""
        found = isinstance(first, (list, tuple)) and len(first) > 0 and has_vector(first[0])
        return cls(first[0][1].size) if found else None

    def attributes(self, X: Iterable[Any]) -> Iterator[list[Any]]:
        """Yield the sequences without their vectors, and collect the vectors."""
        return (self.without(sequence, i) for i, sequence in enumerate(X))

    def without(self, sequence: Iterable[Any], i: int) -> list[Any]:
        """Sequence i without its vectors, which are collected."""
        tokens = list(sequence)
        for t, token in enumerate(tokens):
            where = f"sequence {i}, position {t}"
            if not has_vector(token):
                raise InputError(f"{where}: expected a pair (attributes, vector), found no vector")
            if (shape := token[1].shape) != (self.width,):
                raise InputError(f"{where}: expected a vector of {self.width} numbers, found shape {shape}")
        if tokens:
            self._rows.append(np.array([vector for _, vector in tokens], dtype=np.float64))
            bad = np.argwhere(~np.isfinite(self._rows[-1]))
            if len(bad):
                t, j = bad[0]
                where = f"sequence {i}, position {t}, dense column {j}"
                raise InputError(f"{where}: expected a finite number, found {self._rows[-1][t, j]}")
        return [attributes for attributes, _ in tokens]

    def matrix(self) -> NDArray[Any]:
        """All vectors, one row for each token."""
        return np.concatenate(self._rows) if self._rows else np.empty((0, self.width))


class DenseColumns:
    """The standardisation of columns: x' = (x - mean) scale."""

    def __init__(self, mean: Any, scale: Any) -> None:
        self.mean, self.scale = [float(x) for x in mean], [float(x) for x in scale]

    @classmethod
    def of(cls, values: NDArray[Any], standardize: bool = True, scale: float = 1.0) -> DenseColumns:
        """Standardise training data; constant columns become zero. `scale` multiplies all columns."""
        return cls.weighted(values, np.ones(len(values)), standardize, scale)

    @classmethod
    def weighted(cls, values: NDArray[Any], counts: NDArray[Any], standardize: bool, scale: float) -> DenseColumns:
        """Like `of`, for rows that occur `counts` times."""
        d = values.shape[1]
        if not (np.isfinite(scale) and scale > 0):
            raise InputError(f"dense_scale: expected a number above 0, found {scale!r}")
        if not standardize or len(values) == 0:
            return cls(np.zeros(d), np.full(d, scale))
        x, p = values.astype(np.float64), counts / counts.sum()
        mean = p @ x
        deviation = np.sqrt(p @ (x - mean) ** 2)
        varies = deviation > 1e-12 * np.maximum(np.abs(x).max(axis=0), 1e-300)
        return cls(mean, np.where(varies, scale / np.where(varies, deviation, 1.0), 0.0))

    @property
    def width(self) -> int:
        return len(self.mean)

    def added(self, corpus: Corpus, values: NDArray[Any], attributes: StringTable) -> Corpus:
        """The corpus with these columns added; columns without an attribute have zero weight."""
        if values.shape[1] != self.width:
            raise InputError(f"dense: expected vectors of {self.width} numbers, found {values.shape[1]}")
        made = (values - np.array(self.mean)) * np.array(self.scale)
        ids = [attributes.find(name_of(j)) for j in range(self.width)]
        return corpus.with_dense(
            np.ascontiguousarray(made, dtype=np.float32),
            np.array([-1 if x is None else x for x in ids], dtype=np.int64),
        )

    def to_json(self) -> dict[str, list[float]]:
        return {"mean": self.mean, "scale": self.scale}
