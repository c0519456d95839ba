"""`choose_penalties`: rho1 and rho2 by the score on held-out data, at about the cost of two plain fits.

Held-out data are the dev data if there are any. Otherwise the sentences are split into three parts, and models trained
on two of them, one at a time, label the rest. Per pair of penalties, this costs two thirds of a fit and scores every
sentence; holding out a third of the data in one fit would cost as much and score only a third. Models of fewer
sentences need about the same penalties: the best ones hardly depend on the number of tokens (benchmarks/NOTES.md,
"Fixed penalties"). Fits of the search stop at a looser tolerance, without a certificate, and each starts from its
neighbour.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparsecrf._core import Corpus, InputError
from sparsecrf.defaults import RHO2
from sparsecrf.encoding.formats.documents import MARK
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.path.both import Penalties
from sparsecrf.path.cross_validation import Fold, fold_errors
from sparsecrf.path.folds import dealt
from sparsecrf.path.following import Each
from sparsecrf.path.near import Near
from sparsecrf.path.scores import ErrorRate, Score, name_of, score_of
from sparsecrf.shards.dataset import Dataset
from sparsecrf.training import Weights
from sparsecrf.training.feature_sets import Numbers

TOL = 0.03  #: tolerance of the fits of the search
BLOCKS = 40  #: length of runs of consecutive sentences that stay together if documents are not marked
#: Options of `fit` that apply only to the final fit.
_OF_THE_LAST_FIT = ("gap", "patience", "checkpoint", "checkpoint_every", "resume")


class Chosen(NamedTuple):
    """The result of a search."""

    penalties: Penalties
    start: Weights | None  #: start of the final fit; None: from zero
    tried: list[Penalties]
    errors: list[float]  #: of these penalties, in percent
    score: str  #: the score: 100 minus the error

    def __str__(self) -> str:
        best = self.errors[self.tried.index(self.penalties)]
        return (
            f"rho1 {self.penalties.rho1:.3g}, rho2 {self.penalties.rho2:.3g} chosen among {len(self.tried)} pairs: "
            f"{self.score} {100 - best:.2f} % on held-out data"
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
    """Choose both penalties or, if `rho2` is not the default, only rho1, by `error` on `dev` or on parts of the corpus.
    `documents`: the document of each sequence; documents are not split. `options` are those of `fit`."""
    options = {name: value for name, value in options.items() if name not in _OF_THE_LAST_FIT}
    options |= {"tol": max(TOL, options.get("tol", TOL)), "certify": False}
    plan = Near(rho2, fixed=rho2 != RHO2)
    folds = thirds(corpus, documents, error, options) if dev is None else [Fold.held_out(corpus, dev, error, options)]
    tried, by_fold, known = fold_errors(folds, plan, each)
    errors = [float(np.mean(row)) for row in by_fold]
    penalties = tried[plan.best(tried, errors)]
    return Chosen(penalties, _mean([weights[penalties] for weights in known]), tried, errors, name_of(error))


def choose_for(data: Dataset, options: dict[str, Any], each: Each | None = None) -> Chosen:
    """The same for a dataset: on its dev data or, without them, on parts that keep marked documents together."""
    options = {name: value for name, value in options.items() if name != "rho1"} | {"each": each}
    if data.dev is not None:
        return choose_penalties(data.corpus, score_on_dev(data), dev=data.dev.corpus, **options)
    documents = marked_documents(data.corpus, data.vocabulary)
    return choose_penalties(data.corpus, score_on_dev(data), documents=documents, **options)


def score_on_dev(data: Dataset) -> Score:
    """The score for choosing penalties: chunk F1 if labels encode chunks, else token accuracy."""
    return score_of("auto", data.label_names, {} if data.dev is None else data.dev.unknown.at)


def thirds(corpus: Corpus, documents: Numbers | None, error: ErrorRate, options: dict[str, Any]) -> list[Fold]:
    """Two thirds of the corpus to train on, one by one, each with the rest to score on. Sequences without a label are
    in none: their loss is 0."""
    n_known = np.concatenate([[0], np.cumsum(corpus.labels >= 0)])[corpus.offsets]  # before each sequence
    chosen = np.flatnonzero(np.diff(n_known))
    n = len(chosen)
    if n < 3:
        found = f"{n}" if n == corpus.n_sequences else f"{n} among {corpus.n_sequences}"
        raise InputError(
            f"rho1='auto': expected at least 3 labelled sequences, to train on a third of them, found {found}"
        )
    documents = None if documents is None else documents[chosen]
    if documents is None or len(np.unique(documents)) < 3:
        documents = np.arange(n) * min(BLOCKS, n) // n
    parts = list(dealt(n, 3, groups=documents.tolist(), shuffle=True, seed=0))
    return [Fold(corpus, chosen[third], chosen[rest], k, error, options) for k, (rest, third) in enumerate(parts[:2])]


def marked_documents(corpus: Corpus, vocabulary: Vocabulary) -> Numbers | None:
    """The document of each sequence, where a sequence that is only a mark (-DOCSTART-) begins a document; None without
    marks."""
    alone = np.flatnonzero(np.diff(corpus.offsets) == 1)
    if not len(alone):
        return None
    arrays = corpus.subset(alone).to_arrays()
    ids, ptr = arrays["unigram_id"], arrays["unigram_ptr"]
    marks = [x for x in np.unique(ids).tolist() if vocabulary.attributes[x].endswith(MARK)]
    if not marks:
        return None
    begins = np.zeros(corpus.n_sequences, dtype=np.int64)
    n_marks = np.concatenate([[0], np.cumsum(np.isin(ids, marks))])  # before each occurrence of an attribute
    begins[alone[n_marks[ptr[1:]] > n_marks[ptr[:-1]]]] = 1
    return np.cumsum(begins)


def _mean(weights: list[Weights]) -> Weights | None:
    """The mean of the weights of all folds; None with label n-grams, which every fold numbers differently."""
    if any(part.ngrams for part in weights):
        return None
    numbers = np.unique(np.concatenate([part.numbers for part in weights]))
    w = np.zeros(len(numbers))
    for part in weights:
        w[np.searchsorted(numbers, part.numbers)] += part.w / len(weights)
    return Weights(numbers, w, weights[0].ngrams)
