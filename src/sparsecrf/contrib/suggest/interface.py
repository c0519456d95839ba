"""`suggest`: chooses the sequences of a pool that are worth annotating, given a model."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import Corpus, InputError
from sparsecrf.contrib.suggest.uncertainty import MEASURES
from sparsecrf.encoding.dense import VectorReader
from sparsecrf.encoding.vocabulary import Token, Vocabulary
from sparsecrf.model import Model

Floats = NDArray[np.float64]


def attributes_of(corpus: Corpus) -> list[NDArray[np.int32]]:
    """The distinct unigram attributes of each sequence."""
    arrays = corpus.to_arrays()
    ends = arrays["unigram_ptr"][corpus.offsets]
    return [np.unique(arrays["unigram_id"][a:b]) for a, b in pairwise(ends.tolist())]


def choose(uncertainty: Floats, attributes: Sequence[NDArray[np.int32]], n: int, diversity: float) -> list[int]:
    """The numbers of n sequences, each the best choice given the previous ones:

        gain(i) = uncertainty_i (1 + diversity * share of the attributes of i that no chosen sequence has)

    Gains only decrease as sequences are chosen, so only the gain at the top of the queue is recomputed. If its sequence
    stays at the top, the gain is the largest.
    """
    covered = np.zeros(1 + max((int(ids[-1]) for ids in attributes if len(ids)), default=0), dtype=np.bool_)

    def gain(i: int) -> float:
        new = 1.0 - float(covered[attributes[i]].mean()) if len(attributes[i]) else 0.0
        return float(uncertainty[i]) * (1 + diversity * new)

    heap = [(-gain(i), i) for i in range(len(uncertainty))]
    heapq.heapify(heap)
    chosen: list[int] = []
    while heap and len(chosen) < n:
        known, i = heapq.heappop(heap)
        now = -gain(i)
        if now > known and heap and (now, i) > heap[0]:
            heapq.heappush(heap, (now, i))
            continue
        chosen.append(i)
        covered[attributes[i]] = True
    return chosen


#: Chosen in benchmarks/record/suggest.md.
MEASURE = "confidence"
DIVERSITY = 1.0

_BLOCK = 2000  # number of sequences whose marginals are in memory at a time


class Suggestion(NamedTuple):
    """A sequence to annotate."""

    sequence: int  #: its number in the pool, counted from 0
    uncertainty: float  #: value of the chosen uncertainty measure


def suggest(
    model: Model,
    X: Iterable[Iterable[Token]],
    n: int = 100,
    *,
    by: str = MEASURE,
    diversity: float = DIVERSITY,
    threads: int = 0,
) -> list[Suggestion]:
    """The `n` sequences of the pool X to annotate next, the most useful first; all if there are fewer.

    X has a form that `Model.encode` accepts; sequences without tokens are never chosen. `by` is the measure of
    uncertainty: "confidence" (of the whole label sequence), "entropy" (of the labels of single tokens), or "change"
    (the expected change of the weights). `diversity` is the strength of the preference for attributes that no chosen
    sequence contains yet, including attributes that are not in the model; 0 means no preference.
    """
    check_options(n, by, diversity)
    measure, chain = MEASURES[by], model.chain_with(threads)
    places: list[int] = []
    uncertainty, attributes = [np.empty(0)], list[Any]()
    # a copy that is extended by attributes that the model lacks
    vocabulary = Vocabulary(labels=model.vocabulary.labels.copy())
    for block in _blocks((i, tokens) for i, tokens in enumerate(X) if _n_tokens(tokens) > 0):
        pool = [tokens for _, tokens in block]
        places += [i for i, _ in block]
        uncertainty.append(measure(chain, model.encode(pool)))
        attributes += attributes_of(
            vocabulary.encode(_without_vectors(model, pool), grow=True, template=model.template)
        )
    if not places:
        raise InputError("pool: expected at least one sequence with tokens, found none")
    of_each = np.concatenate(uncertainty)
    return [Suggestion(places[k], float(of_each[k])) for k in choose(of_each, attributes, n, diversity)]


def _without_vectors(model: Model, pool: list[Any]) -> Iterable[Any]:
    """The sequences without vectors. For a model with dense columns, tokens are pairs (attributes, vector)."""
    if model.dense is None or model.vectors is not None:
        return pool
    return VectorReader(model.dense.width).attributes(pool)


def check_options(n: int, by: str, diversity: float) -> None:
    """Reject invalid values."""
    if n < 1:
        raise InputError(f"n: expected a number of at least 1, found {n}")
    if by not in MEASURES:
        raise InputError(f"by: expected one of {', '.join(MEASURES)}, found {by!r}")
    if not diversity >= 0:
        raise InputError(f"diversity: expected a number of at least 0, found {diversity}")


def _blocks(sequences: Iterator[tuple[int, Any]]) -> Iterator[list[tuple[int, Any]]]:
    while block := list(islice(sequences, _BLOCK)):
        yield block


def _n_tokens(tokens: Any) -> int:
    """The length of a list, or of a matrix with a row for each token."""
    return int(tokens.shape[0]) if hasattr(tokens, "shape") else len(tokens)
