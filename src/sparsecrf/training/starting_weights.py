"""Translates the weights of a model to the ids of another vocabulary, so that training can start from them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import StringTable
from sparsecrf.encoding.label_parts import LabelParts
from sparsecrf.encoding.ngrams import Ngrams
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.model import Model
from sparsecrf.training.feature_sets import Floats, Numbers


@dataclass(frozen=True)
class Weights:
    """Weights that training starts from."""

    numbers: Numbers  #: features by their number in the virtual space, in ascending order
    w: Floats
    ngrams: Ngrams = field(default_factory=Ngrams.none)  #: label n-grams, which are the last features, in order


def weights_in(model: Model, vocabulary: Vocabulary, parts: LabelParts | None = None) -> Weights:
    """The weights of a model, translated to the ids of another vocabulary and other label parts. Weights whose names
    are missing from that vocabulary are dropped."""
    if parts is None:
        model = model.without_parts()
    numbering = Numbering.with_parts(len(vocabulary.labels), len(vocabulary.attributes), parts)
    features, n_unigram = model.features, model.features.n_unigram
    label = _ids([*model.labels], vocabulary.labels, start=numbering.n_labels)
    names = model.vocabulary.attributes
    attribute = _ids([names[k] for k in range(len(names))], vocabulary.attributes)
    x = attribute[np.concatenate([features.unigram_attribute, features.bigram_attribute])]
    part = _part_ids(model.label_parts, parts, numbering.n_labels)
    cell = np.concatenate([label[:-1], part])
    y = cell[np.concatenate([features.unigram_label, features.bigram_label])]
    previous = np.concatenate([label, part])[features.bigram_previous]
    numbers = numbering.unigram(x, y)
    numbers[n_unigram:] = numbering.bigram(x[n_unigram:], previous, y[n_unigram:])
    known = (x >= 0) & (y >= 0)
    known[n_unigram:] &= previous >= 0
    if features.n_class:
        # index of a cell among the classes; the last entry is for a missing cell
        place = np.full(numbering.cells + 1, -1)
        place[list(numbering.classes)] = np.arange(len(numbering.classes))
        own = np.arange(len(x) - features.n_class, len(x))
        before = np.concatenate([place[label[:-1]], [len(numbering.classes)], place[part]])
        previous, y = before[features.bigram_previous[own - n_unigram]], place[y[own]]
        numbers[own] = numbering.class_pair(x[own], previous, y)
        known[own] = (x[own] >= 0) & (previous >= 0) & (y >= 0)
    order = np.argsort(numbers[known])
    numbers, w = numbers[known][order], model.w[: len(known)][known][order]
    if not features.n_ngram:
        return Weights(numbers, w)
    ngrams, kept = _renamed(Ngrams.of(features), attribute, label)
    places = numbering.first_ngram + np.arange(len(ngrams.attribute))
    return Weights(np.concatenate([numbers, places]), np.concatenate([w, model.w[len(known) :][kept]]), ngrams)


def _renamed(ngrams: Ngrams, attribute: Numbers, label: Numbers) -> tuple[Ngrams, NDArray[np.bool_]]:
    """The n-grams with other ids for attributes and labels, and a mask of the n-grams without -1 among the new ids."""
    x, labels = attribute[ngrams.attribute], label[ngrams.labels]
    which = np.repeat(np.arange(len(x)), ngrams.length)
    kept = (x >= 0) & (np.bincount(which[labels < 0], minlength=len(x)) == 0)
    return Ngrams(x[kept].astype(np.int32), ngrams.length[kept], labels[kept[which]].astype(np.int32)), kept


def _part_ids(old: LabelParts | None, new: LabelParts | None, n_labels: int) -> Numbers:
    """For each part of a model's labels, its new number Y + j; -1 if no part has that name."""
    place = {} if new is None else {name: n_labels + j for j, name in enumerate(new.names)}
    return np.array([] if old is None else [place.get(name, -1) for name in old.names], dtype=np.int64)


def _ids(names: list[str], table: StringTable, start: int | None = None) -> Numbers:
    """The ids of names in a table, -1 for missing names; `start`, if given, is appended as the id of the start
    label."""
    found = [table.find(name) for name in names]
    ids = [-1 if k is None else k for k in found]
    return np.array(ids if start is None else [*ids, start], dtype=np.int64)
