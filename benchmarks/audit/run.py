"""Compares how many injected errors `sparsecrf audit`, cleanlab and plain log-loss rank first, on the same
probabilities.

    pip install cleanlab
    PYTHONPATH=. python benchmarks/audit/run.py FOLDER[:SCHEME] ... [--rates 2 5 10] [--sentences 2000] [--seed 0]
        [--rho1 X] [--rho2 X]

A folder has a column file train.txt with the label last; `:runs` after its name means that runs of equal labels are
spans. Errors are flipped tokens, shifted boundaries and swapped types, a third each, in 2, 5 and 10 % of the spans;
only flipped tokens if labels do not encode spans. The tables show the share of wrong tokens that are among the first 5
% of all tokens, and the share of errors that touch one of the first 5 % of all spans; then the same for the first K,
where K is the number of wrong tokens or of errors.

Log-loss ranks tokens by - log P(given label). cleanlab ranks the tokens that
`token_classification.filter.find_label_issues` finds first, in its own order, then all other tokens by
`get_label_quality_scores`. Both rank spans by their worst token.
"""

from __future__ import annotations

import argparse
import pathlib
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from benchmarks.audit.errors import Error, Injector
from benchmarks.common import machine

from sparsecrf import read_columns
from sparsecrf.contrib.audit.out_of_fold import OUTSIDE, audit_of, judged_folds
from sparsecrf.contrib.audit.result import Audit, Suspect
from sparsecrf.defaults import RHO1, RHO2
from sparsecrf.encoding.recipe import Recipe
from sparsecrf.estimators.reading import read_sequences

DOCUMENT = "-DOCSTART-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER[:SCHEME]")
    parser.add_argument("--rates", nargs="+", type=float, default=[2, 5, 10], help="percent of spans")
    parser.add_argument("--sentences", type=int, default=2000)
    parser.add_argument("--features", default="words")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rho1", type=float, default=RHO1)
    parser.add_argument("--rho2", type=float, default=RHO2)
    options = parser.parse_args()
    print(machine())
    print("| data | noise % | errors | unit | audit | cleanlab | log-loss | audit, first K | cleanlab | log-loss | s |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for given in options.folders:
        folder, _, scheme = given.partition(":")
        X, y = read(pathlib.Path(folder) / "train.txt", options.sentences)
        for rate in options.rates:
            noisy, errors = Injector(y, scheme or "auto", options.seed).injected(y, rate / 100)
            penalties = {"rho1": options.rho1, "rho2": options.rho2}
            for row in compared(X, noisy, errors, scheme or "auto", options.features, penalties):
                cells = [pathlib.Path(folder).name, f"{rate:g}", str(len(errors)), *row]
                print("| " + " | ".join(cells) + " |", flush=True)


def read(file: pathlib.Path, n: int) -> tuple[list[list[list[str]]], list[list[str]]]:
    """The first n sentences: words, labels."""
    rows = [rows for rows in read_columns(file) if rows[0][0] != DOCUMENT][:n]
    return [[row[:1] for row in each] for each in rows], [[row[-1] for row in each] for each in rows]


def compared(
    X: list[Any], noisy: list[list[str]], errors: list[Error], scheme: str, features: str, penalties: dict[str, float]
) -> list[list[str]]:
    """Rows of the table for tokens and for spans."""
    began = time.process_time()
    data = read_sequences(X, noisy, recipe=Recipe(features=features))
    found = audit_of(data, judged_folds(data, scheme=scheme, threads=1, **penalties))
    seconds = time.process_time() - began
    p = probabilities(found, X)
    labels = [[data.vocabulary.labels.find(label) or 0 for label in each] for each in noisy]
    loss = {
        (i, t): -float(np.log(max(p[i][t, y], 1e-300))) for i, each in enumerate(labels) for t, y in enumerate(each)
    }
    rivals = [cleanlab_scores(labels, p), loss]
    by_token = {
        (error.sequence, t): number for number, (error, t) in enumerate((e, t) for e in errors for t in e.tokens)
    }
    by_error = {(error.sequence, t): number for number, error in enumerate(errors) for t in error.tokens}
    n_spans = sum(suspect.label != OUTSIDE for suspect in found.spans)
    rows = []
    for unit, suspects, n, wrong in (
        ("tokens", found.tokens, len(found.tokens), by_token),
        ("spans", found.spans, n_spans, by_error),
    ):
        orders = [suspects, *(ranked_by(scores, suspects) for scores in rivals)]
        shares = [
            f"{100 * share(order[:first], wrong, noisy):.1f}"
            for first in (round(0.05 * n), len(set(wrong.values())))
            for order in orders
        ]
        rows.append([unit, *shares, f"{seconds:.0f}"])
    return rows


def share(first: Sequence[Suspect], wrong: dict[tuple[int, int], int], y: list[list[str]]) -> float:
    """The share of the errors, given by token, that these suspects touch."""
    found = {wrong[s.sequence, t] for s in first for t in tokens_of(s, y[s.sequence]) if (s.sequence, t) in wrong}
    return len(found) / len(set(wrong.values()))


def tokens_of(suspect: Suspect, labels: list[str]) -> range:
    """The tokens of a suspect and, if it is a span whose boundary may be wrong, the adjacent tokens that are in no
    span."""
    a, b = suspect.token, suspect.end
    if suspect.label == labels[a] or suspect.label == OUTSIDE:  # a token, or labels without boundaries
        return range(a, b)
    return range(a - (a > 0 and labels[a - 1] == OUTSIDE), b + (b < len(labels) and labels[b] == OUTSIDE))


def ranked_by(scores: dict[tuple[int, int], float], suspects: Sequence[Suspect]) -> list[Suspect]:
    """The suspects by the score of their worst token."""

    def worst(s: Suspect) -> float:
        return max(scores[s.sequence, t] for t in range(s.token, s.end))

    return sorted(suspects, key=lambda s: (-worst(s), s.sequence, s.token))


def probabilities(found: Audit, X: list[Any]) -> list[np.ndarray[Any, Any]]:
    """Out-of-fold marginals of each sequence, [T, Y]."""
    return [found.models[found.fold[i]].marginals(tokens) for i, tokens in enumerate(X)]


def cleanlab_scores(labels: list[list[int]], p: list[np.ndarray[Any, Any]]) -> dict[tuple[int, int], float]:
    """The rank of each token according to cleanlab; the most suspicious token has the highest number."""
    from cleanlab.token_classification.filter import find_label_issues
    from cleanlab.token_classification.rank import get_label_quality_scores

    _, quality = get_label_quality_scores(labels, p)
    issues = [(int(i), int(t)) for i, t in find_label_issues(labels, p, return_indices_ranked_by="self_confidence")]
    known = set(issues)
    others = [(float(q), i, t) for i, each in enumerate(quality) for t, q in enumerate(each) if (i, t) not in known]
    order = [*issues, *((i, t) for _, i, t in sorted(others))]
    return {place: float(len(order) - k) for k, place in enumerate(order)}


if __name__ == "__main__":
    main()
