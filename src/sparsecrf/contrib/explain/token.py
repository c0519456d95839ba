"""An explanation of the label of one token."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import InputError
from sparsecrf.encoding.vocabulary import BIAS


class Contribution(NamedTuple):
    """A term of the score: amount = value * weight."""

    attribute: str
    #: "unigram": for the label; "transition": for the label after the previous label; "n-gram": for the label after
    #: several previous labels, listed after the attribute: "B [P Q]"
    kind: str
    value: float
    weight: float
    amount: float


@dataclass(frozen=True, eq=False)
class TokenExplanation:
    """One position of an explained path: the evidence for each label, given the previous label."""

    text: str  #: name of the token: its text, its first column or attribute; for a matrix, its row
    label: str
    previous: str  #: the previous label of the path; START at the first position
    probability: float  #: marginal probability of the label
    runner_up: str | None  #: the most probable other label; None if the model has one label only
    margin: float  #: log of the label's marginal probability over the runner-up's; negative if the latter is larger
    path_margin: float  #: best score of a path with this label at this position, minus the best with another
    attributes: list[str]  #: [n] attributes of the position that occur in the model, each once
    values: NDArray[np.float64]  #: [n]
    mu: NDArray[np.float64]  #: [n, Y] their weights for each label
    bigram_attributes: list[str]  #: [m] attributes that condition label pairs, including the bias
    bigram_values: NDArray[np.float64]  #: [m]
    lam: NDArray[np.float64]  #: [m, Y] their weights for each label after `previous`
    labels: list[str] = field(repr=False)  #: [Y] of the model
    ngrams: list[str] = field(default_factory=list)  #: [k] attributes with the two or more labels before, as "B [P Q]"
    ngram_values: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))  #: [k]
    theta: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 0)))  #: [k, Y] their weights for each label

    @property
    def unigram(self) -> NDArray[np.float64]:
        """[n, Y]: the contribution of each attribute to each label, value * mu[x, y]."""
        return self.values[:, None] * self.mu

    @property
    def bigram(self) -> NDArray[np.float64]:
        """[m, Y]: the contribution of each attribute to each label after `previous`, value * lam[x, y', y]."""
        return self.bigram_values[:, None] * self.lam

    @property
    def score(self) -> float:
        """score_t(previous, label): the sum of the contributions to the label."""
        return sum(term.amount for term in self.contributions())

    def name_of(self, term: Contribution, arrow: str = "->") -> str:
        """A short text for a contribution to the token's own label; plain transitions are named by their labels."""
        name = term.attribute if term.value == 1 else f"{term.attribute} ({term.value:g})"
        if term.kind == "unigram":
            return name
        if term.kind == "n-gram":
            return f"{name} {arrow} {self.label}"
        pair = f"{self.previous} {arrow} {self.label}"
        return pair if term.attribute == BIAS else f"{name}: {pair}"

    def contributions(self, label: str | None = None) -> list[Contribution]:
        """The nonzero terms of a label's score at this position, the largest first. The default is the path's own
        label.

        For another label, the terms are the evidence for that label after the same previous label.
        """
        wanted = self.label if label is None else label
        if wanted not in self.labels:
            raise InputError(f"expected a label of the model ({', '.join(self.labels[:10])}), found {wanted!r}")
        y = self.labels.index(wanted)
        terms = [
            Contribution(name, kind, value, weight, value * weight)
            for kind, names, values, weights in (
                ("unigram", self.attributes, self.values, self.mu),
                ("transition", self.bigram_attributes, self.bigram_values, self.lam),
                *([("n-gram", self.ngrams, self.ngram_values, self.theta)] if self.ngrams else []),
            )
            for name, value, weight in zip(names, values.tolist(), weights[:, y].tolist(), strict=True)
            if value * weight != 0
        ]
        return sorted(terms, key=lambda term: -abs(term.amount))
