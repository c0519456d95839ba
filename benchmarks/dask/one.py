"""One run in its own process; prints its result as JSON.

python -m benchmarks.dask.one local|dask FOLDER CORES MAX_ITER
"""

from __future__ import annotations

import json
import pickle
import sys
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.common import peak_mb
from benchmarks.dask.data import TEMPLATE

from sparsecrf import Fit, Template, Vocabulary, fit
from sparsecrf.shards.dataset import encode_columns

# Passes are compared, so the stochastic steps that need the data in one place are left out.
OPTIONS: dict[str, Any] = {"rho1": 2.0, "rho2": 0.01, "tol": 0.0, "solver_options": {"warm_up": False}}


def local(files: list[str], cores: int, max_iter: int) -> dict[str, Any]:
    began = time.perf_counter()
    vocabulary = Vocabulary(Template.conditions_pairs)
    corpus = encode_columns(files, vocabulary, Template(TEMPLATE), grow=True).corpus
    read = time.perf_counter() - began
    return account(fit(corpus, threads=cores, max_iter=max_iter, **OPTIONS), read)


def on_dask(files: list[str], cores: int, max_iter: int) -> dict[str, Any]:
    from distributed import Client, LocalCluster

    from sparsecrf.contrib.dask.cluster import Cluster, OnDask
    from sparsecrf.contrib.dask.encoding import encode
    from sparsecrf.encoding.recipe import Recipe
    from sparsecrf.shards import Shards

    class Recorded(OnDask):
        """Statistics of each kind of query: count, time, bytes sent and received, and bytes transferred between
        workers."""

        def __init__(self, of: OnDask) -> None:
            super().__init__(of.cluster, of.shards, of._source)
            self.notes: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
            self.sent = 0.0

        def share(self, value: Any) -> Any:
            self.sent += len(pickle.dumps(value, protocol=5))
            return super().share(value)

        def total(self, question: Any, merge: Any, *arguments: Any, first: tuple[Any, ...] = ()) -> Any:
            began = time.perf_counter()
            answer = super().total(question, merge, *arguments, first=first)
            note = self.notes[question.__name__]
            note["times"] += 1
            note["seconds"] += time.perf_counter() - began
            note["bytes_out"] += self.sent
            note["bytes_back"] += len(pickle.dumps(answer, protocol=5))
            self.sent = 0.0
            return answer

    with (
        LocalCluster(n_workers=cores, threads_per_worker=1, dashboard_address=":0") as made,
        Client(made) as client,
    ):
        began = time.perf_counter()
        data = encode(Cluster(client), files, None, None, Recipe(template=Template(TEMPLATE)).resolved(), 1)
        read = time.perf_counter() - began
        # The cost of a task that does almost nothing: `extent` looks at a few numbers.
        asked = [time.perf_counter()]
        for _ in range(5):
            Shards(data.shards.workers)
            asked.append(time.perf_counter())
        workers = Recorded(data.shards.workers)
        found = account(fit(Shards(workers), max_iter=max_iter, **OPTIONS), read)
        task_s = min(b - a for a, b in pairwise(asked)) / len(workers)
        found |= {"questions": {k: dict(v) for k, v in workers.notes.items()}, "task_s": task_s}
        data.shards.release()
    return found


def account(found: Fit, read_s: float) -> dict[str, Any]:
    last = found.history[-1]
    return {
        "tokens": found.corpus.n_tokens,
        "attributes": found.corpus.n_attributes,
        "read_s": read_s,
        "train_s": last.time_s,
        "passes": last.passes,
        "iterations": last.iter,
        "active": len(found.w),
        "objective": found.objective,
        "kkt": found.kkt,
        "peak_mb": peak_mb(),
    }


if __name__ == "__main__":
    mode, folder, cores, max_iter = sys.argv[1:]
    files = sorted(str(path) for path in Path(folder).glob("part-*.txt"))
    print(json.dumps({"local": local, "dask": on_dask}[mode](files, int(cores), int(max_iter))))
