"""The last extension that the paper announces: longer label dependencies, which sparsity makes affordable.

The models have features of one label, or of up to two, three or any number of labels. For each order, rho1 is chosen on
the dev part along a path of decreasing values. CoNLL-2000 has no dev part: a tenth of the training part replaces it and
is not trained on. Label n-grams of three labels or more are conditioned on the letter (NETtalk) or the part of speech
(CoNLL-2003), or are plain (CoNLL-2000, EWT).

Without a limit, rho1 doubles with each label beyond two (`order_factor`): if rho1 were the same for all lengths and
below 1, every string of labels that occurs once would be a candidate, however long. For five-letter contexts, there is
also a model of order 3 whose rho1 is twice as large for three labels.
"""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from experiments.common import Experiment, Job, Relation, Report, Result, duration, number, table
from experiments.data import TASKS, Corpora, read_with_dev
from sparsecrf import Corpus, Fit
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.path import path, score_of
from sparsecrf.path.scores import CHUNKS
from sparsecrf.training.heldout import best_labels, token_error

#: The maximum number of labels of a feature and order_factor, by name.
ORDERS: dict[str, tuple[int | None, float]] = {"1": (1, 1.0), "2": (2, 1.0), "3": (3, 1.0), "any": (None, 2.0)}
DEAR = {"3, factor 2": (3, 2.0)}  #: additional models for five-letter contexts
LIMITED = ("tags",)  #: tasks that would take more than half an hour of processor time without a limit
RHO2 = 0.01
#: By task: the prefix of the names of attributes that condition n-grams, and the decreasing values of rho1.
CONDITIONED = {
    "letters": ("*:", (1.0, 0.5)),
    "3-gram": ("*00:", (1.0, 0.5)),
    "5-gram": ("*00:", (0.5, 0.3)),
    "chunks": ("B", (1.0, 0.5)),
    "entities": ("*01:", (1.0, 0.5)),
    "tags": ("B", (1.0, 0.5)),
}
SLACK = 1.02  # objectives are within their tolerance of the minimum
MINUTES = {"letters": 9.0, "3-gram": 9.0, "5-gram": 13.0, "chunks": 13.0, "entities": 6.0, "tags": 10.0}


def jobs(quick: bool) -> dict[str, Job]:
    found = {}
    for task in ("letters",) if quick else tuple(CONDITIONED):
        rho1s = [1.0] if quick else list(CONDITIONED[task][1])
        files = TASKS[task].files + (() if TASKS[task].dev is None else (TASKS[task].dev,))
        for name, (order, factor) in (ORDERS | (DEAR if task == "5-gram" else {})).items():
            if order is None and task in LIMITED:
                continue
            options: dict[str, Any] = {"task": task, "order": order, "factor": factor}
            options |= {"rho1s": rho1s, "tol": 2e-2 if quick else 5e-3}
            found[f"{task}, order {name}"] = Job("experiments.order:chosen", options, files, MINUTES[task])
    return found


def chosen(data: Path, *, task: str, order: int | None, factor: float, rho1s: list[float], tol: float) -> Result:
    """The model with the rho1 that is best on the dev part."""
    corpora, dev = read_with_dev(data, task)
    names = corpora.vocabulary.labels
    score = score_of("auto", [names[y] for y in range(len(names))])
    began = time.process_time()
    options = _options(corpora, task, order, factor, tol)
    along = path(corpora.train, rho1=np.array(rho1s), dev=dev, error=score, **options)
    assert along.best is not None
    assert along.errors is not None
    tried = {f"{one.rho1:g}": float(error) for one, error in zip(along, along.errors, strict=True)}
    return _row(corpora, dev, score, along[along.best], time.process_time() - began) | {"dev_errors": tried}


def _options(corpora: Corpora, task: str, order: int | None, factor: float, tol: float) -> dict[str, Any]:
    options: dict[str, Any] = {"rho2": RHO2, "tol": tol, "threads": 1}
    if order == 1:
        options["numbers"] = np.arange(Numbering.of(corpora.train).first_bigram)
    elif order != 2:
        attributes = corpora.vocabulary.attributes
        named = [x for x in range(len(attributes)) if attributes[x].startswith(CONDITIONED[task][0])]
        options |= {"order": order, "ngram_attributes": named, "order_factor": factor}
    return options


def _row(corpora: Corpora, dev: Corpus, score: Any, found: Fit, seconds: float) -> Result:
    lengths = np.bincount(found.ngrams.length, minlength=3) if found.ngrams else np.zeros(3, dtype=np.int64)
    n_unigram = int((found.numbers < Numbering.of(corpora.train).first_bigram).sum())
    how = {"threads": 1, "ngrams": found.ngrams.table(corpora.train.n_labels)}
    predicted = best_labels(corpora.test, found.numbers, found.w, **how)
    return {
        "rho1": found.rho1,
        "dev_error": token_error(dev, found.numbers, found.w, **how),
        "test_error": token_error(corpora.test, found.numbers, found.w, **how),
        "test_f1": 100 - score(corpora.test, predicted) if score.name == CHUNKS else None,
        "active": [n_unigram, len(found.numbers) - n_unigram - found.n_ngram, *lengths[3:].tolist()],
        "states": corpora.train.n_labels + len(_histories(found)),
        "objective": found.objective,
        "gap": found.gap,
        "passes": found.history[-1].passes,
        "time_s": seconds,
    }


def _histories(found: Fit) -> set[tuple[int, ...]]:
    """The strings of two labels or more that precede the last label of some n-gram."""
    return {labels[:n] for labels in found.ngrams.strings() for n in range(2, len(labels))}


def report(results: dict[str, Result]) -> Report:
    by_task = _by_task(results)
    letters = by_task["letters"]
    same = {task: [number(of[name]["objective"]) for name in ("1", "2", "3")] for task, of in by_task.items()}
    objectives = [f"{task} {', '.join(texts)}" for task, texts in same.items()]
    errors = [f"{task} {of['2']['test_error']:.1f} and {of['3']['test_error']:.1f} %" for task, of in by_task.items()]
    gain = {task: found["2"]["test_error"] - found["3"]["test_error"] for task, found in by_task.items()}
    unlimited = {task: of for task, of in by_task.items() if "any" in of}
    longest = [
        f"{task} {of['3']['test_error']:.2f} and {of['any']['test_error']:.2f}" for task, of in unlimited.items()
    ]
    return Report(
        numbers=dict(results),
        tables={f"{task}: rho2 = {RHO2:g}, rho1 chosen on the dev part": _table(of) for task, of in by_task.items()},
        figures={},
        relations=[
            Relation(
                "Label triples lower the test error of single letters",
                gain["letters"] > 0,
                f"{letters['2']['test_error']:.1f} to {letters['3']['test_error']:.1f} %",
                full_only=True,
            ),
            Relation(
                "Without a limit the test error is at most 0.1 points above that of three labels",
                all(of["any"]["test_error"] <= of["3"]["test_error"] + 0.1 for of in unlimited.values()),
                ", ".join(longest) + " %",
                full_only=True,
            ),
            Relation(
                "At equal rho1, more labels allow for an objective at least as low, but for the tolerance",
                all(map(_falling, by_task.values())),
                "; ".join(objectives),
            ),
        ],
        headline=f"Test errors with features of up to two and up to three labels: {', '.join(errors)}.",
    )


def _by_task(results: dict[str, Result]) -> dict[str, dict[str, Result]]:
    """The results by task and by number of labels."""
    found: dict[str, dict[str, Result]] = {}
    for name, result in results.items():
        task, _, order = name.partition(", order ")
        found.setdefault(task, {})[order] = result
    return found


def _falling(of: dict[str, Result]) -> bool:
    """Whether the objective decreases with the number of labels, for models with the same penalty, that is, with a
    limit."""
    steps = pairwise(of[name] for name in ("1", "2", "3"))
    return all(b["objective"] <= SLACK * a["objective"] for a, b in steps if a["rho1"] == b["rho1"])


def _table(of: dict[str, Result]) -> list[str]:
    chunks = any(r["test_f1"] is not None for r in of.values())
    rows = [
        [
            name,
            f"{r['rho1']:g}",
            f"{r['dev_error']:.2f}",
            f"{r['test_error']:.2f}",
            *([f"{r['test_f1']:.2f}"] if chunks else []),
            ", ".join(f"{n:,}" for n in r["active"]),
            number(r["states"]),
            number(r["objective"]),
            f"{100 * r['gap'] / r['objective']:.1f}",
            duration(r["time_s"]),
        ]
        for name, r in of.items()
    ]
    head = ["labels", "rho1", "dev %", "test %", *(["F1"] if chunks else []), "active by number of labels"]
    return table([*head, "states", "objective", "gap %", "time of the path"], rows)


EXPERIMENT = Experiment("order", "Longer label dependencies", "announced in section 8", jobs, report)
