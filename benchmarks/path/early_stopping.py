"""Is early stopping at a weak penalty better than the optimum at the penalty that a path chooses?

    PYTHONPATH=. python benchmarks/path/early_stopping.py FOLDER|NAME...

Errors are token errors on the test data. A run at a weak penalty continues to its optimum; its dev error shows after
which iteration a patience would have stopped it, and its test error is recorded at every iteration.
"""

from __future__ import annotations

import argparse
from typing import Any

from benchmarks.path.run import Encoded, load

from sparsecrf import fit
from sparsecrf.path import path
from sparsecrf.training.heldout import token_error

WEAK = 0.02, 0.1  # rho1; rho2 is the default


def along(task: Encoded, rho1: float, options: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """The histories of a run with errors on the dev data and on the test data, from running it twice."""
    records = [fit(task.train, rho1=rho1, dev=part, **options).history for part in (task.dev, task.test)]
    return records[0], records[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+", metavar="NAME|FOLDER")
    parser.add_argument("--tol", type=float, default=1e-4)
    given = parser.parse_args()
    options: dict[str, Any] = {"threads": 1, "tol": given.tol}
    heads = ["task", "path", "path, patience 10"]
    for rho1 in WEAK:
        heads += [f"rho1 {rho1}: best on test", "stopped by dev", "optimum"]
    print("| " + " | ".join(heads) + " |")
    for name in given.tasks:
        task = load(name)
        cells = [task.name, chosen(task, options), chosen(task, options | {"patience": 10})]
        for rho1 in WEAK:
            dev, test = along(task, rho1, options)
            errors = [record.dev_error for record in test]
            best, early = errors.index(min(errors)), min(range(len(dev)), key=lambda k: dev[k].dev_error)
            cells += [f"{errors[k]:.2f} ({_active(test[k]):,}; {test[k].iter})" for k in (best, early, -1)]
        print("| " + " | ".join(cells) + " |", flush=True)


def chosen(task: Encoded, options: dict[str, Any]) -> str:
    """The test error, the number of weights and rho1 of the best fit of a path searched by token error."""
    found = path(task.train, dev=task.dev, **options)
    best = found[found.best or 0]
    return f"{token_error(task.test, best.numbers, best.w):.2f} ({len(best.w):,}; rho1 {best.rho1:.2g})"


def _active(record: Any) -> int:
    return int(record.active_unigram + record.active_bigram)


if __name__ == "__main__":
    main()
