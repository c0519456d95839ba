"""Extends a model with the weights of another model for other attributes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsecrf._core import FeatureSet, InputError
from sparsecrf.encoding.ngrams import Ngrams
from sparsecrf.encoding.numbering import Numbering

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from sparsecrf.encoding.recipe import Recipe
    from sparsecrf.model.model import Model


def check_prior(model: Model, option: str = "prior") -> None:
    """Raise for a model that cannot be a prior."""
    if model.dense is not None:
        raise InputError(f"{option}: not supported for models with vectors, which are scaled by the model's own data")
    if model.features.n_ngram:
        raise InputError(f"{option}: not supported for models with label n-grams longer than pairs")


def like_prior(recipe: Recipe, prior: Model) -> Recipe:
    """The recipe with the labels and start label of a prior and, unless the recipe has a template, its template."""
    lines = recipe.lines if recipe.has_template else prior.template
    return replace(recipe, labels=tuple(prior.labels), start=prior.vocabulary.start, lines=lines)


def with_others(model: Model, prior: Model) -> Model:
    """The model with the weights of a prior for attributes that do not occur in the model's data. The labels of the
    prior must be among the labels of the model; attributes without a weight are left out."""
    from sparsecrf.encoding.vocabulary import Vocabulary
    from sparsecrf.model.model import Model

    prior = prior.without_parts()
    known, old = model.vocabulary.attributes, prior.vocabulary.attributes
    names = {name: k for k, name in enumerate(known[k] for k in range(len(known)))}
    is_new = np.array([old[k] not in names for k in range(len(old))], dtype=np.bool_)
    place = np.array([names.setdefault(old[k], len(names)) for k in range(len(old))], dtype=np.int64)
    label = np.array([model.labels.index(name) for name in prior.labels] + [len(model.labels)], dtype=np.int64)
    cells = []
    for one, attribute, of in ((model, np.arange(len(known)), np.arange(len(model.labels) + 1)), (prior, place, label)):
        f, n = one.features, one.features.n_unigram
        kept = np.flatnonzero(one.w) if one is model else np.flatnonzero((one.w != 0) & is_new[_attributes(one)])
        unigram, bigram = kept[kept < n], kept[kept >= n] - n
        pairs = (attribute[f.bigram_attribute[bigram]], of[f.bigram_previous[bigram]], of[f.bigram_label[bigram]])
        singles = (attribute[f.unigram_attribute[unigram]], of[f.unigram_label[unigram]])
        cells.append((np.stack(singles, axis=1), one.w[unigram], np.stack(pairs, axis=1), one.w[n + bigram]))
    joined = [np.concatenate(both) for both in zip(*cells, strict=True)]
    by_id = list(names)
    conditioning = frozenset(by_id[x] for x in set(joined[2][:, 0].tolist()))
    vocabulary = Vocabulary(conditioning, model.vocabulary.start)
    for name in model.labels:
        vocabulary.labels.intern(name)
    for name in by_id:
        vocabulary.attributes.intern(name)
    about: dict[str, Any] = {"template": model.template, "n_columns": model.n_columns, "training": model.training}
    return Model.from_cells(vocabulary, *joined, **about).compacted()


def _attributes(model: Model) -> NDArray[np.int32]:
    """The attribute of each feature."""
    return np.concatenate([model.features.unigram_attribute, model.features.bigram_attribute])


def whole_labels(features: FeatureSet, w: Any) -> tuple[FeatureSet, Any]:
    """Add the weight of (x, part) to the weight of (x, y) for every label y with that part, and the weight of a pair
    of classes to all pairs of their labels. Scores stay the same."""
    Y = features.n_labels
    new = Numbering(Y, features.n_attributes)
    n, n_pairs = features.n_unigram, features.n_unigram + features.n_bigram
    unigram, mu = _unigrams(features, w[:n], new)
    bigram, lam = _bigrams(features, w[n:n_pairs], new)
    ngrams = Ngrams.of(features)
    numbers = np.concatenate(
        [unigram, bigram, new.first_ngram + np.arange(features.n_ngram)]
    )  # label n-grams are numbered by their own table
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
    """Each number once, in ascending order, with the sum of its weights."""
    found, place = np.unique(numbers, return_inverse=True)
    return found, np.bincount(place, w, len(found))
