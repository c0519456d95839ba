"""Compares `sparsecrf.contrib.compat` with python-crfsuite on simulated data:

    PYTHONPATH=. python benchmarks/compat/run.py [--rounds N] [--suite FOLDER ...]

CPU seconds of `ap`, `pa` and `arow`; accuracy without a penalty, where only the number of iterations limits
overfitting; seconds to open a model file. Tools take turns; times are minima over the rounds. `--suite`: the
repositories of python-crfsuite and sklearn-crfsuite, whose tests are run against `compat`. Prints Markdown for
benchmarks/record/compat.md.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pycrfsuite
from benchmarks.common import machine

from sparsecrf.contrib import compat

TOOLS: dict[str, Any] = {"python-crfsuite": pycrfsuite, "compat": compat}
Sequences = list[tuple[list[dict[str, Any]], list[str]]]
SUITE = "import sys, pytest, sparsecrf.contrib.compat as c; c.install(); sys.exit(pytest.main(['-q', '-rfX', 'tests']))"


def made_up(n: int, n_labels: int, seed: int) -> Sequences:
    """Words that are typical of their labels, which form a chain; a tenth of the labels are wrong."""
    rng = random.Random(seed)
    data = []
    for _ in range(n):
        y, words = rng.randrange(n_labels), []
        labels = []
        for _ in range(rng.randrange(3, 18)):
            y = (y + rng.choice((0, 1, 1, 2))) % n_labels
            words.append(f"{y if rng.random() < 0.7 else rng.randrange(n_labels)}-{int(rng.paretovariate(0.6)) % 5000}")
            labels.append(f"L{y if rng.random() < 0.9 else rng.randrange(n_labels)}")
        around = ["^", "^", *words, "$", "$"]
        names = ("-2", "-1", "0", "+1", "+2")
        x = [{name: around[t + k] for k, name in enumerate(names)} for t in range(len(words))]
        for t, item in enumerate(x):
            item |= {"end": words[t][-2:], "-1|0": around[t + 1] + around[t + 2], "bias": True}
        data.append((x, labels))
    return data


def trained(tool: Any, algorithm: str, params: dict[str, Any], data: Sequences, path: pathlib.Path) -> float:
    """CPU seconds that `train` takes."""
    trainer = tool.Trainer(algorithm, params, verbose=False)
    for x, y in data:
        trainer.append(x, y)
    began = time.process_time()
    trainer.train(str(path))
    return time.process_time() - began


def accuracy(tool: Any, path: pathlib.Path, data: Sequences) -> float:
    tagger = tool.Tagger()
    with tagger.open(str(path)):
        right = [a == b for x, y in data for a, b in zip(tagger.tag(x), y, strict=True)]
    return 100 * sum(right) / len(right)


def best(rounds: int, run: Callable[[Any], float]) -> dict[str, float]:
    found: dict[str, list[float]] = {name: [] for name in TOOLS}
    for _ in range(rounds):
        for name, tool in TOOLS.items():
            found[name].append(run(tool))
    return {name: min(times) for name, times in found.items()}


def table(head: list[str], rows: list[list[str]]) -> None:
    for row in [head, ["---"] * len(head), *rows]:
        print(f"| {' | '.join(row)} |")
    print()


def train_and_score(tool: Any, algorithm: str, data: Sequences, path: pathlib.Path, scores: dict[str, float]) -> float:
    took = trained(tool, algorithm, {"max_iterations": 20}, data[:-500], path)
    scores[tool.__name__] = accuracy(tool, path, data[-500:])
    return took


def opened(tool: Any, path: pathlib.Path, question: bool) -> float:
    """Seconds to open a model file."""
    tagger = tool.Tagger()
    began = time.perf_counter()
    tagger.open(str(path))
    if question:
        tagger.tag([["bias"]])
    return time.perf_counter() - began


def online(rounds: int, path: pathlib.Path) -> None:
    rows = []
    for n_labels in (9, 40):
        data = made_up(4500, n_labels, seed=n_labels)
        for algorithm in ("ap", "pa", "arow"):
            scores: dict[str, float] = {}
            times = best(rounds, partial(train_and_score, algorithm=algorithm, data=data, path=path, scores=scores))
            cells = [f"{times[name]:.2f} s, {scores[tool.__name__]:.2f} %" for name, tool in TOOLS.items()]
            rows.append([algorithm, str(n_labels), *cells, f"{times['python-crfsuite'] / times['compat']:.1f} x"])
    print(
        "20 iterations, CPU seconds of `train`, accuracy on other data (theirs takes the sequences in another order):\n"
    )
    table(["algorithm", "labels", *TOOLS, ""], rows)


def unpenalised(path: pathlib.Path) -> None:
    data, rows = made_up(4500, 9, seed=1), []
    for n in (5, 10, 20, 40, 80):
        cells = []
        for tool in TOOLS.values():
            trained(tool, "lbfgs", {"c1": 0, "c2": 0, "max_iterations": n}, data[:4000], path)
            cells.append(f"{accuracy(tool, path, data[4000:]):.2f} %")
        rows.append([str(n), *cells])
    print("`lbfgs` with c1 = c2 = 0: accuracy on other data by number of iterations:\n")
    table(["iterations", *TOOLS], rows)


def opening(rounds: int, path: pathlib.Path) -> None:
    rows = []
    for n in (20, 4000, 20000):
        trained(pycrfsuite, "lbfgs", {"max_iterations": 2}, made_up(n, 9, seed=2), path)
        cells = []
        for question in (False, True):
            times = best(10 * rounds, partial(opened, path=path, question=question))
            cells += [f"{1000 * times[name]:.2f}" for name in TOOLS]
        rows.append([f"{path.stat().st_size / 2**20:.2f} MB", *cells])
    print("Milliseconds to open a file of CRFsuite; to open it and label one token:\n")
    table(["file", *(f"{name}, open" for name in TOOLS), *(f"{name}, and label" for name in TOOLS)], rows)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--suite", action="append", default=[], metavar="FOLDER")
    arguments = parser.parse_args()
    print(", ".join(f"{name}: {value}" for name, value in machine().items()) + "\n", flush=True)
    for folder in arguments.suite:
        done = subprocess.run([sys.executable, "-c", SUITE], cwd=folder, capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        print("\n".join(line for line in lines if line.startswith(("FAILED", "XPASS"))), f"\n{lines[-1]}\n", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model"
        online(arguments.rounds, path)
        unpenalised(path)
        opening(arguments.rounds, path)


if __name__ == "__main__":
    main()
