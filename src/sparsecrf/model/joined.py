"""Extends a model with the weights of another model for other attributes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sparsecrf._core import FeatureSet, InputError
from sparsecrf.encoding.ngrams import Ngrams
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.encoding.recipe import Recipe
from sparsecrf.model.file import Parts
from sparsecrf.model.model import Model


def check_prior(model: Model, option: str = "prior") -> None:
    """Reject a model that cannot be a prior."""
    if model.dense is not None:
        raise InputError(f"{option}: not supported for models with vectors, which are scaled by the model's own data")
    if model.features.n_ngram:
        raise InputError(f"{option}: not supported for models with label n-grams longer than pairs")


def like_prior(recipe: Recipe, prior: Model) -> Recipe:
    """The recipe with the labels and start label of a prior and, unless the recipe has a template, its template."""
    lines = recipe.lines if recipe.has_template else prior.template
    return replace(recipe, labels=tuple(prior.labels), start=prior.vocabulary.start, lines=lines)


def with_others(parts: Parts, prior: Model) -> Parts:
    """The content of a model, with the weights of a prior for attributes that do not occur in the model's data. The
    labels of the prior must be among the labels of the model."""
    prior = prior.without_parts()
    names, old, f = parts.attributes.copy(), prior.vocabulary.attributes, prior.features
    place = np.array([names.intern(old[k]) for k in range(len(old))], dtype=np.int64)
    n_labels, n_known = len(parts.labels), len(parts.attributes)
    labels = [parts.labels[y] for y in range(n_labels)]
    # the last previous label is the start
    label = np.array([*map(labels.index, prior.labels), n_labels], dtype=np.int64)
    before, after = Numbering(n_labels, n_known), Numbering(n_labels, len(names))
    own = before.moved(parts.numbers, before.attribute(parts.numbers), len(names))
    x = place[np.concatenate([f.unigram_attribute, f.bigram_attribute])]
    unigram = after.unigram(x[: f.n_unigram], label[f.unigram_label])
    bigram = after.bigram(x[f.n_unigram :], label[f.bigram_previous], label[f.bigram_label])
    numbers = np.concatenate([own, np.concatenate([unigram, bigram])[x >= n_known]])
    order = np.argsort(numbers)
    w = np.concatenate([parts.w, prior.w[x >= n_known]])
    return parts._replace(attributes=names, numbers=numbers[order], w=w[order])


def whole_labels(features: FeatureSet, w: Any) -> tuple[FeatureSet, Any]:
    """Add the weight of (x, part) to the weight of (x, y) for every label y with that part, and the weight of a pair
    of classes to all pairs of their labels. Scores stay the same."""
    Y = features.n_labels
    new = Numbering(Y, features.n_attributes)
    n, n_pairs = features.n_unigram, features.n_unigram + features.n_bigram
    unigram, mu = _unigrams(features, w[:n], new)
    bigram, lam = _bigrams(features, w[n:n_pairs], new)
    ngrams = Ngrams.of(features)
    # Label n-grams are numbered by their own table.
    numbers = np.concatenate([unigram, bigram, new.first_ngram + np.arange(features.n_ngram)])
    made = FeatureSet.from_numbers(Y, features.n_attributes, numbers, ngrams.table(Y))
    return made, np.concatenate([mu, lam, w[n_pairs:]])


def _unigrams(features: FeatureSet, w: Any, new: Numbering) -> tuple[Any, Any]:
    """Numbers of features (x, y) and their weights."""
    assert features.parts is not None
    # The labels of each cell.
    labels_of = [[y] for y in range(features.n_labels)] + [[] for _ in range(features.n_parts)]
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
    """Each number once, in ascending order, with the sum of its weights."""
    found, place = np.unique(numbers, return_inverse=True)
    return found, np.bincount(place, w, len(found))
