"""Measures the serial share of encoding and training, and predicts how a run would scale to more cores.

    CXXFLAGS=-DSPARSECRF_SIMULATE_THREADS pip install --no-build-isolation --no-deps --target build/simulated . \
        -C build-dir=build/simulated-objects
    PYTHONPATH=build/simulated:. python benchmarks/process/serial.py [TASK ...] [--cores 2 8 16 64] [--functions 12]

That build runs every parallel loop on one thread and schedules the processor time of its items on simulated threads
(cpp/core/base/simulated_team.hpp), so other programs on the machine hardly matter. Everything outside of parallel loops
is serial. For each task, prints processor seconds on one thread, the serial share, Amdahl's bound for each number of
cores, and the predicted speed, which also counts loops with fewer items than cores, uneven items and additions in turn.
Neither accounts for memory bandwidth or for starting threads. Then it lists the functions with the most serial time.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy: its products count as serial

from benchmarks.tasks import CHUNKS, DATA, LETTERS, NGRAMS

from sparsecrf import Template, _core, fit
from sparsecrf.defaults import RHO1, RHO2
from sparsecrf.encoding.recipe import Recipe
from sparsecrf.shards.dataset import read_files


class Task(NamedTuple):
    """A training file, its features, and penalties (the defaults if not given)."""

    file: str
    features: str  #: name of a preset, or a template
    rho1: float = RHO1
    rho2: float = RHO2


TASKS = {
    "chunking": Task("conll2000/train.txt", CHUNKS),
    "chunking-1-1": Task("conll2000/train.txt", CHUNKS, 1.0, 1.0),
    "words": Task("conll2003/train.txt", "words"),
    "tagging": Task("ewt/train.txt", "tagging"),
    "letters": Task("nettalk/train.txt", LETTERS, 0.1, 0.001),
    "5-gram": Task("nettalk/train.txt", NGRAMS, 0.2, 0.001),
}


class Seconds(NamedTuple):
    """Processor seconds in total and in parallel loops, and the predicted time."""

    total: float
    parallel: float
    predicted: float

    @property
    def serial(self) -> float:
        return self.total - self.parallel


def measured(work: Callable[[], Any]) -> tuple[Any, Seconds]:
    began, (parallel, clock) = time.process_time(), _core.parallel_seconds()
    found = work()
    total, (parallel_after, clock_after) = time.process_time() - began, _core.parallel_seconds()
    parallel, clock = parallel_after - parallel, clock_after - clock
    return found, Seconds(total, parallel, total - parallel + clock)


class SerialProfile:
    """Serial seconds spent in each function's own code; compiled functions are listed by name."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._stack = ["(outside)"]
        self._last = 0.0

    @staticmethod
    def _now() -> float:
        return time.process_time() - float(_core.parallel_seconds()[0])

    def __enter__(self) -> SerialProfile:
        self._last = self._now()
        sys.setprofile(self._see)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _see(self, frame: Any, event: str, argument: Any) -> None:
        now = self._now()
        self.seconds[self._stack[-1]] += now - self._last
        if event == "call":
            code = frame.f_code
            self._stack.append(f"{os.path.basename(code.co_filename)}:{code.co_qualname}")
        elif event == "c_call":
            self._stack.append(f"{self._stack[-1].split(' > ')[0]} > {argument.__name__}")
        elif len(self._stack) > 1:
            self._stack.pop()
        self._last = self._now()


def read(task: Task, threads: int) -> Any:
    ready_made = "\n" not in task.features
    recipe = Recipe(
        "columns",
        features=task.features if ready_made else None,
        template=None if ready_made else Template(task.features),
        start=False,
    )
    path = DATA / task.file
    return read_files([path], recipe.resolved(str(path)), threads=threads).corpus


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=list(TASKS), metavar="TASK", help=", ".join(TASKS))
    parser.add_argument("--cores", type=int, nargs="*", default=[2, 8, 16, 64])
    parser.add_argument("--functions", type=int, default=12, help="how many to list; 0 does not profile")
    options = parser.parse_args()
    print("| task | part | seconds | serial |" + "".join(f" bound {n} | predicted {n} |" for n in options.cores))
    print("|---|---|---:|---:|" + "---:|" * 2 * len(options.cores))
    for name in options.tasks:
        task = TASKS[name]

        def both(threads: int, task: Task = task) -> tuple[Any, Any, Seconds, Seconds]:
            corpus, encoding = measured(lambda: read(task, threads))
            result, training = measured(lambda: fit(corpus, rho1=task.rho1, rho2=task.rho2, threads=threads))
            return corpus, result, encoding, training

        corpus, result, *parts = both(1)
        more = {n: both(n)[2:] for n in options.cores}
        parts.append(Seconds(*(sum(part) for part in zip(*parts, strict=True))))
        for k, (part, one) in enumerate(zip(("encoding", "training", "both"), parts, strict=True)):
            share = one.serial / one.total
            row = f"| {name} | {part} | {one.total:.2f} | {100 * share:.1f} % |"
            for n, found in more.items():
                predicted = sum(each.predicted for each in (found if k == 2 else found[k : k + 1]))
                row += f" {1 / (share + (1 - share) / n):.1f} | {one.total / predicted:.1f} |"
            print(row, flush=True)
        if not options.functions:
            continue
        with SerialProfile() as profile:
            fit(corpus, rho1=task.rho1, rho2=task.rho2, threads=1)
        print(f"\n{result.solver}, serial seconds of training:")
        for function, seconds in profile.seconds.most_common(options.functions):
            print(f"  {seconds:6.3f}  {function}")
        print()


if __name__ == "__main__":
    main()
