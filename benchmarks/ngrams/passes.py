"""What a pass (loss and gradient) costs with label triples: seconds of the processor by triples and by labels.

    PYTHONPATH=. python benchmarks/ngrams/passes.py [TOKENS]

Made-up sequences of 20 tokens with random labels; 20 attributes condition labels and pairs (each label and ten pairs of
each), one or ten of them label triples. The triples are random, their weights small; all of an attribute count wherever
it stands, so a position has (triples / attributes) of them. One thread, the median of three passes. One JSON object a
line; `per_triple_ns` is the time above that without triples, by token and triple there.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

import numpy as np

from sparsecrf._core import Corpus, FeatureSet, NgramTable, Oracle
from sparsecrf.encoding.numbering import Numbering

LENGTH, N_ATTRIBUTES, N_PAIRS = 20, 20, 10
LABELS = (50, 100, 200, 400, 800)
TRIPLES = (100, 1_000, 10_000, 100_000)


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


def seconds(corpus: Corpus, n_triples: int, n_conditioning: int, rng: np.random.Generator) -> tuple[float, int]:
    """Of a pass, and how many triples there are: random ones may repeat."""
    Y, numbering = corpus.n_labels, Numbering.of(corpus)
    pairs = np.concatenate(
        [x * numbering.pairs + rng.choice(Y * Y, N_PAIRS, replace=False) for x in range(N_ATTRIBUTES)]
    )
    numbers = [np.arange(numbering.first_bigram), numbering.first_bigram + np.sort(pairs)]
    table = NgramTable(Y)
    attribute = np.sort(rng.integers(n_conditioning, size=n_triples)).astype(np.int32)
    labels = rng.integers(Y, size=3 * n_triples).astype(np.int32)
    places = table.add(attribute, np.full(n_triples, 3, dtype=np.int32), labels)
    numbers.append(numbering.first_ngram + np.unique(places))
    features = FeatureSet.from_numbers(Y, N_ATTRIBUTES, np.concatenate(numbers).astype(np.int64), table)
    w = 0.1 * rng.normal(size=len(features))
    oracle = Oracle(corpus, threads=1)
    oracle.loss_grad(features, w)
    took = []
    for _ in range(3):
        began = time.process_time()
        oracle.loss_grad(features, w)
        took.append(time.process_time() - began)
    return statistics.median(took), len(numbers[-1])


def main() -> None:
    n_tokens = int(sys.argv[1]) if len(sys.argv) > 1 else 4_000
    for n_labels in LABELS:
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
