"""Commands that are run, timed and reported."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "build" / "release"


class Failure(SystemExit):
    """A command that failed; `last` is the last line that it printed."""

    def __init__(self, words: Sequence[str], status: int, printed: str) -> None:
        super().__init__(f"{printed[-6000:]}\nexpected status 0, found {status}: {' '.join(words)}")
        self.last = printed.strip().rpartition("\n")[2]


_of_thread = threading.local()  # .processor_seconds: of the programs that this thread ran and that ended


def _processor_seconds() -> float:
    """What a step costs whatever else the machine does."""
    return getattr(_of_thread, "processor_seconds", 0.0)


def run(*command: object, env: Mapping[str, str] | None = None, cwd: Path = ROOT, log: str | None = None) -> str:
    """The output of a command, standard error included; also in the file WORK/logs/`log`. Failure if it fails."""
    words = [str(word) for word in command]
    if log:
        (WORK / "logs").mkdir(parents=True, exist_ok=True)
    with (WORK / "logs" / log).open("w+b") if log else TemporaryFile() as file:
        process = subprocess.Popen(words, env=env, cwd=cwd, stdout=file, stderr=subprocess.STDOUT)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        _of_thread.processor_seconds = _processor_seconds() + used.ru_utime + used.ru_stime
        file.seek(0)
        printed = file.read().decode(errors="replace")
    if process.returncode:
        raise Failure(words, process.returncode, printed)
    return printed


def side_by_side(jobs: Iterable[Callable[[], None]], at_once: int) -> None:
    """Calls all of them, so many at a time."""
    with ThreadPoolExecutor(at_once) as pool:
        for done in [pool.submit(job) for job in jobs]:
            done.result()


class Report:
    """What was done, and how long it took: printed at once, kept in WORK/report.json for the next run."""

    def __init__(self) -> None:
        self.file = WORK / "report.json"
        self.rows: dict[str, list[object]] = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.failed: list[str] = []
        self._lock = threading.Lock()  # of all that is written

    @contextmanager
    def step(self, name: str, *, go_on: bool = False):
        """Times a step. What it appends to the list is its result.

        A command that fails ends the program: at once, or with `go_on`, if no later step needs this one, in `finish`.
        """
        print(f"{name} ...", flush=True)
        results: list[str] = []
        began, used = time.monotonic(), _processor_seconds()
        try:
            yield results
        except Failure as failure:
            if not go_on:
                raise
            results.append(f"**FAILED**: {failure.last}")
            with self._lock:
                print(failure)
                self.failed.append(name)
        seconds, used = round(time.monotonic() - began, 1), round(_processor_seconds() - used, 1)
        with self._lock:
            self.rows[name] = [seconds, used, "; ".join(results)]
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self.file.write_text(json.dumps(self.rows, indent=1))
            print(f"{name}: {seconds} s ({used} s of processor)  {'; '.join(results)}", flush=True)

    def leave_out(self, name: str, reason: str) -> None:
        """Notes a step that cannot be done here."""
        self.rows[name] = ["", "", f"not done: {reason}"]
        print(f"{name}: not done: {reason}", flush=True)

    def table(self) -> str:
        """All steps so far, as a table of Markdown."""
        lines = ["| step | seconds | of processor | result |", "|---|---|---|---|"]
        return "\n".join(lines + [f"| {name} | {' | '.join(map(str, row))} |" for name, row in self.rows.items()])

    def finish(self) -> None:
        """Prints the table. SystemExit if a step failed."""
        print(f"\n{self.table()}\n")
        if self.failed:
            raise SystemExit(f"expected no failures, found some (logs: {WORK / 'logs'}): {', '.join(self.failed)}")


def only(files: Sequence[Path], what: str) -> Path:
    """The one file that a step left; SystemExit if there is not exactly one."""
    if len(files) != 1:
        raise SystemExit(f"expected one {what}, found {[file.name for file in files]}")
    return files[0]
