"""All torture tests: `make torture MINUTES=60`, or

    PYTHONPATH=. python -m torture.run [NAME ...] [--minutes M] [--out FOLDER] [--targets "c++ model" ...]

`fuzz` takes M minutes in total, `soak`, `serve_soak` and `missing_weights` take a third of M each, and `tiny_fits` and
`promise` at most a third; the others take as long as they need. What was done and found is written to torture/RECORD.md
and torture/record.json, which keep the last run of each test. The exit status is 1 if anything was found.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.common import machine

from sparsecrf.files.atomic import write_atomically
from sparsecrf.progress import say
from torture.common import ROOT, Outcome

QUICK = ("kill", "disk_full", "memory", "valgrind", "threads")
LONG = ("soak", "serve_soak", "tiny_fits", "promise", "missing_weights")  # a third of the minutes each
TORTURES = ("fuzz", *LONG, *QUICK)
RECORD = ROOT / "torture" / "record.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(TORTURES)}; all if none is given")
    parser.add_argument("--minutes", type=float, default=60.0, help="of fuzzing (default: 60)")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "torture", help="where findings and logs go")
    parser.add_argument("--targets", nargs="+", default=[], help='of `fuzz`, such as "python model" or "c++ model"')
    asked = parser.parse_args()
    if asked.targets and asked.names != ["fuzz"]:
        parser.error(f"--targets: expected fuzz alone, found {' '.join(asked.names) or 'all'}")
    for name in asked.names:
        if name not in TORTURES:
            parser.error(f"expected a torture of {', '.join(TORTURES)}, found {name}")
    asked.out.mkdir(parents=True, exist_ok=True)
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    found = 0
    for name in asked.names or TORTURES:
        say(f"{name} ...")
        began = time.perf_counter()
        minutes = asked.minutes / 3 if name in LONG else asked.minutes
        some = {"chosen": asked.targets} if asked.targets else {}
        outcome = importlib.import_module(f"torture.{name}").run(minutes, asked.out.resolve(), **some)
        record[", ".join([name, *asked.targets])] = described(outcome, time.perf_counter() - began)
        found += len(outcome.findings)
        say(f"{name}: {outcome.executions:,} executions, {len(outcome.findings)} findings")
        for finding in outcome.findings:
            say(f"  {finding}")
        write_atomically(RECORD, json.dumps(record, indent=1).encode() + b"\n")
        write_atomically(RECORD.with_name("RECORD.md"), page(record).encode())
    return 1 if found else 0


def described(outcome: Outcome, seconds: float) -> dict[str, Any]:
    about = machine()
    versions = {name: about.pop(name) for name in ("sparsecrf", "python", "numpy")}
    with suppress(PackageNotFoundError):
        versions["atheris"] = version("atheris")
    return {
        "date": time.strftime("%Y-%m-%d"),
        "machine": about,
        "versions": versions,
        "seconds": round(seconds),
        "executions": outcome.executions,
        "findings": outcome.findings,
        "notes": outcome.notes,
        "detail": outcome.detail,
    }


def page(record: dict[str, Any]) -> str:
    """The record as a page."""
    lines = ["# Torture tests: the latest run of each", ""]
    lines += ["`make torture` writes this page; `record.json` contains all details.", ""]
    lines += ["| test | date | seconds | executions | findings |", "|---|---|---|---|---|"]
    for name, run in record.items():
        numbers = f"{run['seconds']:,} | {run['executions']:,} | {len(run['findings'])}"
        lines.append(f"| {name} | {run['date']} | {numbers} |")
    for name, run in record.items():
        lines += ["", f"## {name}", "", f"{_listed(run['machine'])}; {_listed(run['versions'])}.", ""]
        lines += [f"- found: {finding}" for finding in run["findings"]]
        lines += [f"- {note}" for note in run["notes"]]
        lines += [f"- {key}: {_listed(value)}" for key, value in run["detail"].items()]
    return "\n".join(lines).rstrip() + "\n"


def _listed(value: Any) -> str:
    return ", ".join(f"{key} {_listed(part)}" for key, part in value.items()) if isinstance(value, dict) else str(value)


if __name__ == "__main__":
    sys.exit(main())
