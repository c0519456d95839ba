"""Small problems with label n-grams, for the core and for the reference."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from problems import Problem, make_problem

from reference import enumeration, ngrams
from reference.objective import layers
from sparsecrf import _core


@dataclass(frozen=True)
class NgramProblem:
    """A problem, and weights of (attribute, labels) with at least three labels."""

    base: Problem
    weights: dict[tuple[int, tuple[int, ...]], float]

    @property
    def corpus(self):
        return self.base.corpus()

    def features(self):
        """All unigram and bigram features, then the n-grams in their order."""
        return self.with_ngrams(list(self.weights))

    def with_ngrams(self, cells):
        Y, X = self.base.n_labels, len(self.base.mu)
        table = table_of(Y, cells)
        numbers = np.arange(self.base.w.size + len(cells), dtype=np.int64)
        return _core.FeatureSet.from_numbers(Y, X, numbers, table)

    @property
    def w(self):
        return np.concatenate([self.base.w, np.array(list(self.weights.values()), dtype=np.float64)])

    def chain(self, kernel="auto", threads=1):
        return _core.Chain(self.features(), self.w, kernel=kernel, threads=threads)

    def theta(self, i: int, weights: Any = None) -> list[dict[tuple[int, ...], float]]:
        """The scores of strings at every position of sequence i."""
        scores: list[dict[tuple[int, ...], float]] = []
        for attributes in self.base.sequences[i].bigram:
            here: dict[tuple[int, ...], float] = {}
            for x, value in attributes:
                for (attribute, labels), weight in (weights or self.weights).items():
                    if attribute == x:
                        here[labels] = here.get(labels, 0.0) + value * weight
            scores.append(here)
        return scores

    def paths(self, i: int, limited: bool = True):
        """All label sequences of sequence i."""
        return ngrams.enumerate_paths(self.base.psi(i, limited), self.theta(i))

    def posterior(self, i: int):
        return ngrams.ngram_forward_backward(self.base.psi(i), self.theta(i))

    def at(self, w) -> NgramProblem:
        """The same with other weights, in the order of `w`."""
        mu, lam, longer = np.split(w, np.cumsum([self.base.mu.size, self.base.lam.size]))
        base = replace(self.base, mu=mu.reshape(self.base.mu.shape), lam=lam.reshape(self.base.lam.shape))
        return NgramProblem(base, dict(zip(self.weights, longer.tolist(), strict=True)))

    def loss_gradient(self, i: int):
        """The loss of sequence i and its gradient, by all paths, layer by layer of token weights."""
        sequence, paths = self.base.sequences[i], self.paths(i)
        numerator = paths.restricted(paths.agreeing(self.base.own_labels(i), sequence.label_sets))
        loss, g, observed = 0.0, np.zeros(self.w.size), self._expected(i, numerator)
        for weight, given in layers(sequence):
            denominator = paths.restricted(paths.agreeing(given, sequence.label_sets))
            loss += weight * (denominator.log_z - numerator.log_z)
            g += weight * (self._expected(i, denominator) - observed)
        return loss, g

    def _expected(self, i: int, paths):
        """E F of all features."""
        sequence, longer = self.base.sequences[i], np.zeros(len(self.weights))
        for t, attributes in enumerate(sequence.bigram):
            for k, (x, labels) in enumerate(self.weights):
                value = sum(v for of, v in attributes if of == x)
                longer[k] += value * float(paths.probability @ ngrams.ends_in(paths, self.base.n_labels, t, labels))
        mu, lam = enumeration.expected_features(sequence, paths, self.base.mu, self.base.lam)
        return np.concatenate([mu.ravel(), lam.ravel(), longer])


def table_of(n_labels, cells):
    """An NgramTable of (attribute, labels)."""
    table = _core.NgramTable(n_labels)
    attribute = np.array([x for x, _ in cells], dtype=np.int32)
    length = np.array([len(labels) for _, labels in cells], dtype=np.int32)
    flat = np.array([y for _, labels in cells for y in labels], dtype=np.int32)
    assert table.add(attribute, length, flat).tolist() == list(range(len(cells)))
    return table


def make_ngram_problem(seed: int, n_labels: int, lengths: list[int], n_ngrams: int = 20, size: float = 1.0, **options):
    """A random problem with n-grams of three to five labels, some after the start."""
    rng = np.random.default_rng(seed)
    n_attributes = options.pop("n_attributes", 3)
    base = make_problem(seed, n_labels, lengths, n_attributes, **options)
    weights: dict[tuple[int, tuple[int, ...]], float] = {}
    for _ in range(n_ngrams):
        labels = tuple(int(y) for y in rng.integers(n_labels, size=rng.integers(3, 6)))
        if rng.random() < 0.25:
            labels = (n_labels, *labels[1:])
        weights[int(rng.integers(n_attributes)), labels] = float(rng.normal(scale=size))
    return NgramProblem(base, weights)


def indicators(problem, paths, t):
    """For labels, pairs and n-grams: by attribute, the cell of each feature and the paths on which it fires at t."""
    Y, X = problem.base.n_labels, len(problem.base.mu)
    one = {x: [((x, y), paths.labels[:, t] == y) for y in range(Y)] for x in range(X)}
    pairs = [(i, y) for i in range(Y + 1) for y in range(Y)]
    two = {x: [((x, *pair), ngrams.ends_in(paths, Y, t, pair)) for pair in pairs] for x in range(X)}
    more = {x: [] for x in range(X)}
    for k, (x, labels) in enumerate(problem.weights):
        more[x].append((k, ngrams.ends_in(paths, Y, t, labels)))
    return one, two, more
