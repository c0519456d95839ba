"""One run in its own process: `python -m benchmarks.out_of_core.one '{"data": "train.txt", ...}'`.

With `cache`, text is encoded into a folder and training reads it from there, under `limit_mb` of memory if that is
given; otherwise everything is in memory. Prints one JSON object.

The limit applies to the memory of the process (RLIMIT_DATA: the heap and every writable private mapping). Pages of
mapped files do not count: the system drops them when it needs the memory, and they are reported separately.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.common import MemoryWatch
from benchmarks.out_of_core.data import TEMPLATE

from sparsecrf import Template, Vocabulary, encode_folder, fit
from sparsecrf.shards.dataset import encode_columns

#: Sizes by their names in the result: private pages, pages of files, and private memory requested (as for RLIMIT_DATA).
KINDS = {"anonymous": "RssAnon", "file": "RssFile", "data": "VmData"}


def main() -> None:
    options = json.loads(sys.argv[1])
    if "limit_mb" in options:
        limit = options["limit_mb"] << 20
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    print(json.dumps(measured(**options)))


def measured(
    data: str,
    cache: str | None = None,
    shard_tokens: int = 0,
    limit_mb: int | None = None,
    max_iter: int = 10,
    rho1: float = 1.0,
    threads: int = 1,
) -> dict[str, Any]:
    out: dict[str, Any] = {"limit_mb": limit_mb, "threads": threads, "shard_tokens": shard_tokens}
    template = Template(TEMPLATE)
    began = time.perf_counter()
    with MemoryWatch([*KINDS.values()]) as encoding:
        if cache is None:
            corpus: Any = encode_columns([data], Vocabulary(Template.conditions_pairs), template, grow=True).corpus
        else:
            corpus = encode_folder(cache, [data], template, shard_tokens=shard_tokens)
    out["encode_s"] = time.perf_counter() - began
    if cache is not None:
        began = time.perf_counter()
        encode_folder(cache, [data], template, shard_tokens=shard_tokens)
        out |= {"reuse_s": time.perf_counter() - began, "folder_bytes": corpus.n_bytes, "shards": len(corpus.shards)}
        began = time.perf_counter()
        for k in range(len(corpus.shards)):
            corpus.open(k)
        out["open_s"] = time.perf_counter() - began
    began, used = time.perf_counter(), os.times()
    with MemoryWatch([*KINDS.values()]) as training:
        # Passes are compared, so the stochastic steps are left out; from disk, no shard stays in memory.
        found = fit(
            corpus if cache is None else corpus.in_shards(threads, memory=0),
            rho1=rho1,
            rho2=0.01,
            max_iter=max_iter,
            tol=0.0,
            threads=threads,
            solver_options={"warm_up": False},
        )
    after = os.times()
    out |= {
        "text_bytes": Path(data).stat().st_size,
        "tokens": corpus.n_tokens,
        "sequences": corpus.n_sequences,
        "attributes": corpus.n_attributes,
        "labels": corpus.n_labels,
        "train_s": time.perf_counter() - began,
        "train_cpu_s": after.user + after.system - used.user - used.system,
        "iterations": found.history[-1].iter,
        "passes": found.history[-1].passes,
        "objective": found.objective,
        "kkt": found.kkt,
        "active": len(found.w),
        "encode_mb": _by_kind(encoding),
        "train_mb": _by_kind(training),
    }
    out |= {"s_per_pass": out["train_s"] / out["passes"], "cpu_s_per_pass": out["train_cpu_s"] / out["passes"]}
    return out


def _by_kind(watch: MemoryWatch) -> dict[str, float]:
    return {kind: watch.mb[name] for kind, name in KINDS.items()}


if __name__ == "__main__":
    main()
