"""Small problems that are stated once and given to both sides: the core and the NumPy reference.

Letters as everywhere: N sequences, P positions in all, T of one sequence, Y labels, X attributes, K features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import reference
from reference import SequenceData
from sparsecrf import BIAS, Model


@dataclass(frozen=True)
class Limits:
    """Constraints on the label sequences of a problem."""

    allowed: Any = None  # bool[P,Y]
    forbidden: Any = None  # bool[Y+1,Y]
    fixed: Any = None  # int32[P], -1 where free


@dataclass(frozen=True)
class Problem:
    """Sequences, dense weights, and constraints that at least one path of every sequence meets."""

    sequences: tuple[SequenceData, ...]  # [N]
    mu: Any  # float64[X,Y]
    lam: Any  # float64[X,Y+1,Y]
    limits: Limits = Limits()

    @property
    def n_labels(self) -> int:
        return self.mu.shape[1]

    @property
    def offsets(self):
        """int64[N+1]: sequence i has the positions offsets[i] .. offsets[i+1] - 1."""
        return np.cumsum([0, *map(len, self.sequences)])

    @property
    def labels(self):
        """int32[P], -1 where missing, below that for label sets."""
        return np.concatenate([s.labels for s in self.sequences]).astype(np.int32)

    @property
    def w(self):
        """float64[K]: the weights of all features, mu then lam, in canonical order."""
        return np.concatenate([self.mu.ravel(), self.lam.ravel()])

    # The reference's side.

    def psi(self, i: int, limited: bool = True):
        """The lattice float64[T,Y+1,Y] of sequence i."""
        start, end = self.offsets[i], self.offsets[i + 1]
        limits = self.limits if limited else Limits()
        return reference.potentials(
            self.sequences[i],
            self.mu,
            self.lam,
            allowed=None if limits.allowed is None else limits.allowed[start:end],
            forbidden=limits.forbidden,
            fixed=None if limits.fixed is None else limits.fixed[start:end],
        )

    def own_labels(self, i: int):
        """int32[T]: the labels of sequence i."""
        return np.array(self.sequences[i].labels, dtype=np.int32)

    # The core's side.

    def corpus_arrays(self) -> dict[str, Any]:
        """The keyword arguments of Corpus.from_arrays."""
        token_weight = None
        if any(s.token_weight is not None for s in self.sequences):
            token_weight = np.concatenate([s.token_weight or (1.0,) * len(s) for s in self.sequences])
        sets = self.sequences[0].label_sets  # those of all
        given = {"label_set_ptr": np.cumsum([0, *map(len, sets)]), "label_set_id": np.array(sum(sets, ()), np.int32)}
        return {
            **(given if len(sets) > 1 else {}),
            "n_labels": self.n_labels,
            "n_attributes": len(self.mu),
            "lengths": np.array([len(s) for s in self.sequences], dtype=np.int64),
            **_csr("unigram", [attributes for s in self.sequences for attributes in s.unigram]),
            **_csr("bigram", [attributes for s in self.sequences for attributes in s.bigram]),
            "labels": self.labels,
            "sequence_weight": np.array([s.weight for s in self.sequences]),
            "token_weight": token_weight,
        }

    def corpus(self):
        from sparsecrf import _core

        return _core.Corpus.from_arrays(**self.corpus_arrays())

    def features(self, keep: Any = None):
        """The FeatureSet of the features with keep[K] true; all of them by default."""
        from sparsecrf import _core

        keep = np.ones(self.w.size, dtype=bool) if keep is None else keep
        unigram = np.nonzero(keep[: self.mu.size].reshape(self.mu.shape))
        bigram = np.nonzero(keep[self.mu.size :].reshape(self.lam.shape))
        columns = [a.astype(np.int32) for a in (*unigram, *bigram)]
        return _core.FeatureSet(self.n_labels, len(self.mu), *columns)

    def chain(self, kernel: str = "auto", threads: int = 1):
        """A Chain that knows the non-zero weights only."""
        from sparsecrf import _core

        active = self.w != 0.0
        return _core.Chain(self.features(active), self.w[active], kernel=kernel, threads=threads)

    def constraints(self):
        """Constraints, or None where the problem has none."""
        from sparsecrf import _core

        limits = self.limits
        if limits.allowed is None and limits.forbidden is None and limits.fixed is None:
            return None
        return _core.Constraints(self.n_labels, allowed=limits.allowed, forbidden=limits.forbidden, fixed=limits.fixed)


def _csr(name: str, lists: list[Any]) -> dict[str, Any]:
    pairs = [pair for attributes in lists for pair in attributes]
    return {
        f"{name}_ptr": np.cumsum([0, *map(len, lists)]).astype(np.int64),
        f"{name}_id": np.array([x for x, _ in pairs], dtype=np.int32),
        f"{name}_value": np.array([v for _, v in pairs], dtype=np.float64),
    }


# Making them. The name of a kind of weights says what makes it difficult.
WEIGHT_KINDS = ("moderate", "integer", "thousand", "single")


def make_problem(
    seed: int,
    n_labels: int,
    lengths: list[int],
    n_attributes: int,
    list_size: int = 2,
    density: float = 0.3,
    weights: str = "moderate",
    real_values: bool = False,
    missing: float = 0.0,
    sequence_weights: bool = False,
    token_weights: bool = False,
    label_sets: float = 0.0,
) -> Problem:
    """A random problem; lists have 0 to list_size attributes, repeats included."""
    rng = np.random.default_rng(seed)
    values = _values(weights, real_values)

    def attribute_lists(n_positions: int):
        return tuple(
            tuple((int(x), values(rng)) for x in rng.integers(0, n_attributes, rng.integers(0, list_size + 1)))
            for _ in range(n_positions)
        )

    sequences, sets = [], make_label_sets(seed, n_labels) if label_sets else ((),)
    for n_positions in lengths:
        labels = rng.integers(0, n_labels, n_positions)
        labels[rng.random(n_positions) < missing] = reference.MISSING
        if len(sets) > 1:
            chosen = rng.random(n_positions) < label_sets
            labels[chosen] = -1 - rng.integers(1, len(sets), chosen.sum())
        sequences.append(
            SequenceData(
                unigram=attribute_lists(n_positions),
                bigram=attribute_lists(n_positions),
                labels=tuple(int(y) for y in labels),
                weight=float(rng.choice([0.0, 0.5, 1.0, 3.0])) if sequence_weights else 1.0,
                token_weight=tuple(map(float, rng.choice([0.0, 0.3, 1.0, 2.5], n_positions)))
                if token_weights
                else None,
                label_sets=sets,
            )
        )
    mu, lam = make_weights(rng, n_labels, n_attributes, density, weights)
    return Problem(tuple(sequences), mu, lam)


def make_label_sets(seed: int, n_labels: int) -> tuple[tuple[int, ...], ...]:
    """All labels, as an empty set, and up to five sets of two labels or more, in a random order."""
    rng = np.random.default_rng([seed, 1])
    sizes = rng.integers(2, n_labels + 1, 5) if n_labels > 1 else []
    made = (tuple(sorted(rng.choice(n_labels, size, replace=False).tolist())) for size in sizes)
    return ((), *dict.fromkeys(made))


def _values(weights: str, real_values: bool):
    if not real_values:
        return lambda rng: 1.0
    if weights == "moderate":
        return lambda rng: float(rng.normal())
    # Multiples of 1/2: products with large weights are exact, so that a tolerance of 1e-10 is possible; and integers
    # where ties are wanted.
    choices = [-1.0, 1.0, 2.0] if weights == "integer" else [-1.0, 0.5, 1.0, 2.0]
    return lambda rng: float(rng.choice(choices))


def make_weights(rng, n_labels: int, n_attributes: int, density: float, kind: str):
    """mu[X,Y] and lam[X,Y+1,Y], a share `density` of lam non-zero."""
    mu = rng.normal(size=(n_attributes, n_labels)) * 1.5
    lam = rng.normal(size=(n_attributes, n_labels + 1, n_labels)) * 1.5
    if kind == "integer":
        mu, lam = (
            np.sign(np.round(mu)),
            np.sign(np.round(lam)),
        )  # -1, 0, 1: few enough values for most scores to tie
    elif kind == "thousand":
        for array in (mu, lam):
            extreme = rng.random(array.shape) < 0.3
            array[extreme] = rng.choice([-1000.0, 1000.0], extreme.sum())
    lam[rng.random(lam.shape) >= density] = 0.0
    if kind == "single":
        for array in (mu, lam):
            array.flat[rng.integers(array.size)] = rng.choice([-1000.0, 1000.0])
    return mu, lam


def make_limits(seed: int, problem: Problem, allowed: bool, forbidden: bool, fixed: bool) -> Limits:
    """Random constraints of the kinds asked for, which one random path of every sequence meets."""
    rng = np.random.default_rng(seed)
    n_labels, n_positions = problem.n_labels, problem.offsets[-1]
    path = rng.integers(0, n_labels, n_positions)
    before = np.concatenate(([n_labels], path[:-1]))
    before[problem.offsets[:-1]] = n_labels
    may_stand = rng.random((n_positions, n_labels)) < 0.6
    may_stand[np.arange(n_positions), path] = True
    may_not_follow = rng.random((n_labels + 1, n_labels)) < 0.4
    may_not_follow[before, path] = False
    is_fixed = rng.random(n_positions) < 0.3
    return Limits(
        allowed=may_stand if allowed else None,
        forbidden=may_not_follow if forbidden else None,
        fixed=np.where(is_fixed, path, reference.MISSING).astype(np.int32) if fixed else None,
    )


def weather(**options) -> Model:
    """A small model with every kind of weight."""
    return Model.from_weights(
        ["sun", "rain", "fog"],
        {("dry", "sun"): 2.0, ("wet", "rain"): 3.0, ("wet", "fog"): 0.5, ("grey", "fog"): 1.0},
        {(BIAS, "rain", "rain"): 1.0, (BIAS, None, "sun"): 0.7, ("grey", "rain", "fog"): 2.0},
        **options,
    )
