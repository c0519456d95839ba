"""Compares labelling from file to file on one core, and reading, with other tools: `make bench-labelling`, or

    PYTHONPATH=. python benchmarks/labelling/run.py [TASK ...] [--models FOLDER] [--rounds N]

The tasks of data.py ($SPARSECRF_DATA). Every tool trains its own model once; the folder --models keeps the models for
later runs. Tools take turns. A time is the minimum over the rounds, in processor seconds, minus the time for labelling
one sequence, which is the start-up time. Writes benchmarks/record/labelling.json and labelling.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from dataclasses import replace
from typing import Any

from benchmarks.common import RECORD, Finished, machine, module, run
from benchmarks.labelling import report
from benchmarks.labelling.data import LABELLED
from benchmarks.labelling.turns import in_turns
from benchmarks.tasks import Files, Task
from benchmarks.tools import BY_NAME, Label, Tool, crfpp, library, missing, ours, wapiti

_SECONDS = 60.0  # time limit of our training
_PROGRAM = [sys.executable, "-m", "sparsecrf"]


def _train_documents(task: Task, files: Files, budget: float, model: pathlib.Path) -> list[Any]:
    penalties = ["--rho1", task.rho1, "--rho2", task.rho2]
    return [*_PROGRAM, "train", files.train, "--format", "documents", "-m", model, *penalties, "--threads", 1, "-q"]


def _label_other(suffix: str) -> Label:
    return lambda model, data: [*_PROGRAM, "label", "-q", "--threads", 1, "-m", model, data.with_suffix(suffix)]


_OURS = replace(ours("auto"), command=library("sparsecrf", solver="auto", tol=1e-3, time_limit=_SECONDS))
_CRFSUITE = BY_NAME["python-crfsuite, observed"]
#: Tools by their names in the record, with the maximum number of training iterations.
TOOLS: dict[str, tuple[Tool, float]] = {
    "sparsecrf": (_OURS, 0),
    "sparsecrf, 2 threads": (replace(_OURS, label=ours("auto", threads=2).label), 0),
    "Wapiti": (replace(BY_NAME["Wapiti l-bfgs, all"], command=wapiti("l-bfgs", compact=True)), 30),
    "CRF++": (replace(BY_NAME["CRF++, all"], command=crfpp("CRF-L1")), 30),
    "CRFsuite": (_CRFSUITE, 30),
}
IN_MEMORY = "CRFsuite's library, attributes in memory"
#: Number of iterations for peers whose iterations take long.
_FEW = {"nettalk-5gram": 3, "ewt": 5, "many-labels": 1}


def tools_for(task: Task) -> dict[str, tuple[Tool, float]]:
    """The tools that can label the files of a task."""
    if task.name == "documents":
        return {"sparsecrf": (replace(_OURS, command=_train_documents), 0)}
    here = {
        name: (tool, min(budget, _FEW.get(task.name, budget)))
        for name, (tool, budget) in TOOLS.items()
        if tool.missing() is None and tool.missing_label() is None and tool.suits(replace(task, rho2=0.0))
    }
    # Some functions exist only in sparsecrf; CRFsuite gets ready-made attributes. With many labels, the other tools
    # need tens of gigabytes.
    if re.search("%[^xXtm]", task.template) or task.name == "many-labels":
        here = {name: found for name, found in here.items() if name.startswith(("sparsecrf", "CRFsuite"))}
    if task.name == "words":
        others = {"JSON lines": ".jsonl", "CoNLL-U": ".conllu"}
        here |= {f"sparsecrf, {name}": (replace(_OURS, label=_label_other(s)), 0) for name, s in others.items()}
    return here


def train(tool: Tool, budget: float, task: Task, files: Files) -> None:
    """Train a model into the folder, unless it contains one."""
    model = files.model(tool.name, tool.space)
    if not model.exists():
        print(f"{task.name}: training with {tool.name}", flush=True)
        done = run(tool.command(task, files, budget, model))
        if done.status != 0:
            raise SystemExit(f"{done.command}: expected status 0, found {done.status}: {done.text[-2000:]}")


def labelling(task: Task, files: Files, rounds: int, tokens: int) -> dict[str, Any]:
    whole, n_tokens = files.repeated(tokens, "whole")
    inputs = {"start": files.head, "tenth": files.repeated(tokens // 10, "tenth")[0], "whole": whole}
    here = tools_for(task)
    for tool, budget in here.values():
        train(tool, budget, task, files)
    if task.name == "words":
        for path in inputs.values():
            for suffix, name in ((".jsonl", "jsonl"), (".conllu", "conllu")):
                command = [*_PROGRAM, "convert", path, path.with_suffix(suffix), "--from", "columns", "--to", name]
                subprocess.run([str(part) for part in command], check=True)
    print(f"{task.name}: labelling with {', '.join(here)}", flush=True)
    runs = in_turns({name: tool for name, (tool, _) in here.items()}, files, inputs, rounds)
    found = {name: _measured(of_tool, n_tokens) for name, of_tool in runs.items()}
    if missing("pycrfsuite") is None and task.plain and task.name != "documents":
        found[IN_MEMORY] = in_memory(task, files, rounds, n_tokens)
    return found


def _measured(runs: dict[str, list[Finished]], n_tokens: int) -> dict[str, Any]:
    if failed := [done for of_input in runs.values() for done in of_input if done.status != 0]:
        raise SystemExit(f"{failed[0].command}: expected status 0, found {failed[0].status}: {failed[0].text}")
    elapsed, processor = (
        {which: min(getattr(done, kind) for done in of_input) for which, of_input in runs.items()}
        for kind in ("wall_s", "cpu_s")
    )
    return {
        "runs": {
            which: [{"elapsed_s": done.wall_s, "cpu_s": done.cpu_s, "peak_mb": done.peak_mb} for done in of_input]
            for which, of_input in runs.items()
        },
        "tokens": n_tokens,
        "start_s": elapsed["start"],
        "elapsed_s": elapsed["whole"] - elapsed["start"],
        "cpu_s": processor["whole"] - processor["start"],
        "tokens_per_s": n_tokens / (processor["whole"] - processor["start"]),
        "peak_mb": {which: min(done.peak_mb for done in of_input) for which, of_input in runs.items()},
    }


def in_memory(task: Task, files: Files, rounds: int, tokens: int) -> dict[str, Any]:
    """Times CRFsuite's library without reading or writing files: the best of the rounds."""
    train(_CRFSUITE, _FEW.get(task.name, TOOLS["CRFsuite"][1]), task, files)
    print(f"{task.name}: {IN_MEMORY}", flush=True)
    model = files.model(_CRFSUITE.name, _CRFSUITE.space)
    few = min(tokens, 5_000 if task.name == "many-labels" else 100_000)
    answers = [run(module("labelling.in_memory", files.folder, model, few)).answer for _ in range(rounds)]
    best = min(answers, key=lambda answer: answer["cpu_s"])
    return {**best, "tokens_per_s": best["tokens"] / best["cpu_s"]}


def reading(task: Task, files: Files, rounds: int) -> dict[str, Any]:
    """Time to read the training file: for sparsecrf as it reports, for Wapiti until it starts on the dev file."""
    found: dict[str, list[float]] = {"sparsecrf": []}
    none = files.folder / "none"
    theirs = TOOLS["Wapiti"][0]
    for _ in range(rounds):
        options = ["-t", files.template, "-m", none, "--max-iter", 1, "--json", "-q"]
        answer = run([*_PROGRAM, "train", files.train, *options]).answer
        found["sparsecrf"].append(answer["time_read_s"])
        if theirs.missing() is None:
            done = run(theirs.command(task, files, 1, none), until="* Load development data")
            found.setdefault("Wapiti", []).append(done.lines[-1][0])
    unigrams = sum(line.startswith("U") for line in task.template.splitlines())
    best = {name: min(seconds) for name, seconds in found.items()}
    return {"tokens": answer["tokens"], "attributes": unigrams * answer["tokens"], **best}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", metavar="TASK", help=f"some of {', '.join(LABELLED)} (default all)")
    parser.add_argument("--models", type=pathlib.Path, help="folder that keeps prepared data and models")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--tokens", type=int, help="to label (default up to a million)")
    parser.add_argument("--note", default="", help="for the page, such as that the machine was busy")
    parser.add_argument("--record", type=pathlib.Path, default=RECORD, help="folder of the records")
    options = parser.parse_args()
    if unknown := [name for name in options.tasks if name not in LABELLED]:
        parser.error(f"expected tasks among {', '.join(LABELLED)}, found {', '.join(unknown)}")
    record: dict[str, Any] = {"date": datetime.date.today().isoformat(), "machine": machine(), "note": options.note}
    record["labelling"] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.tasks or LABELLED:
            task, tokens = LABELLED[name]
            if not task.available():
                continue
            files = task.prepare(options.models or pathlib.Path(folder))
            record["labelling"][name] = labelling(task, files, options.rounds, options.tokens or tokens)
            if name == "conll2000":
                record["reading"] = reading(task, files, options.rounds)
    options.record.mkdir(parents=True, exist_ok=True)
    (options.record / "labelling.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    (options.record / "labelling.md").write_text(report.table(record), encoding="utf-8")
    print(report.table(record))


if __name__ == "__main__":
    main()
