"""Times labelling of a task's test data, as rows of the record.

A program reads the test file, repeated up to a number of tokens, and its labels are discarded; CRFsuite's program reads
ready-made attributes. Tools take turns. Seconds are the minimum over the rounds minus the time for one sequence, which
is the start-up time.
"""

from __future__ import annotations

from dataclasses import replace

from benchmarks.common import Finished
from benchmarks.labelling.turns import in_turns
from benchmarks.peers.record import Row
from benchmarks.tasks import Files, Task
from benchmarks.tools import Tool

TOKENS, ROUNDS = 300_000, 3


def added(rows: list[Row], task: Task, files: Files, tools: list[Tool], tokens: int, rounds: int) -> list[Row]:
    """The rows, with earlier labelling rows of these tools replaced for those that are installed and have a model."""
    able = [tool for tool in tools if tool.label is not None and tool.suits(task) and tool.missing_label() is None]
    trained = {f"{t.name}, {t.space}": t for t in able if files.model(t.name, t.space).exists()}
    print(f"{task.name}: labelling: {'; '.join(trained)}", flush=True)
    path, n_tokens = files.repeated(tokens, "repeated")
    found = in_turns(trained, files, {"start": files.head, "whole": path}, rounds)
    new = [_row(task, tool, n_tokens, found[name]) for name, tool in trained.items()]
    places = {(row.task, row.tool, row.space) for row in new}
    return [*(r for r in rows if r.kind != "label" or (r.task, r.tool, r.space) not in places), *new]


def _row(task: Task, tool: Tool, tokens: int, runs: dict[str, list[Finished]]) -> Row:
    row = Row("label", task.name, tool.name, tool.space, budget=tokens)
    start, whole = runs["start"], runs["whole"]
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
