"""`dual`: proximal dual coordinate ascent, one sequence per step (`cpp/core/training/dual_ascent.hpp`).

An iteration is an epoch: as many steps as there are sequences. Every fourth epoch takes all of them in a random order,
the others draw them by their duality gaps. Its weights are those of the dual point, so it needs no working set: all
features of the model are considered, and the lower bound D of the dual point is over all of them. It keeps the
probabilities of all label pairs at every position: tokens times labels squared numbers, so it is for few labels.
"""

from __future__ import annotations

from math import inf

import numpy as np

from sparsecrf._core import DualAscent, InputError
from sparsecrf.compatibility import Capabilities, Trait, solver_for
from sparsecrf.training.feature_sets import Floats, Numbers, WorkingSet, place_among
from sparsecrf.training.objective import Objective
from sparsecrf.training.solvers.solver import Point, SolverKind
from sparsecrf.training.solvers.state import Arrays

_PLAIN_EVERY = 4  # epochs per cycle: the first takes all sequences
_COST_OF_STEPS = 3.0  # approximate cost of an epoch in passes


class Dual:
    """Dual coordinate ascent. The objective may rise from epoch to epoch; the gap closes."""

    def __init__(self, objective: Objective, seed: int = 0) -> None:
        if not 0 <= seed < 2**64:
            raise InputError(f"seed: expected a whole number from 0 to 2^64 - 1, found {seed}")
        self.objective, self.seed = objective, seed
        self.ascent: DualAscent | None = None
        self.epochs = 0
        #: D of the best dual point so far, a lower bound on the minimum.
        self.bound = -inf
        self.known: WorkingSet | None = None  # gap of the last point

    def step(self, point: Point) -> Point:
        if self.ascent is None:
            self.ascent = self._begin(point)
        else:
            self.ascent.recenter()
        self.objective.release_tables()
        order = self.ascent.order(self.seed, self.epochs, by_gaps=self.epochs % _PLAIN_EVERY != 0)
        self.ascent.run(order, go_on=self._go_on)
        self.epochs += 1
        self.objective.passes += _COST_OF_STEPS
        loss, _, bound = self.ascent.evaluate()
        self.bound = max(self.bound, bound)
        numbers, w = self.ascent.weights()
        return self._point(numbers, w, loss)

    def certify(self) -> float:
        """The bound, with that of the current dual point recomputed without accumulated rounding errors."""
        if self.ascent is not None:
            self.bound = max(self.bound, self.ascent.certify())
        return self.bound

    def move(self, new: WorkingSet, old: WorkingSet) -> None:
        """Does nothing: all features are known."""

    def forget(self) -> None:
        """Free the memory: no step follows."""
        self.ascent = None

    def state(self) -> Arrays:
        if self.ascent is None:
            return {}
        arrays = {f"part {k}": array for k, array in enumerate(self.ascent.state())}
        return {"epochs": np.array(self.epochs), "bound": np.array(self.bound), **arrays}

    def restore(self, state: Arrays) -> None:
        if not state:
            return
        self.epochs, self.bound = int(state["epochs"]), float(state["bound"])
        self.ascent = self._make()
        self.ascent.restore([state[f"part {k}"] for k in range(len(state) - 2)])

    def _begin(self, point: Point) -> DualAscent:
        """At the labels of the data, or where weights were given, between these and the model with these weights."""
        ascent = self._make()
        if point.w.any():
            ascent.start(point.known.feature_set, point.w)
        return ascent

    def _make(self) -> DualAscent:
        data, penalty = self.objective.prepared, self.objective.penalty
        features = None if data.allowed is None else data.working_set(data.allowed).feature_set
        return DualAscent(self.objective.corpus, features, penalty.rho1, penalty.rho2, self.objective.threads)

    def _point(self, numbers: Numbers, w: Floats, loss: float) -> Point:
        """These weights; without an l1 term on all features, a set that stays the same. The gradient is not known."""
        if self.objective.penalty.rho1 == 0:
            self.known = self.known or self.objective.hopeful()
            all_w = np.zeros(self.known.size)
            all_w[place_among(numbers, self.known.numbers)] = w
            w = all_w
        else:
            self.known = self.objective.working_set(numbers)
        return Point(self.known, w, loss, np.full(self.known.size, np.nan))

    def _go_on(self, steps: int) -> bool:
        if self.objective.heartbeat is not None and self.epochs == 0:
            self.objective.heartbeat(f"first epoch, {steps} of {self.objective.data.n_sequences} sequences")
        return not self.objective.out_of_time()


_REFUSED = {
    Trait.NO_L2: "",
    Trait.MISSING: "",
    Trait.TOKEN_WEIGHTS: "",
}
KIND = SolverKind(Dual, Capabilities(refuses={**solver_for(Trait.L1).refuses, **_REFUSED}), certifies=True)
