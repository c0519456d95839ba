"""Converts features of label parts to features of whole labels, for formats and plots without parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsecrf._core import FeatureSet
from sparsecrf.encoding.ngrams import Ngrams
from sparsecrf.encoding.numbering import Numbering


def whole_labels(features: FeatureSet, w: Any) -> tuple[FeatureSet, Any]:
    """Add the weight of (x, part) to that of (x, y) for every label y that has the part, and the weight of a pair of
    classes to all pairs of their labels. Scores stay the same."""
    Y = features.n_labels
    new = Numbering(Y, features.n_attributes)
    n, n_pairs = features.n_unigram, features.n_unigram + features.n_bigram
    unigram, mu = _unigrams(features, w[:n], new)
    bigram, lam = _bigrams(features, w[n:n_pairs], new)
    ngrams = Ngrams.of(features)
    numbers = np.concatenate(
        [unigram, bigram, new.first_ngram + np.arange(features.n_ngram)]
    )  # numbered by their own table
    made = FeatureSet.from_numbers(Y, features.n_attributes, numbers, ngrams.table(Y))
    return made, np.concatenate([mu, lam, w[n_pairs:]])


def _unigrams(features: FeatureSet, w: Any, new: Numbering) -> tuple[Any, Any]:
    """Numbers of features (x, y) and their weights."""
    assert features.parts is not None
    labels_of = [[y] for y in range(features.n_labels)] + [
        [] for _ in range(features.n_parts)
    ]  # the labels of each cell
    for y in range(features.n_labels):
        for j in features.parts.of(y):
            labels_of[features.n_labels + j].append(y)
    sizes = np.array([len(labels) for labels in labels_of])[features.unigram_label]
    x = features.unigram_attribute.astype(np.int64).repeat(sizes)
    y_of_each = np.array([y for cell in features.unigram_label.tolist() for y in labels_of[cell]], dtype=np.int64)
    return _added(new.unigram(x, y_of_each), w.repeat(sizes))


def _bigrams(features: FeatureSet, w: Any, new: Numbering) -> tuple[Any, Any]:
    """Numbers of features (x, y', y) and their weights."""
    Y, n = features.n_labels, features.n_bigram - features.n_class
    x, before, y = (
        a.astype(np.int64) for a in (features.bigram_attribute, features.bigram_previous, features.bigram_label)
    )
    numbers, weights = [new.bigram(x[:n], before[:n], y[:n])], [w[:n]]
    if features.n_class:
        assert features.parts is not None
        cell = np.array(features.class_cells)[features.parts.class_of]  # [Y] index of the class of each label
        for k in range(n, len(x)):
            # As a previous label, a part is numbered one higher, since the start comes before it.
            earlier = np.array([Y]) if before[k] == Y else np.flatnonzero(cell + (cell >= Y) == before[k])
            pairs = new.bigram(x[k], earlier[:, None], np.flatnonzero(cell == y[k])).ravel()
            numbers.append(pairs)
            weights.append(np.full(len(pairs), w[k]))
    return _added(np.concatenate(numbers), np.concatenate(weights))


def _added(numbers: Any, w: Any) -> tuple[Any, Any]:
    """Each number once, ascending, with the sum of its weights."""
    found, place = np.unique(numbers, return_inverse=True)
    return found, np.bincount(place, w, len(found))
