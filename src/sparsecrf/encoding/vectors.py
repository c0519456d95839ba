"""Vectors of words from a file, for `dense=` of estimators: text as of word2vec and GloVe, or NumPy's `.npy`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import InputError

Floats = NDArray[np.float32]


class WordVectors:
    """A vector for each of some words. `vectors.of(sentences)` is what `CRF.fit(X, y, dense=...)` takes."""

    def __init__(self, words: Iterable[str], values: Any) -> None:
        """`values` [words, width]. Of words that are equal the first counts."""
        self.values: Floats = np.asarray(values, dtype=np.float32)
        names = list(words)
        if self.values.ndim != 2 or len(self.values) != len(names):
            shape = self.values.shape
            raise InputError(f"vectors: expected a row for each of {len(names)} words, found an array of shape {shape}")
        bad = np.argwhere(~np.isfinite(self.values))
        if len(bad):
            row, column = bad[0]
            value = self.values[row, column]
            raise InputError(f"vector of {names[row]!r}, column {column}: expected a finite number, found {value}")
        self.place: Mapping[str, int] = {word: k for k, word in reversed(list(enumerate(names)))}

    @classmethod
    def load(cls, path: str | os.PathLike[str], words: str | os.PathLike[str] | None = None) -> WordVectors:
        """Read a file: a word and its numbers a line, with or without word2vec's first line (how many, how wide); or an
        `.npy` file, whose rows belong to the lines of the text file `words`."""
        if os.fspath(path).endswith(".npy"):
            if words is None:
                raise InputError(f"{os.fspath(path)}: expected words= with a file of their words, found none")
            with open(words, encoding="utf-8") as file:
                return cls(file.read().removesuffix("\n").split("\n"), np.load(path))
        if words is not None:
            raise InputError(f"{os.fspath(path)}: expected words= for .npy files only, found it for text")
        return cls(*_read_text(path))

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        return int(self.values.shape[1])

    def __len__(self) -> int:
        return len(self.place)

    def of(self, sentences: Iterable[Iterable[str]], *, missing: str = "mean") -> list[Floats]:
        """A matrix for each sentence.

        A word without a vector has that of its lower case or, if there is none either, the mean of all;
        `missing="error"` raises an error for it.
        """
        if missing not in ("mean", "error"):
            raise InputError(f"missing: expected 'mean' or 'error', found {missing!r}")
        mean = self.values.mean(axis=0, keepdims=True) if len(self.values) else self.values.sum(axis=0, keepdims=True)
        table, made = np.concatenate([self.values, mean]), []
        for i, sentence in enumerate(sentences):
            words = list(sentence)
            places = [self.place.get(word, self.place.get(word.lower(), -1)) for word in words]
            if missing == "error" and -1 in places:
                t = places.index(-1)
                raise InputError(f"sentence {i}, position {t}: expected a word with a vector, found {words[t]!r}")
            made.append(table[places] if places else table[:0])
        return made


def _read_text(path: str | os.PathLike[str]) -> tuple[list[str], Floats]:
    words, rows, width = [], [], None
    with open(path, encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file, 1):
            # A word may have blanks (GloVe has some): the numbers are counted from the end.
            cells = line.rstrip("\r\n ")
            word, *numbers = cells.split(" ") if width is None else cells.rsplit(" ", width)
            if number == 1 and len(numbers) == 1 and word.isdigit() and numbers[0].isdigit():
                width = int(numbers[0])
                continue
            where = f"{os.fspath(path)}, line {number}"
            width = len(numbers) if width is None else width
            if len(numbers) != width or width == 0:
                raise InputError(f"{where}: expected a word and {width or 'some'} numbers, found {len(numbers)}")
            try:
                rows.append(np.array(numbers, dtype=np.float32))
            except ValueError as error:
                raise InputError(f"{where}: expected numbers after {word!r:.40}: {error}") from error
            if not np.isfinite(rows[-1]).all():
                raise InputError(f"{where}: expected finite numbers, found {line[:60].strip()!r}")
            words.append(word)
    if not words:
        raise InputError(f"{os.fspath(path)}: expected lines with a word and its numbers, found none")
    return words, np.array(rows)
