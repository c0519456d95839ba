"""Features whose labels have parts, as features of whole labels: for formats and pictures without parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsecrf._core import FeatureSet
from sparsecrf.encoding.ngrams import Ngrams
from sparsecrf.encoding.numbering import Numbering


def whole_labels(features: FeatureSet, w: Any) -> tuple[FeatureSet, Any]:
    """The same scores: the weight of (x, part) is added to that of (x, y) for every label y that has the part."""
    parts = features.parts
    assert parts is not None
    Y, n = features.n_labels, features.n_unigram
    cells = [[y] for y in range(Y)] + [[] for _ in range(features.n_parts)]  # the labels that a cell stands for
    for y in range(Y):
        for j in parts.of(y):
            cells[Y + j].append(y)
    sizes = np.array([len(labels) for labels in cells])[features.unigram_label]
    x = features.unigram_attribute.astype(np.int64).repeat(sizes)
    y_of_each = np.array([y for cell in features.unigram_label.tolist() for y in cells[cell]], dtype=np.int64)
    old, new = Numbering.of(features), Numbering(Y, features.n_attributes)
    unigram, place = np.unique(new.unigram(x, y_of_each), return_inverse=True)
    numbers = np.concatenate([unigram, features.numbers[n:] - (old.first_bigram - new.first_bigram)])
    ngrams = Ngrams.of(features)
    if ngrams:  # numbered by their own table
        numbers[len(numbers) - features.n_ngram :] = new.first_ngram + np.arange(features.n_ngram)
    made = FeatureSet.from_numbers(Y, features.n_attributes, numbers, ngrams.table(Y))
    return made, np.concatenate([np.bincount(place, w[:n].repeat(sizes), len(unigram)), w[n:]])
