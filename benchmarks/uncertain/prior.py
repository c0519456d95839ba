"""Compares adapting a model with a prior with the old model, with training on new data alone, and with training on
everything.

    PYTHONPATH=. python benchmarks/uncertain/prior.py domain OLD NEW [--map TYPE=TYPE,...] [--old 3000] [--new 300 ...]
    PYTHONPATH=. python benchmarks/uncertain/prior.py label FOLDER TYPE [--old 2000] [--new 300 ...]

`domain`: OLD and NEW are folders with train.txt and test.txt whose last column has chunk labels of the same types after
`--map` (a type that is mapped to nothing becomes O). `label`: the old data are annotated without the chunks of one
type, the new data with them. The score is F1 of chunks in percent. All models use the features `words` and
rho1 = rho2 = 0.1. Times are processor seconds on one thread.
"""

from __future__ import annotations

import argparse
import pathlib
import time
from typing import Any

from benchmarks.uncertain.data import Sentences, sentences

from sparsecrf import CRF
from sparsecrf.chunks import recode
from sparsecrf.metrics import Evaluation

PENALTIES = {"rho1": 0.1, "rho2": 0.1}
STRONGER = (0.3, 1.0)  # rho1 of other priors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["domain", "label"])
    parser.add_argument("first", type=pathlib.Path)
    parser.add_argument("second")
    parser.add_argument("--map", default="")
    parser.add_argument("--old", type=int, default=2000, help="sentences of the old data")
    parser.add_argument("--new", type=int, nargs="+", default=[100, 300, 1000], help="and of the new")
    asked = parser.parse_args()
    if asked.what == "domain":
        types = dict(pair.split("=") for pair in asked.map.split(",") if pair)
        folder = pathlib.Path(asked.second)
        old = first(renamed(sentences(asked.first / "train.txt"), types), asked.old)
        new = renamed(sentences(folder / "train.txt"), types)
        tests = {"old": renamed(sentences(asked.first / "test.txt"), types)}
        tests["new"] = renamed(sentences(folder / "test.txt"), types)
        compare(old, new, tests, asked.new, (None,))
    else:
        whole, test = (renamed(sentences(asked.first / f"{name}.txt"), {}) for name in ("train", "test"))
        old = renamed(first(whole, asked.old), {asked.second: ""})
        new = Sentences(whole.X[asked.old :], whole.y[asked.old :])
        others = {kind for labels in test.y for kind in map(type_of, labels)} - {asked.second, ""}
        compare(old, new, {"test": test}, asked.new, (None, others, {asked.second}))


def type_of(label: str) -> str:
    return label.partition("-")[2]


def renamed(data: Sentences, types: dict[str, str]) -> Sentences:
    """Labels in IOB2 with renamed types; a type without a new name becomes O."""

    def of(label: str) -> str:
        kind = types.get(type_of(label), type_of(label))
        return f"{label[0]}-{kind}" if kind else "O"

    return Sentences(data.X, [[of(label) for label in recode(labels, "iob2")] for labels in data.y])


def first(data: Sentences, n: int) -> Sentences:
    return Sentences(data.X[:n], data.y[:n])


def f1(crf: CRF, data: Sentences, types: set[str] | None) -> float:
    """F1 of chunks of these types (None means all types)."""
    evaluation = Evaluation()

    def only(labels: list[str]) -> list[str]:
        return [label if types is None or type_of(label) in types else "O" for label in labels]

    for gold, found in zip(data.y, crf.predict(data.X), strict=True):
        evaluation.add(only(gold), only(found))
    return evaluation.f1 or 0.0


def compare(
    old: Sentences, new: Sentences, tests: dict[str, Sentences], sizes: list[int], types: tuple[Any, ...]
) -> None:
    columns = [f"{name} {'all' if kinds is None else '+'.join(sorted(kinds))}" for name in tests for kinds in types]
    print("| model | " + " | ".join(columns) + (" | mean |" if len(tests) > 1 else " |") + " weights | differ | s |")
    print("|---" * (len(columns) + 4 + (len(tests) > 1)) + "|")

    def row(name: str, crf: CRF, seconds: float) -> None:
        scores = [f1(crf, data, kinds) for data in tests.values() for kinds in types]
        mean = [sum(scores) / len(scores)] if len(tests) > 1 else []
        changed = crf.model_.training.get("changed", "")
        numbers = " | ".join(f"{score:.1f}" for score in scores + mean)
        print(f"| {name} | {numbers} | {crf.n_active_:,} | {changed} | {seconds:.1f} |", flush=True)

    def fitted(data: Sentences, **options: Any) -> tuple[CRF, float]:
        began = time.process_time()
        crf = CRF(**{**PENALTIES, "features": "words", **options}).fit(*data)
        return crf, time.process_time() - began

    base, seconds = fitted(old)
    row(f"old, {len(old.X):,} sentences", base, seconds)
    for n in sizes:
        some = first(new, n)
        row(f"new alone, {len(some.X):,}", *fitted(some))
        row(f"prior and new, {len(some.X):,}", *fitted(some, prior=base.model_))
        for rho1 in STRONGER:
            row(f"prior and new, {len(some.X):,}, rho1 = {rho1}", *fitted(some, prior=base.model_, rho1=rho1))
        row(f"old and new, {len(some.X):,}", *fitted(old + some))


if __name__ == "__main__":
    main()
