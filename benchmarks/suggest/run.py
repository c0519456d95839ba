"""F1 by the number of annotated sentences, for sentences chosen by `suggest` and at random.

    PYTHONPATH=. python benchmarks/suggest/run.py FOLDER[:SCHEME] ... [--by random confidence:1 entropy:0 ...]
        [--seeds 3] [--sizes 50 100 150 200 300 400 600 800] [--sentences 2000]

A folder has column files train.txt and test.txt with the label last. Training begins with some random sentences, the
same for all methods; then, step by step, other sentences are chosen (`NAME:DIVERSITY`) and get their labels, and the
model is retrained from its last weights. The score is F1 of chunks, or of runs of equal labels with `:runs`, or the
token accuracy if labels do not encode chunks. The table shows its mean over the seeds and the smallest number of
sentences (interpolated between two steps) that reaches 90 % of the score of all sentences, with their thousands of
tokens in parentheses.
"""

from __future__ import annotations

import argparse
import pathlib
import time
from typing import Any

import numpy as np
from benchmarks.audit.run import read
from benchmarks.common import machine

from sparsecrf import CRF
from sparsecrf.contrib.suggest import suggest
from sparsecrf.metrics import Evaluation

PENALTIES = {"rho1": 0.3, "rho2": 0.3}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER[:SCHEME]")
    parser.add_argument("--by", nargs="+", default=["random", "confidence:1"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sizes", nargs="+", type=int, default=[50, 100, 150, 200, 300, 400, 600, 800])
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--features", default="words")
    options = parser.parse_args()
    print(machine())
    for given in options.folders:
        folder, _, scheme = given.partition(":")
        pool, test = (read(pathlib.Path(folder) / f"{name}.txt", options.sentences) for name in ("train", "test"))
        task = Task(pool, test, scheme or "auto", options.features)
        whole = task.score(task.trained(range(len(pool[0])), None))
        sizes = [size for size in options.sizes if size <= len(pool[0])]
        print(f"\n{pathlib.Path(folder).name}: all {len(pool[0])} sentences {whole:.2f}, 90 % {0.9 * whole:.2f}\n")
        print("| chosen by | " + " | ".join(map(str, sizes)) + " | 90 % at | s |")
        print("|" + "---|" * (len(sizes) + 3))
        for by in options.by:
            began = time.process_time()
            curves, tokens = zip(*(task.curve(by, sizes, seed) for seed in range(options.seeds)), strict=True)
            mean, read_tokens = np.mean(curves, axis=0), np.mean(tokens, axis=0)
            reached = first_at(mean, sizes, 0.9 * whole)
            cost = first_at(mean, read_tokens, 0.9 * whole)
            at = "-" if reached is None or cost is None else f"{reached:.0f} ({cost / 1000:.1f})"
            seconds = f"{time.process_time() - began:.0f}"
            print("| " + " | ".join([by, *(f"{s:.2f}" for s in mean), at, seconds]) + " |", flush=True)


def first_at(scores: Any, sizes: Any, goal: float) -> float | None:
    """Where the curve first reaches the goal."""
    for k, score in enumerate(scores):
        if score >= goal:
            if k == 0:
                return float(sizes[0])
            share = (goal - scores[k - 1]) / (score - scores[k - 1])
            return float(sizes[k - 1] + share * (sizes[k] - sizes[k - 1]))
    return None


class Task:
    """A pool with known labels, and other data for scoring."""

    def __init__(self, pool: Any, test: Any, scheme: str, features: str) -> None:
        (self._X, self._y), (self._X_test, self._y_test) = pool, test
        self._scheme, self._features = scheme, features

    def trained(self, sentences: Any, before: Any) -> Any:
        X, y = [self._X[i] for i in sentences], [self._y[i] for i in sentences]
        crf = CRF(features=self._features, **PENALTIES)
        return crf.fit(X, y, init_model=None if before is None else before.model_)

    def score(self, crf: Any) -> float:
        evaluation = Evaluation(self._scheme)
        for gold, labels in zip(self._y_test, crf.predict(self._X_test), strict=True):
            evaluation.add(gold, labels)
        found = evaluation.chunks
        return 100 - evaluation.token_error if found is None else found.f1

    def curve(self, by: str, sizes: list[int], seed: int) -> tuple[list[float], list[int]]:
        """Scores and numbers of annotated tokens at these numbers of sentences."""
        rng = np.random.default_rng(seed)
        left = rng.permutation(len(self._X)).tolist()
        chosen, scores, tokens, crf = left[: sizes[0]], list[float](), list[int](), None
        left = left[sizes[0] :]
        for size in sizes:
            if crf is not None:
                name, _, diversity = by.partition(":")
                n = size - len(chosen)
                if name == "random":
                    places = list(range(n))
                else:
                    pool = [self._X[i] for i in left]
                    found = suggest(crf.model_, pool, n, by=name, diversity=float(diversity or 1), threads=1)
                    places = [suggestion.sequence for suggestion in found]
                chosen = [*chosen, *(left[k] for k in places)]
                gone = set(places)
                left = [i for k, i in enumerate(left) if k not in gone]
            crf = self.trained(chosen, crf)
            scores.append(self.score(crf))
            tokens.append(sum(len(self._X[i]) for i in chosen))
        return scores, tokens


if __name__ == "__main__":
    main()
