"""The weights that apply to a sequence, and the best path through every label of every position."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import Corpus, FeatureSet
from sparsecrf.encoding.ngrams import Ngrams
from sparsecrf.encoding.numbering import Numbering

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
#: An attribute, the labels before a position, the attribute's value, and the weights of all labels [Y].
LongerWeights: TypeAlias = tuple[int, tuple[int, ...], float, FloatArray]


def with_dense(corpus: Corpus) -> dict[str, Any]:
    """The arrays of a corpus; dense columns become attributes of its unigram lists."""
    arrays = corpus.__getstate__()
    known = np.flatnonzero(arrays["dense_attributes"] >= 0)  # dense columns that have an attribute
    own, values = arrays["dense_attributes"][known].astype(np.int32), arrays["dense"][:, known].astype(np.float64)
    ptr = arrays["unigram_ptr"]
    ends = ptr[1:].repeat(len(known))  # the dense columns of a position come after its other attributes
    arrays["unigram_id"] = np.insert(arrays["unigram_id"], ends, np.tile(own, corpus.n_tokens))
    arrays["unigram_value"] = np.insert(arrays["unigram_value"], ends, values.reshape(-1))
    arrays["unigram_ptr"] = ptr + len(known) * np.arange(len(ptr))
    return arrays


class Lattice:
    """One sequence of T positions with the weights of its attributes.

    The features of an attribute have consecutive numbers (`Numbering`), and a feature set is sorted by number, so all
    weights of an attribute are found by bisection.
    """

    def __init__(self, corpus: Corpus, features: FeatureSet, w: FloatArray) -> None:
        arrays = corpus.to_arrays() if corpus.n_dense == 0 else with_dense(corpus)
        self.unigram_ptr: IntArray = arrays["unigram_ptr"]  # [T + 1]
        self.unigram_id: NDArray[np.int32] = arrays["unigram_id"]
        self.unigram_value: FloatArray = arrays["unigram_value"]
        self.bigram_ptr: IntArray = arrays["bigram_ptr"]  # [T + 1]
        self.bigram_id: NDArray[np.int32] = arrays["bigram_id"]
        self.bigram_value: FloatArray = arrays["bigram_value"]
        self.n_labels = features.n_labels
        self._numbers, self._w = features.numbers, w
        self._numbering = Numbering.of(features)
        self._features = features
        # [Y + 1] the class of each label, and of the start; None if no pair of classes has a weight
        self._class_of: IntArray | None = None
        if features.n_class:
            assert features.parts is not None
            self._class_of = np.array([*features.parts.class_of, len(self._numbering.classes)])

    def __len__(self) -> int:
        return len(self.unigram_ptr) - 1

    def mu(self) -> FloatArray:
        """[n, Y]: mu[x, y] of every unigram attribute of the sequence, with the weights of the parts of y."""
        first = self._numbering.unigram(self.unigram_id.astype(np.int64), 0)
        rows = self._rows(first, self._numbering.cells)
        mu, parts = rows[:, : self.n_labels], self._features.parts
        if parts is not None:
            for y in range(self.n_labels):
                mu[:, y] += rows[:, np.array(parts.of(y), dtype=np.intp) + self.n_labels].sum(axis=1)
        return mu

    def lam(self, path: NDArray[np.int32]) -> FloatArray:
        """[m, Y]: lam[x, y', y] of every bigram attribute of the sequence, where y' is the previous label of the path,
        with the weights of the label classes."""
        Y = self.n_labels
        previous = np.concatenate([[Y], path[:-1]]).repeat(np.diff(self.bigram_ptr))
        lam = self._rows(self._pairs_of(self.bigram_id) + previous * Y, Y)
        if self._class_of is not None:
            first = self._numbering.class_pair(self.bigram_id.astype(np.int64), self._class_of[previous], 0)
            lam += self._rows(first, len(self._numbering.classes))[:, self._class_of[:Y]]
        return lam

    def ngrams(self, path: NDArray[np.int32]) -> list[list[LongerWeights]]:
        """[T]: the n-grams with three or more labels that match the path, shortest first."""
        Y, ngrams = self.n_labels, Ngrams.of(self._features)
        weights: dict[int, dict[tuple[int, ...], dict[int, float]]] = {}  # by attribute, previous labels and label
        longest = int(ngrams.length.max(initial=2))
        w = self._w[len(self._w) - len(ngrams.length) :].tolist()
        for x, labels, weight in zip(ngrams.attribute.tolist(), ngrams.strings(), w, strict=True):
            weights.setdefault(x, {}).setdefault(labels[:-1], {})[labels[-1]] = weight
        found: list[list[LongerWeights]] = []
        for t in range(len(self)):
            before = (Y, *path[:t].tolist())
            found.append([])
            for k in range(self.bigram_ptr[t], self.bigram_ptr[t + 1]):
                x = int(self.bigram_id[k])
                for n in range(2, min(longest, len(before) + 1)):
                    row = weights.get(x, {}).get(before[-n:])
                    if row is not None:
                        of_labels = np.zeros(Y)
                        of_labels[list(row)] = list(row.values())
                        found[-1].append((x, before[-n:], float(self.bigram_value[k]), of_labels))
        return found

    def max_marginals(self) -> FloatArray:
        """[T, Y]: the score of the best path with label y at position t.

        epsilon_t(y)  = u_t(y) + max_{y'} { epsilon_{t-1}(y') + l_t(y', y) }       the best path up to t
        eta_{t-1}(y') = max_y { l_t(y', y) + u_t(y) + eta_t(y) }                   the best continuation
        """
        T, Y = len(self), self.n_labels
        u, pairs = self._unigram_scores(), self._pair_scores()
        epsilon, eta = np.zeros((T, Y)), np.zeros((T, Y))
        epsilon[0] = u[0] + pairs[0][Y]
        for t in range(1, T):
            epsilon[t] = u[t] + (epsilon[t - 1][:, None] + pairs[t][:Y]).max(axis=0)
        for t in range(T - 1, 0, -1):
            eta[t - 1] = (pairs[t][:Y] + (u[t] + eta[t])).max(axis=1)
        return epsilon + eta

    def _unigram_scores(self) -> FloatArray:
        """u_t(y), [T, Y]."""
        u = np.zeros((len(self), self.n_labels))
        position = np.arange(len(self)).repeat(np.diff(self.unigram_ptr))
        np.add.at(u, position, self.unigram_value[:, None] * self.mu())
        return u

    def _pair_scores(self) -> list[FloatArray]:
        """l_t(y', y), [T] matrices [Y + 1, Y]; positions with the same attributes share one."""
        Y, made = self.n_labels, dict[tuple[bytes, bytes], FloatArray]()
        scores = []
        for begin, end in zip(self.bigram_ptr[:-1].tolist(), self.bigram_ptr[1:].tolist(), strict=True):
            x, value = self.bigram_id[begin:end], self.bigram_value[begin:end]
            key = (x.tobytes(), value.tobytes())
            if key not in made:
                row, cell, weight = self._cells(self._pairs_of(x), self._numbering.pairs)
                made[key] = np.zeros((Y + 1, Y))
                np.add.at(made[key].reshape(-1), cell, value[row] * weight)
                if self._class_of is not None:
                    C, first = len(self._numbering.classes), self._numbering.class_pair(x.astype(np.int64), 0, 0)
                    row, cell, weight = self._cells(first, self._numbering.class_pairs)
                    of_classes = np.bincount(cell, value[row] * weight, self._numbering.class_pairs)
                    made[key] += of_classes.reshape(C + 1, C)[self._class_of][:, self._class_of[:Y]]
            scores.append(made[key])
        return scores

    def _pairs_of(self, x: NDArray[np.int32]) -> IntArray:
        """The number of the first feature of each attribute with a label pair."""
        first: IntArray = self._numbering.bigram(x.astype(np.int64), 0, 0)
        return first

    def _cells(self, first: IntArray, width: int) -> tuple[IntArray, IntArray, FloatArray]:
        """The weights with numbers first[k] .. first[k] + width - 1: k, number - first[k] and weight of each."""
        begin, end = np.searchsorted(self._numbers, first), np.searchsorted(self._numbers, first + width)
        counts = end - begin
        row = np.arange(len(first)).repeat(counts)
        k = np.arange(len(row)) + (begin - (np.cumsum(counts) - counts)).repeat(counts)
        return row, self._numbers[k] - first[row], self._w[k]

    def _rows(self, first: IntArray, width: int) -> FloatArray:
        """[n, width]: the weights with numbers first[k] .. first[k] + width - 1, zeros included."""
        rows = np.zeros((len(first), width))
        row, cell, weight = self._cells(first, width)
        rows[row, cell] = weight
        return rows
