"""Is early stopping at a weak penalty better than the optimum at the penalty that a path chooses?

    PYTHONPATH=. python benchmarks/path/early_stopping.py FOLDER|NAME...

Errors are of tokens of the test data. A run at a weak penalty goes on to its optimum; its dev error says after which
iteration a patience would have stopped it, and its test error is known all along.
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
    """The histories of a run with the errors on the dev and on the test data: the same run twice."""
    records = [fit(task.train, rho1=rho1, dev=part, **options).history for part in (task.dev, task.test)]
    return records[0], records[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+", metavar="NAME|FOLDER")
    parser.add_argument("--tol", type=float, default=1e-5)
    given = parser.parse_args()
    options = {"threads": 1, "tol": given.tol}
    print("| task | rho1 | best iteration on test | stopped by dev | optimum | path: rho1, at the optimum |")
    for name in given.tasks:
        task = load(name)
        found = path(task.train, dev=task.dev, **options)
        chosen = found[found.best or 0]
        choice = f"{chosen.rho1:.2g}, {len(chosen.w):,}: {token_error(task.test, chosen.numbers, chosen.w):.2f}"
        for rho1 in WEAK:
            dev, test = along(task, rho1, options)
            errors = [record.dev_error for record in test]
            early = min(range(len(dev)), key=lambda k: dev[k].dev_error)
            best = min(range(len(test)), key=errors.__getitem__)
            cells = [f"{errors[k]:.2f} ({test[k].iter}; {_active(test[k]):,})" for k in (best, early, len(test) - 1)]
            print(f"| {task.name} | {rho1} | {' | '.join(cells)} | {choice} |", flush=True)


def _active(record: Any) -> int:
    return int(record.active_unigram + record.active_bigram)


if __name__ == "__main__":
    main()
