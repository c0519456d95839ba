"""Chunks of labellings, with their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from sparsecrf._core import Chain, Constraints, Corpus, InputError
from sparsecrf.chunks import START, ChunkReader, Scheme, are_chunk_labels

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Span(NamedTuple):
    """A chunk of a labelling: tokens start to end - 1, and how probable it is that they have just these labels."""

    start: int
    end: int
    type: str
    probability: float


class SpanReader:
    """Finds the chunks of labellings by the labels of a model."""

    def __init__(self, labels: Sequence[str], scheme: str) -> None:
        """`scheme` says how labels encode chunks, as for `sparsecrf eval`."""
        if Scheme.of(scheme) is Scheme.AUTO:
            if not are_chunk_labels(labels, ()):
                raise InputError("labels: expected ones that encode chunks (B-TYPE, I-TYPE, O, ...), found others")
            scheme = "conlleval"
        self._labels, self._reader = labels, ChunkReader(scheme)

    def spans(
        self, chain: Chain, corpus: Corpus, i: int, path: NDArray[np.int32], constraints: Constraints | None = None
    ) -> list[Span]:
        """The chunks of sequence i with these labels, by id. The probability is that of the labels that the chunk's own
        tokens have, whatever the others do; under constraints, among the labellings that meet them."""
        from math import exp

        return [
            Span(a, b, kind, exp(chain.span_log_prob(corpus, i, a, path[a:b], constraints)))
            for a, b, kind in self.places(path)
        ]

    def places(self, path: NDArray[np.int32]) -> list[tuple[int, int, str]]:
        """Where the chunks of these labels begin and end, and their types."""
        found = chunks(self._reader.marks([self._labels[y] for y in path]))
        return [(a, b, self._reader.type_of(self._labels[path[a]])) for a, b in found]


def chunks(marks: list[int]) -> list[tuple[int, int]]:
    """Where the chunks begin and end, by the marks of a `ChunkReader`.

    With brackets, which are whole chunks, and labels of no scheme, conlleval's table has ends of what has not begun,
    beginnings that must end the chunk before them, and chunks that only the end of the sequence ends.
    """
    found, start = list[tuple[int, int]](), None
    for t, mark in enumerate(marks):
        if mark and start is not None:
            found.append((start, t))
            start = None
        if mark & START:
            start = t
    if start is not None:
        found.append((start, len(marks) - 1))
    return found
