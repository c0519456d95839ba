"""Token error on held-out data, and stopping rules based on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import Chain, Corpus, FeatureSet, InputError, LabelParts, NgramTable
from sparsecrf.shards import Shards
from sparsecrf.shards.dataset import Dataset
from sparsecrf.training.feature_sets import Floats, Numbers
from sparsecrf.training.prior import added
from sparsecrf.training.starting_weights import Weights

Labels = NDArray[np.int32]  #: [P] a label for each token


def best_labels(
    corpus: Corpus,
    numbers: Numbers,
    w: Floats,
    *,
    threads: int = 0,
    ngrams: NgramTable | None = None,
    part_rows: LabelParts | None = None,
) -> Labels:
    """The ids of the best labels (Viterbi) of all tokens. `ngrams`: the table of the label n-grams among the numbers;
    `part_rows`: the parts of the labels, if any."""
    features = FeatureSet.from_numbers(corpus.n_labels, corpus.n_attributes, numbers, ngrams, part_rows)
    return Chain(features, w, threads=threads).viterbi(corpus)[0]


class WrongTokens(NamedTuple):
    """The number of wrong labels among the tokens with a known gold label."""

    n_wrong: int
    n_tokens: int

    @property
    def percent(self) -> float:
        """The error in percent; 100 if no gold label is known, since `token_accuracy_score` is then 0."""
        return 100.0 * (self.n_wrong / self.n_tokens) if self.n_tokens else 100.0


def wrong_tokens(corpus: Corpus, predicted: Labels, n_unknown: int = 0) -> WrongTokens:
    """Compare predicted with gold labels. A token whose label is missing or a set does not count, since its correct
    label is unknown. `n_unknown` tokens have labels that do not occur in the training data; they count as wrong."""
    labelled = corpus.labels >= 0
    n_wrong = int(np.count_nonzero((predicted != corpus.labels) & labelled))
    return WrongTokens(n_wrong + n_unknown, int(np.count_nonzero(labelled)) + n_unknown)


def token_error(corpus: Corpus, numbers: Numbers, w: Floats, n_unknown: int = 0, **how: Any) -> float:
    """Percentage of tokens whose best label is wrong, as `wrong_tokens` counts them; `how`: options of
    `best_labels`."""
    return wrong_tokens(corpus, best_labels(corpus, numbers, w, **how), n_unknown).percent


def check_same_vocabulary(what: str, found: Corpus | Shards, expected: Corpus | Shards) -> None:
    if (found.n_labels, found.n_attributes) != (expected.n_labels, expected.n_attributes):
        raise InputError(
            f"{what}: expected {expected.n_labels} labels and {expected.n_attributes} attributes, "
            f"found {found.n_labels} and {found.n_attributes}"
        )


@dataclass(frozen=True)
class Best:
    """The weights with the smallest error so far."""

    error: float  #: in percent
    iteration: int
    numbers: Numbers
    w: Floats  #: the nonzero weights


class Dev:
    """The error on a dev corpus, iteration by iteration."""

    def __init__(
        self,
        data: Corpus | Dataset,
        patience: int | None,
        threads: int,
        ngrams: NgramTable | None = None,
        part_rows: LabelParts | None = None,
        prior: Weights | None = None,
    ) -> None:
        """`data` may also be a dataset, which can contain labels that are not in the vocabulary. `prior`: weights that
        `look` adds to its argument `w`."""
        self.corpus, self.n_unknown = (data, 0) if isinstance(data, Corpus) else (data.corpus, len(data.unknown.at))
        if patience is not None and patience < 1:
            raise InputError(f"patience: expected at least 1 iteration, found {patience}")
        if (self.corpus.labels < 0).all():
            raise InputError("dev: the data have no labels")
        self.patience, self.threads = patience, threads
        self.ngrams, self.part_rows, self.prior = ngrams, part_rows, prior
        self.best: Best | None = None

    @property
    def fingerprint(self) -> str:
        """A hash of everything that the errors depend on."""
        return f"{self.corpus.fingerprint:016x}" + (f" and {self.n_unknown} labels" if self.n_unknown else "")

    def look(self, iteration: int, numbers: Numbers, w: Floats) -> float:
        """The error with these weights, which are kept if they are the best so far."""
        active = w != 0
        whole, sums = (numbers[active], w[active]) if self.prior is None else added(self.prior, numbers, w)
        how: dict[str, Any] = {"threads": self.threads, "ngrams": self.ngrams, "part_rows": self.part_rows}
        error = token_error(self.corpus, whole, sums, self.n_unknown, **how)
        if self.best is None or error < self.best.error:
            self.best = Best(error, iteration, numbers[active], w[active])
        return error

    def exhausted(self, iteration: int) -> bool:
        """Whether the error has not improved for `patience` iterations."""
        return self.patience is not None and self.best is not None and iteration - self.best.iteration >= self.patience
