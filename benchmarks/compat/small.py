"""Compares `sparsecrf.contrib.compat` with python-crfsuite on small data, with one thread:

    OMP_NUM_THREADS=1 PYTHONPATH=. python benchmarks/compat/small.py C1 C2 ITERATIONS FOLDER ...

A folder has a column file train.txt with the word first and the label last. The features are those of
sklearn-crfsuite's tutorial without tags. Measures processor seconds from appending the sequences to writing the model
file (the minimum of three rounds, tools in turns) and the last objective in the log. Prints Markdown for
benchmarks/record/compat.md.
"""

from __future__ import annotations

import pathlib
import sys
import tempfile
import time
from typing import Any

import pycrfsuite
from benchmarks.presets.speed import with_features, words

from sparsecrf.contrib import compat

ROUNDS = 3
Sequences = list[tuple[list[dict[str, Any]], list[str]]]


def trained(tool: Any, data: Sequences, params: dict[str, Any], path: pathlib.Path) -> tuple[float, float]:
    """Processor seconds and the final objective."""
    began = time.process_time()
    trainer = tool.Trainer(params=params, verbose=False)
    for x, y in data:
        trainer.append(x, y)
    trainer.train(str(path))
    return time.process_time() - began, trainer.logparser.last_iteration["loss"]


def main() -> None:
    c1, c2, iterations, *folders = sys.argv[1:]
    params = {"c1": float(c1), "c2": float(c2), "max_iterations": int(iterations), "feature.possible_transitions": True}
    print("| data | tokens, labels | python-crfsuite s, objective | compat s, objective | |\n|---|---|---|---|---|")
    for folder in map(pathlib.Path, folders):
        sentences, labels = words(folder, "train")
        data = list(zip(with_features(sentences), labels, strict=True))
        size = f"{sum(len(y) for _, y in data):,}, {len({label for _, y in data for label in y})}"
        with tempfile.TemporaryDirectory() as place:
            path = pathlib.Path(place) / "model"
            rounds = [[trained(tool, data, params, path) for tool in (pycrfsuite, compat)] for _ in range(ROUNDS)]
        (theirs, at), (ours, ours_at) = (min(runs) for runs in zip(*rounds, strict=True))
        cells = f"{theirs:.2f}, {at:.1f} | {ours:.2f}, {ours_at:.1f} | {theirs / ours:.1f} x"
        print(f"| {folder.name} | {size} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
