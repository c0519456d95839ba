"""Turns word vectors into dense columns of tokens: `CRF(vectors="glove.6B.50d.txt")`, `sparsecrf train --vectors`.

A word gets the vector of its exact form, or else the vector of its lowercase form. If there is neither, its columns are
zero after standardisation, like the columns of an average word, and an extra column marks it. The core looks words up
(cpp/core/text/word_vectors).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from sparsecrf import _core
from sparsecrf._core import Corpus, InputError, StringTable
from sparsecrf.encoding.dense import DenseColumns
from sparsecrf.encoding.vector_files import Path, check_finite, kept_rows, read_vectors, width_of
from sparsecrf.lazy import NDArray, lazy, np

WIDEST_WINDOW = 10  # maximum number of words on either side whose vectors a token can use


class Origin(NamedTuple):
    """The file that a model refers to instead of keeping the vectors."""

    path: str
    words: str | None  #: file with the words of the rows of an .npy file
    sha256: str


class WordVectors:
    """Vectors of some words, for `CRF(vectors=...)`. Immutable."""

    def __init__(self, words: Iterable[str], values: Any, *, column: int = 0, window: int = 0) -> None:
        """`values` [words, width]. If a word is listed twice, its first vector is used.

        `column`: the column of the word, for tokens that are rows of columns. `window`: the number of words before and
        after a token whose vectors it also uses.
        """
        given, names = np.asarray(values, dtype=np.float32), list(words)
        if given.ndim != 2 or len(given) != len(names):
            raise InputError(
                f"vectors: expected a row for each of {len(names)} words, found an array of shape {given.shape}"
            )
        kept, table = kept_rows(names, None)
        self._set(table, np.ascontiguousarray(given[kept]), given.shape[1], column, window)
        check_finite(self.values, table, "vectors")

    def _set(
        self, table: StringTable, values: Any, width: int, column: int, window: int, origin: Origin | None = None
    ) -> None:
        for name, number in (("column", column), ("window", window)):
            if type(number) is not int or number < 0:
                raise InputError(f"vectors, {name}: expected an integer >= 0, found {number!r}")
        if window > WIDEST_WINDOW:
            raise InputError(f"vectors, window: expected at most {WIDEST_WINDOW} words, found {window}")
        self.table = table  #: the word of each row
        self._values = values  # float32 [n, d], an array or the view of a file
        self.width = width  #: length of each vector
        self.column, self.window, self.origin = column, window, origin

    @classmethod
    def _made(cls, *parts: Any) -> WordVectors:
        """Build an object from checked parts, which are the arguments of `_set`."""
        made = cls.__new__(cls)
        made._set(*parts)
        return made

    @classmethod
    def load(
        cls,
        path: Path,
        words: Path | None = None,
        *,
        column: int = 0,
        window: int = 0,
        store: bool = True,
        wanted: StringTable | None = None,
    ) -> WordVectors:
        """Read a file: one word with its vector per line, with or without word2vec's header (count and width); or an
        `.npy` file, whose rows belong to the lines of the text file `words`.

        `column` and `window` are passed to the constructor. With `store=False`, a model keeps the path and a checksum
        instead of the vectors. If `wanted` is given, only the vectors of these words and their lowercase forms are kept
        in memory.
        """
        read = read_vectors(path, words, wanted)
        origin = None
        if not store:
            origin = Origin(os.path.abspath(path), None if words is None else os.path.abspath(words), read.sha256)
        return cls._made(read.words, read.values, read.values.shape[1], column, window, origin)

    @property
    def values(self) -> NDArray[np.float32]:
        """[words, width]"""
        return np.asarray(self._values, dtype=np.float32).reshape(len(self.table), self.width)

    @lazy
    def place(self) -> Mapping[str, int]:
        """The row of each word."""
        return {self.table[k]: k for k in range(len(self.table))}

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return f"<vectors of {len(self):,} words, {self.width} dimensions>"

    def __deepcopy__(self, memo: Any) -> WordVectors:
        return self  # scikit-learn copies parameters, so do not copy the vectors

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return type(self)._made, (self.table, self.values, self.width, self.column, self.window, self.origin)

    @property
    def n_dense(self) -> int:
        """The number of dense columns, including the columns that mark words without a vector."""
        return (self.width + 1) * (2 * self.window + 1)

    def read(self, wanted: StringTable) -> WordVectors:
        """Return this object, since its vectors are already in memory; see `VectorFile.read`."""
        return self

    def of(self, sentences: Iterable[Iterable[str]], *, missing: str = "mean") -> list[NDArray[np.float32]]:
        """A matrix for each sentence, for `dense=` of `CRF.fit`.

        A word without a vector gets the vector of its lowercase form or, failing that, the mean of all vectors;
        `missing="error"` raises an error instead of using the mean.
        """
        if missing not in ("mean", "error"):
            raise InputError(f"missing: expected 'mean' or 'error', found {missing!r}")
        values = self.values
        mean = values.mean(axis=0, keepdims=True) if len(values) else values.sum(axis=0, keepdims=True)
        table, made, row = np.concatenate([values, mean]), [], self.core(None).row
        for i, sentence in enumerate(sentences):
            words = list(sentence)
            places = [row(word) for word in words]
            if missing == "error" and -1 in places:
                t = places.index(-1)
                raise InputError(f"sentence {i}, position {t}: expected a word with a vector, found {words[t]!r}")
            made.append(table[places] if places else table[:0])
        return made

    def core(self, dense: DenseColumns | None) -> _core.WordVectors:
        """The lookup for the encoders. `dense` standardises the vectors; None leaves them unchanged."""
        n = self.width + 1
        if dense is not None and dense.width != self.n_dense:
            raise InputError(f"vectors: expected vectors for {dense.width} dense columns, found {self.n_dense}")
        mean, scale = ([0.0] * n, [1.0] * n) if dense is None else (dense.mean[:n], dense.scale[:n])
        flat = self._values.reshape(-1) if hasattr(self._values, "reshape") else self._values
        return _core.WordVectors(self.table, flat, mean, scale, self.window, self.column)

    def to_json(self) -> dict[str, Any]:
        """The entries that a model stores in addition to the vectors, or instead of them."""
        record: dict[str, Any] = {"column": self.column, "window": self.window}
        return record if self.origin is None else record | self.origin._asdict()


class VectorFile(NamedTuple):
    """A file of vectors, read when the words of the data are known; the fields are the arguments of
    `WordVectors.load`."""

    path: Path
    words: Path | None = None
    column: int = 0
    window: int = 0
    store: bool = True

    @property
    def n_dense(self) -> int:
        return (width_of(self.path, self.words) + 1) * (2 * self.window + 1)

    def read(self, wanted: StringTable) -> WordVectors:
        """The vectors: all vectors if the model stores them, otherwise only the vectors that training needs."""
        path, words, column, window, store = self
        needed = None if store else wanted
        return WordVectors.load(path, words, column=column, window=window, store=store, wanted=needed)


def given_vectors(given: Any, option: str = "vectors") -> WordVectors | None:
    """The vectors that the user passed, directly or as a file."""
    if given is None or isinstance(given, WordVectors):
        return given
    if isinstance(given, (str, os.PathLike)):
        return WordVectors.load(given)
    raise InputError(f"{option}: expected a file or WordVectors, found {type(given).__name__}")


class TrainingVectors(NamedTuple):
    """Vectors of the words of training data."""

    vectors: WordVectors
    dense: DenseColumns  #: the standardisation of the vectors
    rows: NDArray[np.int32]  #: row of each word that was seen; -1 if it has no vector
    covered: float  #: share of the tokens with a vector

    def added(self, corpus: Corpus, words: NDArray[np.int32], attributes: StringTable) -> Corpus:
        """The corpus with the vectors of these words (given by number) as dense columns."""
        return self.vectors.core(self.dense).added(corpus, self.rows[words], attributes)


def look_up(
    vectors: WordVectors, seen: StringTable, words: NDArray[np.int32], standardize: bool = True, scale: float = 1.0
) -> TrainingVectors:
    """Look up the vectors of the words of training data. `words`: the word number of each token (`Corpus.words`).

    Columns are standardised over the tokens with a vector.
    """
    rows = vectors.core(None).rows(seen)
    of_tokens = rows[words]
    counts = np.bincount(of_tokens[of_tokens >= 0], minlength=len(vectors))
    used = np.flatnonzero(counts)
    if len(used) == 0:
        theirs, ours = (", ".join(repr(table[k]) for k in range(min(3, len(table)))) for table in (vectors.table, seen))
        file = "vectors" if vectors.origin is None else vectors.origin.path
        theirs = theirs or "none of them"
        raise InputError(
            f"{file}: expected vectors of words in the data ({ours}, ...), found only other words ({theirs}, ...)"
        )
    own = DenseColumns.weighted(vectors.values[used], counts[used], standardize, scale)
    times = 2 * vectors.window + 1
    dense = DenseColumns([*own.mean, 0.0] * times, [*own.scale, scale] * times)
    return TrainingVectors(vectors, dense, rows, float(np.mean(of_tokens >= 0)))
