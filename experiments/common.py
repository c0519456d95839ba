"""Shared code of the experiments: jobs with a key, the store of their results, pages of results."""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from sparsecrf.files.atomic import write_atomically

#: What a job returns: JSON values, with `seconds` and `peak_mb` added by `one.py`.
Result = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """One piece of work for one process: a function of this package by name, with its options as JSON values."""

    function: str  #: module:function; called with the data folder and the options
    options: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[str, ...] = ()  #: files that it reads from the data folder
    minutes: float = 0.2  #: expected time of the full job on one core: long jobs start first

    def key(self, data: Path) -> str:
        """A digest of what the result depends on: options, package version and the content of the files.

        The code is not part of the digest: after a change of the code, use `--again`.
        """
        digests = {name: _digest(data / name) for name in self.files}
        text = json.dumps([self.function, dict(self.options), digests, version("sparsecrf")], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


_DIGESTS: dict[Path, str] = {}


def _digest(path: Path) -> str:
    if path not in _DIGESTS:
        _DIGESTS[path] = hashlib.sha256(path.read_bytes()).hexdigest()
    return _DIGESTS[path]


class Store:
    """Results by key, each in a file that is written atomically, so that finished jobs are not run again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def load(self, key: str) -> Result | None:
        path = self.folder / f"{key}.json"
        if not path.exists():
            return None
        result: Result = json.loads(path.read_text(encoding="utf-8"))["result"]
        return result

    def save(self, key: str, job: Job, result: Result) -> None:
        content = {"function": job.function, "options": dict(job.options), "result": result}
        write_atomically(self.folder / f"{key}.json", (json.dumps(content) + "\n").encode())


@dataclass(frozen=True)
class Relation:
    """A statement of the paper, or of this project, that the numbers must confirm."""

    text: str
    holds: bool
    found: str  #: the numbers that decide whether it holds
    full_only: bool = False  #: whether it is about times or about the real data: small simulated data cannot test it


@dataclass(frozen=True)
class Report:
    """The results of an experiment."""

    numbers: dict[str, Any]
    tables: dict[str, list[str]]  #: Markdown, by title
    figures: dict[str, Any]  #: displays of `sparsecrf.contrib.plots`, by file name without ending
    relations: list[Relation]
    headline: str  #: one sentence for RESULTS.md, with our numbers and the paper's


@dataclass(frozen=True)
class Experiment:
    """`jobs(quick)` by name, and the report of their results by the same names."""

    name: str
    title: str
    paper: str  #: where it is in the paper
    jobs: Callable[[bool], dict[str, Job]]
    report: Callable[[dict[str, Result]], Report]


def write_report(report: Report, experiment: Experiment, folder: Path, keys: Mapping[str, str]) -> None:
    """Write numbers.json, table.md and the figures as .svg and .png. numbers.json comes last: if it exists, the report
    is complete."""
    from experiments.figures import save

    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in report.figures.items():
        save(figure, folder / name)
    write_atomically(folder / "table.md", "\n".join(page(report, experiment)).encode())
    content = {
        "experiment": experiment.name,
        "date": time.strftime("%Y-%m-%d"),
        "keys": dict(keys),
        "headline": report.headline,
        "relations": [vars(relation) for relation in report.relations],
        "numbers": report.numbers,
    }
    write_atomically(folder / "numbers.json", (json.dumps(plain(content), indent=1) + "\n").encode())


def page(report: Report, experiment: Experiment) -> list[str]:
    lines = [f"# {experiment.title} ({experiment.paper})", "", report.headline, ""]
    for title, table in report.tables.items():
        lines += [f"**{title}**", "", *table, ""]
    lines += relations_table(report.relations)
    return [*lines, ""]


def relations_table(relations: Sequence[Relation]) -> list[str]:
    rows = [[r.text, r.found, "yes" if r.holds else "**no**"] for r in relations]
    return table(["relation", "found", "holds"], rows, left=2)


def plain(value: Any) -> Any:
    """The value with None instead of infinity and NaN, which JSON lacks."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


# ---- Markdown


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> list[str]:
    """A Markdown table. The first `left` columns are text, all others are numbers."""
    rule = "|" + "---|" * left + "---:|" * (len(head) - left)
    return ["| " + " | ".join(head) + " |", rule, *("| " + " | ".join(row) + " |" for row in rows)]


def number(x: float | None, digits: int = 0) -> str:
    return "-" if x is None or not math.isfinite(x) else f"{x:,.{digits}f}"


def scientific(x: float | None) -> str:
    return "-" if x is None or not math.isfinite(x) else f"{x:.1e}"


def duration(seconds: float) -> str:
    """A duration, given in seconds, with as many digits as are significant."""
    return f"{seconds:,.2g} s" if seconds < 10 else f"{seconds:,.0f} s"
