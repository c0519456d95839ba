"""Compares `sparsecrf.contrib.compat` with python-crfsuite in public programs, with the data and settings of each:

    OMP_NUM_THREADS=1 PYTHONPATH=. python benchmarks/compat/programs.py FOLDER [ROUNDS [NAME ...]]

FOLDER has the repositories of the programs that include their training data (benchmarks/projects/packages.py).
Measures processor seconds from appending the sequences to writing the model file (the minimum over rounds, tools in
turns) and the final objective. Prints Markdown for benchmarks/record/compat.md.
"""

from __future__ import annotations

import pathlib
import sys
import tempfile

import pycrfsuite
from benchmarks.compat.small import trained
from benchmarks.projects.packages import PACKAGES, use

from sparsecrf.contrib import compat


def main() -> None:
    folder, rounds = pathlib.Path(sys.argv[1]).resolve(), int((sys.argv[2:] or ["3"])[0])
    names = sys.argv[3:] or [name for name, package in PACKAGES.items() if not package.shipped]
    print("| program | tokens, labels | settings | python-crfsuite s, objective | compat s, objective | |")
    print("|---|---|---|---|---|---|")
    for name in names:
        package = PACKAGES[name]
        data = package.data(use(package, folder))
        size = f"{sum(len(y) for _, y in data):,}, {len({label for _, y in data for label in y})}"
        with tempfile.TemporaryDirectory() as place:
            path = pathlib.Path(place) / "model"
            runs = [[trained(tool, data, package.params, path) for tool in (pycrfsuite, compat)] for _ in range(rounds)]
        (theirs, at), (ours, ours_at) = (min(of) for of in zip(*runs, strict=True))
        settings = ", ".join(f"{key} {value}" for key, value in package.params.items()) or "defaults"
        cells = f"{theirs:.2f}, {at:.1f} | {ours:.2f}, {ours_at:.1f} | {theirs / ours:.1f} x"
        print(f"| {name} | {size} | {settings} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
