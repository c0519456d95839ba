"""Measures how the cost of a pass (loss and gradient) grows with tokens, labels and active features, and what a second
thread gains.

Simulated data: every position has one of 26 random attributes, unigram and bigram; 2000 features are active unless
stated otherwise. For the growth with active features, there are 200 attributes and 100 labels, enough for a million
features.
"""

from __future__ import annotations

import time

import numpy as np

from sparsecrf._core import Corpus, FeatureSet, Oracle
from sparsecrf.encoding.numbering import Numbering

TOKENS = (10_000, 20_000, 40_000, 80_000, 160_000, 320_000)
LABELS = (8, 25, 50, 100, 200, 400, 800)
ACTIVE_FEATURES = (100, 1_000, 10_000, 100_000, 1_000_000)
ATTRIBUTES, ACTIVE, LENGTH = 26, 2000, 10


def corpus(tokens: int, labels: int, attributes: int, rng: np.random.Generator) -> Corpus:
    ptr, ids = np.arange(tokens + 1, dtype=np.int64), rng.integers(attributes, size=tokens).astype(np.int32)
    return Corpus.from_arrays(
        n_labels=labels,
        n_attributes=attributes,
        lengths=np.full(tokens // LENGTH, LENGTH, dtype=np.int64),
        unigram_ptr=ptr,
        unigram_id=ids,
        bigram_ptr=ptr,
        bigram_id=ids,
        labels=rng.integers(labels, size=tokens).astype(np.int32),
    )


def seconds(tokens: int, labels: int, active: int = ACTIVE, attributes: int = ATTRIBUTES, threads: int = 1) -> float:
    """The time of the fastest of several passes."""
    rng = np.random.default_rng(0)
    data = corpus(tokens, labels, attributes, rng)
    n_unigram = min(active // 4, attributes * labels)
    n_bigram = min(active - n_unigram, attributes * labels**2)
    unigram = rng.choice(attributes * labels, n_unigram, replace=False)
    # Pairs of two labels, but no pairs with the start label.
    triples = np.unravel_index(
        rng.choice(attributes * labels**2, n_bigram, replace=False), (attributes, labels, labels)
    )
    bigram = Numbering(labels, attributes).bigram(*triples)
    numbers = np.sort(np.concatenate([unigram, bigram])).astype(np.int64)
    features = FeatureSet.from_numbers(labels, attributes, numbers)
    w, oracle = rng.normal(size=len(numbers)), Oracle(data, threads, "auto")
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
        "active features": [[n, seconds(40_000, 100, n, 200)] for n in ACTIVE_FEATURES],
        "threads": [[n, seconds(320_000, 50, threads=n)] for n in (1, 2)],
    }
