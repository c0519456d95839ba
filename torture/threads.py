"""The core's threads under ThreadSanitizer: cpp/tests/threads.cpp, the same as `make sanitize-thread`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from torture.common import Outcome, built


def run(minutes: float, out: Path) -> Outcome:
    threads = built("threads", sanitize="thread")
    if threads is None:
        return Outcome(0, [], ["no C++ compiler: not done"])
    environment = {**os.environ, "TSAN_OPTIONS": "halt_on_error=1"}
    done = subprocess.run([str(threads), "4"], env=environment, capture_output=True, text=True, check=False)
    return Outcome(1, [] if done.returncode == 0 else [f"exit status {done.returncode}: {done.stderr[:2000]}"])
