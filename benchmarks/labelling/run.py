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
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from benchmarks.labelling import report
from benchmarks.micro.run import machine
from benchmarks.training.sets import DATA, TASKS

RECORD = pathlib.Path(__file__).resolve().parents[1] / "record"
TRAIN, TEST = DATA / "conll2000" / "train.txt", DATA / "conll2000" / "test.txt"
TOKENS = 1_000_000
PROGRAM = [sys.executable, "-m", "sparsecrf"]


def measured(command: list[str]) -> dict[str, float]:
    """Seconds and peak memory of a process. Its own account of memory would begin with that of this one."""
    began = time.perf_counter()
    with open(os.devnull, "wb") as nowhere:
        process = subprocess.Popen(command, stdout=nowhere, stderr=nowhere)
        peak_kb = 0
        while process.poll() is None:
            peak_kb = _peak_kb(process.pid) or peak_kb
            time.sleep(0.02)
    elapsed = time.perf_counter() - began
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: status {process.returncode}")
    return {"elapsed_s": elapsed, "peak_mb": peak_kb / 1024}


def _peak_kb(pid: int) -> int:
    try:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s*(\d+)", text)
    return int(found[1]) if found else 0


def reading_time(command: list[str], last: str) -> float:
    """Seconds until a process says that it goes on to something else; then it is ended."""
    began = time.perf_counter()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith(last):
                elapsed = time.perf_counter() - began
                process.kill()
                return elapsed
    raise SystemExit(f"{command[0]}: expected it to say {last!r}")


@dataclass(frozen=True)
class Tool:
    """How a tool trains its model and labels a file."""

    name: str
    available: bool  #: whether it is here
    train: Callable[[pathlib.Path], None]
    label: Callable[..., list[str]]


def tools(models: pathlib.Path, template: pathlib.Path) -> list[Tool]:
    wapiti, learn, test = shutil.which("wapiti"), shutil.which("crf_learn"), shutil.which("crf_test")
    crfsuite, library = shutil.which("crfsuite"), find_spec("pycrfsuite") is not None
    head = models / "head.txt"

    def ours(model: pathlib.Path) -> None:
        command = [*PROGRAM, "train", str(TRAIN), "-t", str(template), "-m", str(model), "--no-start", "-q"]
        subprocess.run([*command, "--rho1", "1", "--rho2", "1"], check=True)

    def wapiti_train(model: pathlib.Path) -> None:
        command = [wapiti, "train", "-a", "l-bfgs", "-1", "1", "-2", "1", "-e", "0", "-i", "60", "-t", "1", "-c"]
        subprocess.run([*command, "-p", template, "-d", head, TRAIN, model], check=True, stderr=subprocess.DEVNULL)

    def crfpp_train(model: pathlib.Path) -> None:
        command = [learn, "-a", "CRF-L1", "-c", "1", "-m", "30", "-p", "1", template, TRAIN, model]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def tagged(model: pathlib.Path, data: pathlib.Path) -> list[str]:
        """Ready-made attributes, in CRFsuite's own format."""
        made = data.with_suffix(".crfsuite")
        if not made.exists() or made.stat().st_mtime < data.stat().st_mtime:
            command = [*PROGRAM, "convert", str(data), str(made), "--from", "columns", "--to", "crfsuite"]
            subprocess.run([*command, "-t", str(template)], check=True)
        return [str(crfsuite), "tag", "-m", str(model), str(made)]

    def threads(n: int) -> Callable[..., list[str]]:
        return lambda model, data: [*PROGRAM, "label", "-m", str(model), str(data), "--threads", str(n), "-q"]

    return [
        Tool("sparsecrf", True, ours, threads(1)),
        Tool("sparsecrf, 2 threads", True, ours, threads(2)),
        Tool("Wapiti", wapiti is not None, wapiti_train, lambda m, d: [str(wapiti), "label", "-m", str(m), str(d)]),
        Tool("CRF++", None not in (learn, test), crfpp_train, lambda m, d: [str(test), "-m", str(m), str(d)]),
        Tool("CRFsuite", crfsuite is not None and library, crfsuite_train, tagged),
    ]


def crfsuite_train(model: pathlib.Path) -> None:
    template = model.parent / "template.txt"
    command = [sys.executable, "-m", "benchmarks.labelling.crfsuite", "train", template, model, TRAIN]
    subprocess.run(command, check=True)


def library(models: pathlib.Path, template: pathlib.Path, copies: int) -> dict[str, Any] | None:
    """CRFsuite's library on attributes that are in memory, no file read or written; None if it is not here."""
    if find_spec("pycrfsuite") is None:
        return None
    model = models / "CRFsuite.model"
    if not model.exists():
        crfsuite_train(model)
    print("CRFsuite's library", flush=True)
    command = [sys.executable, "-m", "benchmarks.labelling.crfsuite", "label", template, model, TEST, str(copies)]
    found = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return {**found, "tokens_per_s": found["tokens"] / found["seconds"]}


def labelling(models: pathlib.Path, template: pathlib.Path, rounds: int) -> dict[str, Any]:
    whole = TEST.read_text(encoding="utf-8").rstrip("\n") + "\n\n"
    n_tokens = sum(1 for line in whole.splitlines() if line.strip())
    copies = -(-TOKENS // n_tokens)
    files = {"start": models / "head.txt", "tenth": models / "tenth.txt", "whole": models / "whole.txt"}
    files["tenth"].write_text(whole * (copies // 10), encoding="utf-8")
    files["whole"].write_text(whole * copies, encoding="utf-8")
    found: dict[str, Any] = {}
    here = [tool for tool in tools(models, template) if tool.available]
    for tool in here:
        model = models / (tool.name.split(",")[0] + ".model")
        if not model.exists():
            print(f"training with {tool.name}", flush=True)
            tool.train(model)
        found[tool.name] = {"runs": {name: [] for name in files}, "tokens": n_tokens * copies}
    theirs = []
    for _ in range(rounds):
        for tool in here:
            for name, path in files.items():
                print(tool.name, name, flush=True)
                model = models / (tool.name.split(",")[0] + ".model")
                found[tool.name]["runs"][name].append(measured(tool.label(model, path)))
        theirs.append(library(models, template, copies))
    for result in found.values():
        best = {name: min(run["elapsed_s"] for run in runs) for name, runs in result["runs"].items()}
        result["start_s"] = best["start"]
        result["seconds"] = best["whole"] - best["start"]
        result["tokens_per_s"] = result["tokens"] / result["seconds"]
        result["peak_mb"] = {name: min(run["peak_mb"] for run in runs) for name, runs in result["runs"].items()}
    best_of_theirs = [run for run in theirs if run is not None]
    if best_of_theirs:
        found["CRFsuite's library, attributes in memory"] = max(best_of_theirs, key=lambda run: run["tokens_per_s"])
    return found


def reading(models: pathlib.Path, template: pathlib.Path, rounds: int) -> dict[str, Any]:
    """Time to read the training file: ours as it says itself, Wapiti's until it goes on to the dev file."""
    found: dict[str, list[float]] = {"sparsecrf": []}
    ours = [
        *PROGRAM,
        "train",
        str(TRAIN),
        "-t",
        str(template),
        "-m",
        str(models / "none"),
        "--max-iter",
        "1",
        "--json",
        "-q",
    ]
    wapiti = shutil.which("wapiti")
    for _ in range(rounds):
        done = subprocess.run(ours, check=True, stdout=subprocess.PIPE, text=True)
        result = json.loads(done.stdout.splitlines()[-1])
        found["sparsecrf"].append(result["time_read_s"])
        if wapiti is not None:
            command = [wapiti, "train", "-a", "sgd-l1", "-i", "0", "-d", models / "head.txt", "-p", template, TRAIN]
            arguments = [*map(str, command), str(models / "none")]
            found.setdefault("Wapiti", []).append(reading_time(arguments, "* Load development data"))
    return {"tokens": result["tokens"], "attributes": 19 * result["tokens"], **{k: min(v) for k, v in found.items()}}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--models", type=pathlib.Path)
    arguments.add_argument("--rounds", type=int, default=3)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        models = options.models or pathlib.Path(folder)
        models.mkdir(parents=True, exist_ok=True)
        template = models / "template.txt"
        template.write_text(TASKS["conll2000"].template, encoding="utf-8")
        # One sequence: to see how long it takes to start, and for Wapiti, which decodes a dev file at every iteration.
        first = TEST.read_text(encoding="utf-8").split("\n\n")[0]
        (models / "head.txt").write_text(first + "\n\n", encoding="utf-8")
        record = {
            "date": datetime.date.today().isoformat(),
            "machine": machine(),
            "reading": reading(models, template, options.rounds),
            "labelling": labelling(models, template, options.rounds),
        }
    (RECORD / "labelling.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    (RECORD / "labelling.md").write_text(report.table(record), encoding="utf-8")
    print(report.table(record))


if __name__ == "__main__":
    main()
