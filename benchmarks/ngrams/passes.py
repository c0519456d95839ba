"""Cost of a pass (loss and gradient) with label triples: processor seconds by numbers of triples and of labels.

    PYTHONPATH=. python benchmarks/ngrams/passes.py [TOKENS [LABELS ...]]
    PYTHONPATH=. python benchmarks/ngrams/passes.py pairs [TOKENS [LABELS ...]]

Simulated sequences of 20 tokens with random labels; 20 attributes condition labels and pairs (each has features with
every label and with ten pairs), and one or ten of them also condition label triples. The triples are random and have
small weights. All triples of an attribute apply wherever it occurs, so a position has (triples / attributes) of them.
One thread, the median of three passes. Prints one JSON object per line; `per_triple_ns` is the additional time compared
with no triples, per token and triple.

`pairs` measures the overhead of the code for n-grams when there is next to nothing for it to do: 10 to 1,000 pairs for
each attribute, without n-grams and with one triple for each attribute; `ratio` is the second time divided by the first,
with passes in turns.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import Any

import numpy as np

from sparsecrf._core import Corpus, FeatureSet, NgramTable, Oracle
from sparsecrf.encoding.numbering import Numbering

LENGTH, N_ATTRIBUTES, N_PAIRS = 20, 20, 10
LABELS = (50, 100, 200, 400, 800)
TRIPLES = (100, 1_000, 10_000, 100_000)
PAIRS = (10, 100, 1_000)
REPEATS = 3


def corpus_of(n_labels: int, n_tokens: int, rng: np.random.Generator) -> Corpus:
    n = n_tokens // LENGTH
    attribute = rng.integers(N_ATTRIBUTES, size=n * LENGTH).astype(np.int32)
    ptr = np.arange(n * LENGTH + 1, dtype=np.int64)
    return Corpus.from_arrays(
        n_labels=n_labels,
        n_attributes=N_ATTRIBUTES,
        lengths=np.full(n, LENGTH, dtype=np.int64),
        labels=rng.integers(n_labels, size=n * LENGTH).astype(np.int32),
        unigram_ptr=ptr,
        unigram_id=attribute,
        bigram_ptr=ptr,
        bigram_id=attribute,
    )


def features_of(
    corpus: Corpus, n_pairs: int, attribute: np.ndarray[Any, np.dtype[np.int32]], rng: np.random.Generator
) -> FeatureSet:
    """Features of each attribute with all labels and n_pairs pairs, and with a random triple for each of the given
    attributes."""
    Y, numbering = corpus.n_labels, Numbering.of(corpus)
    pairs = np.concatenate(
        [x * numbering.pairs + rng.choice(Y * Y, n_pairs, replace=False) for x in range(N_ATTRIBUTES)]
    )
    numbers = [np.arange(numbering.first_bigram), numbering.first_bigram + np.sort(pairs)]
    table = NgramTable(Y)
    labels = rng.integers(Y, size=3 * len(attribute)).astype(np.int32)
    places = table.add(attribute, np.full(len(attribute), 3, dtype=np.int32), labels)
    numbers.append(numbering.first_ngram + np.unique(places))
    return FeatureSet.from_numbers(Y, N_ATTRIBUTES, np.concatenate(numbers).astype(np.int64), table)


def one_pass(oracle: Oracle, features: FeatureSet, w: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Processor seconds of a pass."""
    began = time.process_time()
    oracle.loss_grad(features, w)
    return time.process_time() - began


def seconds(corpus: Corpus, n_triples: int, n_conditioning: int, rng: np.random.Generator) -> tuple[float, int]:
    """Seconds of a pass, and the number of triples, some of which may repeat."""
    attribute = np.sort(rng.integers(n_conditioning, size=n_triples)).astype(np.int32)
    features = features_of(corpus, N_PAIRS, attribute, rng)
    w = 0.1 * rng.normal(size=len(features))
    oracle = Oracle(corpus, threads=1)
    one_pass(oracle, features, w)
    return statistics.median(one_pass(oracle, features, w) for _ in range(REPEATS)), features.n_ngram


def compare_pairs(n_tokens: int, n_labels: int) -> None:
    """Compares the same pairs with and without one triple for each attribute."""
    corpus = corpus_of(n_labels, n_tokens, np.random.default_rng(0))
    for n_pairs in PAIRS:
        kinds = [
            features_of(corpus, n_pairs, np.arange(n, dtype=np.int32), np.random.default_rng(1))
            for n in (0, N_ATTRIBUTES)
        ]
        oracles = [Oracle(corpus, threads=1) for _ in kinds]
        weights = [0.1 * np.random.default_rng(2).normal(size=len(features)) for features in kinds]
        took = np.array([[one_pass(*of) for of in zip(oracles, kinds, weights, strict=True)] for _ in range(8)])[1:]
        without, with_triples = np.median(took, axis=0)
        row = {"labels": n_labels, "pairs": n_pairs, "without_ms": round(1000 * without, 2)}
        print(json.dumps({**row, "with_ms": round(1000 * with_triples, 2), "ratio": round(with_triples / without, 2)}))


def main() -> None:
    arguments = sys.argv[1:]
    pairs = arguments[:1] == ["pairs"]
    given = [int(text) for text in arguments[pairs:]]
    n_tokens, chosen = (given[0] if given else 4_000), given[1:] or LABELS
    if pairs:
        for n_labels in chosen:
            compare_pairs(n_tokens, n_labels)
        return
    for n_labels in chosen:
        rng = np.random.default_rng(0)
        corpus = corpus_of(n_labels, n_tokens, rng)
        without, _ = seconds(corpus, 0, 1, rng)
        for n_conditioning in (1, 10):
            for n_triples in TRIPLES:
                took, n = seconds(corpus, n_triples, n_conditioning, rng)
                here = n_tokens / N_ATTRIBUTES * n  # pairs of a token and a triple of its attribute
                row = {"labels": n_labels, "attributes": n_conditioning, "triples": n, "ms": round(1000 * took, 2)}
                row |= {"without_ms": round(1000 * without, 2)}
                print(json.dumps({**row, "per_triple_ns": round(1e9 * (took - without) / here, 2)}), flush=True)


if __name__ == "__main__":
    main()
