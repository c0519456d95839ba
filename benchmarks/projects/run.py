"""Runs public projects on sparsecrf, and on the library or program that they were written for:

    PYTHONPATH=. python benchmarks/projects/run.py FOLDER [NAME ...]

FOLDER has the projects' repositories, each under its own name (usaddress, probablepeople, ingredient-parser, nltk,
crfpp, ParsCit, anystyle, grobid); missing projects are skipped, and so are parts whose data are missing.
Packages that they need (parserator, probableparsing, doublemetaphone, pint, nltk) are taken from this Python
installation. Nothing in FOLDER is changed. Prints Markdown for benchmarks/record/projects.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.common import machine, module, run
from benchmarks.projects import header
from benchmarks.projects.packages import PACKAGES, Package
from benchmarks.projects.programs import CONVERTED, TRAINED, Converted, Trained, converted, trained

NAMES = [*PACKAGES, *dict.fromkeys([*TRAINED, *CONVERTED]), "grobid-header"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; all but the last by default")
    parser.add_argument("--part", type=int, default=1, metavar="N", help="train Python packages on one sequence of N")
    parser.add_argument("--documents", type=int, default=150, help="of GROBID's header data")
    parser.add_argument("--limit", type=float, default=240.0, help="seconds of training for grobid-header")
    asked = parser.parse_args()
    asked.folder = asked.folder.resolve()
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    os.environ["SPARSECRF_PROJECTS_PART"] = str(asked.part)  # for worker.py
    print(f"{time.strftime('%Y-%m-%d')}; {', '.join(f'{k}: {v}' for k, v in machine().items())}\n", flush=True)
    for name in asked.names or NAMES[:-1]:
        if name == "grobid-header":
            header.report(asked.folder / "grobid", asked.documents, asked.limit)
        if name in PACKAGES:
            of_package(name, PACKAGES[name], asked.folder)
        for task in TRAINED.get(name, []):
            of_training(name, task, asked.folder / name)
        for model in CONVERTED.get(name, []):
            of_model(name, model, asked.folder / name)


def of_package(name: str, package: Package, folder: Path) -> None:
    project = folder / package.folder
    if not _there(name, [project / file for file in package.needs]):
        return
    found, labels = {}, {}
    with tempfile.TemporaryDirectory() as place:
        out = Path(place)
        for tool in ("original", "compat"):
            found[tool] = run(module("projects.worker", "train", name, folder, tool, out / tool)).answer
            labels[tool] = json.loads((out / tool).with_suffix(".json").read_text())
        differ = 0
        for model, tool in (("original", "compat"), ("compat", "original")):
            run(module("projects.worker", "label", name, folder, tool, out / f"{model}.model", out / "other")).answer  # noqa: B018
            differ += _differing(labels[model], json.loads((out / "other.json").read_text()))
        tested = [_tests(name, package, folder, tool, out / f"tests-{tool}") for tool in found]
    tests, failed = zip(*tested, strict=True)
    theirs, ours = found["original"], found["compat"]
    same = "; the same tests fail" if failed[0] == failed[1] != [] else ""
    sizes = f"{theirs['tokens']:,} held-out tokens"
    print(f"**{name}**: {sizes}, {differ} labels differ (each model in both libraries){same}\n")
    rows = [
        ["tests", *tests],
        ["training, CPU", *(f"{side['cpu_s']:.1f} s" for side in (theirs, ours))],
        [
            "memory (before training)",
            *(f"{side['peak_mb']:.0f} ({side['before_mb']:.0f}) MB" for side in (theirs, ours)),
        ],
        ["model", *(f"{side['model_bytes'] / 1e6:.2f} MB" for side in (theirs, ours))],
        ["held-out accuracy", *(f"{side['accuracy']:.2f} %" for side in (theirs, ours))],
    ]
    _table(["", "python-crfsuite", "compat"], rows)


def _tests(name: str, package: Package, folder: Path, tool: str, copy: Path) -> tuple[str, list[str]]:
    """Runs the tests of the project, in a copy of it with models that this library has trained: how many passed, and
    which failed."""
    run(module("projects.worker", "models", name, folder, tool, copy / package.folder)).answer  # noqa: B018
    shutil.copytree(folder / package.folder, copy / package.folder, dirs_exist_ok=True)
    found = run(module("projects.worker", "test", name, copy, tool)).answer
    counts = sorted(found["outcomes"].items(), reverse=True)
    return ", ".join(f"{count:,} {outcome}" for outcome, count in counts), found["failed"]


def of_training(name: str, task: Trained, project: Path) -> None:
    if not _there(f"{name}, {task.name}", [project / task.train, project / task.template]) or not _programs(
        "crf_learn", "crf_test"
    ):
        return
    with tempfile.TemporaryDirectory() as place:
        theirs, ours, tokens, differ = trained(task, project, Path(place))
    print(f"**{name}, {task.name}**: {tokens:,} test tokens, {differ} labels of the converted model differ\n")
    sides = (theirs, ours)
    rows = [
        ["training, CPU", *(f"{side.cpu_s:.1f} s" for side in sides)],
        ["memory", *(f"{side.peak_mb:.0f} MB" for side in sides)],
        ["model", *(f"{side.model_bytes / 1e6:.2f} MB" for side in sides)],
        ["test accuracy", *(f"{side.accuracy:.2f} %" for side in sides)],
    ]
    _table(["", "CRF++", "sparsecrf"], rows)


def of_model(name: str, task: Converted, project: Path) -> None:
    programs = ("wapiti",) if task.tool == "wapiti" else ("crf_test",)
    if not _there(f"{name}, {task.name}", [project / task.model]) or not _programs(*programs):
        return
    with tempfile.TemporaryDirectory() as place:
        tokens, differ = converted(task, project, Path(place))
    print(
        f"**{name}, {task.name}**, the shipped model: {tokens:,} tokens, {differ} labels differ from {task.tool}'s\n",
        flush=True,
    )


def _there(what: str, files: list[Path]) -> bool:
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        print(f"**{what}**: left out, no {', '.join(missing)}\n", flush=True)
    return not missing


def _programs(*names: str) -> bool:
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        print(f"left out, no program {', '.join(missing)} on the path\n", flush=True)
    return not missing


def _differing(one: list[list[str]], other: list[list[str]]) -> int:
    return sum(a != b for x, y in zip(one, other, strict=True) for a, b in zip(x, y, strict=True))


def _table(head: list[str], rows: list[list[str]]) -> None:
    for row in [head, ["---"] * len(head), *rows]:
        print(f"| {' | '.join(row)} |")
    print(flush=True)


if __name__ == "__main__":
    main()
