"""Penalties over groups of features, which the paper mentions as more complex choices: attributes kept, errors, and
sizes."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.tasks import LETTERS

from experiments import figures
from experiments.common import Experiment, Job, Relation, Report, Result, duration, number, table
from experiments.training import fit_alone
from sparsecrf import Corpus, Fit, Template, Vocabulary
from sparsecrf.metrics import Evaluation
from sparsecrf.shards.dataset import encode_columns
from sparsecrf.training import named
from sparsecrf.training.data import TrainingData
from sparsecrf.training.feature_sets import WorkingSet
from sparsecrf.training.heldout import best_labels

_AROUND = (-2, -1, 0, 1, 2)
_CELLS = [f"%x[{k},{column}]" for column in (0, 1) for k in _AROUND]
_CELLS += [f"%x[{k},2]" for k in (-1, 0, 1)] + [f"%l[{k},0]" for k in (-1, 0, 1)] + [f"%h[{k},0,1]" for k in _AROUND]
_CELLS += [f"%{kind}[0,0,{n}]" for kind in "ps" for n in range(1, 5)] + ["%h[0,0]"]
_CELLS += [f"%x[{k},{column}]/%x[{k + 1},{column}]" for column in (0, 1) for k in (-1, 0)]
_CELLS += ["%h[-1,0,1]/%h[0,0,1]", "%h[0,0,1]/%h[1,0,1]", "%h[-1,0,1]/%h[0,0,1]/%h[1,0,1]"]
#: Entities: words, parts of speech, chunks, lower case, shapes and affixes, 37 lines; plain transitions.
RICH = "".join(f"U{n:02}:{cell}\n" for n, cell in enumerate(_CELLS)) + "B\n"

TASKS = {
    "entities": ("conll2003", RICH, 0.1),  # folder, template, rho2
    "letters": ("nettalk", LETTERS, 0.01),
}
#: Penalty, group weight, values of rho1.
RUNS: dict[str, list[tuple[str, float, list[float]]]] = {
    "entities": [
        ("elastic-net", 0.0, [0.2, 0.3, 0.5, 1.0, 2.0]),
        ("group:attribute", 1.0, [0.5, 1.0]),
        ("group:attribute", 5.0, [0.1, 0.2]),
        ("group:line", 1.0, [0.5]),
    ],
    "letters": [("elastic-net", 0.0, [0.2, 1.0]), ("tree", 0.5, [0.1, 0.5])],
}
REPEATS = 5  # how often the test part is labelled; the fastest time counts


def kept(data: Path, *, task: str, penalty: str, weight: float, rho1: float, tol: float) -> Result:
    """The weights that one penalty keeps, the scores of the model, its size and its speed."""
    folder, text, rho2 = TASKS[task]
    vocabulary, template = Vocabulary(start=False), Template(text)
    files = [data / folder / f"{part}.txt" for part in ("train", "dev", "test")]
    encoded = [encode_columns([file], vocabulary, template, grow=k == 0) for k, file in enumerate(files)]
    train, dev, test = (found.corpus for found in encoded)
    how: dict[str, Any] = {"penalty": named(penalty, vocabulary, template)}
    if penalty != "elastic-net":
        how["group_weight"] = weight
    found = fit_alone(train, rho1=rho1, rho2=rho2, tol=tol, **how)
    model = found.model(vocabulary, template=template, n_columns=encoded[0].n_columns)
    names = [vocabulary.labels[k] for k in range(train.n_labels)]
    last = found.history[-1]
    return {
        **{"task": task, "penalty": penalty, "weight": weight, "rho1": rho1},
        "attributes": len(np.unique(_set(train, found).attributes())),
        "weights": len(found.w),
        "pairs": len(found.w) - found.n_unigram,
        "alone": _pairs_alone(train, found),
        "groups": found.groups,
        "dev": score(dev, found, names),
        "test": score(test, found, names),
        "gap": found.gap / found.objective,
        **{"passes": last.passes, "time_s": last.time_s},
        "bytes": len(model.to_bytes()),
        "tokens_s": test.n_tokens / _labelling(model, files[2], encoded[2].n_columns + 1),
    }


def score(corpus: Corpus, found: Fit, names: list[str]) -> float:
    """F1 if labels encode chunks, else the percentage of correct tokens."""
    predicted, evaluation = best_labels(corpus, found.numbers, found.w, threads=1), Evaluation()
    named = [*names, "?"]  # the last: a label that training data do not have
    for begin, end in zip(corpus.offsets[:-1], corpus.offsets[1:], strict=True):
        evaluation.add(*([named[k] for k in labels[begin:end]] for labels in (corpus.labels, predicted)))
    return 100 - evaluation.token_error if evaluation.f1 is None else evaluation.f1


def _set(corpus: Corpus, found: Fit) -> WorkingSet:
    return TrainingData(corpus, threads=1).working_set(found.numbers)


def _pairs_alone(corpus: Corpus, found: Fit) -> int:
    """The number of pairs (x, y', y) with a weight whose (x, y) has no weight."""
    from sparsecrf.encoding.numbering import Numbering

    pairs = found.numbers[found.n_unigram :]
    return int((~np.isin(Numbering.of(corpus).unigram_of(pairs), found.numbers)).sum())


def _labelling(model: Any, file: Path, n_columns: int) -> float:
    """Seconds on one thread to label a text file, including the time for the template."""
    text = file.read_bytes()
    spent = []
    for _ in range(REPEATS):
        began = time.process_time()
        model.label_text(text, file.name, n_columns, 1)
        spent.append(time.process_time() - began)
    return min(spent)


# ---- The report


def jobs(quick: bool) -> dict[str, Job]:
    made = {}
    for task, runs in RUNS.items():
        for penalty, weight, values in runs:
            for rho1 in (0.5,) if quick else values:
                options = {"task": task, "penalty": penalty, "weight": weight, "rho1": rho1, "tol": 5e-3}
                files = tuple(f"{TASKS[task][0]}/{part}.txt" for part in ("train", "dev", "test"))
                minutes = 1.0 if task == "entities" else 0.5
                made[f"{task}, {_name(penalty, weight)}, {rho1:g}"] = Job(
                    "experiments.groups:kept", options, files, minutes
                )
    return made


def _name(penalty: str, weight: float) -> str:
    return penalty if penalty == "elastic-net" else f"{penalty}, weight {weight:g}"


def _by_penalty(rows: list[Result]) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    for row in rows:
        found.setdefault(_name(row["penalty"], row["weight"]), []).append(row)
    return {name: sorted(of, key=lambda row: -row["rho1"]) for name, of in found.items()}


def needed(rows: list[Result], dev: float, what: str = "attributes") -> float | None:
    """How many attributes (weights) models along these rows need for a dev score, interpolated on the logarithmic scale
    between the two nearest models; None if no model is as good, or none as bad."""
    known = sorted((row["dev"], row[what]) for row in rows)
    for (low, few), (high, many) in pairwise(known):
        if low <= dev <= high and high > low:
            share = (dev - low) / (high - low)
            return float(np.exp((1 - share) * np.log(few) + share * np.log(many)))
    return None


def ratios(rows: list[Result], penalty: str, what: str) -> list[float]:
    """Attributes (weights) with this penalty relative to those of an elastic net with the same dev score."""
    plain = [row for row in rows if row["penalty"] == "elastic-net"]
    pairs = ((row[what], needed(plain, row["dev"], what)) for row in rows if row["penalty"] == penalty)
    return [have / need for have, need in pairs if need is not None]


def report(results: dict[str, Result]) -> Report:
    by_task = {task: [row for row in results.values() if row["task"] == task] for task in TASKS}
    entities, letters = by_task["entities"], by_task["letters"]
    shares = ratios(entities, "group:attribute", "attributes")
    speeds = {name: [row["tokens_s"] for row in rows] for name, rows in _by_penalty(entities).items()}
    same = _same_rho1(entities)
    alone = {penalty: _alone(letters, penalty) for penalty in ("tree", "elastic-net")}
    said = ", ".join(f"{share:.2f}" for share in shares) or "none is as good as an elastic net of the table"
    return Report(
        numbers={"rows": list(results.values()), "attributes at an equal dev score": shares, "speeds": speeds},
        tables={
            f"{task}: {'F1' if task == 'entities' else '% of letters that are right'}": _table(rows)
            for task, rows in by_task.items()
        },
        figures={"groups": _figure(by_task)},
        relations=[
            Relation(
                "Groups keep fewer attributes than an elastic net with the same rho1",
                bool(same) and all(grouped < plain for _, grouped, plain in same),
                ", ".join(f"rho1 {rho1:g}: {grouped:,} and {plain:,}" for rho1, grouped, plain in same),
            ),
            Relation(
                "At an equal dev F1 the best of them keep at most half of the attributes",
                bool(shares) and min(shares) <= 0.5,
                f"relative to an elastic net of the same dev F1: {said}",
                full_only=True,
            ),
            Relation(
                "In a tree, fewer of the pairs are without their label",
                alone["tree"] < alone["elastic-net"],
                ", ".join(f"{name}: {100 * share:.1f} %" for name, share in alone.items()),
                full_only=True,
            ),
        ],
        headline=(
            f"Entities, attributes of group:attribute relative to an elastic net of the same dev F1: {said}. Pairs of "
            f"letters without their label: {100 * alone['tree']:.1f} % in a tree, else "
            f"{100 * alone['elastic-net']:.1f} %."
        ),
    )


def _same_rho1(rows: list[Result]) -> list[tuple[float, int, int]]:
    """For each rho1: the number of attributes with groups of weight 1, and with an elastic net of the same rho1."""
    plain = {row["rho1"]: row["attributes"] for row in rows if row["penalty"] == "elastic-net"}
    grouped = (row for row in rows if row["penalty"] == "group:attribute" and row["weight"] == 1)
    return sorted((row["rho1"], row["attributes"], plain[row["rho1"]]) for row in grouped if row["rho1"] in plain)


def _alone(rows: list[Result], penalty: str) -> float:
    found = [row for row in rows if row["penalty"] == penalty]
    return float(sum(row["alone"] for row in found) / max(1, sum(row["pairs"] for row in found)))


def _table(rows: list[Result]) -> list[str]:
    head = ["penalty", "rho1", "attributes", "weights", "of pairs", "dev", "test", "gap %", "passes", "time"]
    lines = [
        [
            name,
            f"{row['rho1']:g}",
            *(f"{row[what]:,}" for what in ("attributes", "weights", "pairs")),
            *(f"{row[what]:.2f}" for what in ("dev", "test")),
            f"{100 * row['gap']:.2f}",
            number(row["passes"]),
            duration(row["time_s"]),
            f"{row['bytes'] / 1000:,.0f}",
            f"{row['tokens_s'] / 1000:,.0f}",
        ]
        for name, of in _by_penalty(rows).items()
        for row in of
    ]
    return table([*head, "kB", "1000 tokens/s"], lines)


def _figure(by_task: dict[str, list[Result]]) -> figures.Panels:
    def panel(task: str) -> Any:
        lines = {
            name: ([row["attributes" if task == "entities" else "weights"] for row in of], [row["dev"] for row in of])
            for name, of in _by_penalty(by_task[task]).items()
        }
        what = "attributes kept" if task == "entities" else "weights"
        ylabel = "dev F1" if task == "entities" else f"right on dev, % ({task})"
        return figures.curves(lines, xlabel=what, ylabel=ylabel, log_x=True)

    return figures.Panels(*(panel(task) for task in by_task))


EXPERIMENT = Experiment("groups", "Groups of features", "named in the paper", jobs, report)
