"""Tokens that are the rows of a matrix of numbers. Column k is the attribute `xk`, and an entry is its value."""

from __future__ import annotations

from typing import Any

from sparsecrf._core import InputError, StringTable
from sparsecrf.lazy import NDArray, np

_NOT_ASKED = -2


def is_matrix(x: Any) -> bool:
    """Whether x is a two-dimensional NumPy array of numbers, or a sparse matrix or array of SciPy."""
    if hasattr(x, "tocsr"):
        return True
    return getattr(x, "ndim", None) == 2 and getattr(getattr(x, "dtype", None), "kind", "O") in "fiub"


class Csr:
    """A matrix in the core's format. Zeros are either omitted or stored as entries without effect."""

    def __init__(self, matrix: Any) -> None:
        if hasattr(matrix, "tocsr"):
            sparse = matrix.tocsr()
            ptr, column, value = sparse.indptr, sparse.indices, sparse.data
        else:
            matrix = np.asarray(matrix)  # a row of an np.matrix would be a matrix again
            row, column = np.nonzero(matrix)
            ptr, value = np.searchsorted(row, np.arange(matrix.shape[0] + 1)), matrix[row, column]
        self.ptr: NDArray[np.int64] = np.ascontiguousarray(ptr, dtype=np.int64)  #: [rows + 1]
        self.column: NDArray[np.int32] = np.ascontiguousarray(column, dtype=np.int32)
        self.value: NDArray[np.float64] = np.ascontiguousarray(value, dtype=np.float64)
        self.shape: tuple[int, int] = matrix.shape

    def __len__(self) -> int:
        return len(self.ptr) - 1

    def check_finite(self, i: int) -> None:
        """Reject an entry of sequence i that is not a finite number."""
        begin = int(self.ptr[0])
        wrong = np.flatnonzero(~np.isfinite(self.value[begin : self.ptr[-1]]))
        if wrong.size > 0:
            k = begin + int(wrong[0])
            t = int(np.searchsorted(self.ptr, k, side="right")) - 1
            where = f"sequence {i}, position {t}, column {self.column[k]}"
            raise InputError(f"{where}: expected a finite number, found {self.value[k]}; fill or drop it first")

    def __getitem__(self, rows: slice) -> Csr:
        """Consecutive rows, without a copy."""
        begin, end, _ = rows.indices(len(self))
        part = object.__new__(Csr)
        part.ptr, part.column, part.value = self.ptr[begin : end + 1], self.column, self.value
        part.shape = (end - begin, self.shape[1])
        return part


class Columns:
    """The attributes of the columns of a matrix."""

    def __init__(self, attributes: StringTable, grow: bool) -> None:
        self._attributes, self._grow = attributes, grow
        self._ids: NDArray[np.int64] | None = None

    def ids(self, matrix: Csr) -> NDArray[np.int64]:
        """The id of every column in which these rows have an entry; -1 if it is not in the vocabulary."""
        width = matrix.shape[1]
        if self._ids is None:
            self._ids = np.full(width, _NOT_ASKED, dtype=np.int64)
            self._check_known(width)
        if len(self._ids) != width:
            raise InputError(f"expected {len(self._ids)} columns in every matrix, found {width}")
        here = matrix.column[matrix.ptr[0] : matrix.ptr[-1]]
        for k in np.unique(here[self._ids[here] == _NOT_ASKED]).tolist():
            name = f"x{k}"
            found = self._attributes.intern(name) if self._grow else self._attributes.find(name)
            self._ids[k] = -1 if found is None else found
        return self._ids

    def _check_known(self, width: int) -> None:
        """Reject a matrix whose columns are all missing from the vocabulary, which was then built from other kinds of
        tokens."""
        n = len(self._attributes)
        if self._grow or n < 2 or any(self._attributes.find(f"x{k}") is not None for k in range(width)):
            return  # a single attribute may be the bias of a model without other weights
        names = "x0" if width == 1 else f"x0 to x{width - 1}"
        raise InputError(
            f"expected tokens with attributes such as {self._attributes[n - 1]!r}, found a matrix ({names})"
        )
