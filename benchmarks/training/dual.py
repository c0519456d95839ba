"""Compares `proximal` with `dual`: processor seconds on one thread until 1, 0.5, 0.1 and 0.01 % above the optimum, and
until certified.

usage: python benchmarks/training/dual.py RHO1 RHO2 FILE...      column files, word and label; features: words

The optimum is the best lower bound of the two runs (dual runs to a gap of 0.005 %). `default` is a run with the default
tolerance: seconds, then how far above the optimum it ended and its certified gap, in per cent.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from sparsecrf import Template, Vocabulary
from sparsecrf.encoding.presets import preset
from sparsecrf.shards.dataset import encode_columns
from sparsecrf.training import fit

SHARES = (1e-2, 5e-3, 1e-3, 1e-4)


def run(corpus: Any, solver: str, enough: float | None = None, **options: Any) -> tuple[Any, list[tuple[float, float]]]:
    """A fit that ends at an objective of `enough`, with processor seconds and objective after every iteration."""
    times: list[tuple[float, float]] = []
    began = time.process_time()

    def note(record: dict[str, Any]) -> bool:
        times.append((time.process_time() - began, record["objective"]))
        return enough is not None and record["objective"] <= enough

    found = fit(corpus, solver=solver, threads=1, callback=note, certify=enough is None, **options)
    times.append((time.process_time() - began, found.objective))
    return found, times


def main() -> None:
    rho1, rho2, files = float(sys.argv[1]), float(sys.argv[2]), sys.argv[3:]
    print("| data | tokens, labels | solver | 1 % | 0.5 % | 0.1 % | 0.01 % | default: s, above, gap |")
    print("|---|---|---|---|---|---|---|---|")
    for file in files:
        corpus = encode_columns([file], Vocabulary(), Template(preset("words")), grow=True, threads=1).corpus
        penalty = {"rho1": rho1, "rho2": rho2}
        tight, times = run(corpus, "dual", tol=5e-5, **penalty)
        best = tight.objective - tight.gap / 2
        for solver in ("proximal", "dual"):
            whole, ended = run(corpus, solver, **penalty)
            if solver == "proximal":
                _, curve = run(corpus, solver, enough=best * (1 + 1e-4), tol=1e-7, max_iter=1500, **penalty)
            else:
                curve = times
            cells = []
            for share in SHARES:
                reached = [at for at, value in curve if value <= best * (1 + share)]
                cells.append(f"{reached[0]:.1f}" if reached else "-")
            above, gap = 100 * (whole.objective / best - 1), 100 * whole.gap / whole.objective
            cells.append(f"{ended[-1][0]:.1f}, {above:.2f}, {gap:.2f}")
            name = Path(file).parent.name
            size = f"{corpus.n_tokens:,}, {corpus.n_labels}"
            print(f"| {name} | {size} | `{solver}` | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
