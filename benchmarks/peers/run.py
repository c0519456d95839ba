"""Compares training with other tools: `make bench-peers`, or

    PYTHONPATH=. python benchmarks/peers/run.py [TASK ...] [--data FOLDER] [--limit S] [--tools NAME ...] ...

Tasks, tools and the objective are independent of each other (../tasks.py, ../tools.py, score.py). Every run is its own
process on one thread, unless its name says otherwise. A tool first runs a few iterations, to see how many fit into the
time limit; then it trains for all of them and for some --parts (half, a quarter and an eighth), and this program
computes the objective and the test score of each model. The history that a tool prints is used if its last value is
within 1e-4 of that objective. Tools take turns, and runs shorter than --short seconds are repeated. Then the tools that
can do so label the test data (labelling.py); with --only-labelling this is all they do, with the models of an earlier
run in the folder --work.

Rows are written to benchmarks/record/<cpu>/<date>.csv after every run and replace earlier rows of the same tool and
task.
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
import tempfile
from dataclasses import replace

from benchmarks import tasks
from benchmarks.common import RECORD, Finished, machine, run
from benchmarks.peers import labelling, record, tables
from benchmarks.peers.record import Row
from benchmarks.peers.score import Scorer
from benchmarks.tasks import Files, Task
from benchmarks.tools import LABEL_ONLY, TOOLS, History, Tool

AGREE = 1e-4  # largest relative difference of objectives
HISTORY_POINTS = 60
TRIAL = 3  # iterations, to see how long one takes


class Bench:
    """One task with all tools."""

    def __init__(self, task: Task, files: Files, options: argparse.Namespace) -> None:
        self.task, self.files = task, files
        self.limit, self.short, self.parts = options.limit, options.short, options.parts
        self.score = Scorer(task, files)

    def trained(self, tool: Tool, budget: float, repetition: int) -> tuple[Row, History]:
        """One run: its time, its quality, and the history that the tool reports."""
        row = replace(self._row("run", tool), budget=budget, repetition=repetition)
        model = self.files.model(tool.name, tool.space)
        done = run(tool.command(self.task, self.files, budget, model), self._patience())
        if done.status != 0:
            return replace(row, kind="failed", wall_s=done.wall_s, peak_mb=done.peak_mb, note=_why(done)), []
        history = tool.history(done)
        seconds, own = history[-1][:2] if history else (float(done.answer["seconds"]), None)
        try:
            found = self.score(pathlib.Path(f"{model}{tool.model_suffix}"), tool.form)
        except (ValueError, OSError) as error:  # one unreadable model must not end hours of work
            return replace(row, kind="failed", wall_s=done.wall_s, peak_mb=done.peak_mb, note=str(error)[:200]), []
        trusted = own is not None and abs(own - found.objective) <= AGREE * found.objective
        row = replace(
            row,
            seconds=seconds,
            objective=found.objective,
            own_objective=own,
            active=found.active,
            test_error=found.test_error,
            test_f1=found.test_f1,
            wall_s=done.wall_s,
            cpu_s=done.cpu_s,
            peak_mb=done.peak_mb,
            model_mb=model.stat().st_size / 1e6,
        )
        return row, history if trusted else []

    def _row(self, kind: str, tool: Tool) -> Row:
        return Row(kind, self.task.name, tool.name, tool.space, rho1=self.task.rho1, rho2=self.task.rho2)

    def _patience(self) -> float:
        """The time limit of a process: reading and a trial with slow iterations take time, too."""
        return 2 * self.limit + 60

    def measured(self, tool: Tool) -> list[Row]:
        """Measure the full run and shorter runs."""
        budget = self.limit
        if not tool.by_time:
            trial, history = self.trained(tool, TRIAL, 0)
            if trial.kind == "failed":
                return [trial]
            budget = max(int(self.limit / _an_iteration(trial, history)), 1)
            if budget <= TRIAL:
                return [trial, *self._points(tool, history)]
        whole, history = self.trained(tool, budget, 0)
        rows = [whole, *self._points(tool, history)]
        if whole.kind == "failed" or not tool.in_parts:
            return rows
        assert whole.seconds is not None
        arrived = min(budget, whole.seconds) if tool.by_time else budget
        for fraction in self.parts:
            part = fraction * arrived if tool.by_time else int(fraction * arrived)
            if part >= (0.05 if tool.by_time else 1):
                rows.append(self.trained(tool, part, 0)[0])
        return rows

    def _points(self, tool: Tool, history: History) -> list[Row]:
        step = max(len(history) // HISTORY_POINTS, 1)
        return [
            replace(self._row("history", tool), seconds=t, objective=value, budget=n)
            for t, value, n in history[::-1][::step][::-1]
        ]

    def again(self, tool: Tool, first: Row, repetition: int) -> list[Row]:
        """Repeat the full run if it was short."""
        if first.kind != "run" or first.wall_s is None or first.wall_s > self.short or first.budget is None:
            return []
        row, history = self.trained(tool, first.budget, repetition)
        return [row, *(replace(p, repetition=repetition) for p in self._points(tool, history))]


def _an_iteration(trial: Row, history: History) -> float:
    """Seconds of one iteration. The first is left out if others are known, because it includes one-time work."""
    if len(history) > 1:
        return (history[-1][0] - history[0][0]) / (len(history) - 1)
    assert trial.seconds is not None
    return trial.seconds / TRIAL


def _why(done: Finished) -> str:
    if done.status == -9:
        return "ended at the limit"
    last = done.lines[-1][1] if done.lines else ""
    return f"status {done.status}: {last[:100]}"


def main() -> None:
    options = _parse()
    about = machine()
    path = record.path_for(options.record, about["processor"], options.date)
    rows = record.load(path)
    chosen = [tool for tool in TOOLS if not options.tools or any(name in tool.name for name in options.tools)]
    with tempfile.TemporaryDirectory() as folder:
        for task in tasks.chosen(options):
            files = task.prepare(options.work or pathlib.Path(folder))
            if not options.only_labelling:
                bench = Bench(task, files, options)
                for repetition in range(options.repetitions):
                    for tool in (tool for tool in chosen if tool.suits(task)):
                        rows = _one(bench, tool, repetition, rows)
                        record.save(path, about, rows)
            rows = labelling.added(rows, task, files, chosen, options.tokens, options.rounds)
            record.save(path, about, rows)
    for name, why in LABEL_ONLY.items():
        print(f"{name}: {why}", flush=True)
    tables.write(path)


def _one(bench: Bench, tool: Tool, repetition: int, rows: list[Row]) -> list[Row]:
    task = bench.task.name
    print(f"{task}: {tool.name}, {tool.space}, round {repetition + 1}", flush=True)
    mine = [r for r in rows if (r.task, r.tool, r.space) == (task, tool.name, tool.space) and r.kind != "label"]
    others = [r for r in rows if r not in mine]
    if why := tool.missing():
        return [*others, Row("missing", task, tool.name, tool.space, note=why)]
    if repetition == 0:
        return [*others, *bench.measured(tool)]
    return [*rows, *(bench.again(tool, mine[0], repetition) if mine else [])]


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tasks.add_arguments(parser)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of training a run (default 300)")
    parser.add_argument("--parts", type=float, nargs="*", default=[0.5, 0.25, 0.125], help="of the budget, runs of")
    parser.add_argument("--short", type=float, default=60.0, help="runs of at most this many seconds are repeated")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--tools", nargs="*", help="only those whose names have one of these in them")
    parser.add_argument("--work", type=pathlib.Path, help="folder that keeps prepared data and models")
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="of the record that is added to")
    parser.add_argument("--record", type=pathlib.Path, default=RECORD, help="folder of the records")
    parser.add_argument("--only-labelling", action="store_true", help="with the models in --work")
    parser.add_argument("--tokens", type=int, default=labelling.TOKENS, help="to label")
    parser.add_argument("--rounds", type=int, default=labelling.ROUNDS, help="of labelling")
    return parser.parse_args()


if __name__ == "__main__":
    main()
