"""Which spans are judged: those of the given labels, and those that a model finds where none is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sparsecrf.chunks import ChunkReader, Scheme, are_chunk_labels
from sparsecrf.model.spans import chunks

OUTSIDE = "O"


class Window(NamedTuple):
    """Tokens that are judged together."""

    start: int  #: of the span
    end: int
    first: int  #: of what is judged: the span, and a token on either side that is in no span
    last: int  #: the token after the last


class Spans:
    """Finds spans of label sequences by the labels of a data set.

    Chunk labels (B-TYPE, I-TYPE, O, ...) are read as `sparsecrf eval` reads them. Of other labels a span is a single
    token; with the scheme "runs", a run of equal labels.
    """

    def __init__(self, labels: Sequence[str], scheme: str | Scheme = Scheme.AUTO) -> None:
        known = Scheme.of(scheme)
        if known is Scheme.AUTO:
            known = Scheme.CONLLEVAL if are_chunk_labels(labels, ()) else Scheme.NONE
        self.scheme = known
        self._reader = ChunkReader(known)
        self._bounded = known in (Scheme.NONE, Scheme.RUNS)  # no token beside a span is part of its boundary

    def places(self, labels: Sequence[str]) -> list[tuple[int, int]]:
        """Where spans begin and end."""
        if self.scheme is Scheme.NONE:
            return [(t, t + 1) for t in range(len(labels))]
        return chunks(self._reader.marks(labels))

    def kind(self, labels: Sequence[str]) -> str:
        """What a list of labels of a window is called: the types of its spans, or O."""
        if self.scheme is Scheme.NONE:
            return " ".join(labels)
        kinds = [self._reader.type_of(labels[a]) or labels[a] for a, _ in self.places(labels)]
        return " ".join(kinds) or OUTSIDE

    def windows(self, given: Sequence[str], best: Sequence[str]) -> Iterator[Window]:
        """Of the given labels of a sequence, and of the best ones: its spans, then spans that touch none of these."""
        own = self.places(given)
        for a, b in own:
            before = not self._bounded and a > 0 and given[a - 1] == OUTSIDE
            after = not self._bounded and b < len(given) and given[b] == OUTSIDE
            yield Window(a, b, a - before, b + after)
        for a, b in self.places(best):
            if all(b <= start or a >= end for start, end in own):
                yield Window(a, b, a, b)
