"""What the paper announces last: longer label dependencies, paid for by sparsity.

Features of one label, of up to two, three or any number of labels, with the penalty chosen on a tenth of the training
part. Label n-grams of three labels or more are conditioned on the letter (NETtalk) or the part of speech (CoNLL-2003).
"""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from experiments.common import Experiment, Job, Relation, Report, Result, duration, number, table
from experiments.data import TASKS, Corpora, read
from sparsecrf import Corpus, Fit, fit
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.training.heldout import token_error

ORDERS = {"1": 1, "2": 2, "3": 3, "any": None}
RHO1 = (2.0, 1.0, 0.5)
RHO2 = 0.01
#: Tasks, with the beginning of the names of the attributes that condition n-grams.
CONDITIONED = {"letters": "*:", "3-gram": "*00:", "5-gram": "*00:", "entities": "*01:"}
SLACK = 1.02  # objectives are within their tolerance of the minimum
EVERY = 10  # a sequence of so many is for the choice of rho1
MINUTES = {"letters": 10.0, "3-gram": 20.0, "5-gram": 25.0, "entities": 10.0}


def jobs(quick: bool) -> dict[str, Job]:
    tasks = ("letters",) if quick else tuple(CONDITIONED)
    options: dict[str, Any] = {"rho1s": [1.0] if quick else list(RHO1), "tol": 2e-2 if quick else 5e-3}
    return {
        f"{task}, order {name}": Job(
            "experiments.order:chosen", {"task": task, "order": order, **options}, TASKS[task].files, MINUTES[task]
        )
        for task in tasks
        for name, order in ORDERS.items()
    }


def chosen(data: Path, *, task: str, order: int | None, rho1s: list[float], tol: float) -> Result:
    """rho1 chosen on a part of the training data, then the fit to all of it and its test error."""
    corpora = read(data, task, start=False)
    every = np.arange(corpora.train.n_sequences)
    held_out = every % EVERY == EVERY - 1
    part, dev = corpora.train.subset(every[~held_out]), corpora.train.subset(every[held_out])
    errors = {}
    for rho1 in rho1s:
        found = _fit(part, corpora, task, order, rho1, tol)
        errors[rho1] = _error(dev, found)
    best = min(errors, key=lambda rho1: (errors[rho1], -rho1))
    began = time.process_time()
    found = _fit(corpora.train, corpora, task, order, best, tol)
    lengths = np.bincount(found.ngrams.length, minlength=3) if found.ngrams else np.zeros(3, dtype=np.int64)
    n_unigram = int((found.numbers < Numbering.of(corpora.train).first_bigram).sum())
    return {
        "rho1": best,
        "dev_errors": {f"{rho1:g}": error for rho1, error in errors.items()},
        "test_error": _error(corpora.test, found),
        "active": [n_unigram, len(found.numbers) - n_unigram - found.n_ngram, *lengths[3:].tolist()],
        "objective": found.objective,
        "gap": found.gap,
        "passes": found.history[-1].passes,
        "time_s": time.process_time() - began,
    }


def _fit(corpus: Corpus, corpora: Corpora, task: str, order: int | None, rho1: float, tol: float) -> Fit:
    options: dict[str, Any] = {"rho1": rho1, "rho2": RHO2, "tol": tol, "threads": 1}
    if order == 1:
        return fit(corpus, features=np.arange(Numbering.of(corpus).first_bigram), **options)
    if order != 2:
        names = corpora.vocabulary.attributes
        named = [x for x in range(len(names)) if names[x].startswith(CONDITIONED[task])]
        options |= {"order": order, "ngram_attributes": named}
    return fit(corpus, **options)


def _error(corpus: Corpus, found: Fit) -> float:
    return token_error(corpus, found.numbers, found.w, threads=1, ngrams=found.ngrams.table(corpus.n_labels))


def report(results: dict[str, Result]) -> Report:
    tasks = list(dict.fromkeys(name.rpartition(", order ")[0] for name in results))
    by_task = {task: {name: results[f"{task}, order {name}"] for name in ORDERS} for task in tasks}
    letters = by_task["letters"]
    objectives = [f"{task} {', '.join(number(r['objective']) for r in of.values())}" for task, of in by_task.items()]
    errors = [f"{task} {of['2']['test_error']:.1f} and {of['3']['test_error']:.1f} %" for task, of in by_task.items()]
    gain = {task: found["2"]["test_error"] - found["3"]["test_error"] for task, found in by_task.items()}
    return Report(
        numbers=dict(results),
        tables={
            f"{task}: rho2 = {RHO2:g}, rho1 chosen on every {EVERY}th sequence": _table(of)
            for task, of in by_task.items()
        },
        figures={},
        relations=[
            Relation(
                "Label triples lower the test error of single letters",
                gain["letters"] > 0,
                f"{letters['2']['test_error']:.1f} to {letters['3']['test_error']:.1f} %",
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


def _falling(of: dict[str, Result]) -> bool:
    """Whether the objective falls with the number of labels, where rho1 is the same."""
    steps = pairwise(of.values())
    return all(b["objective"] <= SLACK * a["objective"] for a, b in steps if a["rho1"] == b["rho1"])


def _table(of: dict[str, Result]) -> list[str]:
    rows = [
        [
            name,
            f"{r['rho1']:g}",
            f"{r['test_error']:.2f}",
            ", ".join(f"{n:,}" for n in r["active"]),
            number(r["objective"]),
            f"{100 * r['gap'] / r['objective']:.1f}",
            number(r["passes"]),
            duration(r["time_s"]),
        ]
        for name, r in of.items()
    ]
    head = ["labels", "rho1", "test %", "active by number of labels", "objective", "gap %", "passes", "time"]
    return table(head, rows)


EXPERIMENT = Experiment("order", "Longer label dependencies", "announced in section 8", jobs, report)
