"""Time of a pass (loss and gradient) with 1 and 2 threads, on idle cores and on cores that other processes keep busy.

    PYTHONPATH=. python benchmarks/process/passes.py FOLDER SECONDS TASK ...

All observed features, with weights 0. Busy means as many processes as cores, each of which only computes. Each figure
is the median over the passes that fit into SECONDS. Prints one JSON object per line: milliseconds per pass; `others`,
the cores used by processes that do not belong to this benchmark (Linux): figures are void if it is not near 0.
"""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np
from benchmarks.tasks import TASKS

from sparsecrf import Corpus, Template, Vocabulary
from sparsecrf._core import FeatureSet, Oracle
from sparsecrf.shards.dataset import encode_columns


def milliseconds(corpus: Corpus, features: FeatureSet, threads: int, seconds: float) -> float:
    oracle, w = Oracle(corpus, threads=threads), np.zeros(features.size)
    oracle.loss_grad(features, w)
    took, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        began = time.perf_counter()
        oracle.loss_grad(features, w)
        took.append(time.perf_counter() - began)
    return 1000 * statistics.median(took)


def of_others() -> float:
    """Core seconds used by processes other than this one and its ended children; 0 if not on Linux."""
    path = pathlib.Path("/proc/stat")
    if not path.exists():
        return 0.0
    user, nice, system = (int(text) for text in path.read_text().split()[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])


def main() -> None:
    folder, seconds = pathlib.Path(sys.argv[1]), float(sys.argv[2])
    for name in sys.argv[3:]:
        files = TASKS[name].prepare(folder)
        vocabulary = Vocabulary(start=False)
        template = Template.load(files.template)
        corpus = encode_columns([files.train], vocabulary, template, grow=True).corpus
        features = FeatureSet.observed(corpus)
        before = of_others(), time.perf_counter()
        found = {f"quiet {n}": milliseconds(corpus, features, n, seconds) for n in (1, 2)}
        loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
        try:
            found |= {f"busy {n}": milliseconds(corpus, features, n, 2 * seconds) for n in (1, 2)}
        finally:
            for loop in loops:
                loop.kill()
                loop.wait()
        found["others"] = (of_others() - before[0]) / (time.perf_counter() - before[1])
        print(json.dumps({"task": name} | {key: round(value, 2) for key, value in found.items()}), flush=True)


if __name__ == "__main__":
    main()
