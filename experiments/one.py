"""One job in a process of its own: `python -m experiments.one MODULE:FUNCTION OPTIONS DATA` prints its result."""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path

from experiments.common import Result, plain
from sparsecrf.cli.train_report import peak_rss_mb


def call(function: str, options: dict[str, object], data: Path) -> Result:
    """The result in JSON values, with `seconds` of the processor, reading included, and `peak_mb` of the process."""
    module, name = function.split(":")
    began = time.process_time()
    result = getattr(importlib.import_module(module), name)(data, **options)
    found: Result = plain({**result, "seconds": time.process_time() - began, "peak_mb": peak_mb()})
    return found


def peak_mb() -> float | None:
    """Largest memory of this process. getrusage also counts that of the one which started it: Linux knows better."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return peak_rss_mb()


if __name__ == "__main__":
    print(json.dumps(call(sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3]))))
