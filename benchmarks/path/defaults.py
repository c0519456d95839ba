"""Scores on dev data for fixed penalties: which default suits many tasks?

    PYTHONPATH=. python benchmarks/path/defaults.py NAME|FOLDER... > table.md

Tasks as for run.py. A row has chunk F1 or token accuracy for every pair of penalties, and the number of weights; each
fit starts from the fit with the next larger rho1.
"""

from __future__ import annotations

import argparse

from benchmarks.path.run import Encoded, load

from sparsecrf import fit
from sparsecrf.training.data import TrainingData
from sparsecrf.training.heldout import best_labels

RHO1 = 5.0, 2.0, 1.0, 0.5, 0.2, 0.1
RHO2 = 0.01, 0.1


def row(task: Encoded, tol: float, max_iter: int) -> list[str]:
    """The cells of a task."""
    data = TrainingData(task.train, threads=1)
    cells = [task.name, f"{task.train.n_tokens:,}", str(task.train.n_labels), task.score.name]
    for rho2 in RHO2:
        found = None
        for rho1 in RHO1:
            found = fit(data, rho1=rho1, rho2=rho2, tol=tol, init=found, max_iter=max_iter, threads=1)
            predicted = best_labels(task.dev, found.numbers, found.w, threads=1)
            cells.append(f"{100 - task.score(task.dev, predicted):.1f} ({len(found.w):,})")
    return cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+", metavar="NAME|FOLDER")
    parser.add_argument("--tol", type=float, default=3e-4)
    parser.add_argument("--max-iter", type=int, default=60)
    given = parser.parse_args()
    heads = [f"{rho1:g}, {rho2:g}" for rho2 in RHO2 for rho1 in RHO1]
    print("| " + " | ".join(["task", "tokens", "labels", "score", *heads]) + " |")
    print("|" + "---|" * (4 + len(heads)))
    for name in given.tasks:
        print("| " + " | ".join(row(load(name), given.tol, given.max_iter)) + " |", flush=True)


if __name__ == "__main__":
    main()
