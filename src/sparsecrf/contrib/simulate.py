"""Sequences from a hidden Markov model, and the CRF that is exactly its posterior.

`paper_hmm()` is the simulated task of the paper, section 6.1: the best possible error is known exactly.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import InputError
from sparsecrf.encoding.vocabulary import BIAS
from sparsecrf.model import Model

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HMM:
    """P(x, y) = initial[y_1] emission[y_1, x_1] prod_t transition[y_{t-1}, y_t] emission[y_t, x_t]."""

    labels: tuple[str, ...]  #: [Y]
    symbols: tuple[str, ...]  #: [X]
    initial: FloatArray  #: [Y]
    transition: FloatArray  #: [Y, Y], rows sum to one
    emission: FloatArray  #: [Y, X], rows sum to one
    length: int  #: T, the length of every sequence

    def __post_init__(self) -> None:
        Y, X = len(self.labels), len(self.symbols)
        if self.length < 1:
            raise InputError(f"length: expected at least 1, found {self.length}")
        for name, shape in {"initial": (Y,), "transition": (Y, Y), "emission": (Y, X)}.items():
            p = np.array(getattr(self, name), dtype=np.float64)
            if p.shape != shape:
                raise InputError(f"{name}: expected shape {shape}, found {p.shape}")
            if not (np.all(p >= 0.0) and np.allclose(p.sum(axis=-1), 1.0)):
                raise InputError(f"{name}: expected probabilities that sum to one, found {p.tolist()}")
            p.setflags(write=False)
            object.__setattr__(self, name, p)

    def sample(self, n: int, rng: np.random.Generator) -> tuple[list[list[str]], list[list[str]]]:
        """Draw n sequences: their symbols and their labels, in the form that `Model` and `Vocabulary` accept."""
        y = np.empty((n, self.length), dtype=np.intp)
        x = np.empty_like(y)
        for t in range(self.length):
            p = np.broadcast_to(self.initial, (n, len(self.labels))) if t == 0 else self.transition[y[:, t - 1]]
            y[:, t] = _draw(p, rng)
            x[:, t] = _draw(self.emission[y[:, t]], rng)
        return _named(x, self.symbols), _named(y, self.labels)

    def bayes_error(self) -> float:
        """The smallest token error that any labelling rule can have: 1 - mean_t E max_y P(y_t = y | x), exactly.

        The sum runs over all X^T sequences of symbols: P(x, y_t = y) = alpha_t(y) beta_t(y), with one row of
        alpha_t for every x_1..x_t and one row of beta_t for every x_{t+1}..x_T.
        """
        Y = len(self.labels)
        alpha = [(self.initial[:, None] * self.emission).T]
        beta = [np.ones((1, Y))]
        for _ in range(1, self.length):
            alpha.append(np.einsum("py,yz,zx->pxz", alpha[-1], self.transition, self.emission).reshape(-1, Y))
            beta.append(np.einsum("yz,zx,sz->xsy", self.transition, self.emission, beta[-1]).reshape(-1, Y))
        right = [
            sum(float((row * after).max(axis=1).sum()) for row in before)
            for before, after in zip(alpha, reversed(beta), strict=True)
        ]
        return 1.0 - sum(right) / self.length

    def as_model(self) -> Model:
        """The CRF with P(y | x) = P(x, y) / P(x), whose weights are logarithms of probabilities.

        A constant added to all weights that compete at a position cancels in the posterior. It is chosen so that as
        many weights as possible are zero.
        """
        if not all(np.all(p > 0.0) for p in (self.initial, self.transition, self.emission)):
            raise InputError("expected positive probabilities (their logarithm is used), found 0")
        mu = {
            (x, y): w
            for x, column in zip(self.symbols, np.log(self.emission).T, strict=True)
            for y, w in zip(self.labels, _relative(column), strict=True)
        }
        pairs = product(self.labels, repeat=2)
        lam: dict[tuple[str, str | None, str], float] = {
            (BIAS, previous, y): w for (previous, y), w in zip(pairs, _relative(np.log(self.transition)), strict=True)
        }
        first = zip(self.labels, _relative(np.log(self.initial)), strict=True)
        lam |= {(BIAS, None, y): w for y, w in first}
        return Model.from_weights(
            self.labels,
            {key: w for key, w in mu.items() if w != 0.0},
            {key: w for key, w in lam.items() if w != 0.0},
            bigrams="bias",
        )


def paper_hmm() -> HMM:
    """The paper's HMM: 6 labels, 5 symbols, sequences of 5, Bayes error 15.4 %.

    The paper describes the HMM in words, which leaves little choice:

    - Transitions are uniform except for two label pairs. Rows sum to one, so both pairs are in the same row: one
    exceeds 1/6 by as much as the other falls short of 1/6.
    - There are six dominant emissions and five symbols, so two labels share a symbol. These are the "very ambiguous"
    labels, which only that one row of transitions distinguishes.

    This leaves two numbers and one equation, bayes_error() = 0.154. We chose 0.3 for the likelier pair (0.28 to 0.33
    would also work, with dominant emissions of 0.997 to 0.989). The root is then 0.99399; 0.994 gives 15.400 %.
    """
    labels, symbols = tuple("ABCDEF"), tuple("abcde")
    dominant, likely = 0.994, 0.3
    transition = np.full((6, 6), 1 / 6)
    transition[0, 4:] = likely, 1 / 3 - likely
    emission = np.full((6, 5), (1.0 - dominant) / 4)
    emission[np.arange(6), [0, 1, 2, 3, 4, 4]] = dominant
    return HMM(labels, symbols, np.full(6, 1 / 6), transition, emission, length=5)


def _draw(p: FloatArray, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw one outcome for every row of p[n, K]; rounding of the last cumulative sum cannot yield an outcome beyond K -
    1."""
    beyond = rng.random((len(p), 1)) >= np.cumsum(p, axis=1)
    drawn: NDArray[np.intp] = np.minimum(beyond.sum(axis=1), p.shape[1] - 1)
    return drawn


def _named(ids: NDArray[np.intp], names: tuple[str, ...]) -> list[list[str]]:
    return [[names[k] for k in row] for row in ids.tolist()]


def _relative(logs: FloatArray) -> list[float]:
    """The logarithms minus the most frequent logarithm, row by row in one list."""
    values = logs.ravel().tolist()
    usual = Counter(values).most_common(1)[0][0]
    return [value - usual for value in values]
