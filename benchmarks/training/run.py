"""Training against the peers and the solvers against each other: `make bench-training`, or

    PYTHONPATH=. python benchmarks/training/run.py [TASK ...] [--no-peers]

Every run is a process of its own with one thread unless said, one after the other. Writes
benchmarks/record/training.json (tasks that are not run again keep their record) and training.md. All tasks: an hour,
half of it the peers'.
"""

from __future__ import annotations

import argparse
import datetime
import json
import pathlib
import subprocess
import sys
from typing import Any

from benchmarks.micro.run import machine
from benchmarks.training import growth, peers, report
from benchmarks.training.sets import TASKS

RECORD = pathlib.Path(__file__).resolve().parents[1] / "record"
SOLVERS = {"auto": {}, "owlqn": {}, "sbcd": {}, "lbfgs": {}, "sgd-l1": {"max_iter": 30}}
LIMIT_S = 60.0


def one(task: str, **options: Any) -> dict[str, Any]:
    print(f"{task} {options}", flush=True)
    command = [sys.executable, "-m", "benchmarks.training.one", task, json.dumps(options)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def letters(with_peers: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if with_peers:
        found["wapiti"] = peers.wapiti("nettalk-letters", 70)
    found["to tol 1e-4"] = one("nettalk-letters", tol=1e-4, time_limit=600)
    found["to gap 1e-3, rho2 = 0.1"] = one("nettalk-letters", rho2=0.1, gap=1e-3, time_limit=600)
    found["to tol 1e-6"] = one("nettalk-letters", tol=1e-6, time_limit=120)
    found["sbcd to tol 1e-3"] = one("nettalk-letters", solver="sbcd", time_limit=600)
    return found


def ngrams(with_peers: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if with_peers:
        found["wapiti sgd-l1"] = peers.wapiti("nettalk-5gram", 30, "sgd-l1", test_error=True)
    for solver in ("auto", "sbcd"):
        found[f"{solver}, 2 threads"] = one("nettalk-5gram", solver=solver, threads=2, time_limit=300)
    found["auto, test error"] = one("nettalk-5gram", test_error=True, tol=5e-4, max_iter=60)
    found["auto, test error, 2 threads"] = one("nettalk-5gram", test_error=True, threads=2, tol=5e-4, max_iter=60)
    return found


def entities(with_peers: bool) -> dict[str, Any]:
    return {"wapiti": peers.wapiti("conll2003", 60)} if with_peers else {}


def chunks(with_peers: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if with_peers:
        found["wapiti"] = peers.wapiti("conll2000", 100)
        found["crfsuite"] = peers.crfsuite("conll2000", 200)
    found["observed only"] = one("conll2000", observed_only=True, tol=1e-4, time_limit=LIMIT_S)
    return found


OF_TASK = {"nettalk-letters": letters, "nettalk-5gram": ngrams, "conll2003": entities, "conll2000": chunks}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tasks", nargs="*", default=[*TASKS, "growth"])
    parser.add_argument("--no-peers", action="store_true")
    options = parser.parse_args()
    path = RECORD / "training.json"
    record = json.loads(path.read_text()) if path.exists() else {"tasks": {}}
    record["machine"], record["date"] = machine(), datetime.date.today().isoformat()
    for name in options.tasks:
        if name == "growth":
            record["growth"] = growth.measure()
        elif not TASKS[name].available():
            print(f"{name}: skipped, no data (SPARSECRF_DATA)", flush=True)
            continue
        else:
            runs = OF_TASK[name](not options.no_peers)
            for solver, limits in SOLVERS.items():
                runs[solver] = one(name, solver=solver, tol=1e-4, **{"time_limit": LIMIT_S, **limits})
            before = record["tasks"].get(name, {})
            record["tasks"][name] = {**before, **{run: found for run, found in runs.items() if found is not None}}
        path.write_text(json.dumps(record) + "\n")
        report.write(record, RECORD)


if __name__ == "__main__":
    main()
