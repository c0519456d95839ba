"""Time of forward-backward, and of loss and gradient on the active features, by the density of lambda.

Letters: Y labels, P positions, L bigram lists (one attribute each, so L transition matrices), K features.
"""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Callable

import numpy as np

from sparsecrf import _core

KERNELS = ("sparse", "dense", "auto")
QUANTITIES = ("forward-backward", "loss + gradient")


@dataclasses.dataclass(frozen=True)
class Setting:
    """A simulated corpus: P positions in sentences of 8 to 32, each with one of L lists at random."""

    n_labels: int
    n_lists: int
    n_tokens: int

    def corpus(self) -> _core.Corpus:
        rng = np.random.default_rng(self.n_labels)
        lengths = rng.integers(8, 33, size=self.n_tokens // 20)
        tokens = int(lengths.sum())
        ptr = np.arange(tokens + 1, dtype=np.int64)
        lists = rng.integers(self.n_lists, size=tokens).astype(np.int32)
        return _core.Corpus.from_arrays(
            n_labels=self.n_labels,
            n_attributes=self.n_lists,
            lengths=lengths,
            unigram_ptr=ptr,
            unigram_id=lists,
            bigram_ptr=ptr,
            bigram_id=lists,
            labels=rng.integers(self.n_labels, size=tokens).astype(np.int32),
        )

    def features(self, density: float) -> tuple[_core.FeatureSet, np.ndarray]:
        """All unigram features and, for each list, density Y^2 random bigram features; the weights are drawn from N(0,
        1/4)."""
        Y, L = self.n_labels, self.n_lists
        rng = np.random.default_rng([Y, L, round(density * 1e6)])
        pairs = np.concatenate([rng.permutation(Y * Y)[: entries(Y, density)] for _ in range(L)])
        attribute = np.repeat(np.arange(L, dtype=np.int32), entries(Y, density))
        features = _core.FeatureSet(
            Y,
            L,
            np.repeat(np.arange(L, dtype=np.int32), Y),
            np.tile(np.arange(Y, dtype=np.int32), L),
            attribute,
            (pairs // Y).astype(np.int32),
            (pairs % Y).astype(np.int32),
        )
        return features, rng.normal(scale=0.5, size=features.size)


def entries(n_labels: int, density: float) -> int:
    return round(density * n_labels * n_labels)


def timed(call: Callable[[], object], runs: int) -> float:
    start = time.process_time()
    for _ in range(runs):
        call()
    return (time.process_time() - start) / runs


def take_turns(calls: dict[str, Callable[[], object]], rounds: int, seconds: float) -> dict[str, np.ndarray]:
    """Returns the seconds of each call in each round.

    Runs at least `rounds` rounds, and continues until all ratios of two calls are known to 1 % (standard error of their
    median) or `seconds` have passed: when to stop depends on the scatter of the ratios, not on the ratios.

    The calls take turns, in every order, so that a slow phase of the machine affects all of them. In its turn, a call
    runs once untimed, because another call used the caches before, and then for at least 5 ms. The measure is the
    processor time of this thread, so waiting for a core that another process uses does not count.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    runs = {name: int(np.ceil(5e-3 / max(timed(call, 1), 1e-6))) for name, call in calls.items()}
    begun = time.perf_counter()
    for turn, order in enumerate(itertools.cycle(itertools.permutations(calls))):
        if turn >= rounds and (known(times) or time.perf_counter() - begun > seconds):
            break
        for name in order:
            calls[name]()
            times[name].append(timed(calls[name], runs[name]))
    return {name: np.array(t) for name, t in times.items()}


def known(times: dict[str, list[float]], tolerance: float = 0.01) -> bool:
    """Standard error of a median: 1.25 deviations / sqrt(n); normal quartiles are 1.35 deviations apart."""
    for a, b in itertools.combinations(times.values(), 2):
        low, high = np.quantile(np.log(a) - np.log(b), [0.25, 0.75])
        if 1.25 * (high - low) / 1.35 > tolerance * np.sqrt(len(a)):
            return False
    return True


def measure(setting: Setting, density: float, rounds: int, seconds: float) -> dict[str, dict[str, float]]:
    """For each quantity: milliseconds of each kernel (fastest round), and medians of their ratios within a round."""
    corpus = setting.corpus()
    features, w = setting.features(density)

    def marginals(kernel: str) -> Callable[[], object]:
        chain = _core.Chain(features, w, kernel=kernel, threads=1)
        return lambda: chain.marginals(corpus)

    def loss_grad(kernel: str) -> Callable[[], object]:
        oracle = _core.Oracle(corpus, threads=1, kernel=kernel)
        oracle.counts(features)  # of the labels, not of inference: computed once per feature set
        return lambda: oracle.loss_grad(features, w)

    found = {}
    for quantity, call in zip(QUANTITIES, (marginals, loss_grad), strict=True):
        calls = {kernel: call(kernel) for kernel in KERNELS}
        for run in calls.values():
            run()
        times = take_turns(calls, rounds, seconds)
        dense_to_sparse = float(np.median(times["dense"] / times["sparse"]))
        better = "dense" if dense_to_sparse < 1 else "sparse"
        found[quantity] = {kernel: 1e3 * float(t.min()) for kernel, t in times.items()} | {
            "auto / better": float(np.median(times["auto"] / times[better])),
            "dense / sparse": dense_to_sparse,
            "dense / auto": float(np.median(times["dense"] / times["auto"])),
            "rounds": len(times["auto"]),
        }
    return found
