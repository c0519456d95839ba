"""Label n-grams of any length: a score theta_t(g) wherever the labels that end at position t end in the string g.

    score(y) = sum_t psi[t, y_{t-1}, y_t] + sum_t sum of theta_t(g) over the strings g that y_0 .. y_t end in

psi is the lattice of labels and pairs; theta[t] maps strings of at least three labels to scores. A string that begins
with the start label Y is a whole prefix. Going from the last position to the first,

    arcs_t = strings of theta_t  u  {q in Q_{t+1} of at least three labels}       strings that end at t
    Q_t    = all labels  u  {c : c a in arcs_t}                                  histories that end at t - 1

and a history is identified by the longest of its suffixes in Q_t. Two recursions over these sets:
`ngram_forward_backward` has a state for each longest suffix, in the log domain: plain, slow, right for any scores.
`ngram_recursion` is what the core does: masses of *all* prefixes that end in a string, and one or two terms for each
arc, whatever the number of labels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from .enumeration import Paths, all_paths
from .lattice import NEG_INF, BoolArray, FloatArray, Unsatisfiable

Labels: TypeAlias = tuple[int, ...]
Scores: TypeAlias = Sequence[Mapping[Labels, float]]  # [T] theta_t
Among: TypeAlias = Callable[[Labels], bool]


@dataclass(frozen=True)
class NgramPosterior:
    """log Z, and the probabilities of the strings that end at each position."""

    log_z: float
    node: FloatArray  # [T,Y] p_t(y)
    edge: FloatArray  # [T,Y+1,Y] p_t(y', y)
    string: tuple[dict[Labels, float], ...]  # [T] of every arc


def enumerate_paths(psi: FloatArray, theta: Scores) -> Paths:
    """All Y^T label sequences with their scores, n-grams included."""
    paths = all_paths(psi)
    score = paths.score.copy()
    for t, strings in enumerate(theta):
        for labels, value in strings.items():
            score[ends_in(paths, psi.shape[2], t, labels)] += value
    return Paths(paths.labels, score)


def ends_in(paths: Paths, n_labels: int, t: int, labels: Labels) -> BoolArray:
    """[Y^T] which paths end in these labels at position t."""
    begun = np.concatenate([np.full((len(paths.labels), 1), n_labels), paths.labels], axis=1)  # the start label first
    first = t + 2 - len(labels)
    if first < 0:
        return np.zeros(len(begun), dtype=np.bool_)
    found: BoolArray = (begun[:, first : t + 2] == labels).all(axis=1)
    return found


def string_sets(theta: Scores, n_labels: int) -> tuple[list[set[Labels]], list[set[Labels]]]:
    """arcs[t], t < T, and Q[t], t <= T; the start label is one of the single labels of Q."""
    singles: set[Labels] = {(y,) for y in range(n_labels + 1)}
    arcs: list[set[Labels]] = [set() for _ in theta]
    histories: list[set[Labels]] = [set() for _ in theta] + [set(singles)]
    for t in reversed(range(len(theta))):
        fitting = {g for g in theta[t] if _fits(g, t, n_labels)}
        arcs[t] = fitting | {q for q in histories[t + 1] if len(q) > 2}
        histories[t] = singles | {g[:-1] for g in arcs[t]}
    return arcs, histories


def _fits(labels: Labels, t: int, n_labels: int) -> bool:
    """Whether a string can end at position t: a whole prefix after the start, or at most t + 1 labels."""
    return len(labels) == t + 2 if labels[0] == n_labels else len(labels) <= t + 1


def longest_suffix(labels: Labels, among: Among) -> Labels:
    """The longest proper suffix that is `among` the given strings; empty if there is none."""
    return next((labels[k:] for k in range(1, len(labels)) if among(labels[k:])), ())


def ngram_recursion(
    psi: FloatArray, theta: Scores, parent: Callable[[Labels, Among], Labels] = longest_suffix
) -> NgramPosterior:
    """In the linear domain, by masses of all prefixes that end in a string. With X(c a) = exp(sum of theta_t over the
    suffixes of c a), par the longest proper suffix of an arc that is an arc, or else its last pair with X = 1, and
    E = exp(psi), for every arc, longest first,

        D(c a)  = A(c) ( X(c a) - X(par) ) + sum of D over arcs whose par is c a
        A'(s a) = E(y', a) ( A(s) X(s a) + sum of D over arcs whose par is s a )        s ends in y'

    and backward with V(c a) = X(c a) B'(longest suffix of c a in Q_{t+1}), shortest histories first,

        B(c)    = B(longest proper suffix of c in Q_t) + sum over arcs c a of E(y', a) ( V(c a) - V(par) )
        p(c a)  = E(y', a) ( A(c) V(c a) + R(c a) ),   R(g) = sum over arcs d with par g of A (V(d) - V(g)) + R(d)
    """
    T, _, Y = psi.shape
    arcs, Q = string_sets(theta, Y)
    E = np.exp(psi)
    masses: list[dict[Labels, float]] = [{(y,): float(y == Y) for y in range(Y + 1)}]
    factors: list[dict[Labels, float]] = []
    parents: list[dict[Labels, Labels]] = []
    scales: list[float] = []
    for t in range(T):
        A = masses[t]
        X: dict[Labels, float] = {(i, a): 1.0 for i in range(Y + 1) for a in range(Y)}
        par = {g: parent(g, (arcs[t] | X.keys()).__contains__) for g in arcs[t]}
        for g in sorted(arcs[t], key=len):
            X[g] = X[par[g]] * math.exp(theta[t].get(g, 0.0))
        below = dict.fromkeys(X, 0.0)  # sum of D over children
        for g in sorted(arcs[t], key=len, reverse=True):
            below[par[g]] += A.get(g[:-1], 0.0) * (X[g] - X[par[g]]) + below[g]
        new: dict[Labels, float] = {(y,): 0.0 for y in range(Y + 1)}
        for i in range(Y + 1):
            for a in range(Y):
                new[(a,)] += E[t, i, a] * (A[(i,)] + below[(i, a)])
        for q in Q[t + 1]:
            if len(q) > 1:
                new[q] = E[t, q[-2], q[-1]] * (A.get(q[:-1], 0.0) * X[q] + below[q])
        scale = sum(new[(y,)] for y in range(Y))
        if not 0.0 < scale < np.inf:
            raise Unsatisfiable(f"no mass within the range of exp at position {t}")
        masses.append({q: mass / scale for q, mass in new.items()})
        factors.append(X)
        parents.append(par)
        scales.append(scale)
    node, edge = np.zeros((T, Y)), np.zeros((T, Y + 1, Y))
    strings: list[dict[Labels, float]] = [{} for _ in range(T)]
    B = dict.fromkeys(Q[T], 1.0)
    for t in reversed(range(T)):
        A, X, par = masses[t], factors[t], parents[t]
        V = {g: X[g] * B[g if g in Q[t + 1] else longest_suffix(g, Q[t + 1].__contains__)] / scales[t] for g in X}
        R = dict.fromkeys(X, 0.0)
        before = dict.fromkeys(Q[t], 0.0)
        for g in sorted(arcs[t], key=len, reverse=True):
            mass, e = A.get(g[:-1], 0.0), E[t, g[-2], g[-1]]
            strings[t][g] = e * (mass * V[g] + R[g])
            R[par[g]] += mass * (V[g] - V[par[g]]) + R[g]
            before[g[:-1]] += e * (V[g] - V[par[g]])
        for i in range(Y + 1):
            for a in range(Y):
                edge[t, i, a] = E[t, i, a] * (A[(i,)] * V[(i, a)] + R[(i, a)])
                before[(i,)] += E[t, i, a] * V[(i, a)]
        node[t] = edge[t].sum(axis=0)
        for c in sorted(Q[t], key=len):
            if len(c) > 1:
                before[c] += before[longest_suffix(c, Q[t].__contains__)]
        B = before
    return NgramPosterior(float(np.log(scales).sum()), node, edge, tuple(strings))


def ngram_forward_backward(psi: FloatArray, theta: Scores) -> NgramPosterior:
    """In the log domain, over states r, each the longest suffix in Q_t of the histories that it represents:

    score(r, a) = psi(y', a) + sum of theta_t over the suffixes of r a,    r a -> longest suffix of r a in Q_{t+1}
    """
    T, _, Y = psi.shape
    arcs, Q = string_sets(theta, Y)
    a: list[dict[Labels, float]] = [{(Y,): 0.0}]
    steps: list[list[tuple[Labels, Labels, Labels, float]]] = []  # r, r a, its state, score
    for t in range(T):
        moves = []
        for r in a[t]:
            for label in range(Y):
                g = (*r, label)
                score = float(psi[t, r[-1], label]) + sum(theta[t].get(g[k:], 0.0) for k in range(len(g) - 2))
                moves.append((r, g, g if g in Q[t + 1] else longest_suffix(g, Q[t + 1].__contains__), score))
        steps.append(moves)
        a.append(_log_sums((target, a[t][r] + score) for r, _, target, score in moves))
    log_z = float(np.logaddexp.reduce(list(a[T].values())))
    if log_z == NEG_INF:
        raise Unsatisfiable("no path is possible")
    node, edge = np.zeros((T, Y)), np.zeros((T, Y + 1, Y))
    strings: list[dict[Labels, float]] = [dict.fromkeys(of, 0.0) for of in arcs]
    b = dict.fromkeys(a[T], 0.0)
    for t in reversed(range(T)):
        for r, g, target, score in steps[t]:
            p = math.exp(a[t][r] + score + b[target] - log_z)
            node[t, g[-1]] += p
            edge[t, g[-2], g[-1]] += p
            for k in range(len(g) - 2):
                if g[k:] in strings[t]:
                    strings[t][g[k:]] += p
        b = _log_sums((r, score + b[target]) for r, _, target, score in steps[t])
    return NgramPosterior(log_z, node, edge, tuple(strings))


def ngram_viterbi(psi: FloatArray, theta: Scores) -> tuple[list[int], float]:
    """The best labels and their score, over the states of `ngram_forward_backward`."""
    T, _, Y = psi.shape
    _, Q = string_sets(theta, Y)
    best: dict[Labels, tuple[float, Labels]] = {(Y,): (0.0, ())}
    for t in range(T):
        new: dict[Labels, tuple[float, Labels]] = {}
        for r, (value, path) in best.items():
            for label in range(Y):
                g = (*r, label)
                score = value + float(psi[t, r[-1], label])
                score += sum(theta[t].get(g[k:], 0.0) for k in range(len(g) - 2))
                target = g if g in Q[t + 1] else longest_suffix(g, Q[t + 1].__contains__)
                if target not in new or score > new[target][0]:
                    new[target] = score, (*path, label)
        best = new
    score, path = max(best.values(), key=lambda found: found[0])
    return list(path), score


def _log_sums(terms: Iterable[tuple[Labels, float]]) -> dict[Labels, float]:
    """log sum of exp by key."""
    by_key: dict[Labels, list[float]] = {}
    for key, value in terms:
        by_key.setdefault(key, []).append(value)
    return {key: float(np.logaddexp.reduce(values)) for key, values in by_key.items()}
