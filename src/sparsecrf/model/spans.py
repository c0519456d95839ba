"""Finds the spans of label sequences, which are chunks or fields, with their probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sparsecrf._core import Chain, Constraints, Corpus, InputError
from sparsecrf.chunks import START, ChunkReader, Scheme, span_scheme
from sparsecrf.lazy import NDArray, np


class Span(NamedTuple):
    """A chunk or field: tokens start to end - 1, and the probability that they have exactly these
    labels."""

    start: int
    end: int
    type: str
    probability: float


class SpanReader:
    """Finds the spans of label sequences: chunks, or fields, which are runs of equal labels."""

    def __init__(self, labels: Sequence[str], scheme: str | Scheme = Scheme.AUTO) -> None:
        """`scheme` is the span encoding, as in `sparsecrf eval`; with "auto", `span_scheme` decides. With
        "none", every token is a separate span."""
        chosen = Scheme.of(scheme)
        self.scheme = span_scheme(labels) if chosen is Scheme.AUTO else chosen
        self._labels, self._reader = labels, ChunkReader(self.scheme)
        try:
            found = {self._reader.type_of(label) for label in labels}
        except InputError as error:
            raise InputError(f"scheme: {error}") from None
        self.types = tuple(sorted(found - self._reader.outside - {""}))  #: marks of all possible spans

    def spans(
        self, chain: Chain, corpus: Corpus, i: int, path: NDArray[np.int32], constraints: Constraints | None = None
    ) -> list[Span]:
        """The spans of sequence i with these labels, by id. The probability of a span is the probability of the labels
        of its tokens, summed over all labels of the other tokens; under constraints, only over the label sequences that
        satisfy them."""
        from math import exp

        return [
            Span(a, b, kind, exp(chain.span_log_prob(corpus, i, a, path[a:b], constraints)))
            for a, b, kind in self.places(path)
        ]

    def places(self, path: NDArray[np.int32]) -> list[tuple[int, int, str]]:
        """The start, end and type of each span of these labels."""
        return self.places_of([self._labels[y] for y in path])

    def places_of(self, names: Sequence[str]) -> list[tuple[int, int, str]]:
        """Like `places`, for labels given by name."""
        if self.scheme is Scheme.NONE:
            return [(t, t + 1, name) for t, name in enumerate(names) if name not in self._reader.outside]
        return [(a, b, self._reader.type_of(names[a])) for a, b in chunks(self._reader.marks(names))]


def chunks(marks: list[int]) -> list[tuple[int, int]]:
    """The start and end of each chunk, from the marks of a `ChunkReader`.

    With brackets (which are whole chunks) and with labels that follow no scheme, conlleval's table yields ends without
    a beginning, beginnings that must end the previous chunk, and chunks that end only with the sequence.
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
