"""Labelling for a long time from many threads: answers must not change, and memory must not grow."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from threading import Event, Thread
from typing import Any

from torture.common import Outcome
from torture.made_up import TEMPLATE, columns

THREADS = 8


def run(minutes: float, out: Path) -> Outcome:
    return soak(60 * minutes)


def soak(seconds: float, threads: int = THREADS) -> Outcome:
    """All threads label texts and sequences with one model, and compare with the earlier answers of one thread."""
    from sparsecrf import Model, Template, Vocabulary, fit, read_columns
    from sparsecrf.shards.dataset import encode_columns

    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "data.txt")
        file.write_text(columns(400), encoding="utf-8")
        vocabulary = Vocabulary(bigrams=Template.conditions_pairs)
        encoded = encode_columns([file], vocabulary, Template(TEMPLATE), grow=True)
        trained = fit(encoded.corpus, rho1=0.3, max_iter=20, threads=1).model(vocabulary)
        model = Model(trained.vocabulary, trained.features, trained.w, template=encoded.template, n_columns=2)
        rows = [[row[:2] for row in sequence] for sequence in read_columns(file)]
    texts = [columns(30, seed=k).encode() for k in range(1, 9)]

    def ask(k: int) -> Any:
        sequence = rows[k % len(rows)]
        text = model.label_text(texts[k % len(texts)], "text", 0, 1, nbest=2, headers=True, distribution=True)
        return text, model.label(sequence), model.marginals(sequence).tobytes(), model.nbest(sequence, 3)

    n = 40
    expected = [ask(k) for k in range(n)]
    stop, findings, calls = Event(), [], [0] * threads

    def work(which: int) -> None:
        k = 7 * which  # threads start with different calls, so that different calls overlap
        try:
            while not stop.is_set() and not findings:
                if ask(k % n) != expected[k % n]:
                    findings.append(f"thread {which}, call {calls[which]}: another answer than before")
                k, calls[which] = k + 1, calls[which] + 1
        except Exception as error:
            findings.append(f"thread {which}: {type(error).__name__}: {error}")

    team = [Thread(target=work, args=(which,)) for which in range(threads)]
    for one in team:
        one.start()
    began, samples = time.perf_counter(), []
    while (elapsed := time.perf_counter() - began) < seconds and not findings:
        samples.append((elapsed, resident_mb()))
        time.sleep(min(1.0, seconds / 40))
    stop.set()
    for one in team:
        one.join()
    growth, level = growth_of(samples)
    if growth > max(2.0, 0.02 * level):
        findings.append(f"memory: expected it flat, found {growth:.1f} MB more at the end, of {level:.1f}")
    detail = {"calls": sum(calls), "threads": threads, "resident_mb": round(level, 1), "growth_mb": round(growth, 2)}
    return Outcome(sum(calls), findings, detail=detail)


def resident_mb() -> float:
    """Memory in use by this process; 0 if the system does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0.0
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def growth_of(samples: list[tuple[float, float]]) -> tuple[float, float]:
    """The growth of the least-squares line from beginning to end, and the mean. The first third is ignored as
    warm-up."""
    kept = samples[len(samples) // 3 :]
    mean_t, mean_m = (sum(values) / len(kept) for values in zip(*kept, strict=True))
    spread = sum((t - mean_t) ** 2 for t, _ in kept)
    slope = sum((t - mean_t) * (m - mean_m) for t, m in kept) / spread if spread > 0 else 0.0
    return slope * (kept[-1][0] - kept[0][0]), mean_m
