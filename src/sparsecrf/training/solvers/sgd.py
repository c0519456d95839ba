"""`sgd` and `sgd-l1`: stochastic gradient descent, one sequence per step, on P/N (N sequences of weight above 0).

Let g be the gradient of one sequence's loss and eta_t the size of step t (Bottou 2007; Tsuruoka, Tsujii, Ananiadou
2009). A step is

    w <- (1 - eta_t rho2/N) w - eta_t g
    w_k moves towards 0, not across, by the outstanding part of the penalty sum_t eta_t rho1/N    (`sgd-l1`)

    sgd:     eta_t = eta0 / (1 + max(eta0 rho2, 0.3) t/N)
    sgd-l1:  eta_t = eta0 / (1 + 0.3 t/N)

Decay and penalty are applied to a weight when a sequence uses it, or at the end of the epoch; the result is the same as
if every step changed every weight (formulas: `stochastic/lazy_weights.hpp`). eta0 is found by trial on a sample.
Screening adds label n-grams to the working set, as with every solver; with an `order_factor`, each n-gram has its own
rho1. When the first n-grams are added, the steps have become too small for them, so eta0 is determined again and t
restarts. The steps run in one thread, since each needs the weights of the previous one; evaluation uses all threads.

`warm_up` is a start for `auto`: a few epochs replace many of its first steps. It computes eight gradients at a time at
the same weights, on all threads. If the data are shards in this process, it visits one after the other, up to eight
million tokens in total. If these shards contain n of the N sequences, an epoch consists of n steps; the penalty of a
step is still divided by N.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from sparsecrf._core import InputError
from sparsecrf._core import Sgd as Stepper
from sparsecrf.compatibility import Trait, solver_for
from sparsecrf.shards import Shard, shards_of
from sparsecrf.training.feature_sets import Floats, Numbers, WorkingSet
from sparsecrf.training.objective import Objective
from sparsecrf.training.order_penalty import OrderPenalty, WeightedNet
from sparsecrf.training.solvers.solver import Arrays, Point, Solver, SolverKind

Answer = TypeVar("Answer")

EPOCHS = 50  #: maximum number of epochs if there is no other limit
_DOUBT = math.inf  # doubt of estimates (`Stopping`): noisy steps say little about the remaining distance
_DECAY = 0.3  # decay of the step size per epoch: 0.1 is better on CoNLL-2000, 1 on NETtalk letters (15 epochs)
_SAMPLE = 1000  # number of sequences on which a first step size is tried
_MOST_PASSES = 10  # number of passes over a smaller sample
_FIRST_EXPONENT, _EXPONENTS = -6, 60  # exponents of the powers of two to try, the first and the largest
# A step size is clearly worse than the best if its objective is this many times as large; no further step sizes are
# then tried in that direction. Steps that are far too large lead to weights for which inference needs the log domain,
# which takes 30 times as long with many labels.
_CLEARLY = 1.1
_WARM_EPOCHS, _WARM_EPOCHS_L2, _WARM_SAMPLE, _WARM_DECAY = 2, 3, 250, 1.0
# With 16, smaller steps are chosen on CoNLL-2003, and the objective is 14 % higher after two epochs
# (benchmarks/NOTES.md).
_WARM_AT_ONCE = 8
_WARM_KEEP = 0.5  # after the warm-up, features at zero whose |gradient| is below this share of rho1 are dropped
# maximum number of tokens to step over; if sharded data are larger, only some of the shards are used
_WARM_TOKENS = 8_000_000


class _Stochastic(Solver):
    """One step is one epoch. It may increase the objective."""

    at_once = 1  #: number of sequences whose gradients are computed at the same weights

    def __init__(self, objective: Objective, seed: int = 0, eta0: float | None = None) -> None:
        if not 0 <= seed < 2**64:
            raise InputError(f"seed: expected an integer from 0 to 2^64 - 1, found {seed}")
        self.objective, self.seed, self.eta0 = objective, seed, eta0
        self.given = eta0  # None if the first step size is found by trial
        self.shards = self.chosen_shards()
        self._only: Stepper | None = None  # stepper of the only shard; None if there are several
        found = [self._over(k, _extent) for k in range(len(self.shards))]
        self.sizes = [n_steps for n_steps, _ in found]  # sizes of the shards, in sequences of weight above 0
        self.n = sum(self.sizes)  # number of steps of an epoch
        self.share = sum(n for _, n in found) / max(objective.data.n_sequences, 1)  # n/N
        self.epochs = 0
        self.longer_since: int | None = None  # the epoch before which label n-grams first joined
        self.before = 0  # number of steps of the current epoch over earlier shards
        self.u = 0.0  # cumulative penalty that a weight could have received
        self.q: Floats | None = None  # penalty that each weight received, with its sign
        self.joined: Numbers = np.zeros(0, dtype=np.int64)  # features that joined since the last step

    def chosen_shards(self) -> Sequence[Shard]:
        """The shards to step over: the whole corpus."""
        return shards_of(self.objective.corpus, self.objective.threads).workers.here

    def _over(self, k: int, function: Callable[..., Answer], *arguments: Any) -> Answer:
        """Call function(shard, stepper, *arguments) for the k-th shard. The stepper, which holds the shard's corpus, is
        released afterwards, unless it belongs to the only shard and that stays in memory."""
        with self.shards[k].at_work() as shard:
            stepper = self._only or Stepper(shard.corpus, threads=shard.threads)
            if len(self.shards) == 1 and shard.stays:
                self._only = stepper
            return function(shard, stepper, *arguments)

    def decay(self, eta0: float) -> float:
        """eta_t = eta0 / (1 + decay t/N)"""
        return _DECAY

    def move(self, new: WorkingSet, old: WorkingSet) -> None:
        if self.q is not None:
            self.q = new.carry(self.q, old)
        self.joined = np.setdiff1d(new.numbers, old.numbers, assume_unique=True)

    def state(self) -> Arrays:
        always = {"epochs": self.epochs, "u": self.u, "joined": self.joined}
        known = {"q": self.q, "eta0": self.eta0, "longer_since": self.longer_since}  # None before the first step
        return {name: np.asarray(value) for name, value in (always | known).items() if value is not None}

    def restore(self, state: Arrays) -> None:
        self.epochs, self.u, self.joined = int(state["epochs"]), float(state["u"]), state["joined"]
        self.q = state.get("q")
        self.eta0 = float(state["eta0"]) if "eta0" in state else None
        self.longer_since = int(state["longer_since"]) if "longer_since" in state else None

    def step(self, point: Point) -> Point:
        return self.run(point, 1, _SAMPLE)

    def run(self, point: Point, epochs: int, sample: int) -> Point:
        """Run some epochs. The first step size, if not set yet, is chosen on `sample` sequences."""
        if self.n == 0:
            return point
        self.objective.release_tables()
        self.before = 0
        w, q = point.w, self._penalties_received(point)
        if self.longer_since is None and point.known.feature_set.n_ngram > 0:
            self.longer_since, self.eta0 = self.epochs, self.given
        if self.eta0 is None:
            self.eta0 = self._calibrate(point, sample)
        for _ in range(epochs):
            self.before = 0
            for k, size in enumerate(self.sizes):
                w, q, self.u = self._over(k, self._epoch, point.known, w, q)
                self.before += size
                if self.objective.cut_short:
                    break
            self.epochs += 1
            if self.objective.cut_short:
                break
        self.q = q
        return Point(point.known, w, *self.objective.loss_grad(point.known, w))

    def _epoch(
        self, shard: Shard, stepper: Stepper, known: WorkingSet, w: Floats, q: Floats
    ) -> tuple[Floats, Floats, float]:
        """Take a step for each sequence of a shard."""
        assert self.eta0 is not None
        order = stepper.order(self.seed, self.epochs)
        return self._run(stepper, known, w, q, self.u, order, self.eta0)

    def _go_on(self, steps: int) -> bool:
        """Called a few times a second with `steps`, the number of steps taken over a shard."""
        return True

    def _penalties_received(self, point: Point) -> Floats:
        """The penalties q. A feature that joins has no outstanding penalty in the direction of its gradient."""
        q = np.zeros(point.known.size) if self.q is None else self.q.copy()
        joined = np.isin(point.known.numbers, self.joined, assume_unique=True)
        q[joined] = self.u * np.sign(point.g[joined]) * self._rho1_factors(point.known)[joined]
        self.q, self.joined = q, self.joined[:0]
        return q

    def _rho1_factors(self, known: WorkingSet) -> Floats:
        """[K] the factor on rho1 of each feature."""
        penalty = self.objective.penalty_on(known)
        return penalty.factors if isinstance(penalty, WeightedNet) else np.ones(known.size)

    def _run(
        self, stepper: Stepper, known: WorkingSet, w: Floats, q: Floats, u: float, order: Numbers, eta0: float
    ) -> tuple[Floats, Floats, float]:
        self.objective.passes += len(order) / self.n * self.share
        # The core uses the size of this shard as N and as the length of an epoch.
        of_epoch = stepper.n_steps / self.n
        of_all = of_epoch * self.share
        penalty = self.objective.penalty
        return stepper.run(
            known.feature_set,
            w,
            q,
            u,
            order,
            rho1=penalty.rho1 * of_all,
            rho2=penalty.rho2 * of_all,
            eta0=eta0,
            decay=self.decay(eta0) * of_epoch,
            done=float((self.epochs - (self.longer_since or 0)) * self.n + self.before),
            at_once=self.at_once,
            order_factor=penalty.factor if isinstance(penalty, OrderPenalty) else 1.0,
            go_on=self._go_on,
        )

    def _calibrate(self, point: Point, size: int) -> float:
        """The power of two with the best objective on a sample, after one pass over it (several if it is small)."""
        first = next(k for k, n_steps in enumerate(self.sizes) if n_steps > 0)
        return 2.0 ** self._over(first, self._best_exponent, point, size)

    def _best_exponent(self, shard: Shard, stepper: Stepper, point: Point, size: int) -> int:
        sample = stepper.order(self.seed, 0)[:size]
        order = np.tile(sample, min(_MOST_PASSES, math.ceil(size / len(sample))))
        share, penalty = len(sample) / self.n * self.share, self.objective.penalty_on(point.known)

        def value(exponent: int) -> float:
            eta0, q = 2.0**exponent, np.zeros(point.known.size)
            # With such a step size, decay would change the sign of the weights.
            if eta0 * self.objective.penalty.rho2 * self.share >= self.n:
                return math.inf
            try:
                w, _, _ = self._run(stepper, point.known, point.w, q, 0.0, order, eta0)
                found = stepper.loss(point.known.feature_set, w, sample) + share * penalty.value(w)
            except InputError:  # the weights overflowed
                return math.inf
            # A negative value comes from rounding huge scores and does not justify larger steps.
            return max(found, 0.0) if math.isfinite(found) else math.inf

        first = _FIRST_EXPONENT
        best, chosen = value(first), first
        for exponents in (range(first + 1, _EXPONENTS), range(first - 1, -_EXPONENTS, -1)):
            worse = 0
            for exponent in exponents:
                found = value(exponent)
                if found < best:
                    best, chosen, worse = found, exponent, 0
                    continue
                worse += 1
                if (worse == 2 or found > _CLEARLY * best) and (exponent > first or best < math.inf):
                    break
            if chosen > first:
                break
        return chosen


def _extent(shard: Shard, stepper: Stepper) -> tuple[int, int]:
    return stepper.n_steps, shard.corpus.n_sequences


class Sgd(_Stochastic):
    """Bottou's method, for the l2 penalty alone."""

    def decay(self, eta0: float) -> float:
        return max(eta0 * self.objective.penalty.rho2, _DECAY)


class SgdL1(_Stochastic):
    """SGD with the cumulative l1 penalty."""


# no Trait.NGRAMS, since label n-grams need an l1 term
SGD = SolverKind(Sgd, solver_for(Trait.PARTS), is_stochastic=True, doubt=_DOUBT)
SGD_L1 = SolverKind(SgdL1, solver_for(Trait.L1, Trait.NGRAMS, Trait.PARTS), is_stochastic=True, doubt=_DOUBT)


class _WarmUp(_Stochastic):
    """A short run, whose steps soon become smaller. It ends early when time is up. To use all threads, it computes the
    gradients of a fixed number of sequences at the same weights."""

    at_once = _WARM_AT_ONCE

    def chosen_shards(self) -> Sequence[Shard]:
        here, n_tokens = self.objective.data.workers.here, max(self.objective.data.n_tokens, 1)
        chosen = min(len(here), math.ceil(len(here) * _WARM_TOKENS / n_tokens))
        return [here[k] for k in np.linspace(0, len(here) - 1, chosen).astype(int)]

    def decay(self, eta0: float) -> float:
        return _WARM_DECAY

    def _go_on(self, steps: int) -> bool:
        if self.objective.heartbeat is not None:
            share = 100 * (self.before + steps) / self.n
            doing = "step size" if self.eta0 is None else f"epoch {self.epochs + 1}, {share:.0f} %"
            self.objective.heartbeat(f"stochastic start, {doing}")
        return not self.objective.out_of_time()


def warm_up(objective: Objective, point: Point) -> Point:
    """The point that a few epochs reach from zero weights, or the given point if it is better."""
    epochs = _WARM_EPOCHS if objective.penalty.rho1 > 0 else _WARM_EPOCHS_L2
    try:
        found = _WarmUp(objective).run(point, epochs, _WARM_SAMPLE)
    except InputError:  # the weights overflowed, although not on the sample
        return point
    penalty = objective.penalty_on(found.known)
    if found.loss + penalty.value(found.w) >= point.loss:
        return point
    if objective.penalty.threshold == 0:
        return found
    # Most features are already zero, and every pass covers the whole working set: drop them; screening restores the
    # features that are needed.
    keep = penalty.movable(found.w, found.g, _WARM_KEEP)
    known = objective.working_set(found.known.numbers[keep])
    return Point(known, found.w[keep], found.loss, found.g[keep])
