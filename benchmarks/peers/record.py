"""Measurements as rows of a CSV file: benchmarks/record/<cpu>/<date>.csv, with the machine in its first line."""

from __future__ import annotations

import csv
import io
import pathlib
import re
from dataclasses import asdict, dataclass, fields
from typing import get_type_hints

from sparsecrf.files.atomic import write_atomically


@dataclass(frozen=True)
class Row:
    """A run, or a point in the history of the first run (kind: run, history, missing, failed). Empty fields are
    unknown.

    For the kind `label`, `budget` is the number of tokens labelled in the given seconds, and `wall_s` the additional
    time to start.
    """

    kind: str
    task: str
    tool: str
    space: str
    threads: int | None = None
    repetition: int | None = None
    budget: float | None = None  #: iterations, or seconds for sparsecrf; for a history point: iterations or passes
    seconds: float | None = None  #: of training, without reading
    objective: float | None = None  #: of a run: computed here from its model file; of a history point: as reported
    own_objective: float | None = None  #: as the tool reported it at the end of the run
    active: int | None = None
    test_error: float | None = None
    test_f1: float | None = None
    wall_s: float | None = None  #: of the whole process
    cpu_s: float | None = None
    peak_mb: float | None = None
    model_mb: float | None = None
    note: str = ""
    rho1: float | None = None  #: the task's penalties; older records lack them, and the table's penalties are used
    rho2: float | None = None


def path_for(folder: pathlib.Path, cpu: str, date: str) -> pathlib.Path:
    return folder / (re.sub(r"[^a-z0-9]+", "-", cpu.lower()).strip("-") or "unknown") / f"{date}.csv"


def load(path: pathlib.Path) -> list[Row]:
    """The rows of a record; an empty list if the file does not exist."""
    if not path.exists():
        return []
    types = get_type_hints(Row)
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        Row(**{name: _value(text, types[name]) for name, text in raw.items()})  # type: ignore[arg-type]
        for raw in csv.DictReader(line for line in lines if not line.startswith("#"))
    ]


def _value(text: str, kind: object) -> str | int | float | None:
    if kind is str:
        return text
    if text == "":
        return None
    return int(text) if kind == (int | None) else float(text)


def save(path: pathlib.Path, machine: dict[str, str], rows: list[Row]) -> None:
    out = io.StringIO()
    out.write("# " + ", ".join(f"{name} {value}" for name, value in machine.items()) + "\n")
    writer = csv.DictWriter(out, [f.name for f in fields(Row)], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _text(value) for name, value in asdict(row).items()})
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, out.getvalue().encode())


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def machine_line(path: pathlib.Path) -> str:
    return path.read_text(encoding="utf-8").split("\n", 1)[0].removeprefix("# ")
