"""Milliseconds per pass: processor time on one thread, the fastest of 20.

usage: python benchmarks/training/passes.py RHO1 RHO2 FILE...      column files, word and label; features: words

A pass covers all observed features, with the weights that `proximal` finds in 20 iterations. `loss` is only the forward
pass; `gradient` adds the backward pass and the expectations, `curvature` the second derivatives. `first` is the first
gradient over a set of features, which includes building its tables.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sparsecrf import Template, Vocabulary
from sparsecrf._core import FeatureSet, Oracle
from sparsecrf.encoding.presets import preset
from sparsecrf.shards.dataset import encode_columns
from sparsecrf.training import fit

ITERATIONS, TIMES = 20, 20


def milliseconds(call: Callable[[], Any]) -> float:
    began = time.process_time()
    call()
    return 1e3 * (time.process_time() - began)


def measure(corpus: Any, rho1: float, rho2: float) -> list[str]:
    """The cells of a row, starting with the number of weights."""
    found = fit(corpus, rho1=rho1, rho2=rho2, solver="proximal", threads=1, max_iter=ITERATIONS, certify=False)
    features = FeatureSet.observed(corpus)
    numbers = features.numbers
    observed = np.isin(found.numbers, numbers)
    w = np.zeros(len(numbers))
    w[np.searchsorted(numbers, found.numbers[observed])] = found.w[observed]
    oracle = Oracle(corpus, threads=1)
    counts = np.array(oracle.counts(features))
    gradient = partial(oracle.loss_grad, features, w, counts)
    curvature = partial(oracle.loss_grad_curvature, features, w, counts)
    first = milliseconds(gradient)
    calls: list[Callable[[], Any]] = [partial(oracle.loss, features, w), gradient, curvature]
    fastest = [min(milliseconds(call) for _ in range(TIMES)) for call in calls]
    return [f"{np.count_nonzero(w):,} of {len(w):,}", *(f"{ms:.1f}" for ms in (first, *fastest))]


def main() -> None:
    rho1, rho2, files = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    print("| data | tokens, labels | attributes a token | nonzero weights | first | loss | gradient | curvature |")
    print("|---|---|---|---|---|---|---|---|")
    for file in files:
        corpus = encode_columns([file], Vocabulary(), Template(preset("words")), grow=True, threads=1).corpus
        size = f"{corpus.n_tokens:,}, {corpus.n_labels}"
        attributes = len(corpus.to_arrays()["unigram_id"]) / corpus.n_tokens
        cells = [Path(file).parent.name, size, f"{attributes:.1f}", *measure(corpus, rho1, rho2)]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
