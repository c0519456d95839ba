"""Compares training on a Dask cluster with one process on the same number of cores, on simulated data:

    PYTHONPATH=. python benchmarks/dask/run.py [--tokens N ...] [--cores N] [--files N] [--max-iter N] [--out FOLDER]

Both train for the same number of iterations on the same files, in turns, once for each size. Bytes are counted for
pickled arguments and answers. Writes dask.json and dask.md: times, bytes, and a prediction for 100 workers and 10^9
tokens, computed (not measured) from the recorded parts.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import pathlib
import sys
import tempfile
from typing import Any

import numpy as np
from benchmarks.common import RECORD, machine, module, run
from benchmarks.dask import data

SIZES = (1_000_000, 4_000_000, 16_000_000)
WORKERS, TOKENS, SHARDS = 100, 10**9, 400  # the cluster for which times are predicted
BANDWIDTH, LATENCY = 10e9 / 8, 1e-3  # bytes and seconds of a network of 10 Gbit/s
PASSES = ("loss_grad", "loss_grad_curvature", "large_sums")


def measured(n_tokens: int, cores: int, n_files: int, max_iter: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        data.write(pathlib.Path(folder), n_tokens, n_files)
        return {"files": n_files} | {
            mode: run(module("dask.one", mode, folder, cores, max_iter)).answer for mode in ("local", "dask")
        }


def per_pass(run: dict[str, Any]) -> dict[str, float]:
    """Seconds and bytes sent and received per pass on Dask, over all kinds of queries."""
    notes = [run["questions"][name] for name in PASSES if name in run["questions"]]
    times = sum(note["times"] for note in notes)
    return {key: sum(note[key] for note in notes) / times for key in ("seconds", "bytes_out", "bytes_back")}


def extrapolated(sizes: list[int], values: list[float], to: float) -> float:
    """Extrapolate the values by a power law."""
    if len(sizes) < 2:
        return values[-1]
    slope, level = np.polyfit(np.log(sizes), np.log(values), 1)
    return float(np.exp(level + slope * math.log(to)))


def large(runs: list[dict[str, Any]], cores: int) -> dict[str, float]:
    """Seconds of each part of a pass over TOKENS on WORKERS with one core each.

    compute: seconds per token on one core, from the largest local run (passes and everything between them);
    spread and collect: sending weights to all workers and sums back, one message for each level of the tree;
    tasks: scheduler time, one task after the other;
    optimiser: time of the driver between passes of the largest run, which grows with the working set that it sends.
    """
    sizes = [run["local"]["tokens"] for run in runs]
    last = runs[-1]
    token_s = last["local"]["train_s"] / last["local"]["passes"] * cores / last["local"]["tokens"]
    sent = [per_pass(run["dask"]) for run in runs]
    between = max(last["dask"]["train_s"] / last["dask"]["passes"] - sent[-1]["seconds"], 0.0)
    out, back = (extrapolated(sizes, [s[key] for s in sent], TOKENS) for key in ("bytes_out", "bytes_back"))
    parts = {
        "compute": token_s * TOKENS / WORKERS,
        "spread": math.ceil(math.log2(WORKERS)) * (LATENCY + out / BANDWIDTH),
        "collect": math.ceil(math.log(SHARDS, 8)) * (LATENCY + 8 * back / BANDWIDTH),
        "tasks": last["dask"]["task_s"] * SHARDS * 9 / 8,
        "optimiser": between * out / sent[-1]["bytes_out"],
    }
    total = sum(parts.values())
    return {**parts, "total": total, "efficiency": parts["compute"] / total, "bytes_out": out, "bytes_back": back}


def page(record: dict[str, Any]) -> str:
    lines = ["# Training on a Dask cluster", "", f"`{record['command']}`", ""]
    lines += [f"{name}: {value}  " for name, value in record["machine"].items()]
    lines += [
        "",
        f"{record['cores']} cores: threads of one process, or workers of one thread. Simulated data,",
        f"{data.LABELS} labels, {record['max_iter']} iterations of `auto`.",
        "",
        "| tokens | files | read, local / Dask (s) | s a pass, local / Dask | overhead | bytes a pass, out / back | "
        "caller's memory, local / Dask (MB) | objective, relative difference |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in record["runs"]:
        a, b, sent = row["local"], row["dask"], per_pass(row["dask"])
        pass_a, pass_b = a["train_s"] / a["passes"], b["train_s"] / b["passes"]
        lines.append(
            f"| {a['tokens']:,} | {row['files']} | {a['read_s']:.1f} / {b['read_s']:.1f} | "
            f"{pass_a:.3f} / {pass_b:.3f} | {100 * (pass_b / pass_a - 1):+.0f} % | "
            f"{sent['bytes_out']:,.0f} / {sent['bytes_back']:,.0f} | "
            f"{_mb(a['peak_mb'])} / {_mb(b['peak_mb'])} | {abs(b['objective'] / a['objective'] - 1):.1e} |"
        )
    far = record["large"]
    lines += [
        "",
        f"## {WORKERS} workers, {TOKENS:,} tokens, {SHARDS} shards: computed from the above, not measured",
        "",
        f"A network of {BANDWIDTH * 8 / 1e9:.0f} Gbit/s and {1000 * LATENCY:.0f} ms a message; bytes a pass "
        "extrapolated as a power of the tokens, the optimiser's time in proportion to them.",
        "",
        "| part of a pass | s |",
        "|---|---|",
        *(f"| {name} | {far[name]:.3f} |" for name in ("compute", "spread", "collect", "tasks", "optimiser", "total")),
        "",
        f"Share of the time that workers compute: {100 * far['efficiency']:.0f} %.",
    ]
    return "\n".join(lines) + "\n"


def _mb(x: float | None) -> str:
    return "-" if x is None else f"{x:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--tokens", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--files", type=int, default=0, help="partitions; 0: four for each core")
    parser.add_argument("--max-iter", type=int, default=20)
    parser.add_argument("--out", type=pathlib.Path, default=RECORD)
    given = parser.parse_args()
    n_files = given.files or 4 * given.cores
    runs = [measured(n, given.cores, n_files, given.max_iter) for n in sorted(given.tokens)]
    record = {
        "command": f"python benchmarks/dask/run.py {' '.join(sys.argv[1:])}".strip(),
        "machine": machine(),
        "cores": given.cores,
        "max_iter": given.max_iter,
        "runs": runs,
        "large": large(runs, given.cores),
    }
    (given.out / "dask.json").write_text(json.dumps(record, indent=1) + "\n")
    (given.out / "dask.md").write_text(page(record))


if __name__ == "__main__":
    main()
