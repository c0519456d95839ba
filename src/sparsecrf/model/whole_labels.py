"""A model whose labels have parts, as one that knows whole labels alone: for formats and pictures without parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sparsecrf._core import FeatureSet
from sparsecrf.encoding.numbering import Numbering

if TYPE_CHECKING:
    from sparsecrf.model.model import Model


def without_parts(model: Model) -> Model:
    """The weight of (x, part) is added to that of (x, y) for every label y that has the part."""
    from sparsecrf.encoding.ngrams import Ngrams
    from sparsecrf.model.model import Model

    parts, features = model.label_parts, model.features
    if parts is None:
        return model
    Y, n, w = features.n_labels, features.n_unigram, model.w
    having = [[y for y in range(Y) if j in parts.of_labels[y]] for j in range(len(parts.names))]
    cells = [[y] for y in range(Y)] + having  # the labels that a cell stands for
    sizes = np.array([len(labels) for labels in cells])[features.unigram_label]
    x = features.unigram_attribute.astype(np.int64).repeat(sizes)
    y = np.concatenate([np.empty(0, dtype=np.int64), *(cells[cell] for cell in features.unigram_label.tolist())])
    old, new = Numbering.of(features), Numbering(Y, features.n_attributes)
    unigram, place = np.unique(new.unigram(x, y.astype(np.int64)), return_inverse=True)
    others = features.numbers[n:] - (old.first_bigram - new.first_bigram)
    numbers = np.concatenate([unigram, others])
    ngrams = Ngrams.of(features)
    if ngrams:  # numbered by their own table
        numbers[len(numbers) - features.n_ngram :] = new.first_ngram + np.arange(features.n_ngram)
    return Model(
        model.vocabulary,
        FeatureSet.from_numbers(Y, features.n_attributes, numbers, ngrams.table(Y)),
        np.concatenate([np.bincount(place, w[:n].repeat(sizes), len(unigram)), w[n:]]),
        template=model.template,
        n_columns=model.n_columns,
        training=model.training,
        dense=model.dense,
    )
