"""Which spans are judged: those of the given labels, and those that a model finds where none is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sparsecrf.chunks import Scheme
from sparsecrf.model.spans import SpanReader

OUTSIDE = "O"


class Window(NamedTuple):
    """Tokens that are judged together."""

    start: int  #: first token of the span
    end: int
    first: int  #: range of tokens that is judged: the span, and a token on either side that is in no span
    last: int  #: the token after the last


class Spans:
    """Finds spans of label sequences by the labels of a data set, the same ones as `Model.spans`: chunks or, if labels
    do not encode chunks, runs of equal labels."""

    def __init__(self, labels: Sequence[str], scheme: str | Scheme = Scheme.AUTO) -> None:
        self._reader = SpanReader(labels, scheme)
        # whether to judge spans without their neighbouring tokens
        self._bounded = self._reader.scheme in (Scheme.NONE, Scheme.RUNS)

    def kind(self, labels: Sequence[str]) -> str:
        """The name of a window's labels: the types of its spans, or O."""
        return " ".join(kind or labels[a] for a, _, kind in self._reader.places_of(labels)) or OUTSIDE

    def windows(self, given: Sequence[str], best: Sequence[str]) -> Iterator[Window]:
        """The spans of the given labels of a sequence, then those of the best labels that overlap none of these."""
        own = self._reader.places_of(given)
        for a, b, _ in own:
            before = not self._bounded and a > 0 and given[a - 1] == OUTSIDE
            after = not self._bounded and b < len(given) and given[b] == OUTSIDE
            yield Window(a, b, a - before, b + after)
        for a, b, _ in self._reader.places_of(best):
            if all(b <= start or a >= end for start, end, _ in own):
                yield Window(a, b, a, b)
