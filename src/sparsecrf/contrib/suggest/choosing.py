"""The greedy choice: uncertain sequences with attributes that are new among those chosen so far."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import Corpus

Floats = NDArray[np.float64]


def attributes_of(corpus: Corpus) -> list[NDArray[np.int32]]:
    """The distinct unigram attributes of each sequence."""
    arrays = corpus.to_arrays()
    ends = arrays["unigram_ptr"][corpus.offsets]
    return [np.unique(arrays["unigram_id"][a:b]) for a, b in pairwise(ends.tolist())]


def choose(uncertainty: Floats, attributes: Sequence[NDArray[np.int32]], n: int, diversity: float) -> list[int]:
    """The numbers of n sequences, each the best one after those before it:

        gain(i) = uncertainty_i (1 + diversity * share of the attributes of i that no chosen sequence has)

    Gains only decrease as sequences are chosen, so only the gain at the top of the queue is recomputed: if it stays at
    the top, it is the largest.
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
