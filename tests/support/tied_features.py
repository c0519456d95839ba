"""Models whose features are sums of others, and the same objective on the explicit space: labels with parts, and pairs
of classes of labels."""

from typing import ClassVar

import numpy as np
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from sparsecrf import _core
from sparsecrf.encoding.label_parts import LabelParts
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.encoding.vocabulary import Vocabulary


class Tied:
    """A corpus with its `oracle`, its tied `features`, the `flat` ones, and `matrix` [features, flat], by which weights
    of the first become weights of the second."""

    labels: ClassVar[list[str]]
    parts: ClassVar[LabelParts]

    @staticmethod
    def choose(rng, tokens):
        """The labels of a sequence."""
        raise NotImplementedError

    @classmethod
    def corpus_of(cls, seed, n_sequences=12, *, bigrams="bias", values=False, weights=False, longest=5):
        """Random sequences, and the vocabulary."""
        rng = np.random.default_rng(seed)
        vocabulary = Vocabulary(bigrams=bigrams)
        for label in cls.labels:
            vocabulary.labels.intern(label)
        X, y = [], []
        for _ in range(n_sequences):
            T = int(rng.integers(1, longest + 1))
            names = [[f"a{k}" for k in rng.choice(6, size=rng.integers(0, 4), replace=False)] for _ in range(T)]
            X.append([{a: float(rng.integers(1, 4)) for a in t} for t in names] if values else names)
            y.append(cls.choose(rng, names))
        extra = {"token_weight": [rng.random(len(t)) for t in X]} if weights else {}
        return vocabulary.encode(X, y, grow=True, **extra), vocabulary

    def __init__(self, seed, threads=1, kernel="auto", **options):
        self.corpus, self.vocabulary = self.corpus_of(seed, **options)
        self.features = _core.FeatureSet.all_virtual(self.corpus, self.parts.core)
        self.numbering = Numbering.of(self.features)
        self.matrix = self._matrix()
        everything = np.arange(self.matrix.shape[1])
        self.flat = _core.FeatureSet.from_numbers(len(self.labels), self.corpus.n_attributes, everything)
        self.oracle = _core.Oracle(self.corpus, threads=threads, kernel=kernel)
        self.w = np.random.default_rng(seed + 1).normal(size=len(self.features))

    def _matrix(self):
        features, parts, Y = self.features, self.parts, len(self.labels)
        flat = Numbering(Y, features.n_attributes)
        rows = np.zeros((len(features), flat.first_ngram))
        for k, (x, cell) in enumerate(zip(features.unigram_attribute, features.unigram_label, strict=True)):
            having = [cell] if cell < Y else [y for y in range(Y) if cell - Y in parts.of_labels[y]]
            rows[k, [flat.unigram(x, y) for y in having]] = 1
        sides = (features.bigram_attribute, features.bigram_previous, features.bigram_label)
        first = features.n_unigram + features.n_bigram - features.n_class
        for k, (x, previous, cell) in enumerate(zip(*sides, strict=True), features.n_unigram):
            before, after = [previous], [cell]
            if k >= first:  # a class is identified by its part, in a pair after the start
                before = (
                    [Y] if previous == Y else [y for y in range(Y) if parts.classes[y] == previous - (previous > Y)]
                )
                after = [y for y in range(Y) if parts.classes[y] == cell]
            rows[k, [flat.bigram(int(x), a, b) for a in before for b in after]] = 1
        return rows


class WithParts(Tied):
    """Every feature of labels with parts. Attributes predict the parts, so that parts are useful."""

    labels: ClassVar = ["N|s", "N|p", "V|s", "V|p", "A"]
    parts: ClassVar = LabelParts.of(labels, "|")

    @staticmethod
    def choose(rng, tokens):
        return [WithParts.labels[(len(t) + int(rng.integers(0, 2))) % 5] for t in tokens]


class WithClasses(Tied):
    """Every feature, pairs of classes included. The classes of a sequence alternate."""

    labels: ClassVar = ["N|s", "V|s", "N|p", "A", "V|p", "D|s", "N|N"]
    parts: ClassVar = LabelParts.of(labels, "|", classes=True)

    @staticmethod
    def choose(rng, tokens):
        verbs, others = ["V|s", "V|p"], ["N|s", "N|p", "A", "D|s", "N|N"]
        return [str(rng.choice(verbs if t % 2 else others)) for t in range(len(tokens))]

    def __init__(self, seed, threads=1, kernel="auto", **options):
        super().__init__(seed, threads, kernel, **options)
        # Most pairs of labels have no weight, so that a sparse matrix is worth it.
        n = self.features.n_unigram
        zero = np.random.default_rng(seed + 2).random(self.features.n_bigram - self.features.n_class) < 0.7
        self.w[n : n + len(zero)][zero] = 0


def scipy_optimum(both, rho1, rho2):
    """The objective's minimum on the explicit space, positive and negative parts apart."""
    K, R = len(both.features), both.matrix

    def value(z):
        w = z[:K] - z[K:]
        loss, g = both.oracle.loss_grad(both.flat, R.T @ w)
        g = R @ g + rho2 * w
        return loss + rho1 * z.sum() + rho2 / 2 * w @ w, np.concatenate([g, -g]) + rho1

    options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 50}
    found = minimize(value, np.zeros(2 * K), jac=True, bounds=[(0, None)] * 2 * K, method="L-BFGS-B", options=options)
    return found.fun


def assert_optimal(both, found, rho1, rho2):
    """A fit has found the optimum, its gap is a bound, and no feature of the whole space violates its condition."""
    best = scipy_optimum(both, rho1, rho2)
    assert_allclose(found.objective, best, rtol=1e-6)
    assert found.objective - found.gap <= best * (1 + 1e-9)
    w = np.zeros(len(both.features))
    w[np.searchsorted(both.features.numbers, found.numbers)] = found.w
    _, g = both.oracle.loss_grad(both.features, w)
    assert np.abs(g[w == 0]).max() <= rho1 + 1e-4
    assert found.n_features == len(both.features)


def assert_close(both, found, rho1, rho2):
    """A fit is not below the optimum, and at most 2 % above it."""
    best = scipy_optimum(both, rho1, rho2)
    assert best <= found.objective * (1 + 1e-9)
    assert found.objective <= best * 1.02
