"""The lengths of the label strings that have weights in a model, and the longest of these strings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsecrf.contrib.explain.weights import START, check_top
from sparsecrf.encoding.ngrams import Ngrams
from sparsecrf.model import Model


class LabelString(NamedTuple):
    """Three or more labels, the last of which belongs to the token, with the weights of their attributes."""

    labels: tuple[str, ...]  #: the first label is START if the sequence begins there
    attributes: int  #: number of attributes with a weight for the string
    positive: float  #: the sum of their positive weights
    negative: float  #: the sum of their negative weights

    @property
    def size(self) -> float:
        """The sum of |w|."""
        return self.positive - self.negative


def longest_strings(model: Model, top: int | None = None) -> list[LabelString]:
    """The `top` strings of three labels or more, by decreasing length, then by decreasing sum of |w|."""
    check_top(top)
    ngrams, names = Ngrams.of(model.features), [*model.labels, START]
    sums: dict[tuple[int, ...], list[float]] = {}
    for labels, w in zip(ngrams.strings(), model.w[len(model.w) - len(ngrams.attribute) :].tolist(), strict=True):
        if w != 0:
            found = sums.setdefault(labels, [0, 0.0, 0.0])
            found[0] += 1
            found[1 if w > 0 else 2] += w
    order = sorted(sums, key=lambda labels: (-len(labels), sums[labels][2] - sums[labels][1], labels))
    return [
        LabelString(tuple(names[y] for y in labels), int(sums[labels][0]), sums[labels][1], sums[labels][2])
        for labels in order[:top]
    ]


def weights_by_length(model: Model) -> list[int]:
    """The numbers of nonzero weights with one label, two labels, and so on."""
    features, active = model.features, model.w != 0
    lengths = np.repeat([1, 2], [features.n_unigram, features.n_bigram])
    lengths = np.concatenate([lengths, Ngrams.of(features).length])
    counts: list[int] = np.bincount(lengths[active], minlength=3)[1:].tolist()
    return counts
