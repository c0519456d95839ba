"""Measures where a run with default options ends: distance to the optimum, weights, certificate, time, memory.

    PYTHONPATH=. python benchmarks/training/defaults.py TASK ... [--data FOLDER ...] [-o FILE.md]

Each task is trained in its own process, on one thread, with the default tolerance; then again to 1e-6 for the optimum,
for at most --limit seconds. --optima FILE stores the results of these long runs for reuse. Penalties are those of the
table of tasks (for folders: --rho1, --rho2); without an l1 penalty, only observed features are used. Times are
processor times.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
import time

from benchmarks import tasks
from benchmarks.common import machine, peak_mb

HEAD = "| task | above the optimum | estimated | certified | weights / at the optimum | passes | s | MB |"


def measure(train: str, template: str, rho1: float, rho2: float, tol: float | None, limit: float | None) -> None:
    """One run; prints its result as JSON."""
    from sparsecrf import Template, Vocabulary, fit
    from sparsecrf.shards.dataset import encode_columns

    vocabulary = Vocabulary(bigrams=Template.conditions_pairs, start=False)
    corpus = encode_columns([train], vocabulary, Template.load(template, "crf++"), grow=True).corpus
    options = {} if tol is None else {"tol": tol}
    began = time.process_time()
    observed = rho1 == 0
    found = fit(corpus, rho1=rho1, rho2=rho2, threads=1, time_limit=limit, observed_only=observed, **options)
    result = {
        "seconds": time.process_time() - began,  # of the processor: one thread
        "objective": found.objective,
        "gap": found.gap,
        "remaining": found.remaining,
        "weights": len(found.w),
        "passes": found.history[-1].passes,
        "stopped_by": found.stopped_by,
        "peak_mb": peak_mb(),
    }
    print(json.dumps(result))


def run(task: tasks.Task, folder: pathlib.Path, tol: float | None, limit: float | None) -> dict[str, float]:
    files = task.prepare(folder)
    given = [files.train, files.template, task.rho1, task.rho2, tol, limit]
    command = [
        sys.executable,
        __file__,
        "--one",
        json.dumps([x if isinstance(x, (float, type(None))) else str(x) for x in given]),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def optimum(task: tasks.Task, folder: pathlib.Path, limit: float, kept: pathlib.Path | None) -> dict[str, float]:
    """The result of a run to 1e-6, or of an earlier one."""
    known = json.loads(kept.read_text(encoding="utf-8")) if kept is not None and kept.exists() else {}
    key = f"{task.name} {task.rho1:g} {task.rho2:g}"
    if key not in known:
        known[key] = run(task, folder, 1e-6, limit)
        if kept is not None:
            kept.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    return dict(known[key])


def row(name: str, default: dict[str, float], best: dict[str, float]) -> str:
    lowest = min(default["objective"], best["objective"])
    share = [f"{100 * default[k] / default['objective']:.2g} %" for k in ("remaining", "gap")]
    above = 100 * (default["objective"] / lowest - 1)
    weights = f"{default['weights']:,} / {best['weights']:,} ({default['weights'] / best['weights']:.2f})"
    cells = [name, f"{above:.3f} %", *share, weights, f"{default['passes']:.0f}", f"{default['seconds']:.1f}"]
    return "| " + " | ".join([*cells, f"{default['peak_mb']:.0f}"]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tasks.add_arguments(parser)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--limit", type=float, default=120.0, help="seconds for the run to the optimum")
    parser.add_argument("--optima", type=pathlib.Path, help="a JSON file for the results of the runs to the optimum")
    parser.add_argument("--tol", type=float, help="of the runs that are rated (default: the default)")
    parser.add_argument("-o", "--output", type=pathlib.Path, help="a Markdown file to add the table to")
    options = parser.parse_args()
    if options.one is not None:
        measure(*json.loads(options.one))
        return
    lines = [", ".join(f"{name} {value}" for name, value in machine().items()), "", HEAD, "|---" * 8 + "|"]
    print("\n".join(lines), flush=True)
    for task in tasks.chosen(options):
        folder = pathlib.Path("build/benchmarks")
        best = optimum(task, folder, options.limit, options.optima)
        lines.append(row(task.name, run(task, folder, options.tol, None), best))
        print(lines[-1], flush=True)
    if options.output is not None:
        with options.output.open("a", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n\n")


if __name__ == "__main__":
    main()
