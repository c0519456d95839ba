"""Labelling with the models that training left behind:

    PYTHONPATH=. python -m benchmarks.peers.labelling TASK ... --work FOLDER [--tokens N] [--rounds N] ...

FOLDER is that of `run.py --work`. A program reads the test file, repeated to so many tokens, and its labels go nowhere;
CRFsuite's reads ready-made attributes. Tools take turns. Seconds are the smallest of the rounds less those for one
sequence, which are the time to start. Rows of kind `label` are added to the record of that date. `run.py` does the same
after training.
"""

from __future__ import annotations

import argparse
import datetime
import pathlib
import subprocess
import sys
from dataclasses import replace

from benchmarks.micro.run import machine
from benchmarks.peers import record, tables
from benchmarks.peers.process import Finished, run
from benchmarks.peers.record import Row
from benchmarks.peers.tasks import TASKS, Files
from benchmarks.peers.tools import TOOLS, Tool

TOKENS, ROUNDS = 300_000, 3
NOWHERE = ["sh", "-c", 'exec "$0" "$@" > /dev/null']


def repeated(files: Files, tokens: int) -> tuple[pathlib.Path, int]:
    """The test file so often that it has at least so many tokens, and how many it has."""
    text = files.test.read_text(encoding="utf-8")
    n = sum(1 for line in text.splitlines() if line)
    copies = -(-tokens // n)
    path = files.folder / "repeated.txt"
    path.write_text(text * copies, encoding="utf-8")
    return path, n * copies


def with_attributes(files: Files, path: pathlib.Path) -> None:
    """A file in CRFsuite's format beside a column file."""
    command = [sys.executable, "-m", "sparsecrf", "convert", path, path.with_suffix(".crfsuite")]
    subprocess.run([*command, "--from", "columns", "--to", "crfsuite", "-t", files.template], check=True)


def measured(task: str, files: Files, tools: list[Tool], tokens: int, rounds: int) -> list[Row]:
    path, n_tokens = repeated(files, tokens)
    if any(tool.form == "crfsuite" for tool in tools):
        with_attributes(files, path)
        with_attributes(files, files.head)
    start: dict[str, list[Finished]] = {_name(tool): [] for tool in tools}
    whole: dict[str, list[Finished]] = {_name(tool): [] for tool in tools}
    for _ in range(rounds):
        for tool in tools:
            assert tool.label is not None
            for found, data in ((start, files.head), (whole, path)):
                found[_name(tool)].append(run([*NOWHERE, *tool.label(files.model(tool.name, tool.space), data)]))
    return [_row(task, tool, n_tokens, start[_name(tool)], whole[_name(tool)]) for tool in tools]


def _row(task: str, tool: Tool, tokens: int, start: list[Finished], whole: list[Finished]) -> Row:
    row = Row("label", task, tool.name, tool.space, budget=tokens)
    if failed := [done for done in start + whole if done.status != 0]:
        return replace(row, kind="failed", note=f"labelling: status {failed[0].status}")
    began = min(done.wall_s for done in start)
    return replace(
        row,
        seconds=min(done.wall_s for done in whole) - began,
        wall_s=began,
        cpu_s=min(done.cpu_s for done in whole),
        peak_mb=min(done.peak_mb for done in whole),
    )


def _name(tool: Tool) -> str:
    return f"{tool.name}, {tool.space}"


def added(rows: list[Row], name: str, files: Files, tools: list[Tool], tokens: int, rounds: int) -> list[Row]:
    """Rows with those of labelling by these tools, if they are here and have a model, instead of earlier ones."""
    able = [t for t in tools if t.label is not None and t.suits(TASKS[name]) and t.missing_label() is None]
    trained = [tool for tool in able if files.model(tool.name, tool.space).exists()]
    print(f"{name}: labelling: {'; '.join(map(_name, trained))}", flush=True)
    new = measured(name, files, trained, tokens, rounds)
    places = {(row.task, row.tool, row.space) for row in new}
    return [*(r for r in rows if r.kind != "label" or (r.task, r.tool, r.space) not in places), *new]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+", metavar="TASK", help=f"some of {', '.join(TASKS)}")
    parser.add_argument("--work", type=pathlib.Path, required=True, help="folder with prepared data and models")
    parser.add_argument("--tokens", type=int, default=TOKENS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--tools", nargs="*", help="only those whose names have one of these in them")
    parser.add_argument("--date", default=datetime.date.today().isoformat(), help="of the record that is added to")
    options = parser.parse_args()
    about = machine()
    path = record.path_for(about["processor"], options.date)
    chosen = [tool for tool in TOOLS if not options.tools or any(name in tool.name for name in options.tools)]
    for name in options.tasks:
        files = TASKS[name].prepare(options.work)
        rows = added(record.load(path), name, files, chosen, options.tokens, options.rounds)
        record.save(path, about, rows)
    tables.write(path)


if __name__ == "__main__":
    main()
