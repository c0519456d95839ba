"""Computes every quantity from all Y^T label sequences, for comparison with the recursions.

Nothing here is recursive, and only the lattice psi[T,Y+1,Y] itself is shared with the recursions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .lattice import (
    MISSING,
    NEG_INF,
    BoolArray,
    FloatArray,
    IntArray,
    LabelSets,
    SequenceData,
    Unsatisfiable,
    log_sum_exp,
    merged,
    permits,
    potentials,
)


@dataclass(frozen=True)
class Paths:
    """All label sequences of a lattice, ordered by their last label, then by the one before it, and so on.

    That is the order in which paths of equal score are preferred.
    """

    labels: IntArray  # [Y^T, T]
    score: FloatArray  # [Y^T]

    @property
    def log_z(self) -> float:
        """log Z = log sum_y exp score(y); -inf if every path is excluded."""
        return float(log_sum_exp(self.score, axis=0))

    @property
    def probability(self) -> FloatArray:
        """P(y) = exp(score(y) - log Z), of every path; [Y^T]."""
        if self.log_z == NEG_INF:
            raise Unsatisfiable("every path has score -inf")
        weight = np.exp(self.score - self.score.max())
        p: FloatArray = weight / weight.sum()
        return p

    def agreeing(self, labels: IntArray, label_sets: LabelSets = ((),)) -> BoolArray:
        """Which paths have these labels [T], or one label of each set; [Y^T]."""
        agree = [permits(int(label), label_sets, self.labels[:, t]) for t, label in enumerate(labels)]
        return np.logical_and.reduce(agree)

    def restricted(self, keep: BoolArray) -> Paths:
        """The same paths, with score -inf for those outside keep[Y^T]."""
        return Paths(self.labels, np.where(keep, self.score, NEG_INF))


def all_paths(psi: FloatArray) -> Paths:
    """score(y) = sum_t psi[t, y_{t-1}, y_t] for every y in Y^T, y_{-1} = the start label."""
    n_positions, _, n_labels = psi.shape
    labels = np.indices((n_labels,) * n_positions).reshape(n_positions, -1).T[:, ::-1].astype(np.int32)
    score = psi[0, n_labels, labels[:, 0]]
    for t in range(1, n_positions):
        score = score + psi[t, labels[:, t - 1], labels[:, t]]
    return Paths(labels, score)


def log_partition(psi: FloatArray) -> float:
    """log Z."""
    return all_paths(psi).log_z


def log_prob(psi: FloatArray, labels: IntArray, label_sets: LabelSets = ((),)) -> float:
    """log P(known labels), summed over labels that are MISSING or one of a set."""
    paths = all_paths(psi)
    return paths.restricted(paths.agreeing(labels, label_sets)).log_z - paths.log_z


def span_log_prob(psi: FloatArray, start: int, labels: IntArray) -> float:
    """log P(y_start.. = labels)."""
    wanted = np.full(len(psi), MISSING, dtype=np.int32)
    wanted[start : start + len(labels)] = labels
    return log_prob(psi, wanted)


def node_marginals(psi: FloatArray) -> FloatArray:
    """p_t(y) = sum of P over the paths with y_t = y; [T,Y]."""
    paths = all_paths(psi)
    return _node_sums(paths, psi.shape[2])


def edge_marginals(psi: FloatArray) -> FloatArray:
    """p_t(y', y) = sum of P over the paths with y_{t-1} = y' and y_t = y; [T,Y+1,Y]."""
    return _edge_sums(all_paths(psi), psi.shape[2])


def n_best(psi: FloatArray, k: int) -> tuple[IntArray, FloatArray]:
    """The k paths with the highest finite scores, best first; labels [k',T] and scores [k'], k' <= k."""
    paths = all_paths(psi)
    order = np.argsort(-paths.score, kind="stable")
    order = order[np.isfinite(paths.score[order])][:k]
    return paths.labels[order], paths.score[order]


def expected_features(
    sequence: SequenceData, paths: Paths, mu: FloatArray, lam: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """E F = sum_y P(y) F(x, y), where F counts v for every feature that fires; shaped like mu and lam."""
    node, edge = _node_sums(paths, mu.shape[1]), _edge_sums(paths, mu.shape[1])
    mean_mu, mean_lam = np.zeros_like(mu), np.zeros_like(lam)
    for t in range(len(sequence)):
        for x, v in sequence.unigram[t]:
            mean_mu[x] += v * node[t]
        for x, v in sequence.bigram[t]:
            mean_lam[x] += v * edge[t]
    return mean_mu, mean_lam


def loss_gradient(sequence: SequenceData, mu: FloatArray, lam: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """The loss of one sequence and its gradient in mu and lam, layer by layer of token weights.

        loss = w sum_j (s_j - s_{j-1}) { log Z(y_t fixed where w_t < s_j) - log Z(all known y_t fixed) }

    with 0 = s_0 < s_1 < ... the distinct positive token weights (without any: one layer, s_1 = 1).
    """
    paths = all_paths(potentials(sequence, mu, lam))
    labels = np.array(sequence.labels, dtype=np.int32)
    token_weight = np.ones(len(sequence)) if sequence.token_weight is None else np.array(sequence.token_weight)
    numerator = paths.restricted(paths.agreeing(labels, sequence.label_sets))
    observed_mu, observed_lam = expected_features(sequence, numerator, mu, lam)
    loss, g_mu, g_lam = 0.0, np.zeros_like(mu), np.zeros_like(lam)
    below = 0.0
    for threshold in np.unique(token_weight[token_weight > 0]):
        given = np.where(token_weight < threshold, labels, MISSING).astype(np.int32)
        denominator = paths.restricted(paths.agreeing(given, sequence.label_sets))
        mean_mu, mean_lam = expected_features(sequence, denominator, mu, lam)
        step = sequence.weight * float(threshold - below)
        loss += step * (denominator.log_z - numerator.log_z)
        g_mu += step * (mean_mu - observed_mu)
        g_lam += step * (mean_lam - observed_lam)
        below = float(threshold)
    return loss, g_mu, g_lam


def feature_variances(sequence: SequenceData, mu: FloatArray, lam: FloatArray) -> tuple[FloatArray, FloatArray]:
    """sum_t Var f_k(y_{t-1}, y_t, x_t) under P, the paper's eq. 2ndorder_approx; shaped like mu and lam."""
    paths = all_paths(potentials(sequence, mu, lam))
    n_labels, p = mu.shape[1], paths.probability
    var_mu, var_lam = np.zeros_like(mu), np.zeros_like(lam)
    for t in range(len(sequence)):
        now = paths.labels[:, t]
        before = paths.labels[:, t - 1] if t else np.full_like(now, n_labels)
        for y in range(n_labels):
            for x, v in merged(sequence.unigram[t]).items():
                var_mu[x, y] += _variance(p, v * (now == y))
            for before_y in range(n_labels + 1):
                for x, v in merged(sequence.bigram[t]).items():
                    var_lam[x, before_y, y] += _variance(p, v * ((before == before_y) & (now == y)))
    return var_mu, var_lam


def _variance(p: FloatArray, f: FloatArray) -> float:
    """E (f - E f)^2 for the values f[Y^T] with probabilities p[Y^T]."""
    return float(p @ (f - p @ f) ** 2)


def _node_sums(paths: Paths, n_labels: int) -> FloatArray:
    p = paths.probability
    node = np.zeros((paths.labels.shape[1], n_labels))
    for t in range(len(node)):
        np.add.at(node[t], paths.labels[:, t], p)
    return node


def _edge_sums(paths: Paths, n_labels: int) -> FloatArray:
    p = paths.probability
    edge = np.zeros((paths.labels.shape[1], n_labels + 1, n_labels))
    np.add.at(edge[0, n_labels], paths.labels[:, 0], p)
    for t in range(1, len(edge)):
        np.add.at(edge[t], (paths.labels[:, t - 1], paths.labels[:, t]), p)
    return edge
