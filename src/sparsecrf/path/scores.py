"""Scores of predicted labels, as errors in percent, for judging a path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias

from sparsecrf._core import Corpus, InputError
from sparsecrf.chunks import are_chunk_labels
from sparsecrf.metrics import Evaluation, evaluate
from sparsecrf.training.heldout import Labels, wrong_tokens

#: A function of a corpus and its predicted labels: the error in percent; smaller is better.
ErrorRate: TypeAlias = Callable[[Corpus, Labels], float]

CHUNKS, TOKENS = "chunk F1", "token accuracy"
#: The names of the scores; auto means chunk F1 if labels encode chunks, otherwise token error.
NAMES = ("auto", "f1", "error")
#: Gold labels without an id, by token. They occur in a corpus that was encoded with the labels of other data.
Unknown: TypeAlias = Mapping[int, Any]
_NONE: Unknown = {}


@dataclass(frozen=True)
class Score:
    """An error rate with the name of its score, 100 minus the error."""

    name: str
    error: ErrorRate

    def __call__(self, corpus: Corpus, predicted: Labels) -> float:
        return self.error(corpus, predicted)


def name_of(error: ErrorRate) -> str:
    """The name of the score that goes with an error rate."""
    return error.name if isinstance(error, Score) else "score"


def by_tokens(unknown: Unknown = _NONE) -> Score:
    """Token accuracy; `unknown`: gold labels without an id."""
    return Score(TOKENS, partial(_percent_wrong, n_unknown=len(unknown)))


def _percent_wrong(corpus: Corpus, predicted: Labels, n_unknown: int) -> float:
    return wrong_tokens(corpus, predicted, n_unknown).percent


BY_TOKENS = by_tokens()


def score_of(asked: str, labels: Sequence[str], unknown: Unknown = _NONE) -> Score:
    """The score named `asked`, one of NAMES, for a corpus with the label names `labels`, by id; `unknown`: gold labels
    without an id."""
    if asked not in NAMES:
        raise InputError(f"score: expected one of {', '.join(NAMES)}, found {asked!r}")
    chunks = are_chunk_labels(labels, ())
    if asked == "f1" and not chunks:
        known = ", ".join(labels[:10])
        raise InputError(f"score: expected labels that encode chunks (B-TYPE, I-TYPE, O, ...) for f1, found {known}")
    if asked == "error" or not chunks:
        return by_tokens(unknown)
    return Score(CHUNKS, lambda corpus, found: 100.0 - (evaluate_chunks(corpus, found, labels, unknown).f1 or 0.0))


def evaluate_chunks(corpus: Corpus, predicted: Labels, labels: Sequence[str], unknown: Unknown = _NONE) -> Evaluation:
    """Chunks by conlleval's rules; tokens whose label is missing or a set do not count (`Evaluation.add`)."""
    names = [*labels, None]  # the last name, at index -1, stands for a missing label or a set
    return evaluate(zip(*by_sequence(corpus, predicted, names, unknown), strict=True), "conlleval")


def by_sequence(
    corpus: Corpus, predicted: Labels, names: Sequence[Any], unknown: Unknown = _NONE
) -> tuple[Iterable[list[Any]], ...]:
    """Gold and predicted label sequences by name. The last of `names` stands for a missing label; `unknown` are gold
    labels that are not missing but have no id."""
    bounds = list(pairwise(corpus.offsets.tolist()))
    gold, found = ([names[y] for y in ids.tolist()] for ids in (corpus.labels, predicted))
    for t, name in unknown.items():
        gold[t] = name
    return tuple([part[begin:end] for begin, end in bounds] for part in (gold, found))
