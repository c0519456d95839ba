"""One sequence and its lattice of scores.

Letters: T positions, Y labels, X attributes. The start label y0 has index Y: it precedes position 0 of every sequence
and occurs nowhere else, so a previous label y' runs over 0..Y and a label y over 0..Y-1.

    score_t(y', y) = sum_{(x,v) in U_t} v mu[x,y]  +  sum_{(x,v) in B_t} v lam[x,y',y]
    P(y | x)       = exp( sum_t score_t(y_{t-1}, y_t) ) / Z
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int32]
BoolArray = NDArray[np.bool_]
AttributeList = tuple[tuple[int, float], ...]  # (attribute x, value v); an attribute may occur twice

MISSING = -1  # a label that is not known
LabelSets = tuple[tuple[int, ...], ...]  # set s is written as the label -1 - s; set 0 is empty: all labels
NEG_INF = -np.inf


class Unsatisfiable(ValueError):
    """Raised if no label sequence meets the constraints: every path has the score -inf."""


@dataclass(frozen=True)
class SequenceData:
    """The attributes, labels and weights of one sequence of T positions."""

    unigram: tuple[AttributeList, ...]  # [T] the lists U_t
    bigram: tuple[AttributeList, ...]  # [T] the lists B_t
    labels: tuple[int, ...] = ()  # [T] labels or label sets, MISSING where unknown; () means that all are missing
    weight: float = 1.0  # weight of the sequence in the objective, >= 0
    token_weight: tuple[float, ...] | None = None  # [T] weights of the tokens in the objective, >= 0; None: all 1
    label_sets: LabelSets = ((),)

    def __post_init__(self) -> None:
        if not self.labels:
            object.__setattr__(self, "labels", (MISSING,) * len(self.unigram))
        lengths = {len(self.unigram), len(self.bigram), len(self.labels)}
        if self.token_weight is not None:
            lengths.add(len(self.token_weight))
        if len(lengths) != 1 or 0 in lengths:
            raise ValueError(f"expected equal lengths of at least 1, found {sorted(lengths)}")

    def __len__(self) -> int:
        return len(self.unigram)

    @property
    def is_labelled(self) -> bool:
        """Whether every label is known."""
        return min(self.labels) >= 0


def permits(label: int, label_sets: LabelSets, y: IntArray) -> BoolArray:
    """Which labels y a label, or label set, permits."""
    among = (label,) if label >= 0 else label_sets[-1 - label]
    return np.isin(y, among) if among else np.ones(y.shape, dtype=bool)


def merged(attributes: AttributeList) -> dict[int, float]:
    """The list with the values of repeated attributes added up: {x: sum of the values of x}."""
    values: dict[int, float] = {}
    for x, v in attributes:
        values[x] = values.get(x, 0.0) + v
    return values


def unigram_scores(sequence: SequenceData, mu: FloatArray) -> FloatArray:
    """u[t,y] = sum_{(x,v) in U_t} v mu[x,y], for mu[X,Y]; returns [T,Y]."""
    u = np.zeros((len(sequence), mu.shape[1]))
    for t, attributes in enumerate(sequence.unigram):
        for x, v in attributes:
            u[t] += v * mu[x]
    return u


def bigram_scores(sequence: SequenceData, lam: FloatArray) -> FloatArray:
    """l[t,y',y] = sum_{(x,v) in B_t} v lam[x,y',y], for lam[X,Y+1,Y]; returns [T,Y+1,Y].

    Pairs that cannot occur keep whatever lam says: `potentials` is where they become -inf.
    """
    scores = np.zeros((len(sequence), lam.shape[1], lam.shape[2]))
    for t, attributes in enumerate(sequence.bigram):
        for x, v in attributes:
            scores[t] += v * lam[x]
    return scores


def constraint_scores(
    n_positions: int,
    n_labels: int,
    allowed: BoolArray | None = None,
    forbidden: BoolArray | None = None,
    fixed: IntArray | None = None,
    label_sets: LabelSets = ((),),
) -> FloatArray:
    """0 for allowed transitions, -inf for the others; [T,Y+1,Y].

    allowed [T,Y]: the labels that a position may have. forbidden [Y+1,Y]: pairs (y', y) that may not
    follow each other, row Y for the start. fixed [T]: the one label of a position, or its label set, MISSING where it
    is free. Always: the start label comes before position 0 and only there.
    """
    mask = np.zeros((n_positions, n_labels + 1, n_labels))
    mask[0, :n_labels] = NEG_INF
    mask[1:, n_labels] = NEG_INF
    if forbidden is not None:
        mask[:, forbidden] = NEG_INF
    for t in range(n_positions):
        if allowed is not None:
            mask[t][:, ~allowed[t]] = NEG_INF
        if fixed is not None:
            mask[t][:, ~permits(int(fixed[t]), label_sets, np.arange(n_labels))] = NEG_INF
    return mask


def potentials(
    sequence: SequenceData,
    mu: FloatArray,
    lam: FloatArray,
    allowed: BoolArray | None = None,
    forbidden: BoolArray | None = None,
    fixed: IntArray | None = None,
) -> FloatArray:
    """psi[t,y',y] = score_t(y', y), and -inf for transitions that cannot occur or are forbidden; [T,Y+1,Y]."""
    scores = unigram_scores(sequence, mu)[:, None, :] + bigram_scores(sequence, lam)
    return scores + constraint_scores(len(sequence), mu.shape[1], allowed, forbidden, fixed, sequence.label_sets)


def path_score(psi: FloatArray, path: IntArray) -> float:
    """sum_t psi[t, y_{t-1}, y_t] for the labels path[T]."""
    previous = np.concatenate(([psi.shape[2]], path[:-1]))
    return float(psi[np.arange(len(psi)), previous, path].sum())


def log_sum_exp(a: FloatArray, axis: int) -> FloatArray:
    """log sum exp(a) along an axis; -inf if all terms of the sum are zero."""
    top = a.max(axis=axis, keepdims=True)
    top = np.where(top == NEG_INF, 0.0, top)
    with np.errstate(divide="ignore"):
        result: FloatArray = np.log(np.exp(a - top).sum(axis=axis)) + np.squeeze(top, axis=axis)
    return result
