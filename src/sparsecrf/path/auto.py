"""`choose_penalties`: chooses rho1 by the score on held-out data, at two to three times the cost of a plain fit.

If there are dev data, they are the held-out data. Otherwise the sentences are split into two halves, and a model
trained on each half labels the other: for each rho1, this takes as long as one fit and scores every sentence. Models
trained on fewer sentences need about the same penalties: the best penalties hardly depend on the number of tokens
(benchmarks/NOTES.md, "Fixed penalties"). Fits of the search stop at a much looser tolerance, without a certificate.

The search (`Near`) tries the default rho1 and a value smaller by FACTOR, and continues from the best value until its
neighbours on both sides have been tried. Each step away from the default must lower the error by the share MARGIN,
since held-out data are limited and small differences are mostly noise: the best value minimises error (1 +
MARGIN)^steps. rho2 is not searched: on 19 data sets, searches over both penalties always chose the default
(benchmarks/record/penalties.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, isclose, log, log1p
from typing import Any, NamedTuple

import numpy as np

from sparsecrf._core import Corpus, InputError
from sparsecrf.defaults import RHO1, RHO2
from sparsecrf.encoding.formats.documents import MARK
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.path.cross_validation import Fold, fold_errors
from sparsecrf.path.folds import dealt
from sparsecrf.path.following import Each, prepared, solver_of
from sparsecrf.path.grid import Penalties
from sparsecrf.path.scores import ErrorRate, Score, name_of, score_of
from sparsecrf.shards.dataset import Dataset
from sparsecrf.training import Weights
from sparsecrf.training.feature_sets import Numbers

FACTOR = 3.0  #: ratio of neighbouring values of rho1
MARGIN = 0.02
LIMITS = 1e-3, 100.0  #: range of rho1
TOL = 0.3  #: tolerance of the fits of the search
BLOCKS = 40  #: number of consecutive sentences that stay together if documents are not marked
#: Options of `fit` that apply only to the final fit.
_OF_THE_LAST_FIT = ("gap", "patience", "checkpoint", "checkpoint_every", "resume")


@dataclass(frozen=True)
class Near:
    """Values of rho1 around the default that depend on earlier errors (see above)."""

    rho2: float = RHO2

    def next(self, tried: Sequence[Penalties], errors: Sequence[float]) -> list[Penalties]:
        """The values to try next, given the values tried and their errors; empty when the search has ended."""
        if not tried:
            return [Penalties(RHO1, self.rho2)]
        if min(errors) == 0:
            return []
        for value in self.untried(tried, errors):
            if LIMITS[0] <= value <= LIMITS[1]:
                return [Penalties(value, self.rho2)]
        return []

    def untried(self, tried: Sequence[Penalties], errors: Sequence[float]) -> list[float]:
        """The neighbours of the best rho1 that have not been tried."""
        best = tried[self.best(tried, errors)].rho1
        return [
            value
            for value in (best / FACTOR, best * FACTOR)
            if not any(isclose(value, other.rho1, rel_tol=1e-6) for other in tried)
        ]

    def left(self, tried: Sequence[Penalties], errors: Sequence[float]) -> int:
        """A lower bound on the number of values still to try."""
        return max(3 - len(tried), len(self.next(tried, errors)))

    def best(self, tried: Sequence[Penalties], errors: Sequence[float]) -> int:
        """The index of the best value."""

        def judged(k: int) -> float:
            steps = abs(log(tried[k].rho1 / RHO1, FACTOR))
            return errors[k] * exp(steps * log1p(MARGIN))

        return min(range(len(tried)), key=judged)


class Chosen(NamedTuple):
    """The result of a search."""

    penalties: Penalties
    start: Weights | None  #: weights from which the final fit starts; None means zero
    tried: list[Penalties]
    errors: list[float]  #: errors with these penalties, in percent
    score: str  #: the score: 100 minus the error
    on: str  #: the data that were scored
    advice: str | None  #: advice if the best rho1 is at a limit of the search, else None

    def __str__(self) -> str:
        scores = sorted(zip(self.tried, self.errors, strict=True))
        tried = ", ".join(f"{100 - error:.2f} % with {p.rho1:.3g}" for p, error in scores)
        advice = f"; {self.advice}" if self.advice else ""
        return (
            f"rho1 {self.penalties.rho1:.3g} chosen at rho2 {self.penalties.rho2:.3g}, by quick fits {self.on}: "
            f"{self.score} {tried}{advice}"
        )


def choose_penalties(
    corpus: Corpus,
    error: ErrorRate,
    *,
    dev: Corpus | None = None,
    documents: Numbers | None = None,
    rho2: float = RHO2,
    each: Each | None = None,
    **options: Any,
) -> Chosen:
    """Choose rho1 by `error` on `dev` or on parts of the corpus. `documents`: the document of each sequence; documents
    are not split. `options` are options of `fit`."""
    options = {name: value for name, value in options.items() if name not in _OF_THE_LAST_FIT}
    options |= {"tol": max(TOL, options.get("tol", TOL)), "certify": False}
    options["solver"] = solver_of(prepared(corpus, options), rho2, options)
    plan, warm = Near(rho2), options["solver"] != "dual"
    folds = halves(corpus, documents, error, options) if dev is None else [Fold.held_out(corpus, dev, error, options)]
    tried, by_fold, known = fold_errors(folds, plan, each, warm=warm)
    errors = [float(np.mean(row)) for row in by_fold]
    penalties = tried[plan.best(tried, errors)]
    start = _mean([weights[penalties] for weights in known]) if warm else None
    advice = None
    if min(errors) > 0 and plan.untried(tried, errors):
        advice = "rho1 is at the end of the searched range; try values beyond it"
    scored = "by two-fold cross-validation" if dev is None else "on the dev data"
    return Chosen(penalties, start, tried, errors, name_of(error), scored, advice)


def choose_for(data: Dataset, options: dict[str, Any], each: Each | None = None) -> Chosen:
    """Choose the penalties for a dataset: on its dev data or, without them, on parts that keep marked documents
    together."""
    options = {name: value for name, value in options.items() if name != "rho1"} | {"each": each}
    if data.dev is not None:
        return choose_penalties(data.corpus, score_on_dev(data), dev=data.dev.corpus, **options)
    documents = marked_documents(data.corpus, data.vocabulary)
    return choose_penalties(data.corpus, score_on_dev(data), documents=documents, **options)


def score_on_dev(data: Dataset) -> Score:
    """The score for choosing penalties: chunk F1 if labels encode chunks, else token accuracy."""
    return score_of("auto", data.label_names, {} if data.dev is None else data.dev.unknown.at)


def halves(corpus: Corpus, documents: Numbers | None, error: ErrorRate, options: dict[str, Any]) -> list[Fold]:
    """Two folds: a model is trained on each half of the corpus and scored on the other. Sequences without a label,
    whose loss is 0, are left out."""
    # number of labelled tokens before each sequence
    n_known = np.concatenate([[0], np.cumsum(corpus.labels >= 0)])[corpus.offsets]
    chosen = np.flatnonzero(np.diff(n_known))
    n = len(chosen)
    if n < 2:
        found = f"{n}" if n == corpus.n_sequences else f"{n} among {corpus.n_sequences} sequences"
        raise InputError(f"rho1='auto': expected at least 2 labelled sequences, one for each half, found {found}")
    documents = None if documents is None else documents[chosen]
    if documents is None or len(np.unique(documents)) < 4:
        documents = np.arange(n) * min(BLOCKS, n) // n
    parts = dealt(n, 2, groups=documents.tolist(), shuffle=True, seed=0)
    return [Fold(corpus, chosen[half], chosen[rest], k, error, options) for k, (half, rest) in enumerate(parts)]


def marked_documents(corpus: Corpus, vocabulary: Vocabulary) -> Numbers | None:
    """The document of each sequence. A sequence that consists only of a mark (-DOCSTART-) begins a document. None if
    there are no marks."""
    alone = np.flatnonzero(np.diff(corpus.offsets) == 1)
    if not len(alone):
        return None
    arrays = corpus.subset(alone).to_arrays()
    ids, ptr = arrays["unigram_id"], arrays["unigram_ptr"]
    marks = [x for x in np.unique(ids).tolist() if vocabulary.attributes[x].endswith(MARK)]
    if not marks:
        return None
    begins = np.zeros(corpus.n_sequences, dtype=np.int64)
    # number of marks before each occurrence of an attribute
    n_marks = np.concatenate([[0], np.cumsum(np.isin(ids, marks))])
    begins[alone[n_marks[ptr[1:]] > n_marks[ptr[:-1]]]] = 1
    return np.cumsum(begins)


def _mean(weights: list[Weights]) -> Weights | None:
    """The mean of the weights of all folds; None if there are label n-grams, which every fold numbers differently."""
    if any(part.ngrams for part in weights):
        return None
    numbers = np.unique(np.concatenate([part.numbers for part in weights]))
    w = np.zeros(len(numbers))
    for part in weights:
        w[np.searchsorted(numbers, part.numbers)] += part.w / len(weights)
    return Weights(numbers, w, weights[0].ngrams)
