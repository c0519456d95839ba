"""One tool of the regression benchmark: `python -m benchmarks.regression.one TOOL FOLDER OPTIONS`.

Trains on train.txt and labels test.txt, attributes ready in memory, one sequence a call. Prints a JSON object, in
seconds of the processor.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from sparsecrf import Template, Vocabulary, fit, read_columns

# Only what CRFsuite can learn too: no observation conditions a label pair.
TEMPLATE = "".join(
    f"U{n}:%x[{row},{column}]\n" for n, (row, column) in enumerate([(k, c) for c in (0, 1) for k in (-1, 0, 1)])
)
TEMPLATE += "Ub:%x[-1,1]/%x[0,1]\nB\n"
Result = dict[str, float]


def sequences(path: pathlib.Path) -> Iterator[tuple[list[list[str]], list[str]]]:
    template = Template(TEMPLATE)
    for rows in read_columns(path):
        made = template.attributes([row[:-1] for row in rows])
        yield [[name for name in names if name != "B"] for names in made], [row[-1] for row in rows]


def sparsecrf(folder: pathlib.Path, *, rho1: float, rho2: float, objective: float) -> Result:
    """Training to an objective, on the features that are observed."""
    items, labels = zip(*sequences(folder / "train.txt"), strict=True)
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
    test = [items for items, _ in sequences(folder / "test.txt")]
    return {
        "train_s": reached[0],
        "objective": found.objective,
        "label_s": _best_of(3, lambda: [*map(model.label, test)]),
    }


def crfsuite(folder: pathlib.Path, *, rho1: float, rho2: float, iterations: int) -> Result:
    import pycrfsuite

    losses: list[float] = []

    class Trainer(pycrfsuite.Trainer):  # type: ignore[misc]
        def message(self, message: str) -> None:
            if found := re.search(r"^Loss: ([\d.]+)", message, re.M):
                losses.append(float(found[1]))

    trainer = Trainer(verbose=True)
    for items, labels in sequences(folder / "train.txt"):
        trainer.append(items, labels)
    trainer.select("lbfgs")
    trainer.set_params({"c1": rho1, "c2": rho2 / 2, "max_iterations": iterations, "epsilon": 0.0, "delta": 0.0})
    path = str(folder / "crfsuite.model")
    began = time.process_time()
    trainer.train(path)
    seconds = time.process_time() - began
    tagger = pycrfsuite.Tagger()
    tagger.open(path)
    test = [items for items, _ in sequences(folder / "test.txt")]
    return {"train_s": seconds, "objective": losses[-1], "label_s": _best_of(3, lambda: [*map(tagger.tag, test)])}


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
