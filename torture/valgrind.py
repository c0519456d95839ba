"""Labelling under Valgrind: no uninitialised reads, no reads beyond the end, no leaks.

It runs the core alone first (cpp/tests/threads.cpp), then `sparsecrf label`. In a Python process, only errors with the
core on their stack count, since the interpreter has errors of its own.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import xml.etree.ElementTree as ET
from pathlib import Path
from shutil import which

from torture.common import Outcome, built, environment, program
from torture.made_up import TEMPLATE, columns

_MEMCHECK = ["valgrind", "--leak-check=full", "--show-leak-kinds=definite", "--errors-for-leak-kinds=definite", "-q"]


def run(minutes: float, out: Path) -> Outcome:
    if which("valgrind") is None:
        return Outcome(0, [], ["Valgrind is not installed: not done"])
    core, python = of_core(), of_program()
    return Outcome(core.executions + python.executions, core.findings + python.findings, core.notes + python.notes)


def of_core(sentences: int = 15) -> Outcome:
    """The core in two threads."""
    threads = built("threads")
    if threads is None:
        return Outcome(0, [], ["no C++ compiler: the core alone was left out"])
    command = [*_MEMCHECK, "--error-exitcode=99", str(threads), "2", str(sentences)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return Outcome(1, [] if done.returncode == 0 else [f"core: exit status {done.returncode}: {done.stderr[:2000]}"])


def of_program() -> Outcome:
    """`label` with all its options."""
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        (folder / "data.txt").write_text(columns(30), encoding="utf-8")
        (folder / "template.txt").write_text(TEMPLATE, encoding="utf-8")
        train = program("train", "data.txt", "-t", "template.txt", "-m", "model", "--max-iter", "3", "--quiet")
        subprocess.run(train, cwd=folder, env=environment(), check=True)
        label = program(
            "label", "-m", "model", "data.txt", "-o", "labels", "--nbest", "2", "--all-marginals", "--force"
        )
        command = [*_MEMCHECK, "--xml=yes", "--xml-file=errors.xml", *label]
        # Python's own allocator hides memory errors.
        done = subprocess.run(
            command, cwd=folder, env=environment(PYTHONMALLOC="malloc"), capture_output=True, text=True, check=False
        )
        if done.returncode != 0 or not (folder / "labels").exists():
            return Outcome(1, [f"label: exit status {done.returncode}: {done.stderr[-1000:]}"])
        return Outcome(1, [f"label: {what}" for what in errors_of_core((folder / "errors.xml").read_text())])


def errors_of_core(xml: str) -> list[str]:
    """Valgrind's reports of errors that have the core on their stack."""
    found = []
    for error in ET.fromstring(xml).iter("error"):
        frames = [(frame.findtext("obj") or "", frame.findtext("fn") or "?") for frame in error.iter("frame")]
        if any(re.search(r"sparsecrf/_core\.[^/]*$", where) for where, _ in frames):
            what = error.findtext("what") or error.findtext("xwhat/text") or error.findtext("kind") or ""
            found.append(f"{what} in {' < '.join(function for _, function in frames[:6])}")
    return found
