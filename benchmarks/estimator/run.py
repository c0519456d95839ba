"""Compares the estimator with sklearn-crfsuite, and measures threads that share a model: `make bench-estimator`, or

    PYTHONPATH=. python benchmarks/estimator/run.py [--rounds N] [--seconds S]

CoNLL-2000 ($SPARSECRF_DATA), 211,727 tokens given as mappings, one thread. sklearn-crfsuite (if it is installed) runs
for 100 iterations, as in its tutorial; ours runs to its default tolerance, and to the objective that sklearn-crfsuite
reached. Tools take turns; times are minima over the rounds. Writes benchmarks/record/estimator.json and
estimator.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import pathlib
import tempfile
from importlib.util import find_spec
from typing import Any

from benchmarks.common import RECORD, machine, module, run

ITERATIONS = 100  # of sklearn-crfsuite's tutorial
PEER = "sklearn-crfsuite"
RUNS = {
    PEER: ["sklearn-crfsuite"],
    "sparsecrf": ["sparsecrf"],
    "sparsecrf, to that objective": ["sparsecrf"],
    "sparsecrf, from a generator": ["sparsecrf", "--generator"],
    "sklearn-crfsuite, from a generator": ["sklearn-crfsuite", "--iterations", "1", "--generator"],
}


def one(arguments: list[str], model: pathlib.Path) -> dict[str, Any]:
    return run(module("estimator.one", *arguments, "--save", model)).answer


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=ITERATIONS, help="of sklearn-crfsuite (default 100)")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--record", type=pathlib.Path, default=RECORD, help="folder of the records")
    options = parser.parse_args()
    runs = dict(RUNS)
    if find_spec("sklearn_crfsuite") is None:
        runs = {k: v for k, v in RUNS.items() if v[0] == "sparsecrf" and "to that" not in k}
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "model.safetensors"
        for _ in range(options.rounds):
            for name, arguments in runs.items():
                print(name, flush=True)
                if name == PEER:
                    arguments = [*arguments, "--iterations", str(options.iterations)]
                if name.endswith("to that objective"):
                    arguments = [*arguments, "--objective", str(found[PEER]["objective"])]
                result = one(arguments, model)
                if name not in found or result["fit_s"] < found[name]["fit_s"]:
                    found[name] = result
        one(RUNS["sparsecrf"], model)
        print("threads", flush=True)
        threads = run(module("estimator.threads", model, options.seconds), one_thread=False).answer
    record = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "iterations": options.iterations,
        "runs": found,
        "threads": threads,
        "seconds": options.seconds,
    }
    options.record.mkdir(parents=True, exist_ok=True)
    (options.record / "estimator.json").write_text(json.dumps(record, indent=1) + "\n")
    (options.record / "estimator.md").write_text(as_text(record))


def as_text(record: dict[str, Any]) -> str:
    rows = [
        f"| {name} | {r['fit_s']:.1f} | {r['peak_mb']:.0f} | {r['peak_mb'] - r['before_mb']:.0f} | "
        f"{r['objective']:,.0f} | {r['weights']:,} | {r['test_error']:.2f} | "
        f"{r['tokens_test'] / r['predict_s']:,.0f} |"
        for name, r in record["runs"].items()
    ]
    threads = [
        f"| {n} | {size} | {r['per_s']:,.0f} | {r['sentences']:,} | {r['wrong']} |"
        for size, by_threads in record["threads"].items()
        for n, r in by_threads.items()
    ]
    return "\n".join(
        [
            f"# The estimator, {record['date']}",
            "",
            "`make bench-estimator`; " + ", ".join(f"{k}: {v}" for k, v in record["machine"].items()),
            "",
            "`fit` on CoNLL-2000 as mappings, l1 and l2 penalty 1, observed features, one thread. sklearn-crfsuite: "
            f"{record.get('iterations', ITERATIONS)} iterations (1 from a generator, for memory). Objective: computed "
            "by the benchmark from the weights. *Above*: peak memory above what the process had before `fit`, tokens "
            "included. Tokens a second: `predict`, one thread.",
            "",
            "| | fit, s | peak, MB | above, MB | objective | weights | test error, % | tokens a second |",
            "|---|---|---|---|---|---|---|---|",
            *rows,
            "",
            f"One model shared by Python threads: `model.label` of one sentence a call, `predict` of 50; 8 threads for "
            f"{record['seconds']:.0f} s, the others for a quarter of it. Every answer is compared with that of one "
            "thread. A sentence is encoded from Python objects, one thread at a time; the rest runs in parallel, but "
            "handing the interpreter over costs as much as one sentence.",
            "",
            "| threads | sentences a call | sentences a second | sentences | different answers |",
            "|---|---|---|---|---|",
            *threads,
            "",
        ]
    )


if __name__ == "__main__":
    main()
