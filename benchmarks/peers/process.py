"""A process with its seconds and memory, and with the time at which it wrote each line."""

from __future__ import annotations

import os
import pathlib
import re
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

#: Nothing computes on more threads than it is told to.
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Finished:
    lines: list[tuple[float, str]]  #: seconds since the start, and what was written then, both streams
    wall_s: float
    cpu_s: float
    peak_mb: float
    status: int  #: -9: it was ended at the limit

    @property
    def text(self) -> str:
        return "\n".join(line for _, line in self.lines)


def run(command: Sequence[object], limit_s: float | None = None) -> Finished:
    """Run a command to its end, or to the limit."""
    arguments = [str(part) for part in command]
    began = time.perf_counter()
    child = subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **ONE_THREAD},
        start_new_session=True,
    )
    ended = threading.Timer(limit_s, lambda: os.killpg(child.pid, signal.SIGKILL)) if limit_s else None
    peak = _Peak(child.pid)
    if ended:
        ended.start()
    peak.start()
    assert child.stdout is not None
    lines = [(time.perf_counter() - began, raw.decode("utf-8", "replace").rstrip("\n")) for raw in child.stdout]
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    if ended:
        ended.cancel()
    peak.stop()
    return Finished(lines, wall, usage.ru_utime + usage.ru_stime, peak.mb, child.returncode)


class _Peak(threading.Thread):
    """Watches the peak memory of a process: the account that wait4 gives begins with that of its parent."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.path, self.kb, self.done = pathlib.Path(f"/proc/{pid}/status"), 0, threading.Event()

    def run(self) -> None:
        while not self.done.wait(0.02):
            try:
                found = re.search(r"VmHWM:\s*(\d+)", self.path.read_text())
            except OSError:
                return
            if found:
                self.kb = max(self.kb, int(found[1]))

    def stop(self) -> None:
        self.done.set()
        self.join()

    @property
    def mb(self) -> float:
        return self.kb / 1024
