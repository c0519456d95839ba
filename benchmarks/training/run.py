"""Compares the solvers with each other and with Wapiti and CRFsuite: `make bench-training`, or

    PYTHONPATH=. python benchmarks/training/run.py [TASK ... | growth] [--data FOLDER] [--no-peers] [--limit S]

Every run is its own process with one thread (unless stated otherwise), one after the other. Writes
benchmarks/record/training.json (tasks that are not run again keep their record) and training.md. The four tasks with
goals and the growth measurements take an hour, half of it for the other tools. Other tasks of the table, and folders,
have no goals and no other tools here (see ../peers): their page is the table of solvers.
"""

from __future__ import annotations

import argparse
import datetime
import json
import pathlib
import tempfile
from typing import Any

from benchmarks import tasks
from benchmarks.common import RECORD, machine, run
from benchmarks.tasks import Task
from benchmarks.tools import library, missing, wapiti, wapiti_rows
from benchmarks.training import growth, report

SOLVERS = {"auto": {}, "owlqn": {}, "sbcd": {}, "lbfgs": {}, "sgd-l1": {"max_iter": 30}}
GROWTH = "growth"
Result = dict[str, Any]


class Bench:
    """One task, its files, and the tools that take part."""

    def __init__(self, task: Task, folder: pathlib.Path, *, limit_s: float, with_peers: bool) -> None:
        self.task, self.files, self.limit_s, self.with_peers = task, task.prepare(folder), limit_s, with_peers
        self.found: dict[str, Result] = {}

    def ours(self, name: str, **options: Any) -> None:
        """A run of `fit` with these options, stored under a name."""
        print(f"{self.task.name} {options}", flush=True)
        command = library("sparsecrf", **options)(self.task, self.files, self.limit_s, self._model())
        done = run(command)
        self.found[name] = {**done.answer, "peak_mb": done.peak_mb}

    def wapiti(self, name: str, iterations: int, algorithm: str = "l-bfgs", *, test_error: bool = False) -> None:
        """OWL-QN or sgd-l1 on one thread; the history has seconds, objective and test error (of a single sequence,
        unless the whole is requested)."""
        if not self._takes_part("program wapiti"):
            return
        done = run(wapiti(algorithm, whole_dev=test_error)(self.task, self.files, iterations, self._model()))
        rows = wapiti_rows(done)
        history = [[t, objective, error] for t, objective, _, _, error in rows]
        self.found[name] = {"history": history, "active": rows[-1][3], "peak_mb": done.peak_mb}

    def crfsuite(self, name: str, iterations: int) -> None:
        """CRFsuite's OWL-QN on observed features."""
        if self._takes_part("pycrfsuite"):
            done = run(library("pycrfsuite")(self.task, self.files, iterations, self._model()))
            self.found[name] = {**done.answer, "peak_mb": done.peak_mb}

    def _takes_part(self, needs: str) -> bool:
        return self.with_peers and missing(needs) is None

    def _model(self) -> pathlib.Path:
        return self.files.folder / "model"


def letters(bench: Bench) -> None:
    bench.wapiti("wapiti", 70)
    bench.ours("to tol 1e-4", tol=1e-4, time_limit=10 * bench.limit_s)
    bench.ours("to gap 1e-3, rho2 = 0.1", rho2=0.1, tol=1e-3, gap=1e-3, time_limit=10 * bench.limit_s)
    bench.ours("to tol 1e-6", tol=1e-6, time_limit=2 * bench.limit_s)
    bench.ours("sbcd to tol 1e-3", solver="sbcd", tol=1e-3, time_limit=10 * bench.limit_s)


def ngrams(bench: Bench) -> None:
    bench.wapiti("wapiti sgd-l1", 30, "sgd-l1", test_error=True)
    for solver in ("auto", "sbcd"):
        bench.ours(f"{solver}, 2 threads", solver=solver, threads=2, tol=1e-3, time_limit=5 * bench.limit_s)
    way = {"test_error": True, "tol": 5e-4, "max_iter": 60, "time_limit": None}
    bench.ours("auto, test error", **way)
    bench.ours("auto, test error, 2 threads", threads=2, **way)


def entities(bench: Bench) -> None:
    bench.wapiti("wapiti", 60)


def chunks(bench: Bench) -> None:
    bench.wapiti("wapiti", 100)
    bench.crfsuite("crfsuite", 200)
    bench.ours("observed only", space="observed", tol=1e-4)


#: What a task with goals runs besides the solvers.
OF_TASK = {"nettalk-letters": letters, "nettalk-5gram": ngrams, "conll2003": entities, "conll2000": chunks}


def main() -> None:
    options = _parse()
    path = options.record / "training.json"
    record = json.loads(path.read_text()) if path.exists() else {"tasks": {}}
    record["machine"], record["date"] = machine(), datetime.date.today().isoformat()
    with tempfile.TemporaryDirectory() as folder:
        for task in options.chosen:
            bench = Bench(task, pathlib.Path(folder), limit_s=options.limit, with_peers=not options.no_peers)
            OF_TASK.get(task.name, lambda bench: None)(bench)
            for solver, limits in SOLVERS.items():
                if task.rho1 > 0 or solver in ("auto", "lbfgs"):
                    bench.ours(solver, solver=solver, tol=1e-4, **limits)
            record["tasks"][task.name] = {**record["tasks"].get(task.name, {}), **bench.found}
            _write(record, path)
    if options.growth:
        record["growth"] = growth.measure()
        _write(record, path)


def _write(record: dict[str, Any], path: pathlib.Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record) + "\n")
    report.write(record, path.parent)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tasks.add_arguments(parser)
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of a solver (default 60); goals have more")
    parser.add_argument("--record", type=pathlib.Path, default=RECORD, help="folder of the records")
    options = parser.parse_args()
    named = [*options.tasks, *options.data]
    options.growth = not named or GROWTH in named
    options.tasks = [name for name in options.tasks if name != GROWTH]
    options.chosen = [] if named == [GROWTH] else tasks.chosen(options, OF_TASK)
    return options


if __name__ == "__main__":
    main()
