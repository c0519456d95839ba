"""Compares the choice of penalties by `path` on dev data and by `CRFCV` with a fine grid by hand.

    PYTHONPATH=. python benchmarks/path/run.py conll2000 conll2003-rich ewt FOLDER... [--parts path folds both]

Parts: `path` and `folds` choose rho1 at the default rho2, `both` and `folds-both` choose rho1 and rho2; the grids are
fixed.

A name refers to benchmarks/tasks.py ($SPARSECRF_DATA has the files); a folder has train.txt, test.txt, template and
optionally dev.txt. Without dev data, every tenth sequence is left out of training. The comparison uses the score on the
test data: chunk F1 if labels encode chunks, else token accuracy. `CRFCV` and its grid use at most --tokens tokens.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.tasks import DATA, TASKS

from sparsecrf import Corpus, Template, Vocabulary, read_columns
from sparsecrf.path import Path, PathWarning, Score, cross_validate, documents, path, score_of
from sparsecrf.training.heldout import best_labels

GRID = np.geomspace(10.0, 0.01, 12)  # steps of 1.87
Sentences = list[tuple[list[list[str]], list[str]]]  #: rows of columns and labels, by sequence


@dataclass
class Encoded:
    """An encoded task."""

    name: str
    train: Corpus
    dev: Corpus
    test: Corpus
    score: Score
    documents: Any  #: int64[sequences of train]; None if there are no documents


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+", metavar="NAME|FOLDER")
    parser.add_argument(
        "--parts", nargs="+", choices=PARTS, default=list(PARTS), help="of what is compared (default: all)"
    )
    parser.add_argument("--tokens", type=int, default=40_000, help="for CRFCV, at most")
    parser.add_argument("--tol", type=float, help="instead of the default")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("-o", "--output", default="path.jsonl", help="a line is added for each part")
    given = parser.parse_args()
    options: dict[str, Any] = {"threads": given.threads}
    if given.tol is not None:
        options["tol"] = given.tol
    print("| " + " | ".join(HEADS) + " |\n" + "|---" * len(HEADS) + "|")
    for name in given.tasks:
        task = load(name)
        some, groups = subset(task, given.tokens)
        for part in given.parts:
            found = PARTS[part](task, some, groups, options)
            with open(given.output, "a", encoding="utf-8") as file:
                file.write(json.dumps({"task": task.name, "part": part, **found}) + "\n")
            print(row(task, part, found), flush=True)


def load(name: str) -> Encoded:
    """Read all parts and encode them with the vocabulary of the training data."""
    if name in TASKS:
        task, folder = TASKS[name], (DATA / TASKS[name].train).parent
        template = Template(task.template)
    else:
        task, folder = None, pathlib.Path(name)
        template = Template.load(folder / "template")

    def read(part: str) -> Sentences:
        more = task.more if task is not None and task.more is not None else lambda word: []
        rows = list(read_columns(folder / f"{part}.txt"))
        return [([[*r[:-1], *more(r[0])] for r in s], [r[-1] for r in s]) for s in rows]

    train, test = read("train"), read("test")
    dev = read("dev") if (folder / "dev.txt").exists() else train[::10]
    if not (folder / "dev.txt").exists():
        train = [s for k, s in enumerate(train) if k % 10]
    vocabulary = Vocabulary(Template.conditions_pairs, True)

    def encode(sentences: Sentences, *, grow: bool = False) -> Corpus:
        known = None if grow else set(labels)
        y = [[label if known is None or label in known else None for label in names] for _, names in sentences]
        return vocabulary.encode([rows for rows, _ in sentences], y, grow=grow, template=template)

    corpus = encode(train, grow=True)
    labels = [vocabulary.labels[k] for k in range(len(vocabulary.labels))]
    numbers = documents(rows for rows, _ in train)
    groups = numbers if numbers[-1] > 10 else None
    return Encoded(folder.name, corpus, encode(dev), encode(test), score_of("auto", labels), groups)


def subset(task: Encoded, tokens: int) -> tuple[Corpus, Any]:
    """Random sequences of the training data, with at most the given number of tokens, and their documents."""
    lengths = np.diff(task.train.offsets)
    order = np.random.default_rng(0).permutation(len(lengths))
    some = np.sort(order[: int(np.searchsorted(np.cumsum(lengths[order]), tokens, side="right"))])
    return task.train.subset(some), None if task.documents is None else task.documents[some]


def search(task: Encoded, some: Corpus, groups: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The search on dev data, for rho1 or, depending on the options, for both penalties."""
    found, seconds, warned = timed(lambda: path(task.train, dev=task.dev, error=task.score, **options))
    return {**chosen(task, found), "fits": len(found), "seconds": seconds, "warned": warned}


def grid(task: Encoded, some: Corpus, groups: Any, options: dict[str, Any]) -> dict[str, Any]:
    """A fixed grid; all of its models are scored on the test data."""
    found, seconds, _ = timed(lambda: path(task.train, dev=task.dev, error=task.score, rho1=GRID, **options))
    return {**chosen(task, found), **oracle(task, found), "fits": len(found), "seconds": seconds}


def folds(task: Encoded, some: Corpus, groups: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The same as `CRFCV()`, with folds of whole documents if there are any."""
    found, seconds, warned = timed(lambda: cross_validate(some, groups=groups, error=task.score, **options))
    one_se = found[found.one_se or 0]
    sparser = {"rho1": one_se.rho1, "weights": len(one_se.w), "test": scored(task, one_se)}
    return {**chosen(task, found), "fits": 6 * len(found), "seconds": seconds, "warned": warned, "one_se": sparser}


def folds_grid(task: Encoded, some: Corpus, groups: Any, options: dict[str, Any]) -> dict[str, Any]:
    """The fixed grid on the training data of `folds`."""
    found, seconds, _ = timed(lambda: path(some, dev=task.dev, error=task.score, rho1=GRID, **options))
    return {**chosen(task, found), **oracle(task, found), "fits": len(found), "seconds": seconds}


def both(part: Any) -> Any:
    """A part with a search for both penalties."""
    return lambda task, some, groups, options: part(task, some, groups, {**options, "rho2": "search"})


PARTS = {"path": search, "both": both(search), "grid": grid, "folds": folds, "folds-both": both(folds)}
PARTS["folds-grid"] = folds_grid
HEADS = ["task", "part", "rho1, rho2, weights", "test", "best on test (rho1)", "fits, seconds", "warned"]


def timed(follow: Any) -> tuple[Path, float, list[str]]:
    """A path, the processor seconds that it took, and its warnings."""
    began = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PathWarning)
        found = follow()
    return found, time.process_time() - began, [str(warning.message) for warning in caught]


def scored(task: Encoded, found: Any) -> float:
    return 100 - task.score(task.test, best_labels(task.test, found.numbers, found.w, threads=1))


def chosen(task: Encoded, found: Path) -> dict[str, Any]:
    assert found.best is not None
    assert found.scores is not None
    best = found[found.best]
    values = {
        "rho1": best.rho1,
        "rho2": best.rho2,
        "weights": len(best.w),
        "dev": found.scores[found.best],
        "test": scored(task, best),
    }
    sizes = [len(one.w) for one in found]
    tried = {
        "rho1s": found.rho1.tolist(),
        "rho2s": found.rho2.tolist(),
        "sizes": sizes,
        "scores": found.scores.tolist(),
    }
    return {**values, **tried}


def oracle(task: Encoded, found: Path) -> dict[str, Any]:
    """The best test score of all fits, which no choice made on other data can be sure to find."""
    tests = [scored(task, one) for one in found]
    best = int(np.argmax(tests))
    return {"best_test": tests[best], "best_test_rho1": found[best].rho1, "tests": tests}


def row(task: Encoded, part: str, found: dict[str, Any]) -> str:
    """A row of a table in Markdown."""
    best = f"{found['best_test']:.2f} ({found['best_test_rho1']:.2g})" if "best_test" in found else ""
    cells = [
        f"{task.name}, {task.score.name}",
        part,
        f"{found['rho1']:.2g}, {found['rho2']:.2g}, {found['weights']:,}",
        f"{found['test']:.2f}",
        best,
        f"{found['fits']}, {found['seconds']:.0f}",
        "yes" if found.get("warned") else "",
    ]
    return "| " + " | ".join(cells) + " |"


if __name__ == "__main__":
    main()
