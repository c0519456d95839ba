"""Trains on more data than fit into memory: `python -m benchmarks.out_of_core.run --tokens 100000000 --limit-mb 4096 -o
OUT`.

Writes simulated column data, encodes them into a folder and trains from it for a few iterations, in a process that
cannot allocate more than the limit; then, for comparison, trains on the same data in memory, as far as `--compare`
allows. OUT receives the data, the folder and results.json; existing data and folders are reused. Runs on Linux only.
"""

from __future__ import annotations

import argparse
import json
import platform
from pathlib import Path
from typing import Any

from benchmarks.common import module, run
from benchmarks.out_of_core.data import write


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tokens", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--limit-mb", type=int, default=4096, help="of the run from disk; 0: none")
    parser.add_argument("--shard-tokens", type=int, default=1_000_000)
    parser.add_argument("--compare", type=int, default=10**7, help="train in memory too, up to this many tokens")
    parser.add_argument("--max-iter", type=int, default=10)
    parser.add_argument("--rho1", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("-o", "--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    results = []
    for tokens in options.tokens:
        data = options.out / f"{tokens}.txt"
        if not data.exists():
            unfinished = data.with_suffix(".part")
            write(unfinished, tokens)
            unfinished.rename(data)
        common = {"data": str(data), "max_iter": options.max_iter, "rho1": options.rho1, "threads": options.threads}
        disk = {"cache": str(options.out / f"{tokens}.cache"), "shard_tokens": options.shard_tokens}
        if options.limit_mb:
            disk["limit_mb"] = options.limit_mb
        result = {"tokens": tokens, "disk": one({**common, **disk})}
        if tokens <= options.compare:
            result["memory"] = one(common)
        results.append(result)
        record = {"machine": platform.processor() or platform.machine(), "results": results}
        (options.out / "results.json").write_text(json.dumps(record, indent=1) + "\n")
        print(rows(result), flush=True)


def one(options: dict[str, Any]) -> dict[str, Any]:
    """The report of a run in its own process or, if there is none, why the run ended."""
    done = run(module("out_of_core.one", json.dumps(options)))
    if done.status != 0:
        return {"failed": (done.text.strip().splitlines() or [f"status {done.status}"])[-1]}
    return done.answer


def rows(result: dict[str, Any]) -> str:
    return "\n".join(row(kind, result[kind]) for kind in ("disk", "memory") if kind in result)


def row(kind: str, run: dict[str, Any]) -> str:
    if "failed" in run:
        return f"{kind:>6}: {run['failed']}"
    folder = f", folder {run['folder_bytes'] / 1e6:,.0f} MB in {run['shards']}" if kind == "disk" else ""
    return (
        f"{kind:>6}: {run['tokens']:,} tokens, text {run['text_bytes'] / 1e6:,.0f} MB{folder}, {run['attributes']:,} "
        f"attributes; encoded in {run['encode_s']:.1f} s ({memory(run['encode_mb'])}); {run['passes']:.0f} passes, "
        f"{run['s_per_pass']:.2f} s each, {run['cpu_s_per_pass']:.2f} s of processor ({memory(run['train_mb'])}); "
        f"objective {run['objective']:.6g}"
    )


def memory(mb: dict[str, float]) -> str:
    return f"{mb['anonymous']:,.0f} MB held of {mb['data']:,.0f} asked for, {mb['file']:,.0f} MB of files"


if __name__ == "__main__":
    main()
