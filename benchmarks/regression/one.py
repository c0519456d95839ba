"""Runs one tool of the regression benchmark: `python -m benchmarks.regression.one TOOL FOLDER OPTIONS`.

Trains on train.txt and labels test.txt with attributes in memory, one sequence per call. Prints a JSON object with
processor seconds.
"""

from __future__ import annotations

import json
import pathlib
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.library import crfsuite_options, crfsuite_trainer, sequences

from sparsecrf import Template, Vocabulary, fit

# Only features that CRFsuite also supports: no observation conditions a label pair.
TEMPLATE = "".join(
    f"U{n}:%x[{row},{column}]\n" for n, (row, column) in enumerate([(k, c) for c in (0, 1) for k in (-1, 0, 1)])
)
TEMPLATE += "Ub:%x[-1,1]/%x[0,1]\nB\n"
Result = dict[str, float]


def sparsecrf(folder: pathlib.Path, *, rho1: float, rho2: float, objective: float) -> Result:
    """Trains down to a given objective, on the observed features."""
    items, labels = zip(*sequences(Template(TEMPLATE), folder / "train.txt"), strict=True)
    vocabulary = Vocabulary(start=False)
    corpus = vocabulary.encode(items, labels, grow=True)
    del items, labels
    reached: list[float] = []

    def enough(record: dict[str, Any]) -> bool:
        if record["objective"] <= objective:
            reached.append(time.process_time() - began)
        return bool(reached)

    began = time.process_time()
    found = fit(corpus, rho1=rho1, rho2=rho2, tol=0.0, observed_only=True, threads=1, max_iter=1000, callback=enough)
    if not reached:
        raise SystemExit(f"expected an objective of {objective}, found {found.objective}")
    model = found.model(vocabulary)
    test = [items for items, _ in sequences(Template(TEMPLATE), folder / "test.txt")]
    return {
        "train_s": reached[0],
        "objective": found.objective,
        "label_s": _best_of(3, lambda: [*map(model.label, test)]),
    }


def crfsuite(folder: pathlib.Path, *, rho1: float, rho2: float, iterations: int) -> Result:
    import pycrfsuite

    trainer, history = crfsuite_trainer(time.process_time)
    for items, labels in sequences(Template(TEMPLATE), folder / "train.txt"):
        trainer.append(items, labels)
    trainer.set_params(crfsuite_options(rho1, rho2, iterations))
    path = str(folder / "crfsuite.model")
    seconds = trainer.train(path)
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    test = [items for items, _ in sequences(Template(TEMPLATE), folder / "test.txt")]
    return {"train_s": seconds, "objective": history[-1][1], "label_s": _best_of(3, lambda: [*map(tagger.tag, test)])}


def _best_of(n: int, work: Callable[[], object]) -> float:
    times = []
    for _ in range(n):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


if __name__ == "__main__":
    tool = {"sparsecrf": sparsecrf, "crfsuite": crfsuite}[sys.argv[1]]
    print(json.dumps(tool(pathlib.Path(sys.argv[2]), **json.loads(sys.argv[3]))))
