"""Section 6.1: eight models on ten simulated sequences, with a hundred replications (the paper's figure 2 and
Table 1)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from experiments import paper
from experiments.common import Experiment, Job, Relation, Report, Result, number, table
from experiments.training import fit_alone
from sparsecrf import Corpus, Fit, Vocabulary
from sparsecrf.contrib.plots import ReplicationsDisplay
from sparsecrf.contrib.simulate import HMM, paper_hmm
from sparsecrf.training.heldout import token_error

TRAIN, TEST, REPLICATIONS = 10, 2000, 100  # sequences, sequences, and repetitions; the paper does not give the second
RHO2 = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)  # candidates for M1 to M3; cross-validation chooses
FOLDS = 5
L2_MODELS = ("M1", "M2", "M3")
TOL = 1e-3


def two_row_hmm() -> HMM:
    """Another reading of the paper's description: two label pairs are likelier than the rest of their rows.

    `simulate.paper_hmm` takes "uniform for all label pairs, except for two" literally: then the two pairs are in one
    row. Here, E follows A and F follows B in half of the cases, and the rest of these rows is uniform. Dominant
    emissions are 0.996, which makes the Bayes error 15.4 %. Of one half, 0.8 and 0.95, we chose one half because its
    errors are nearest to the paper's, so the agreement is not evidence for this reading.
    """
    one_row = paper_hmm()
    transition = np.full((6, 6), 1 / 6)
    for row, column in ((0, 4), (1, 5)):
        transition[row], transition[row, column] = 0.1, 0.5
    emission = np.full((6, 5), 0.001)
    emission[np.arange(6), [0, 1, 2, 3, 4, 4]] = 0.996
    return HMM(one_row.labels, one_row.symbols, one_row.initial, transition, emission, length=5)


READINGS = {"two rows": two_row_hmm, "one row": paper_hmm}


# ---- The jobs


def vocabulary_of(hmm: HMM) -> Vocabulary:
    """All symbols and labels, so that every sample has the same features."""
    vocabulary = Vocabulary(bigrams="all")
    vocabulary.encode([[*hmm.symbols, hmm.symbols[0]]], [list(hmm.labels)], grow=True)
    return vocabulary


def features(corpus: Corpus) -> dict[str, Any]:
    """M1: labels and label pairs of every symbol; M2: pairs only; M3: labels only."""
    n_unigram = corpus.n_attributes * corpus.n_labels
    every = np.arange(n_unigram + corpus.n_attributes * (corpus.n_labels + 1) * corpus.n_labels)
    return {"M1": every, "M2": every[n_unigram:], "M3": every[:n_unigram]}


def replications(data: Path, *, reading: str, first: int, n: int, test: int, folds: int, rho2: list[float]) -> Result:
    """Errors and active features of M1 to M8 on replications `first` to `first + n`."""
    hmm = READINGS[reading]()
    vocabulary = vocabulary_of(hmm)
    rows: list[dict[str, Any]] = []
    for k in range(first, first + n):
        rng = np.random.default_rng([2010, k])
        train = vocabulary.encode(*hmm.sample(TRAIN, rng))
        unseen = vocabulary.encode(*hmm.sample(test, rng))
        row: dict[str, Any] = {}
        for name, numbers in features(train).items():
            chosen = cross_validated(train, numbers, folds, rho2)
            row[name] = {**scores(ridge(train, numbers, chosen), train, unseen), "rho2": chosen}
        for name, (rho1, *_) in paper.SIMULATED_ACTIVE.items():
            found = fit_alone(train, rho1=rho1, rho2=0.001, solver="sbcd", tol=TOL, max_iter=1000)
            row[name] = scores(found, train, unseen)
        rows.append(row)
    return {"rows": rows, "bayes_error": 100 * hmm.bayes_error()}


def ridge(corpus: Corpus, numbers: Any, rho2: float) -> Fit:
    return fit_alone(corpus, rho1=0, rho2=rho2, solver="lbfgs", numbers=numbers, tol=TOL, max_iter=50)


def cross_validated(corpus: Corpus, numbers: Any, folds: int, grid: list[float]) -> float:
    """The rho2 with the smallest error on sequences that are held out in turn; ties go to the largest."""
    if len(grid) == 1:
        return grid[0]
    everything = np.arange(corpus.n_sequences)
    wrong = np.zeros(len(grid))
    for fold in range(folds):
        left_out = np.arange(fold, corpus.n_sequences, folds)
        rest, held = corpus.subset(np.setdiff1d(everything, left_out)), corpus.subset(left_out)
        for k, rho2 in enumerate(grid):
            found = ridge(rest, numbers, rho2)
            wrong[k] += token_error(held, found.numbers, found.w, threads=1)
    return float(grid[len(grid) - 1 - int(np.argmin(wrong[::-1]))])


def scores(found: Fit, train: Corpus, test: Corpus) -> dict[str, float]:
    n_unigram = int((found.numbers < train.n_attributes * train.n_labels).sum())
    return {
        "train": token_error(train, found.numbers, found.w, threads=1),
        "test": token_error(test, found.numbers, found.w, threads=1),
        "mu": n_unigram,
        "lambda": len(found.w) - n_unigram,
    }


def jobs(quick: bool) -> dict[str, Job]:
    total, at_once = (8, 8) if quick else (REPLICATIONS, 25)
    options: dict[str, Any] = {"n": at_once, "test": 400 if quick else TEST, "folds": FOLDS}
    options["rho2"] = [0.3] if quick else list(RHO2)
    return {
        f"{reading}, from {first}": Job(
            "experiments.simulated:replications", {"reading": reading, "first": first, **options}, minutes=0.6
        )
        for reading in READINGS
        for first in range(0, total, at_once)
    }


# ---- The report


def report(results: dict[str, Result]) -> Report:
    by_reading = {reading: _collect(results, reading) for reading in READINGS}
    means = {reading: _means(found) for reading, found in by_reading.items()}
    bayes = {r: next(v["bayes_error"] for k, v in results.items() if k.startswith(f"{r},")) for r in READINGS}
    main, other = means["two rows"], means["one row"]
    return Report(
        numbers={"means": means, "bayes_error": bayes, "errors": by_reading},
        tables={
            "Errors in %, train / test, means over the replications": _error_table(main, other),
            "Active features against rho1 (rho2 = 0.001), mu / lambda": _active_table(main, other),
        },
        figures={"simulated": ReplicationsDisplay({part: by_reading["two rows"][part] for part in ("train", "test")})},
        relations=_relations(means, bayes),
        headline=(
            f"Train / test errors in %: M1 {_pair(main['M1'])} (two rows), {_pair(other['M1'])} (one row), paper 6.4 / "
            f"18.5; M7 {_pair(main['M7'])}, {_pair(other['M7'])}, paper 10.3 / 17.9; M2 against M3 on test "
            f"{main['M2']['test']:.1f} and {main['M3']['test']:.1f}, {other['M2']['test']:.1f} and "
            f"{other['M3']['test']:.1f}. The first reading was chosen for its nearness to the paper."
        ),
    )


def _collect(results: dict[str, Result], reading: str) -> dict[str, dict[str, list[float]]]:
    """[quantity][model]: a value for each replication."""
    rows = [row for name, result in results.items() if name.startswith(f"{reading},") for row in result["rows"]]
    return {q: {m: [row[m][q] for row in rows] for m in rows[0]} for q in ("train", "test", "mu", "lambda")}


def _means(found: dict[str, dict[str, list[float]]]) -> dict[str, dict[str, float]]:
    return {m: {q: float(np.mean(values[m])) for q, values in found.items()} for m in found["train"]}


def _pair(means: dict[str, float]) -> str:
    return f"{means['train']:.1f} / {means['test']:.1f}"


def _error_table(main: Any, other: Any) -> list[str]:
    head = ["", *main]
    rows = [["ours, two rows", *map(_pair, main.values())]]
    rows += [["ours, one row", *map(_pair, other.values())]]
    printed = paper.SIMULATED_ERRORS
    rows += [["paper", *(f"{printed[m][0]} / {printed[m][1]}" if m in printed else "drawn only" for m in main)]]
    return table(head, rows)


def _active_table(main: Any, other: Any) -> list[str]:
    models = paper.SIMULATED_ACTIVE
    rows = [["rho1", *(f"{rho1:g}" for rho1, *_ in models.values())]]
    for name, means in (("ours, two rows", main), ("ours, one row", other)):
        rows.append([name, *(f"{means[m]['mu']:.1f} / {means[m]['lambda']:.1f}" for m in models)])
    rows.append(["paper", *(f"{mu} / {lam}" for _, mu, lam in models.values())])
    return table(["", *models], rows)


def _relations(means: dict[str, Any], bayes: dict[str, float]) -> list[Relation]:
    """The relations, each of them for both readings."""
    return [relation for reading in READINGS for relation in _of_reading(reading, means[reading], bayes[reading])]


def _of_reading(reading: str, means: Any, bayes: float) -> list[Relation]:
    def errors(*names: str, part: str = "test") -> str:
        return ", ".join(f"{m} {means[m][part]:.1f}" for m in names)

    train, test = ({m: v[part] for m, v in means.items()} for part in ("train", "test"))
    counts = [means[m]["mu"] + means[m]["lambda"] for m in paper.SIMULATED_ACTIVE]
    apart = {m: test[m] - train[m] for m in ("M1", "M7")}
    found = [
        Relation("the Bayes error is 15.4 %", abs(bayes - paper.BAYES_ERROR) < 0.05, f"{bayes:.2f}"),
        Relation("no model is better than that", min(test.values()) > bayes - 1, f"{min(test.values()):.1f} at least"),
        Relation("M2 is worse than M3 on test", test["M2"] > test["M3"], errors("M2", "M3")),
        Relation(
            "M1 and M2 are better than M3 on train",
            max(train["M1"], train["M2"]) < train["M3"],
            errors(*L2_MODELS, part="train"),
        ),
        Relation(
            "M1 is the best of the l2 models on test",
            test["M1"] == min(test[m] for m in L2_MODELS),
            errors(*L2_MODELS),
            full_only=True,
        ),
        Relation("M7 is as good as M1 on test (0.5 points)", test["M7"] <= test["M1"] + 0.5, errors("M1", "M7")),
        Relation(
            "M7 predicts its test error better than M1",
            apart["M7"] < apart["M1"],
            ", ".join(f"{m} {points:.1f} points apart" for m, points in apart.items()),
        ),
        Relation(
            "fewer features are active the larger rho1",
            counts == sorted(counts, reverse=True),
            ", ".join(number(count, 1) for count in counts),
        ),
    ]
    return [replace(relation, text=f"{reading}: {relation.text}") for relation in found]


EXPERIMENT = Experiment("simulated", "Simulated data: eight models", "section 6.1, figure 2, Table 1", jobs, report)
