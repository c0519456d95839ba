"""Formats a record as a page, benchmarks/record/<cpu>/<date>.md, with a plot for each task, and writes the summary in
benchmarks/README.md.

    PYTHONPATH=. python -m benchmarks.peers.tables RECORD.csv

The page of a record elsewhere is written next to it, and the README does not change.
"""

from __future__ import annotations

import pathlib
import statistics
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf, isfinite

from benchmarks.common import RECORD
from benchmarks.peers import record
from benchmarks.peers.record import Row
from benchmarks.tasks import TASKS

LEVELS = 0.01, 0.001, 0.0001  # above the best objective that any tool found in the space
SCORE_WITHIN = 0.1  # percent of tokens, or of F1
OURS = "sparsecrf auto"
README = RECORD.parent / "README.md"
BEGIN, END = "<!-- peers: begin -->\n", "<!-- peers: end -->\n"


@dataclass(frozen=True)
class Times:
    """Seconds until an event, one value per repetition; infinite if it did not occur within `limit` seconds."""

    values: tuple[float, ...]
    limit: float

    @property
    def median(self) -> float | None:
        median = statistics.median(self.values) if self.values else inf
        return median if isfinite(median) else None

    def __str__(self) -> str:
        if self.median is None:
            return f"> {self.limit:,.0f}"
        digits = 2 if self.median < 10 else 1 if self.median < 100 else 0
        reached = [value for value in self.values if isfinite(value)]
        spread = (max(reached) - min(reached)) / 2
        return f"{self.median:,.{digits}f}" + (f" ± {spread:,.{digits}f}" if len(self.values) > 1 else "")


class Space:
    """The rows of a task with the same features, whose objectives can be compared."""

    def __init__(self, rows: list[Row]) -> None:
        self.rows = rows
        self.tools = list(dict.fromkeys(row.tool for row in rows if row.kind == "run"))
        self.best = min((row.objective for row in rows if row.kind == "run" and row.objective), default=0.0)

    def to_objective(self, tool: str, level: float) -> Times:
        return self._until(tool, lambda row: row.objective is not None and row.objective <= self.best * (1 + level))

    def to_score(self, tool: str, best: float, by_f1: bool) -> Times:
        """Seconds until the test score is within SCORE_WITHIN of the best of the task; known only at the ends of
        runs."""
        if by_f1:
            return self._until(tool, lambda row: row.test_f1 is not None and row.test_f1 >= best - SCORE_WITHIN)
        return self._until(tool, lambda row: row.test_error is not None and row.test_error <= best + SCORE_WITHIN)

    def _until(self, tool: str, reached) -> Times:  # type: ignore[no-untyped-def]
        mine = [r for r in self.rows if r.tool == tool and r.kind != "label" and r.seconds is not None]
        times = {row.repetition or 0: float("inf") for row in mine}
        for row in mine:
            if reached(row):
                repetition = row.repetition or 0
                times[repetition] = min(times[repetition], row.seconds or 0.0)
        return Times(tuple(times.values()), max((row.seconds or 0.0 for row in mine), default=0.0))

    def last(self, tool: str) -> Row:
        """The longest run of the first round."""
        return max((r for r in self.rows if r.kind == "run" and r.tool == tool), key=lambda r: r.seconds or 0.0)


def ratio(theirs: Times, ours: Times) -> str:
    if ours.median is None:
        return "not reached" if theirs.median is None else f"**behind**: {theirs} s, ours not reached"
    if theirs.median is None:
        return f"> {theirs.limit / ours.median:,.1f} x"
    text = f"{theirs.median / ours.median:,.1f} x"
    return text if theirs.median >= ours.median else f"**{text}**"


def spaces(rows: Iterable[Row]) -> dict[str, Space]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.space, []).append(row)
    return {name: Space(rows) for name, rows in found.items()}


def task_page(name: str, rows: list[Row]) -> list[str]:
    runs = [row for row in rows if row.kind == "run"]
    by_f1 = any(row.test_f1 is not None for row in runs)
    best_score = _best_score(runs, by_f1)
    lines = [f"## {name}", "", f"{_about(name, rows)}.", ""]
    for space_name, space in spaces(rows).items():
        if not space.tools:
            continue
        lines += [f"Features: {space_name}. Best objective {space.best:,.1f}.", ""]
        header = [f"{100 * level:g} %" for level in LEVELS]
        header += [f"to {'F1' if by_f1 else 'error'} {best_score:.2f} ± {SCORE_WITHIN:g}", "above best at the end"]
        header += ["active", "test error", "F1", "wall s", "CPU s", "peak MB", "model MB"]
        lines += ["| tool | " + " | ".join(header) + " |", "|---|" + "---:|" * len(header)]
        for tool in space.tools:
            lines.append(f"| {tool} | " + " | ".join(_cells(space, tool, best_score, by_f1)) + " |")
        lines.append("")
    lines += labelling([row for row in rows if row.kind == "label"])
    for row in rows:
        if row.kind in ("missing", "failed"):
            lines.append(f"- {row.tool} ({row.space}): {row.note}")
    return [*lines, ""]


def _about(name: str, rows: list[Row]) -> str:
    """The transitions, if the task is one of the table, and the penalties."""
    about = []
    if known := TASKS.get(name):
        about.append("Plain transitions" if known.plain else "Conditioned transitions")
    kept = [(row.rho1, row.rho2) for row in rows if row.rho1 is not None]
    for rho1, rho2 in kept[-1:] or ([(known.rho1, known.rho2)] if known else []):
        about += [f"rho1 = {rho1:g}", f"rho2 = {rho2:g}"]
    return ", ".join(about)


def labelling(rows: list[Row]) -> list[str]:
    if not rows:
        return []
    lines = ["Labelling:", "", "| tool | features | tokens a second | start ms | peak MB |", "|---|---|---:|---:|---:|"]
    for row in rows:
        assert row.wall_s is not None
        assert row.peak_mb is not None
        cells = f"{speed(row):,.0f} | {1000 * row.wall_s:.0f} | {row.peak_mb:,.0f}"
        lines.append(f"| {row.tool} | {row.space} | {cells} |")
    return [*lines, ""]


def speed(row: Row) -> float:
    """Tokens labelled per second."""
    assert row.budget is not None
    assert row.seconds is not None
    return row.budget / row.seconds


def _best_score(runs: list[Row], by_f1: bool) -> float:
    if by_f1:
        return max(row.test_f1 for row in runs if row.test_f1 is not None)
    return min(row.test_error for row in runs if row.test_error is not None)


def _cells(space: Space, tool: str, best_score: float, by_f1: bool) -> list[str]:
    last = space.last(tool)
    assert last.objective is not None
    cells = [str(space.to_objective(tool, level)) for level in LEVELS]
    cells += [str(space.to_score(tool, best_score, by_f1)), f"{100 * (last.objective / space.best - 1):.3f} %"]
    cells += [f"{last.active:,}", f"{last.test_error:.2f} %", "" if last.test_f1 is None else f"{last.test_f1:.2f}"]
    return [*cells, f"{last.wall_s:,.1f}", f"{last.cpu_s:,.1f}", f"{last.peak_mb:,.0f}", f"{last.model_mb:,.1f}"]


def summary(rows: list[Row]) -> list[str]:
    """How many times as long the other tools take, by task; in bold if one of them wins."""
    header = ["task", "features", "peer", *(f"to {100 * level:g} %" for level in LEVELS), "test score", "memory"]
    header += ["labelling"]
    lines = ["| " + " | ".join(header) + " |", "|---|---|---|" + "---:|" * (len(header) - 3)]
    for name in dict.fromkeys(row.task for row in rows):
        mine = [row for row in rows if row.task == name]
        runs = [row for row in mine if row.kind == "run"]
        by_f1 = any(row.test_f1 is not None for row in runs)
        for space_name, space in spaces(mine).items():
            if OURS not in space.tools:
                continue
            best_score, ours = _best_score(runs, by_f1), space.last(OURS)
            for tool in space.tools:
                if tool.startswith("sparsecrf"):
                    continue
                cells = [ratio(space.to_objective(tool, x), space.to_objective(OURS, x)) for x in LEVELS]
                scores = [space.to_score(t, best_score, by_f1) for t in (tool, OURS)]
                memory = (space.last(tool).peak_mb or 0.0) / (ours.peak_mb or 1.0)
                shown = f"{memory:.1f} x" if memory >= 1 else f"**{memory:.2f} x**"
                cells += [ratio(*scores), shown, _labelling_ratio(mine, tool, space_name)]
                lines.append("| " + " | ".join([name, space_name, tool, *cells]) + " |")
    return lines


def _labelling_ratio(rows: list[Row], tool: str, space: str) -> str:
    found = {row.tool: speed(row) for row in rows if row.kind == "label" and row.space == space}
    if tool not in found or OURS not in found:
        return ""
    times = found[OURS] / found[tool]
    return f"{times:.1f} x" if times >= 1 else f"**{times:.2f} x**"


def own(rows: list[Row]) -> list[str]:
    """Compares `auto` with the best of our other solvers, and two threads with one."""
    lines = ["| task | " + " | ".join(f"{100 * x:g} %" for x in LEVELS) + " | two threads |", "|---|" + "---:|" * 4]
    for name in dict.fromkeys(row.task for row in rows):
        space = spaces(row for row in rows if row.task == name).get("all")
        if space is None or OURS not in space.tools:
            continue
        others = [t for t in space.tools if t.startswith("sparsecrf") and t not in (OURS, f"{OURS}, 2 threads")]
        cells = []
        for level in LEVELS:
            auto = space.to_objective(OURS, level).median
            best = min((t for o in others if (t := space.to_objective(o, level).median) is not None), default=None)
            cells.append("not reached" if auto is None else "only auto" if best is None else f"{auto / best:.2f}")
        pair = [space.to_objective(t, LEVELS[1]).median for t in (OURS, f"{OURS}, 2 threads") if t in space.tools]
        cells.append(f"{pair[0] / pair[1]:.2f} x" if len(pair) == 2 and all(pair) else "")  # type: ignore[operator]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return lines


def write(path: pathlib.Path) -> None:
    rows = record.load(path)
    page = [f"# Training against other tools, {path.stem}", "", record.machine_line(path), ""]
    page += [
        "Seconds of training on one thread until the objective is so much above the best one that any tool found.",
        "",
    ]
    for name in dict.fromkeys(row.task for row in rows):
        mine = [row for row in rows if row.task == name]
        page += task_page(name, mine)
    path.with_suffix(".md").write_text("\n".join(page).rstrip() + "\n", encoding="utf-8")
    if path.is_relative_to(RECORD):
        _summarise(path, rows)


def _summarise(path: pathlib.Path, rows: list[Row]) -> None:
    """Put the summary of a record into the README."""
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    shown = path.relative_to(README.parent).with_suffix(".md")
    middle = [f"From [{shown}]({shown}): {record.machine_line(path)}.", "", *summary(rows), ""]
    middle += ["`auto` against the best of the other solvers (below 1: faster), and two threads:", "", *own(rows)]
    README.write_text(f"{before}{BEGIN}" + "\n".join(middle) + f"\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    write(pathlib.Path(sys.argv[1]).resolve())
