"""Measures whether answer sets have the requested coverage, how large they are, and what they cost.

    PYTHONPATH=. python benchmarks/uncertain/coverage.py FOLDER ... [--splits 200]

A model is trained on train.txt with default penalties. The combined sentences of dev.txt and test.txt are repeatedly
split at random into two halves, one for calibration and one for testing. Coverage is measured before any abstention;
sizes are for the sets that are not abstentions. Times are processor seconds on one thread.
"""

from __future__ import annotations

import argparse
import pathlib
import time
from collections.abc import Sequence
from itertools import chain

import numpy as np
from benchmarks.uncertain.data import preset, sentences

from sparsecrf import CRF
from sparsecrf.model.answer_sets import ScoreFinder, SpanLists, _lists, each_alone
from sparsecrf.model.calibration import Calibration

COVERAGES = (0.8, 0.9, 0.95)
LIMITS = (10, 100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--splits", type=int, default=200)
    asked = parser.parse_args()
    print(
        "| data | sentences (left out) | best right | kind | asked | coverage, mean (sd) | size: median, 90 %, mean "
        f"(at most {' ; '.join(map(str, LIMITS))}) | abstained | s a 1,000: calibrate, lists of {max(LIMITS)} |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for folder in asked.folders:
        measure(folder, asked.splits)


def measure(folder: pathlib.Path, splits: int) -> None:
    train, rest = sentences(folder / "train.txt"), sentences(folder / "dev.txt") + sentences(folder / "test.txt")
    crf = CRF(features=preset(set(chain.from_iterable(train.y)))).fit(*train)
    known = set(crf.classes_)
    pool = rest.where([i for i, labels in enumerate(rest.y) if set(labels) <= known])
    model, corpus, scores = crf.model_.chain_with(1), crf.model_.encode(pool.X, pool.y), ScoreFinder(crf.model_.labels)
    began = time.process_time()
    scores.add(model, corpus)
    calibrating = (time.process_time() - began) / len(pool.X) * 1000
    began = time.process_time()
    lists = [[p for _, p, _ in _lists(model, one, max(LIMITS) + 1)][-1] for one in each_alone(corpus)]
    listing = (time.process_time() - began) / len(pool.X) * 1000
    right = np.mean([own[0] == 0 for own in scores.sequences])
    about = f"| {folder.name} | {len(pool.X):,} ({len(rest.X) - len(pool.X)}) | {100 * right:.1f} % "
    rows(
        about, "sequences", LIMITS, scores.sequences, [[p] for p in lists], splits, f"{calibrating:.1f}, {listing:.1f}"
    )
    marginals = [-np.sort(-model.marginals(one), axis=1) for one in each_alone(corpus)]
    rows(about, "tokens", LIMITS[:1], scores.tokens, marginals, splits)
    if any(scores.spans):
        spans = SpanLists(crf.model_.labels)
        types = [[[p for _, p in own] for *_, own in spans.of(model, one)] for one in each_alone(corpus)]
        rows(about, "spans", LIMITS[:1], scores.spans, types, splits)


def rows(
    about: str,
    kind: str,
    limits: Sequence[int],
    scores: list[list[float]],
    lists: Sequence[Sequence[Sequence[float]]],
    splits: int,
    cost: str = "",
) -> None:
    """`scores` of the right answers and `lists` of decreasing probabilities, by sentence and question."""
    asked = [i for i, own in enumerate(scores) if own]
    share = np.concatenate([np.full(len(scores[i]), 1 / len(scores[i])) for i in asked])
    of = np.concatenate([np.full(len(scores[i]), k) for k, i in enumerate(asked)])  # the sentence of a question
    score = np.concatenate([scores[i] for i in asked])
    before = np.full((len(score), max(len(p) for i in asked for p in lists[i])), np.inf)
    for row, p in zip(before, (p for i in asked for p in lists[i]), strict=True):
        row[: len(p)] = np.concatenate([[0.0], np.cumsum(p)[:-1]])
    for coverage in COVERAGES:
        rng, found = np.random.default_rng(0), []
        for _ in range(splits):
            is_held = np.zeros(len(asked), dtype=bool)
            is_held[rng.permutation(len(asked))[len(asked) // 2 :]] = True
            q = Calibration.of([scores[i] for i, held in zip(asked, is_held, strict=True) if not held])
            threshold = q.threshold(coverage, kind)
            held = is_held[of]
            covered = (share * (score <= threshold))[held].sum() / is_held.sum()
            size = (before[held] <= threshold).sum(axis=1)
            answered = [size[size <= k] for k in limits]
            stats = [[np.median(s), np.quantile(s, 0.9), s.mean()] if len(s) else [np.nan] * 3 for s in answered]
            found.append([covered, *chain.from_iterable(stats), *(1 - len(s) / len(size) for s in answered)])
        mean, sd = np.nanmean(found, axis=0), np.std([one[0] for one in found])
        sizes = "; ".join("{:.0f} {:.0f} {:.2f}".format(*mean[1 + 3 * j : 4 + 3 * j]) for j in range(len(limits)))
        abstained = "; ".join(f"{100 * share:.1f} %" for share in mean[-len(limits) :])
        said = (
            f"{kind} | {100 * coverage:.0f} % | {100 * mean[0]:.2f} ({100 * sd:.1f}) | {sizes} | {abstained} | {cost} |"
        )
        print(f"{about}| {said}", flush=True)


if __name__ == "__main__":
    main()
