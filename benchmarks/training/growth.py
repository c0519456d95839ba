"""How the cost of a pass (loss and gradient) grows: with tokens, and with labels when the active features are fixed.

Simulated: every position has a random attribute out of 26, unigram and bigram; 2000 features are active.
"""

from __future__ import annotations

import time

import numpy as np
from sparsecrf._core import Corpus, FeatureSet, Oracle

TOKENS = (10_000, 20_000, 40_000, 80_000, 160_000, 320_000)
LABELS = (50, 100, 200, 400, 800)
ATTRIBUTES, ACTIVE, LENGTH = 26, 2000, 10


def corpus(tokens: int, labels: int, rng: np.random.Generator) -> Corpus:
    ptr, ids = np.arange(tokens + 1, dtype=np.int64), rng.integers(ATTRIBUTES, size=tokens).astype(np.int32)
    return Corpus.from_arrays(
        n_labels=labels,
        n_attributes=ATTRIBUTES,
        lengths=np.full(tokens // LENGTH, LENGTH, dtype=np.int64),
        unigram_ptr=ptr,
        unigram_id=ids,
        bigram_ptr=ptr,
        bigram_id=ids,
        labels=rng.integers(labels, size=tokens).astype(np.int32),
    )


def seconds(tokens: int, labels: int) -> float:
    """The fastest of some passes, on one thread."""
    rng = np.random.default_rng(0)
    data = corpus(tokens, labels, rng)
    unigram = rng.choice(ATTRIBUTES * labels, ACTIVE // 4, replace=False)
    bigram = ATTRIBUTES * labels + rng.choice(ATTRIBUTES * labels**2, ACTIVE - len(unigram), replace=False)
    # Numbers of pairs after another label: (labels + 1) labels a bigram attribute.
    bigram += (bigram - ATTRIBUTES * labels) // labels**2 * labels
    numbers = np.sort(np.concatenate([unigram, bigram])).astype(np.int64)
    features = FeatureSet.from_numbers(labels, ATTRIBUTES, numbers)
    w, oracle = rng.normal(size=len(numbers)), Oracle(data, 1, "auto")
    counts = oracle.counts(features)
    best = np.inf
    for _ in range(7):
        began = time.perf_counter()
        oracle.loss_grad(features, w, counts)
        best = min(best, time.perf_counter() - began)
    return best


def measure() -> dict[str, list[list[float]]]:
    return {
        "tokens": [[n, seconds(n, 50)] for n in TOKENS],
        "labels": [[n, seconds(40_000, n)] for n in LABELS],
    }
