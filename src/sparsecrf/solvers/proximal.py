"""`auto`: proximal quasi-Newton.

    d = argmin  g . d + d' B d / 2 + rho1 |w + d|_1 + rho2/2 |w + d|^2        (coordinate descent, in the core)
    w <- w + t d,  t = 1 unless the objective does not fall enough

B is the limited-memory BFGS matrix of the loss in its compact form (Byrd, Nocedal & Schnabel 1994),

    B = B0 - [B0 S, Y] [ S'B0 S   L  ]^-1 [ S'B0 ]        L_ij = s_i . y_j  for i > j, D_ii = s_i . y_i
                       [   L'    -D  ]    [  Y'  ]

over a B0 that knows two things about CRFs. The curvature h = sum_t p (1 - p) is far too small where a feature's
expectation E must still go a long way to its count C, so q = max(h, |E - C|) stands in its place. And mu[x, y] fires
exactly when one of lambda[x, ., y] does, so the local model of the two is q (d_mu + d_lambda)^2 / 2 with the q of the
lambda. Features that fire together add up: B0 is scaled to what the last step showed, y . D^-1 y / s . y.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import LANES, minimize_quadratic
from sparsecrf.objective import Floats, Objective, WorkingSet
from sparsecrf.solvers.pairs import Pairs
from sparsecrf.solvers.state import Arrays
from sparsecrf.solvers.working_set import Point

_RIDGE = 0.1  # added to the curvature of every feature
_SCALES = 0.3, 30.0  # how far the last step may scale B0
_EVERY_STEP, _EVERY = 8, 10  # h is computed at each of the first steps, then every few: it costs part of a pass
_FREE = 0.9  # a weight at zero may move if its |gradient| exceeds this share of rho1
_INNER_TOLERANCE = 0.1  # a tighter inner solution costs more and saves no step
_RADIUS = 1.0  # no weight moves further in one step
_SUFFICIENT = 1e-4  # share of the predicted decrease that a step must reach
_SHORTEST = 2.0**-20


class Proximal:
    """Proximal quasi-Newton steps with `memory` pairs (s, y)."""

    def __init__(self, objective: Objective, memory: int = 50) -> None:
        self.objective = objective
        self.pairs = Pairs(memory)
        self.h: Floats | None = None
        self.steps = 0

    def move(self, new: WorkingSet, old: WorkingSet) -> None:
        if self.h is not None:
            self.h = new.carry(self.h, old)
        self.pairs.move(new, old)

    def forget(self) -> None:
        self.pairs.forget()

    def state(self) -> Arrays:
        h = {} if self.h is None else {"h": self.h}
        return {"steps": np.array(self.steps), **h, **self.pairs.state()}

    def restore(self, state: Arrays) -> None:
        self.steps, self.h = int(state["steps"]), state.get("h")
        self.pairs.restore(state)

    def step(self, point: Point) -> Point:
        d = self._direction(point)
        self.steps += 1
        new = self._search(point, d)
        if new is not point:
            self.pairs.add(new.w - point.w, new.g - point.g)
        return new

    def _search(self, point: Point, d: Floats) -> Point:
        """Backtrack from t = 1 until the objective falls by a share of what g . d and the penalty promise."""
        objective = self.objective
        penalty = objective.penalty(point.w)
        promised = float(point.g @ d) + objective.penalty(point.w + d) - penalty
        if not promised < 0:
            return point
        t, h = 1.0, self.h
        while t >= _SHORTEST:
            w = point.w + t * d
            if self.steps < _EVERY_STEP or self.steps % _EVERY == 0:
                loss, g, h = objective.loss_grad_curvature(point.known, w)
            else:
                loss, g = objective.loss_grad(point.known, w)
            if loss + objective.penalty(w) <= point.loss + penalty + _SUFFICIENT * t * promised:
                self.h = h
                return Point(point.known, w, loss, g)
            t /= 2
        return point

    def _direction(self, point: Point) -> Floats:
        known, s, y = point.known, self.pairs.s, self.pairs.y
        expected = point.g + known.counts
        # A feature that is new to the working set has no h yet: E bounds it.
        h = expected if self.h is None else np.where(self.h > 0, self.h, expected)
        coupling = np.maximum(np.abs(h), np.abs(point.g))
        parent = _unigram_of_each(known)
        child = np.flatnonzero(parent >= 0)
        shared = np.bincount(parent[child], weights=coupling[child], minlength=known.size)
        diagonal = np.maximum(coupling, shared) + _RIDGE
        if len(s):
            scale = float(y[-1] @ (y[-1] / diagonal)) / float(s[-1] @ y[-1])
            scale = min(max(scale, _SCALES[0]), _SCALES[1])
            diagonal, coupling = scale * diagonal, scale * coupling
        # Weights that rest at zero well within their bound stay there.
        free = np.flatnonzero((point.w != 0) | (np.abs(point.g) > _FREE * self.objective.rho1))
        place = np.full(known.size + 1, -1, dtype=np.int32)
        place[free] = np.arange(len(free), dtype=np.int32)
        subtracted = added = np.zeros((len(free), 0))
        if len(s):
            b0_s = diagonal * s
            b0_s[:, child] += coupling[child] * s[:, parent[child]]
            np.add.at(b0_s, (slice(None), parent[child]), coupling[child] * s[:, child])
            subtracted, added = _factors(s, y, b0_s, free)
        d = np.zeros(known.size)
        d[free] = minimize_quadratic(
            point.g[free],
            point.w[free],
            diagonal[free],
            place[parent[free]],
            coupling[free],
            np.concatenate([subtracted, added], axis=1),
            subtracted=subtracted.shape[1],
            rho1=self.objective.rho1,
            rho2=self.objective.rho2,
            radius=_RADIUS,
            tolerance=_INNER_TOLERANCE,
            max_sweeps=60,
        )
        return d


def _factors(s: Floats, y: Floats, b0_s: Floats, free: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """P and Q with B = B0 - P P' + Q Q' on the free features, from the eigenvectors of the middle matrix."""
    s_y = s @ y.T
    lower = np.tril(s_y, -1)
    middle = np.block([[s @ b0_s.T, lower], [lower.T, -np.diag(np.diag(s_y))]])
    scale = 1.0 / np.sqrt(np.abs(np.diag(middle)))
    values, vectors = np.linalg.eigh(scale[:, None] * middle * scale)
    vectors *= scale[:, None] / np.sqrt(np.abs(values))
    u = np.concatenate([b0_s[:, free], y[:, free]]).T
    return _padded(u @ vectors[:, values > 0]), _padded(u @ vectors[:, values < 0])


def _padded(x: Floats) -> Floats:
    """Columns of zeros up to a multiple of LANES."""
    return np.pad(x, ((0, 0), (0, -x.shape[1] % LANES)))


def _unigram_of_each(known: WorkingSet) -> NDArray[np.int32]:
    """For every bigram feature (x, y', y) the place of (x, y) in the set; -1 if it is not there, or for a unigram."""
    n_labels, n_attributes = known.features.n_labels, known.features.n_attributes
    first, n_unigram = n_attributes * n_labels, known.features.n_unigram
    parent = np.full(known.size, -1, dtype=np.int32)
    bigram = known.numbers[n_unigram:] - first
    unigram = bigram // ((n_labels + 1) * n_labels) * n_labels + bigram % n_labels
    place = np.searchsorted(known.numbers[:n_unigram], unigram)
    place[place == n_unigram] = 0
    found = known.numbers[place] == unigram if n_unigram else np.zeros(len(unigram), dtype=np.bool_)
    parent[n_unigram:][found] = place[found]
    return parent
