"""How well labels are predicted, as an error in percent: what a path is judged by."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

from sparsecrf._core import Corpus, InputError
from sparsecrf.chunks import are_chunk_labels
from sparsecrf.metrics import evaluate
from sparsecrf.training.heldout import Labels, wrong_tokens

#: Of a corpus and its predicted labels, in percent; the smaller the better.
ErrorRate: TypeAlias = Callable[[Corpus, Labels], float]

CHUNKS, TOKENS = "chunk F1", "token accuracy"
#: What may be asked for by name: chunk F1 where labels are chunks and token error otherwise, or one of them.
NAMES = ("auto", "f1", "error")


@dataclass(frozen=True)
class Score:
    """An error rate that knows the name of its score, which is what it lacks of 100."""

    name: str
    error: ErrorRate

    def __call__(self, corpus: Corpus, predicted: Labels) -> float:
        return self.error(corpus, predicted)


def name_of(error: ErrorRate) -> str:
    """The name of the score that goes with an error rate."""
    return error.name if isinstance(error, Score) else "score"


BY_TOKENS = Score(TOKENS, wrong_tokens)


def score_of(asked: str, labels: Sequence[str]) -> Score:
    """The score of one of NAMES for a corpus whose labels have these names, by id."""
    if asked not in NAMES:
        raise InputError(f"score: expected one of {', '.join(NAMES)}, found {asked!r}")
    chunks = are_chunk_labels(labels, ())
    if asked == "f1" and not chunks:
        known = ", ".join(labels[:10])
        raise InputError(f"score: expected labels that encode chunks (B-TYPE, I-TYPE, O, ...) for f1, found {known}")
    return BY_TOKENS if asked == "error" or not chunks else Score(CHUNKS, chunk_error(labels))


def chunk_error(labels: Sequence[str]) -> ErrorRate:
    """100 minus the F1 of chunks by conlleval's rules; a label that is missing is outside."""
    names = [*labels, "O"]  # the last one, -1, is missing

    def error(corpus: Corpus, predicted: Labels) -> float:
        return 100.0 - (evaluate(zip(*by_sequence(corpus, predicted, names), strict=True), "conlleval").f1 or 0.0)

    return error


def by_sequence(corpus: Corpus, predicted: Labels, names: Sequence[Any]) -> tuple[Iterable[list[Any]], ...]:
    """Gold and predicted label sequences by name; the last name is that of a label that is missing."""
    bounds = list(pairwise(corpus.offsets.tolist()))
    ids = corpus.labels.tolist(), predicted.tolist()
    return tuple([[names[y] for y in part[begin:end]] for begin, end in bounds] for part in ids)
