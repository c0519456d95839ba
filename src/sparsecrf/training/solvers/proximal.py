"""`proximal`: proximal quasi-Newton, and `auto` where `dual` does not apply.

    d = argmin  g . d + d' B d / 2 + rho1 |w + d|_1 + rho2/2 |w + d|^2        (coordinate descent, in the core)
    w <- w + t d, t = 1 unless the objective decreases too little

B is the limited-memory BFGS matrix of the loss in its compact form (Byrd, Nocedal & Schnabel 1994),

    B = B0 - [B0 S, Y] [ S'B0 S   L  ]^-1 [ S'B0 ]        L_ij = s_i . y_j  for i > j, D_ii = s_i . y_i
                       [   L'    -D  ]    [  Y'  ]

with the B0 of `local_model`. Without an l1 term, coordinate descent is not needed: d is the L-BFGS step for
loss + rho2/2 |w|^2, computed by the two-loop recursion from (B0 + rho2 I)^-1.

The first step, from weights 0, consists of a few epochs of stochastic steps (`sgd.warm_up`) if there are many tokens
and features and the data are in this process: a quasi-Newton method needs dozens of passes to get that far.

The curvatures of features that fire together add up, so B0 is scaled by the curvature along the last step,
y . D^-1 y / s . y, and scaled up further while steps have to be shortened.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import LANES, RADIUS, RIDGE, combine_columns, row_products
from sparsecrf.compatibility import Trait, solver_for
from sparsecrf.training.feature_sets import Floats, WorkingSet, place_among
from sparsecrf.training.objective import Objective
from sparsecrf.training.solvers.local_model import Block, LocalModel
from sparsecrf.training.solvers.pairs import Pairs
from sparsecrf.training.solvers.sgd import warm_up
from sparsecrf.training.solvers.solver import Arrays, Point, SolverKind

_SCALES = 0.3, 30.0  # limits of the factor by which the last step may scale B0
_LEAST_SCALE_OF_NGRAMS = 1.0  # minimum with label n-grams; with a lower one, a fifth of the steps must be shortened
# computing the curvatures h costs a fraction of a pass, so it is done at each of the first 8 steps, then at every 10th
_EVERY_STEP, _EVERY = 8, 10
_DAMPING = 1.5, 0.9, 64.0  # damping of B0: factor after a shortened step, after a full one, and maximum
_FREE = 0.9  # a weight at zero may move if its |gradient| exceeds this share of rho1
_INNER_TOLERANCE = 0.1  # a tighter inner tolerance costs more and saves no steps
_SMOOTH_MEMORY = 20  # number of pairs without an l1 term; all weights are then in the working set
_SUFFICIENT = 1e-4  # share of the predicted decrease that a step must reach
_SHORTEST = 2.0**-20
# The block of B0 contains at most _LARGEST_BLOCK features, and at most _BLOCK_PER_TOKEN times the square root of the
# number of tokens, since a sweep of the inner problem reads the whole matrix. It is renewed at the steps _RENEW_AT,
# then every _RENEW_EVERY steps. It is estimated from _SAMPLE tokens, but from _EARLY_SAMPLE before step _SETTLED: until
# then, curvature changes with every step, and a matrix of all positions would cost more than it saves. With few
# features per token (_ENOUGH) there is no block before that step, since the pairs capture the curvature sooner.
_LARGEST_BLOCK, _BLOCK_PER_TOKEN = 1500, 4.0
_RENEW_AT, _RENEW_EVERY = (2, 8, 20, 40), 40
_SETTLED, _EARLY_SAMPLE, _SAMPLE = 20, 6_000, 50_000
# The minimum number of features per token for a stochastic start and an early block, and the minimum number of tokens
# for a stochastic start. Below these values, ordinary first steps are as good or take no time.
_ENOUGH, _LEAST_TOKENS = 0.05, 10_000


class Proximal:
    """Proximal quasi-Newton steps with `memory` pairs (s, y), after a stochastic first step unless `warm_up` is
    False."""

    def __init__(self, objective: Objective, memory: int = 50, warm_up: bool = True) -> None:
        self.objective, self.warm_up = objective, warm_up
        self.pairs = Pairs(memory if objective.penalty.rho1 > 0 else min(memory, _SMOOTH_MEMORY))
        self.h: Floats | None = None
        self.steps = 0
        self.damping = 1.0  # factor on B0, raised while its steps are too long
        # numbers of the block's features, and their matrix
        self.block, self.curvature = np.empty(0, dtype=np.int64), np.empty((0, 0))

    def move(self, new: WorkingSet, old: WorkingSet) -> None:
        if self.h is not None:
            self.h = new.carry(self.h, old)
        self.pairs.move(new, old)

    def forget(self) -> None:
        self.pairs.forget()

    def state(self) -> Arrays:
        h = {} if self.h is None else {"h": self.h}
        counters = {"steps": np.array(self.steps), "damping": np.array(self.damping)}
        block = {"block": self.block, "curvature": self.curvature}
        return {**counters, **h, **block, **self.pairs.state()}

    def restore(self, state: Arrays) -> None:
        self.steps, self.damping, self.h = int(state["steps"]), float(state["damping"]), state.get("h")
        self.block, self.curvature = state["block"], state["curvature"]
        self.pairs.restore(state)

    def step(self, point: Point) -> Point:
        if self.steps == 0 and self.warm_up and self._far_away(point):
            self.steps = 1
            start = warm_up(self.objective, point)
            if start is not point:
                return start
        d = self._direction(point)
        self.steps += 1
        new = self._search(point, d)
        if new is not point:
            self.pairs.add(new.w - point.w, new.g - point.g)
        return new

    def _far_away(self, point: Point) -> bool:
        """Whether this is the start of a run large enough for stochastic steps to be faster."""
        n_tokens = self.objective.data.n_tokens
        enough = n_tokens >= _LEAST_TOKENS and point.known.size >= _ENOUGH * n_tokens
        # Stochastic steps are only possible before label n-grams join, and do not support dense columns.
        enough = enough and point.known.feature_set.n_ngram == 0 and not len(self.objective.prepared.dense)
        # Stochastic steps are not needed with a prior, which is a good starting point.
        enough = enough and self.objective.prior is None
        return enough and self.objective.in_this_process and not point.w.any()

    def _search(self, point: Point, d: Floats) -> Point:
        """Backtrack from t = 1 until the objective decreases by a fraction of the decrease that g . d and the penalty
        predict."""
        objective, omega = self.objective, self.objective.penalty_on(point.known)
        penalty = omega.value(point.w)
        promised = float(point.g @ d) + omega.value(point.w + d) - penalty
        if not promised < 0:
            return point
        t, h, trials = 1.0, self.h, 0
        while t >= _SHORTEST:
            w, trials = point.w + t * d, trials + 1
            if self.steps < _EVERY_STEP or self.steps % _EVERY == 0:
                loss, g, h = objective.loss_grad_curvature(point.known, w)
            else:
                loss, g = objective.loss_grad(point.known, w)
            if loss + omega.value(w) <= point.loss + penalty + _SUFFICIENT * t * promised:
                self.h = h
                self.damping *= _DAMPING[0] if t < 1.0 else _DAMPING[1]
                self.damping = min(max(self.damping, 1.0), _DAMPING[2])
                return Point(point.known, w, loss, g, trials, t)
            t /= 2
            if objective.out_of_time():
                break
        return point

    def _direction(self, point: Point) -> Floats:
        known, s, y = point.known, self.pairs.s, self.pairs.y
        unit = self.objective.units(known)
        expected = unit * np.abs(point.g + known.counts)
        # The h of a feature that is new to the working set is unknown; E times the size of values bounds it.
        h = expected if self.h is None else np.where(self.h > 0, self.h, expected)
        # A feature whose count is not well above rho1 gets no weight, so a lower curvature would be misleading.
        ridge = np.maximum(RIDGE * unit**2, 2 * self.objective.penalty.rho1 * unit)
        model = LocalModel.at(known, point.g, h, ridge, unit, self.objective.threads)
        least = _LEAST_SCALE_OF_NGRAMS if known.feature_set.n_ngram else _SCALES[0]
        if self.objective.penalty.rho1 == 0:
            del expected, h  # every vector is as long as the feature space, so keep as few as possible
            rho2, model = self.objective.penalty.rho2, self._rescaled(model, least)
            return _smooth_direction(model, point.g + rho2 * point.w, rho2, self.pairs, self.objective.threads)
        # Zero weights whose gradients are well within the bound stay at zero.
        penalty = self.objective.penalty_on(known)
        free = np.flatnonzero(penalty.movable(point.w, point.g, _FREE))
        due = self.steps in _RENEW_AT or (self.steps > 0 and self.steps % _RENEW_EVERY == 0)
        # Use the number of features at the start of the run, since features that joined later have small counts.
        hopeful = np.count_nonzero(known.counts > self.objective.penalty.threshold)
        if due and (self.steps >= _SETTLED or hopeful >= _ENOUGH * self.objective.data.n_tokens):
            self._renew_block(point, free, h, ridge, unit)
        if len(self.block):
            row = place_among(known.numbers, self.block).astype(np.int32)
            model = model.with_block(Block(row, self.curvature))
        model = self._rescaled(model, least)
        factors, subtracted = _factors(s, y, model.times(s), free, model.threads) if len(s) else (None, 0)
        return model.minimize(penalty, point.w, point.g, free, factors, subtracted, _INNER_TOLERANCE)

    def _renew_block(
        self, point: Point, free: NDArray[np.int64], h: Floats, ridge: Floats, unit: Floats | float
    ) -> None:
        """Choose the moving features with the largest curvature h (scaled to values of 1), and compute the curvature
        between them."""
        most = int(min(_LARGEST_BLOCK, _BLOCK_PER_TOKEN * np.sqrt(self.objective.data.n_tokens)))
        if len(self.objective.prepared.dense):  # the core does not support blocks with dense columns
            free = free[place_among(point.known.numbers[free], self.objective.prepared.dense) < 0]
        free = free[
            point.known.numbers[free] < self.objective.prepared.numbering.first_class
        ]  # the core supports blocks for whole labels only
        frequency = h / unit**2
        block = np.sort(free[np.argsort(-frequency[free], kind="stable")[:most]])
        self.block = point.known.numbers[block]
        self.curvature = np.empty((0, 0))  # free the previous matrix first, since both are large
        sample = _EARLY_SAMPLE if self.steps < _SETTLED else _SAMPLE
        curvature = self.objective.block_curvature(point.known, point.w, block, sample)
        curvature[np.diag_indices_from(curvature)] += ridge[block] if ridge.ndim else ridge
        self.curvature = _padded(curvature)

    def _rescaled(self, model: LocalModel, least: float) -> LocalModel:
        """B0, scaled to the curvature of the last step and damped."""
        if not len(self.pairs):
            return model
        return model.scaled(self.damping * min(max(self._scale(model), least), _SCALES[1]))

    def _scale(self, model: LocalModel) -> float:
        """The ratio of the loss's curvature along the last step to that of B0."""
        s, y = self.pairs.s[-1], self.pairs.y[-1]
        if model.block is not None:
            return float(s @ y) / float(s @ model.times(s))
        return float(y @ (y / model.diagonal)) / float(s @ y)


def _smooth_direction(model: LocalModel, gradient: Floats, rho2: float, pairs: Pairs, threads: int) -> Floats:
    """The step without an l1 term, with every weight's move clipped to its radius. The pairs belong to the loss
    alone."""
    d = pairs.inverse_times(-gradient, lambda r: model.solve(r, rho2), rho2, threads)
    most = RADIUS / model.unit
    bounded = np.clip(d, -most, most)
    # After clipping each weight, the step may no longer be a descent direction.
    return bounded if gradient @ bounded < 0 else d * (RADIUS / np.abs(d * model.unit).max(initial=RADIUS))


def _factors(s: Floats, y: Floats, b0_s: Floats, free: NDArray[np.int64], threads: int) -> tuple[Floats, int]:
    """[P, Q] with B = B0 - P P' + Q Q' on the free features, and the number of columns of P, from the eigenvectors of
    the middle matrix."""
    s_y = row_products(s, y, threads)
    lower = np.tril(s_y, -1)
    middle = np.block([[row_products(s, b0_s, threads), lower], [lower.T, -np.diag(np.diag(s_y))]])
    scale = 1.0 / np.sqrt(np.abs(np.diag(middle)))
    values, vectors = np.linalg.eigh(scale[:, None] * middle * scale)
    vectors *= scale[:, None] / np.sqrt(np.abs(values))
    positive, negative = _padded(vectors[:, values > 0]), _padded(vectors[:, values < 0])
    both = np.ascontiguousarray(np.concatenate([positive, negative], axis=1))
    return combine_columns(b0_s, y, free, both, threads), positive.shape[1]


def _padded(x: Floats) -> Floats:
    """Append columns of zeros up to a multiple of LANES."""
    return np.pad(x, ((0, 0), (0, -x.shape[1] % LANES)))


KIND = SolverKind(
    Proximal,
    solver_for(Trait.L1, Trait.GROUPS, Trait.NGRAMS, Trait.PARTS, Trait.DENSE, Trait.SHARDS, Trait.PRIOR),
    doubt=0.75,
)
