"""Cases that are generated from their number alone, so that a finding can be repeated: `python -m torture.NAME NUMBER`.

The module of a torture test has `attempt(number)`, which returns what to count and what was found, if anything. A
process of its own, which may crash or hang, runs many cases. A run that was cut short resumes where it stopped
(OUT/NAME.json).
"""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torture.common import ROOT, Outcome, environment


@dataclass(frozen=True)
class Cases:
    """The cases of one torture test."""

    name: str  #: name of the module
    count: int
    at_a_time: int  #: number of cases in one process
    longest_s: float  #: time limit of one process

    def run(self, minutes: float, out: Path) -> Outcome:
        """Run the first cases, as many as there is time for. Cases of earlier runs that were cut short count."""
        kept = out / f"{self.name}.json"
        state: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
        if not state or state["done"] >= self.count:
            state = {"done": 0, "findings": [], "counts": {}}
        ends = time.monotonic() + 60 * minutes
        while state["done"] < self.count and time.monotonic() < ends:
            n = min(self.at_a_time, self.count - state["done"])
            findings, counts = self._in_a_process(state["done"], n)
            state["done"] += n
            state["findings"] += findings
            state["counts"] = Counter(state["counts"]) + Counter(counts)
            kept.write_text(json.dumps(state))
        return Outcome(state["done"], state["findings"], detail=dict(sorted(state["counts"].items())))

    def _in_a_process(self, first: int, count: int) -> tuple[list[str], dict[str, int]]:
        """Run the cases first, first + 1, ...: returns what was found, and how often each kind was seen."""
        with tempfile.TemporaryDirectory() as directory:
            place, found = Path(directory, "place"), Path(directory, "found")
            command = [
                sys.executable,
                "-m",
                "torture.numbered",
                self.name,
                str(first),
                str(count),
                *map(str, (place, found)),
            ]
            how = {"cwd": ROOT, "env": environment(), "capture_output": True, "text": True, "timeout": self.longest_s}
            try:
                done = subprocess.run(command, check=False, **how)  # type: ignore[call-overload]
                ended = f"exit status {done.returncode}: {done.stderr[-500:]}"
            except subprocess.TimeoutExpired:
                ended = f"no end after {self.longest_s} s"
            if found.exists():
                findings, counts = json.loads(found.read_text())
                return findings, counts
            return [f"case {place.read_text() if place.exists() else f'{first} ...'}: {ended}"], {}


def many(attempt: Callable[[int], tuple[list[str], str]], first: int, count: int, place: Path, found: Path) -> None:
    """Run cases in this process. The file `place` always has the number of the running case."""
    import threadpoolctl

    # The environment already sets one BLAS thread; setting it again takes longer than a tiny fit.
    threadpoolctl.threadpool_limits = lambda **_: nullcontext()
    findings: list[str] = []
    counts: Counter[str] = Counter()
    for number in range(first, first + count):
        place.write_text(str(number))
        kinds, finding = attempt(number)
        counts.update(kinds)
        findings += [f"case {number}: {finding}"] if finding else []
    found.write_text(json.dumps([findings, counts]))


if __name__ == "__main__":
    name, first, count, place, found = sys.argv[1:]
    many(importlib.import_module(f"torture.{name}").attempt, int(first), int(count), Path(place), Path(found))
