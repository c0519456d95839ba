"""The outer loop of every solver: a working set of features, screening, certificate, stopping.

A solver improves P over the features it is given. Around it, this loop adds what violates its condition of
optimality anywhere in the virtual space, drops what stays at zero, and stops when the whole space is optimal enough.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np

from sparsecrf.defaults import TOL
from sparsecrf.training.dual import LowerBound
from sparsecrf.training.feature_sets import Floats, Numbers, WorkingSet, union
from sparsecrf.training.heldout import Best, Dev
from sparsecrf.training.history import Record
from sparsecrf.training.objective import Objective
from sparsecrf.training.solvers.state import Arrays, Keeper, Lowest, State


@dataclass(frozen=True)
class Point:
    """Weights on a working set, with the loss and its gradient there."""

    known: WorkingSet
    w: Floats
    loss: float
    g: Floats


class Solver(Protocol):
    """One algorithm on a fixed set of features."""

    def step(self, point: Point) -> Point:
        """One iteration. Returns `point` itself if it found nothing better; a stochastic one may raise P."""

    def move(self, new: WorkingSet, old: WorkingSet) -> None:
        """The working set changes: carry over what was learnt."""

    def forget(self) -> None:
        """Drop what was learnt: it led to a step that did not improve."""

    def state(self) -> Arrays:
        """What was learnt, as arrays that no later step changes."""

    def restore(self, state: Arrays) -> None:
        """Go on as the solver that this is the state of would have."""


@dataclass(frozen=True)
class Stopping:
    """When to stop: relative KKT residual, or gap relative to the objective, or a limit."""

    tol: float = TOL
    gap: float | None = None
    max_iter: int | None = None
    time_limit: float | None = None


@dataclass
class Result:
    """Where a run ended: the point it chose, its certificate, and how it went."""

    point: Point
    objective: float
    kkt: float  #: relative, over the whole space
    gap: float
    stopped_by: str
    history: list[Record] = field(default_factory=list)


#: Gets the fields of a record; True: that is enough. What is not a bool is no answer, so that `list.append` can be one.
Callback: TypeAlias = Callable[[dict[str, Any]], Any]

# The first screening waits until the model is peaked: at w = 0 almost every feature looks like a violation.
_FIRST_SCREENING = 5
_SCREEN_EVERY = 10  # iterations, more as the set settles: half as many as there were
# A feature at zero whose |gradient| is below this share of rho1 leaves the working set.
_KEEP = 0.8


def point_at(objective: Objective, numbers: Numbers | None = None, w: Floats | None = None) -> Point:
    """These weights, on them and on what can become positive; zero if there are none."""
    known = objective.hopeful()
    if numbers is None or w is None:
        w = np.zeros(known.size)
    else:
        given = objective.working_set(numbers)
        known = objective.working_set(union(known.numbers, objective.prepared.only_allowed(numbers)))
        w = known.carry(w, given)
    return Point(known, w, *objective.loss_grad(known, w))


def run(
    objective: Objective,
    solver: Solver,
    start: Point | None,
    stopping: Stopping,
    callback: Callback | None = None,
    *,
    dev: Dev | None = None,
    keeper: Keeper | None = None,
    resumed: State | None = None,
) -> Result:
    """Minimise P with `solver`. Returns the point that met the tolerance, else, Ctrl-C included, the best one seen.

    With `dev` and its patience, a run that did not converge first returns the best point on the dev corpus.
    """
    from threadpoolctl import threadpool_limits

    # The vector algebra of a step is small next to a pass, and its last bits would depend on the threads it uses.
    with threadpool_limits(limits=1, user_api="blas"):
        return _Run(objective, solver, stopping, callback, dev, keeper).run(start, resumed)


class _Run:
    def __init__(
        self,
        objective: Objective,
        solver: Solver,
        stopping: Stopping,
        callback: Callback | None,
        dev: Dev | None,
        keeper: Keeper | None,
    ) -> None:
        self.objective, self.solver, self.stopping, self.callback = objective, solver, stopping, callback
        self.dev, self.keeper = dev, keeper
        self.began = time.perf_counter()
        self.residual_at_zero = objective.start_residual()
        self.history: list[Record] = []
        self.lowest: Lowest | None = None  # better weights than those of the last point, if there were any
        self.previous: Lowest | None = None  # the weights of the last point that was watched
        self.bound = LowerBound(objective)

    def run(self, start: Point | None, resumed: State | None) -> Result:
        iteration = screened = stalled = 0
        if resumed is not None:
            point, iteration, screened, stalled = self._resume(resumed)
        else:
            point = start or point_at(self.objective)
        stopped_by = head = kkt = gap = None
        try:
            while stopped_by is None:
                self._watch(point)
                if self.keeper is not None:
                    head = self._state(point, iteration, screened, stalled)
                    if self.keeper.due():
                        self.keeper.save(head)
                settled = stalled > 1 or self._relative_kkt(point) <= self._target(point)
                due = iteration - screened >= max(_SCREEN_EVERY, iteration // 2) or iteration == _FIRST_SCREENING
                limit = self._limit_reached(iteration)
                kkt = gap = None
                if settled or due or limit:
                    narrow, (point, kkt, gap) = point, self._screen(point)
                    if point is not narrow:
                        self.solver.move(point.known, narrow.known)
                    del narrow  # `before`, below, too: megabytes that the next step needs
                    screened = iteration
                    if self._optimal(point, kkt, gap):
                        stopped_by = "tol" if self.stopping.gap is None else "gap"
                    elif limit or stalled > 1:
                        stopped_by = limit or "precision"
                enough = self._record(iteration, point, kkt, gap)
                if stopped_by is None and self.dev is not None and self.dev.exhausted(iteration):
                    stopped_by = "dev"
                if stopped_by is None and enough:
                    stopped_by = "callback"
                if stopped_by is None:
                    before, point = point, self.solver.step(point)
                    stalled = stalled + 1 if point is before else 0
                    del before
                    if stalled:
                        self.solver.forget()
                    iteration += 1
        except KeyboardInterrupt:
            stopped_by, kkt = "interrupt", None
        # Not what is below: a later run with wider limits goes on as if this one had not stopped.
        if self.keeper is not None and head is not None:
            self.keeper.save(head)
        best = self._best(stopped_by)
        if best is not None:
            point, kkt = point_at(self.objective, best.numbers, best.w), None
        if kkt is None or gap is None:
            point, kkt, gap = self._screen(point)
        return Result(point, self._value(point), kkt, gap, stopped_by, self.history)

    def _watch(self, point: Point) -> None:
        """Remember the weights before `point` as long as they are better."""
        value = self._value(point)
        if self.lowest is not None and value <= self.lowest.value:
            self.lowest = None
        if self.lowest is None and self.previous is not None and self.previous.value < value:
            self.lowest = self.previous
        self.previous = Lowest(point.known.numbers, point.w, value)

    def _best(self, stopped_by: str) -> Best | Lowest | None:
        """The weights to return instead of the last ones. A tolerance that was met is a promise about the last."""
        if stopped_by in ("tol", "gap"):
            return None
        if self.dev is not None and self.dev.patience is not None and stopped_by != "precision":
            return self.dev.best
        return self.lowest

    def _state(self, point: Point, iteration: int, screened: int, stalled: int) -> State:
        return State(
            point,
            iteration,
            screened,
            stalled,
            self.objective.passes,
            time.perf_counter() - self.began,
            list(self.history),
            self.solver.state(),
            None if self.dev is None else self.dev.best,
            self.lowest,
            self.bound.best,
        )

    def _resume(self, state: State) -> tuple[Point, int, int, int]:
        self.began -= state.elapsed
        self.history = list(state.history)
        self.objective.passes = state.passes
        self.solver.restore(state.solver)
        if self.dev is not None:
            self.dev.best = state.best
        self.lowest, self.bound.best = state.lowest, state.mixture
        return state.point, state.iteration, state.screened, state.stalled

    def _value(self, point: Point) -> float:
        return point.loss + self.objective.penalty.value(point.w)

    def _relative_kkt(self, point: Point) -> float:
        """Over the working set alone: a lower bound on the certificate."""
        residual = float(np.abs(self.objective.penalty.subgradient(point.w, point.g)).sum())
        return residual / self.residual_at_zero if self.residual_at_zero > 0 else residual

    def _screen(self, point: Point) -> tuple[Point, float, float]:
        """The same weights on a working set that holds every violation, with KKT residual and gap over all features."""
        wide = self.objective.outside(point.known, point.w)
        if wide is point.known:  # all features are known, as they are without an l1 term
            return point, self._relative_kkt(point), self.bound.gap(wide.numbers, point.w, point.loss, point.g)
        w = wide.carry(point.w, point.known)
        loss, g = self.objective.loss_grad(wide, w)
        everything = Point(wide, w, loss, g)
        kkt, gap = self._relative_kkt(everything), self.bound.gap(wide.numbers, w, loss, g)
        keep = (w != 0) | (np.abs(g) > _KEEP * self.objective.penalty.rho1)
        known = self.objective.working_set(wide.numbers[keep])
        return Point(known, w[keep], loss, g[keep]), kkt, gap

    def _target(self, point: Point) -> float:
        """The KKT residual on the working set at which the whole space is worth a look."""
        if self.stopping.gap is None:
            return self.stopping.tol
        # The gap is known at screenings only. It shrinks at least as fast as the residual.
        last = next((r for r in reversed(self.history) if r.gap is not None and r.kkt is not None), None)
        if last is None or last.gap is None or last.kkt is None:
            return self.stopping.gap
        return last.kkt * self.stopping.gap * abs(self._value(point)) / last.gap

    def _optimal(self, point: Point, kkt: float, gap: float) -> bool:
        if self.stopping.gap is not None:
            return gap <= self.stopping.gap * abs(self._value(point))
        return kkt <= self.stopping.tol

    def _limit_reached(self, iteration: int) -> str | None:
        limits = self.stopping
        if limits.max_iter is not None and iteration >= limits.max_iter:
            return "max_iter"
        if limits.time_limit is not None and time.perf_counter() - self.began >= limits.time_limit:
            return "time_limit"
        return None

    def _record(self, iteration: int, point: Point, kkt: float | None, gap: float | None) -> bool:
        """Note an iteration. Whether the callback has had enough."""
        n_unigram = point.known.features.n_unigram
        dev_error = None if self.dev is None else self.dev.look(iteration, point.known.numbers, point.w)
        record = Record(
            iter=iteration,
            time_s=time.perf_counter() - self.began,
            passes=self.objective.passes,
            objective=self._value(point),
            loss=point.loss,
            gap=gap,
            kkt=kkt,
            active_unigram=int(np.count_nonzero(point.w[:n_unigram])),
            active_bigram=int(np.count_nonzero(point.w[n_unigram:])),
            dev_error=dev_error,
        )
        self.history.append(record)
        answer = None if self.callback is None else self.callback(asdict(record))
        return isinstance(answer, (bool, np.bool_)) and bool(answer)
