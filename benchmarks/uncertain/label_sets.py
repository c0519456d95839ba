"""Measures how much a dictionary of tags helps if few labels are known.

    PYTHONPATH=. python benchmarks/uncertain/label_sets.py FOLDER ... [--known 0.2] [--seeds 3] [--tokens 15000]

A share of the sentences, or of the tokens, keeps its labels; all other tokens get the set of all labels that their word
has anywhere in train.txt (a dictionary that is complete for these words), or no label. That dictionary reveals the
label of words that occur once; the dictionary of frequent words contains only words that occur at least five times. The
score is on test.txt (F1 of chunks if labels encode chunks, otherwise token accuracy), with default penalties: mean and
standard deviation over seeds, which determine the labels that are known. Training uses the first sentences of
train.txt, up to a number of tokens. Times are processor seconds for one fit on one thread.
"""

from __future__ import annotations

import argparse
import pathlib
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any

import numpy as np
from benchmarks.uncertain.data import Sentences, preset, sentences

from sparsecrf import CRF, candidate_labels
from sparsecrf.chunks import are_chunk_labels
from sparsecrf.scorers import chunk_f1_score

Labels = list[list[Any]]
FREQUENT = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--known", type=float, default=0.2)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=15_000)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")  # for small data: labels that do not occur in the known part
    print("| data (labels of a word, of all; frequent tokens) | known | score | s | weights |\n|---|---|---|---|---|")
    for folder in asked.folders:
        measure(folder, asked.known, asked.seeds, asked.tokens)


def measure(folder: pathlib.Path, known: float, seeds: int, n_tokens: int) -> None:
    train, test = first(sentences(folder / "train.txt"), n_tokens), sentences(folder / "test.txt")
    words = [[row[0] if isinstance(row, (list, tuple)) else row for row in tokens] for tokens in train.X]
    dictionary = defaultdict(set)
    for word, label in zip(chain.from_iterable(words), chain.from_iterable(train.y), strict=True):
        dictionary[word].add(label)
    count = Counter(chain.from_iterable(words))
    frequent = {word: labels for word, labels in dictionary.items() if count[word] >= FREQUENT}
    share_frequent = sum(count[word] for word in frequent) / count.total()
    per_token = np.mean([len(dictionary[word]) for word in chain.from_iterable(words)])
    n_labels = len(set(chain.from_iterable(train.y)))
    about = f"{folder.name} ({per_token:.2f} of {n_labels}; {100 * share_frequent:.0f} %)"

    def with_dictionary(y: Labels, of: Mapping[str, set[str]] = dictionary) -> Labels:
        return candidate_labels(words, y, of)

    def fit(X: Any, y: Labels, **options: Any) -> CRF:
        return CRF(features=preset(set(chain.from_iterable(train.y))), n_jobs=1, **options).fit(X, y)

    def of_sentences(rng: np.random.Generator) -> list[int]:
        order, kept, n = rng.permutation(len(train.y)).tolist(), [], 0
        while n < known * sum(map(len, train.y)):
            kept.append(order[len(kept)])
            n += len(train.y[kept[-1]])
        return sorted(kept)

    def only(kept: list[int]) -> Labels:
        return [labels if i in set(kept) else [None] * len(labels) for i, labels in enumerate(train.y)]

    def of_tokens(rng: np.random.Generator) -> Labels:
        return [[label if rng.random() < known else None for label in labels] for labels in train.y]

    def alone(rng: np.random.Generator) -> CRF:
        return fit(*train.where(of_sentences(rng)))

    def from_alone(rng: np.random.Generator) -> CRF:
        kept = of_sentences(rng)
        crf = fit(*train.where(kept), warm_start=True)
        return crf.fit(train.X, with_dictionary(only(kept)))

    share = f"{100 * known:.0f} %"
    ways: dict[str, Callable[[np.random.Generator], CRF]] = {
        "all": lambda rng: fit(*train),
        f"{share} of the sentences, no others": alone,
        f"{share} of the sentences, a dictionary for the others": lambda rng: fit(
            train.X, with_dictionary(only(of_sentences(rng)))
        ),
        f"the same, started from the model of the {share}": from_alone,
        f"{share} of the sentences, a dictionary of frequent words": lambda rng: fit(
            train.X, with_dictionary(only(of_sentences(rng)), frequent)
        ),
        f"{share} of the tokens, others missing": lambda rng: fit(train.X, of_tokens(rng)),
        f"{share} of the tokens, a dictionary for the others": lambda rng: fit(
            train.X, with_dictionary(of_tokens(rng))
        ),
        f"{share} of the tokens, a dictionary of frequent words": lambda rng: fit(
            train.X, with_dictionary(of_tokens(rng), frequent)
        ),
        "a dictionary alone": lambda rng: fit(train.X, with_dictionary(only([]))),
    }
    for name, way in ways.items():
        is_random = share in name
        report(about, name, [trial(way, seed, test) for seed in range(seeds if is_random else 1)])


def first(data: Sentences, n_tokens: int) -> Sentences:
    ends = np.cumsum([len(labels) for labels in data.y])
    return data.where(list(range(np.count_nonzero(ends <= n_tokens))))


def score(crf: CRF, test: Sentences) -> float:
    """The score in percent."""
    is_chunks = are_chunk_labels({label for labels in test.y for label in labels}, ())
    return 100 * (chunk_f1_score(test.y, crf.predict(test.X)) if is_chunks else crf.score(*test))


def trial(way: Callable[[np.random.Generator], CRF], seed: int, test: Sentences) -> tuple[float, float, float]:
    began = time.process_time()
    crf = way(np.random.default_rng(seed))
    seconds = time.process_time() - began
    return score(crf, test), seconds, crf.n_active_


def report(about: str, name: str, found: list[tuple[float, float, float]]) -> None:
    scores, seconds, weights = np.array(found).T
    spread = f" ({scores.std(ddof=1):.1f})" if len(found) > 1 else ""
    print(
        f"| {about} | {name} | {scores.mean():.1f}{spread} | {seconds.mean():.1f} | {weights.mean():,.0f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
