"""Shared code of the benchmarks: the folder of records, the machine, and processes with their times and memory."""

from __future__ import annotations

import importlib.metadata
import json
import os
import pathlib
import platform
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import numpy as np

from sparsecrf import _core

RECORD = pathlib.Path(__file__).resolve().parent / "record"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1")


def machine() -> dict[str, str]:
    """The machine and the versions that a record was made with."""
    model = platform.processor()
    if pathlib.Path("/proc/cpuinfo").exists():
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    return {
        "processor": model,
        "cores": str(os.cpu_count()),
        "instruction set": _core.instruction_set(),
        "system": f"{platform.system()} {platform.machine()}",
        "sparsecrf": importlib.metadata.version("sparsecrf"),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


# ---- Memory


def memory_mb(pid: int | str = "self") -> dict[str, float]:
    """The memory sizes that Linux reports for a process, by Linux's names; {} if it has ended, or on other systems.

    VmHWM: the largest resident memory so far; RssAnon and RssFile: resident private memory, and resident pages of
    files; VmData: allocated private memory, used or not.
    """
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    sizes = (line.split() for line in lines if line.endswith(" kB"))
    return {name.rstrip(":"): int(kb) / 1024 for name, kb, _ in sizes}


def peak_mb() -> float | None:
    """Peak memory of this process so far. getrusage may start from the peak of the parent process, so it is used only
    if there is no better source."""
    if found := memory_mb().get("VmHWM"):
        return found
    from sparsecrf.cli.train_report import peak_rss_mb

    return peak_rss_mb()


class MemoryWatch:
    """Within this context, the maximum of each of these sizes of a process, sampled every 20 ms."""

    def __init__(self, names: Sequence[str], pid: int | str = "self") -> None:
        self.mb: dict[str, float] = {}
        self._names, self._pid = names, pid
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> MemoryWatch:
        self._look()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._look()

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            self._look()

    def _look(self) -> None:
        found = memory_mb(self._pid)
        for name in self._names:
            self.mb[name] = max(found.get(name, 0.0), self.mb.get(name, 0.0))


# ---- Processes


@dataclass(frozen=True)
class Finished:
    """A process that has ended."""

    command: str
    lines: list[tuple[float, str]]  #: seconds since the start, and the output at that time, of both streams
    wall_s: float
    cpu_s: float
    peak_mb: float
    status: int  #: -9 if it was ended, at the time limit or at a line

    @property
    def text(self) -> str:
        return "\n".join(line for _, line in self.lines)

    @property
    def answer(self) -> dict[str, Any]:
        """The last JSON object that the process printed. Other code may write a line or two while the process ends."""
        if self.status != 0:
            raise SystemExit(f"{self.command}: expected status 0, found {self.status}: {self.text[-2000:]}")
        return dict(json.loads(next(line for _, line in reversed(self.lines) if line.startswith("{"))))


def module(name: str, *arguments: object) -> list[object]:
    """The command that runs a module of the benchmarks with this Python."""
    return [sys.executable, "-W", "ignore", "-m", f"benchmarks.{name}", *arguments]


def run(
    command: Sequence[object], limit_s: float | None = None, *, until: str | None = None, one_thread: bool = True
) -> Finished:
    """Run a command until it ends, until the time limit, or until it writes a line that begins with `until`.

    `one_thread`: limits libraries that choose their own number of threads to one.
    """
    arguments = [str(part) for part in command]
    began = time.perf_counter()
    child = subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **(ONE_THREAD if one_thread else {})},
        start_new_session=True,
    )

    def end() -> None:
        os.killpg(child.pid, signal.SIGKILL)

    timer = threading.Timer(limit_s, end) if limit_s else None
    if timer:
        timer.start()
    lines = []
    # The memory that wait4 reports includes the memory of this process, so the child is monitored instead.
    with MemoryWatch(["VmHWM"], child.pid) as memory:
        assert child.stdout is not None
        for raw in child.stdout:
            lines.append((time.perf_counter() - began, raw.decode("utf-8", "replace").rstrip("\n")))
            if until and lines[-1][1].startswith(until):
                end()
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - began
    child.returncode = os.waitstatus_to_exitcode(status)
    child.stdout.close()
    if timer:
        timer.cancel()
    cpu = usage.ru_utime + usage.ru_stime
    return Finished(" ".join(arguments), lines, wall, cpu, memory.mb["VmHWM"], child.returncode)
