"""Runs one job in its own process: `python -m experiments.one MODULE:FUNCTION OPTIONS DATA` prints its result."""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path

from benchmarks.common import peak_mb

from experiments.common import Result, plain


def call(function: str, options: dict[str, object], data: Path) -> Result:
    """The result as JSON values, with processor `seconds`, including reading, and `peak_mb` of the process."""
    module, name = function.split(":")
    began = time.process_time()
    result = getattr(importlib.import_module(module), name)(data, **options)
    found: Result = plain({**result, "seconds": time.process_time() - began, "peak_mb": peak_mb()})
    return found


if __name__ == "__main__":
    print(json.dumps(call(sys.argv[1], json.loads(sys.argv[2]), Path(sys.argv[3]))))
