"""Labelling and reading against the peers: `make bench-labelling`, or

    PYTHONPATH=. python benchmarks/labelling/run.py [--models FOLDER] [--rounds N]

CoNLL-2000 ($SPARSECRF_DATA) with the usual CRF++ template. Every tool trains a model with an l1 penalty of 1, once: a
folder given by --models keeps the models for the next time (a quarter of an hour without). Tools take turns; a time is
the smallest of the rounds, that of labelling one sequence, which is the time to start, taken off. Writes
benchmarks/record/labelling.json and labelling.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import pathlib
import sys
import tempfile
from dataclasses import replace
from typing import Any

from benchmarks.common import RECORD, machine, module, run
from benchmarks.labelling import report
from benchmarks.labelling.turns import in_turns
from benchmarks.tasks import TASKS, Files, Task
from benchmarks.tools import BY_NAME, Tool, crfpp, library, missing, ours, wapiti

TASK = TASKS["conll2000"]
TOKENS = 1_000_000
_OURS = replace(ours("auto"), command=library("sparsecrf", solver="auto", tol=1e-3, time_limit=None))
_CRFSUITE = BY_NAME["python-crfsuite, observed"]
#: Tools by the names of the record, and how many iterations they train for; ours, to its default tolerance.
TOOLS: dict[str, tuple[Tool, float]] = {
    "sparsecrf": (_OURS, 0),
    "sparsecrf, 2 threads": (replace(_OURS, label=ours("auto", threads=2).label), 0),
    "Wapiti": (replace(BY_NAME["Wapiti l-bfgs, all"], command=wapiti("l-bfgs", compact=True)), 60),
    "CRF++": (replace(BY_NAME["CRF++, all"], command=crfpp("CRF-L1")), 30),
    "CRFsuite": (_CRFSUITE, 100),
}


def train(tool: Tool, budget: float, task: Task, files: Files) -> None:
    """Leaves a model in the folder, unless there is one."""
    model = files.model(tool.name, tool.space)
    if not model.exists():
        print(f"training with {tool.name}", flush=True)
        done = run(tool.command(task, files, budget, model))
        if done.status != 0:
            raise SystemExit(f"{done.command}: expected status 0, found {done.status}: {done.text[-2000:]}")


def labelling(task: Task, files: Files, rounds: int, tokens: int) -> dict[str, Any]:
    whole, n_tokens = files.repeated(tokens, "whole")
    inputs = {"start": files.head, "tenth": files.repeated(tokens // 10, "tenth")[0], "whole": whole}
    here = {name: tool for name, (tool, _) in TOOLS.items() if tool.missing() is None and tool.missing_label() is None}
    for name, tool in here.items():
        train(tool, TOOLS[name][1], task, files)
    found: dict[str, Any] = {}
    for name, runs in in_turns(here, files, inputs, rounds).items():
        if failed := [done for of_input in runs.values() for done in of_input if done.status != 0]:
            raise SystemExit(f"{failed[0].command}: expected status 0, found {failed[0].status}: {failed[0].text}")
        best = {which: min(done.wall_s for done in of_input) for which, of_input in runs.items()}
        seconds = best["whole"] - best["start"]
        found[name] = {
            "runs": {
                which: [{"elapsed_s": done.wall_s, "peak_mb": done.peak_mb} for done in of_input]
                for which, of_input in runs.items()
            },
            "tokens": n_tokens,
            "start_s": best["start"],
            "seconds": seconds,
            "tokens_per_s": n_tokens / seconds,
            "peak_mb": {which: min(done.peak_mb for done in of_input) for which, of_input in runs.items()},
        }
    if missing("pycrfsuite") is None:
        found["CRFsuite's library, attributes in memory"] = in_memory(task, files, rounds, n_tokens)
    return found


def in_memory(task: Task, files: Files, rounds: int, tokens: int) -> dict[str, Any]:
    """CRFsuite's library, no file read or written: the best of the rounds."""
    train(_CRFSUITE, TOOLS["CRFsuite"][1], task, files)
    print("CRFsuite's library", flush=True)
    model = files.model(_CRFSUITE.name, _CRFSUITE.space)
    copies = tokens // files.repeated(1, "once")[1]
    answers = [run(module("labelling.in_memory", files.folder, model, copies)).answer for _ in range(rounds)]
    best = min(answers, key=lambda answer: answer["seconds"])
    return {**best, "tokens_per_s": best["tokens"] / best["seconds"]}


def reading(task: Task, files: Files, rounds: int) -> dict[str, Any]:
    """Time to read the training file: ours as it says itself, Wapiti's until it goes on to the dev file."""
    found: dict[str, list[float]] = {"sparsecrf": []}
    none = files.folder / "none"
    ours = [sys.executable, "-m", "sparsecrf", "train", files.train, "-t", files.template, "-m", none]
    theirs = TOOLS["Wapiti"][0]
    for _ in range(rounds):
        answer = run([*ours, "--max-iter", 1, "--json", "-q"]).answer
        found["sparsecrf"].append(answer["time_read_s"])
        if theirs.missing() is None:
            done = run(theirs.command(task, files, 1, none), until="* Load development data")
            found.setdefault("Wapiti", []).append(done.lines[-1][0])
    unigrams = sum(line.startswith("U") for line in task.template.splitlines())
    best = {name: min(seconds) for name, seconds in found.items()}
    return {"tokens": answer["tokens"], "attributes": unigrams * answer["tokens"], **best}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=pathlib.Path, help="folder that keeps prepared data and models")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=TOKENS, help="to label (default a million)")
    parser.add_argument("--record", type=pathlib.Path, default=RECORD, help="folder of the records")
    options = parser.parse_args()
    if not TASK.available():
        return
    with tempfile.TemporaryDirectory() as folder:
        files = TASK.prepare(options.models or pathlib.Path(folder))
        record = {
            "date": datetime.date.today().isoformat(),
            "machine": machine(),
            "reading": reading(TASK, files, options.rounds),
            "labelling": labelling(TASK, files, options.rounds, options.tokens),
        }
    options.record.mkdir(parents=True, exist_ok=True)
    (options.record / "labelling.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    (options.record / "labelling.md").write_text(report.table(record), encoding="utf-8")
    print(report.table(record))


if __name__ == "__main__":
    main()
