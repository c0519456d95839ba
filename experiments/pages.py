"""Writes results into README.md and RESULTS.md: only the text between two marks is generated.

<!-- begin NAME -->  ...  <!-- end NAME -->
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from experiments.common import Experiment, table
from sparsecrf import InputError
from sparsecrf.files.atomic import write_atomically


def write_pages(out: Path, here: Path, experiments: list[Experiment]) -> None:
    """Fill both pages from the results in `out`; figures and numbers are copied to here/record. Experiments without
    results in `out` keep their record."""
    new = {e.name: _read(out / e.name) for e in experiments if (out / e.name / "numbers.json").exists()}
    if not new:
        raise InputError(f"{out}: expected results of experiments, found none")
    record = here / "record"
    record.mkdir(exist_ok=True)
    readme: dict[str, list[str]] = {}
    for name, (numbers, page) in new.items():
        pictures = sorted((out / name).glob("*.svg"))
        for path in pictures:
            shutil.copyfile(path, record / path.name)
        write_atomically(record / f"{name}.json", (json.dumps(numbers) + "\n").encode())
        readme[name] = [*page, *(f"![{path.stem}](record/{path.name})" for path in pictures)]
    paths = {e.name: record / f"{e.name}.json" for e in experiments}
    found = {name: json.loads(path.read_text(encoding="utf-8")) for name, path in paths.items() if path.exists()}
    machine, all_new = out / "machine.json", len(new) == len(found)
    where = {"machine": [_machine(json.loads(machine.read_text()))]} if all_new and machine.exists() else {}
    fill(here / "README.md", {**readme, **where})
    fill(here / "RESULTS.md", {"reproduced": _reproduced(experiments, found), "not-held": _not_held(found), **where})


def _read(folder: Path) -> tuple[dict[str, Any], list[str]]:
    numbers: dict[str, Any] = json.loads((folder / "numbers.json").read_text(encoding="utf-8"))
    page = (folder / "table.md").read_text(encoding="utf-8").strip().splitlines()
    return numbers, page[1:]  # README.md has the title


def _machine(found: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in found.items()) + "."


def _reproduced(experiments: list[Experiment], found: Mapping[str, Any]) -> list[str]:
    """One row for each experiment: what it shows, how many of its relations hold, and its command."""
    rows = []
    for e in experiments:
        if e.name not in found:
            continue
        numbers = found[e.name]
        held = sum(relation["holds"] for relation in numbers["relations"])
        count = f"{held} of {len(numbers['relations'])}"
        command = f"`make experiments ONLY={e.name}`"
        rows.append([f"{e.title} ({e.paper})", numbers["headline"], count, numbers["date"], command])
    return table(["experiment", "ours beside the paper's", "relations that hold", "measured", "command"], rows, left=5)


def _not_held(found: Mapping[str, Any]) -> list[str]:
    lines = [
        f"- {name}: {relation['text']}. Found: {relation['found']}."
        for name, numbers in found.items()
        for relation in numbers["relations"]
        if not relation["holds"]
    ]
    return lines or ["All relations hold."]


def fill(path: Path, parts: Mapping[str, list[str]]) -> None:
    """Put each part between its marks. A part without marks is an error; marks without a part are left unchanged."""
    text = path.read_text(encoding="utf-8")
    for name, lines in parts.items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        pattern = re.compile(f"{re.escape(begin)}.*?{re.escape(end)}", re.DOTALL)
        content = "\n".join([begin, "", *lines, "", end])
        text, count = pattern.subn(lambda _, content=content: content, text)  # type: ignore[misc]
        if count != 1:
            raise InputError(f"{path}: expected the marks of {name} once, found them {count} times")
    write_atomically(path, text.encode())
