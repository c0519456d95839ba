"""One training run in a process of its own: `python -m benchmarks.training.one TASK '{"solver": "auto", ...}'`.

Prints one JSON object: the history (seconds without reading), peak memory, and how the run ended.
"""

from __future__ import annotations

import json
import resource
import sys
import time

from benchmarks.training.sets import TASKS

from sparsecrf import fit


def main() -> None:
    task, options = TASKS[sys.argv[1]], json.loads(sys.argv[2])
    test = options.pop("test_error", False)
    began = time.perf_counter()
    corpora = task.encode("train", *(["test"] if test else []))
    read_s = time.perf_counter() - began
    found = fit(
        corpora[0],
        **{"rho1": task.rho1, "rho2": task.rho2, "threads": 1, "dev": corpora[1] if test else None, **options},
    )
    print(
        json.dumps(
            {
                "read_s": read_s,
                "history": [[r.time_s, r.objective, r.passes, r.kkt, r.gap, r.dev_error] for r in found.history],
                "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                "stopped_by": found.stopped_by,
                "objective": found.objective,
                "kkt": found.kkt,
                "gap": found.gap,
                "active": len(found.numbers),
            }
        )
    )


if __name__ == "__main__":
    main()
