"""`dual`: proximal dual coordinate ascent, one sequence per step (`cpp/core/training/dual/dual_ascent.hpp`).

An iteration consists of two epochs (four while the gap is large) and an evaluation; an epoch has as many steps as there
are sequences. Every fourth epoch visits all sequences in random order; the other epochs draw them in proportion to
their duality gaps. The dual point determines the weights, so the solver needs no working set: it considers all features
of the model, and the lower bound D of the dual point covers all of them. The solver keeps the probabilities of all
label pairs at every position, T Y^2 numbers for T tokens and Y labels, so it is best suited to few labels.
"""

from __future__ import annotations

import time
from math import inf

import numpy as np

from sparsecrf._core import DualAscent, InputError
from sparsecrf.compatibility import Capabilities, Trait, solver_for
from sparsecrf.training.feature_sets import Floats, Numbers, WorkingSet, matches
from sparsecrf.training.objective import Objective
from sparsecrf.training.solvers.solver import Arrays, Point, SolverKind

_PLAIN_EVERY = 4  # every fourth epoch visits all sequences
# epochs per iteration; the second number applies while the relative gap is above _LARGE
_EPOCHS, _EPOCHS_AT_FIRST = 2, 4
_LARGE = 0.1
_COST_OF_STEPS, _COST_OF_VALUES = 3.0, 0.5  # approximate cost of an epoch and of an evaluation, in passes
# The curvature of the proximal term, as a share of the curvature of the loss: its initial value and its adaptation. If
# the gap of the problem with this term is small compared with P - D, the center limits progress, and the share falls;
# otherwise it grows.
_SHARE, _SHARE_OF_GAP, _SLOWEST, _FASTEST = 0.02, 0.8, 0.3, 1.2


class Dual:
    """Dual coordinate ascent. The objective may rise from epoch to epoch; the gap closes."""

    def __init__(self, objective: Objective, seed: int = 0) -> None:
        if not 0 <= seed < 2**64:
            raise InputError(f"seed: expected an integer from 0 to 2^64 - 1, found {seed}")
        self.objective, self.seed = objective, seed
        self.ascent: DualAscent | None = None
        self.epochs = 0
        self.share = _SHARE
        self.gap = 1.0  # P - D after the last iteration, relative to P
        self.is_careful = False  # whether steps must not lower the bound
        self.is_precise = False  # whether probabilities are stored in double precision
        #: D of the best dual point so far, a lower bound on the minimum.
        self.bound = -inf
        self.certified = -inf, -1  # the best bound that `certify` found, and the number of epochs before it
        self.known: WorkingSet | None = None  # working set of the last point

    def zero(self) -> Point:
        self.ascent = self._make()
        loss, *_ = self._values(self.ascent)
        return self._point(np.empty(0, np.int64), np.empty(0), loss)

    def step(self, point: Point) -> Point:
        self.objective.release_tables()
        if self.ascent is None:
            self.ascent = self._begin(point)
        for _ in range(_EPOCHS_AT_FIRST if self.gap > _LARGE else _EPOCHS):
            if self.epochs:
                self.ascent.recenter(self.share)
            order = self.ascent.order(self.seed, self.epochs, by_gaps=self.epochs % _PLAIN_EVERY != 0)
            self.ascent.run(order, go_on=self._go_on)
            self.epochs += 1
            self.objective.passes += _COST_OF_STEPS
            if self.objective.cut_short:
                break
        return self._evaluate(self.ascent)

    def _evaluate(self, ascent: DualAscent) -> Point:
        loss, penalty, bound, inner_gap, rounding = self._values(ascent)
        self.objective.passes += _COST_OF_VALUES
        if bound < self.bound - rounding and not self.is_careful:
            self.is_careful = True
            ascent.never_descend()
        self.bound = max(self.bound, bound)
        value = loss + penalty
        if (gap := value - bound) > 0:
            self.share *= min(max(inner_gap / (_SHARE_OF_GAP * gap), _SLOWEST), _FASTEST)
            self.gap = gap / value
        numbers, w = ascent.weights()
        if gap < rounding and not self.is_precise:
            self.is_precise = True
            ascent.use_doubles()
            self.certify()
        return self._point(numbers, w, loss)

    def _values(self, ascent: DualAscent) -> tuple[float, float, float, float, float]:
        """The values of `evaluate`, which takes about half as long as a pass."""
        began = time.perf_counter()
        values = ascent.evaluate()
        self.objective.pass_s = (time.perf_counter() - began) / _COST_OF_VALUES
        return values

    def certify(self) -> float:
        """The best lower bound, of the current dual point or an earlier one, computed without accumulated rounding
        errors."""
        best, at = self.certified
        if self.ascent is not None and at != self.epochs:
            self.certified = max(best, self.ascent.certify()), self.epochs
            self.bound = self.certified[0]
        return self.certified[0]

    def move(self, new: WorkingSet, old: WorkingSet) -> None:
        """Do nothing, since all features are already considered."""

    def forget(self) -> None:
        """Free the memory, since no step follows."""
        self.ascent = None

    def finish(self, known: WorkingSet, w: Floats) -> tuple[float, float]:
        ascent = self.ascent or self._make()
        self.forget()
        loss, residual = ascent.finish(known.feature_set, w)
        return loss, residual

    def state(self) -> Arrays:
        if self.ascent is None:
            return {}
        arrays = {f"part {k}": array for k, array in enumerate(self.ascent.state())}
        numbers = [self.epochs, self.share, self.gap, self.is_careful, self.is_precise, self.bound, *self.certified]
        return {"numbers": np.array(numbers, dtype=float), **arrays}

    def restore(self, state: Arrays) -> None:
        if not state:
            return
        if state["numbers"].size != 8:
            found = f"{state['numbers'].size} numbers"
            raise InputError(
                f"checkpoint: expected 8 numbers of the solver dual, found {found}: a different version wrote the file"
            )
        epochs, self.share, self.gap, is_careful, is_precise, self.bound, certified, at = state["numbers"].tolist()
        self.is_careful, self.is_precise = bool(is_careful), bool(is_precise)
        self.epochs, self.certified = int(epochs), (certified, int(at))
        self.ascent = self._make()
        if self.is_careful:
            self.ascent.never_descend()
        if self.is_precise:
            self.ascent.use_doubles()
        self.ascent.restore([state[f"part {k}"] for k in range(len(state) - 1)])

    def _begin(self, point: Point) -> DualAscent:
        """Start at the labels of the data or, with given weights, between these labels and the model with those
        weights."""
        ascent = self._make()
        if point.w.any():
            ascent.start(point.known.feature_set, point.w)
        return ascent

    def _make(self) -> DualAscent:
        data, penalty = self.objective.prepared, self.objective.elastic_net
        features = None if data.allowed is None else data.working_set(data.allowed).feature_set
        return DualAscent(self.objective.corpus, features, penalty.rho1, penalty.rho2, self.objective.threads)

    def _point(self, numbers: Numbers, w: Floats, loss: float) -> Point:
        """A point with these weights; without an l1 term, on all features, so that the set stays the same. Its gradient
        is unknown."""
        if self.objective.penalty.rho1 == 0:
            self.known = self.known or self.objective.hopeful()
            here, there = matches(self.known.numbers, numbers)
            all_w = np.zeros(self.known.size)
            all_w[here] = w[there]
            w = all_w
        else:
            self.known = self.objective.working_set(numbers)
        return Point(self.known, w, loss, np.full(self.known.size, np.nan))

    def _go_on(self, steps: int) -> bool:
        if self.objective.heartbeat is not None and self.epochs == 0:
            self.objective.heartbeat(f"first epoch, {steps:,} of {self.objective.data.n_sequences:,} sequences")
        return not self.objective.out_of_time()


_REFUSED = {
    Trait.NO_L2: "",
    Trait.MISSING: "",
    Trait.TOKEN_WEIGHTS: "",
}
KIND = SolverKind(Dual, Capabilities(refuses={**solver_for(Trait.L1).refuses, **_REFUSED}), certifies=True)
