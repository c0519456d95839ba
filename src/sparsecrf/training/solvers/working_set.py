"""The outer loop of every solver: it maintains the working set, screens, certifies, and decides when to stop.

A solver improves P over the features it is given. This loop adds features that violate their optimality condition
anywhere in the virtual space, drops features that stay at zero, and stops when the whole space is close
enough to optimal.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from sparsecrf.training.dual import LowerBound
from sparsecrf.training.feature_sets import place_among
from sparsecrf.training.heldout import Best, Dev
from sparsecrf.training.history import Record
from sparsecrf.training.objective import LAST_SECONDS, Objective, OutOfTime
from sparsecrf.training.solvers.solver import Certifying, Keeper, Lowest, Point, Solver, State, point_at
from sparsecrf.training.stopping import Stopping, remaining


@dataclass
class Result:
    """The end of a run: the chosen point, its certificate, and statistics."""

    point: Point
    objective: float
    kkt: float  #: the relative KKT residual over the whole space
    gap: float  #: the certified gap: the optimum is at most this far below
    remaining: float  #: an estimate of the distance to the optimum; infinite if there is none yet
    stopped_by: str
    history: list[Record] = field(default_factory=list)


#: A callback receives the fields of a record and ends the run by returning True. Return values that are not bool are
#: ignored, so that `list.append` can be a callback.
Callback: TypeAlias = Callable[[dict[str, Any]], Any]

# The first screening waits until the model is peaked: at w = 0 almost every feature looks like a violation.
_FIRST_SCREENING = 5
# Label n-grams are screened later: at first, nearly all look like violations, and they take the most time to check.
_FIRST_SCREENING_OF_NGRAMS = 10
_SCREEN_EVERY = 10  # number of iterations between screenings, which grows to half of all iterations so far
_AFTER_SCREENING = 5  # number of iterations that new features need to take effect
# A feature at zero leaves the working set if its |gradient| is below this share of rho1 (with groups, of the largest
# value that they tolerate).
_KEEP = 0.8
# A KKT residual at w = 0 below this share of the total mass is rounding error and cannot serve as a scale.
_ROUNDING = 1e-8
# A gap below this share of the objective is not tightened further.
_TIGHT = 1e-4
# A relative KKT residual of the working set up to this is rounding error.
_NOTHING = 1e-13
_DOUBTED = 4  # an estimate that the gap contradicts is checked again after a quarter of all iterations
_ASKED_ONCE = 1e-3  # the smallest tolerance for which one estimate is enough
_PASSES_TO_SCREEN = 4.0  # approximate cost of the first screening, in passes


@dataclass
class _Certificate:
    """The result of a screening."""

    kkt: float | None  #: None if not computed
    gap: float
    promise: float  #: approximate gain that features outside the working set could still bring

    def __post_init__(self) -> None:
        self.gap = max(0.0, self.gap)  # rounding can make the gap slightly negative


@dataclass(eq=False)
class Run:
    """One run of a solver: its state, and the steps of its loop. `threadpool_limits` must restrict vector algebra to
    one thread, since the last bits of results would depend on the number of threads. Vector algebra takes little time
    compared with a pass.

    With `dev` and its patience, a run that did not converge first returns the best point on the dev corpus.
    """

    objective: Objective
    solver: Solver
    stopping: Stopping
    callback: Callback | None = None
    dev: Dev | None = None
    keeper: Keeper | None = None
    watch: Callable[[Point], None] | None = None

    def __post_init__(self) -> None:
        objective = self.objective
        self.began = time.perf_counter()
        rounding = _ROUNDING * sum(float(np.abs(mass).sum()) for mass in objective.prepared.oracle.masses())
        self.residual_at_zero = max(objective.start_residual(), rounding)
        self.history: list[Record] = []
        self.lowest: Lowest | None = None  # better weights than those of the last point, if any
        self.previous: Lowest | None = None  # the weights of the last point that was watched
        self.values: list[float] = []  # the lowest objective so far, for every iteration
        self.bound = LowerBound(objective)
        # The point of the last screening, on all features it considered. It is kept until the next step, unless its
        # bound is tight.
        self.everything: Point | None = None
        self.promise = np.inf  # possible gain according to the last screening
        self.iteration = 0
        self.screened = 0  # iteration of the last screening
        self.screening_s: float | None = None  # duration of that screening
        longer = objective.prepared.ngrams is not None
        self.first_screening = _FIRST_SCREENING_OF_NGRAMS if longer else _FIRST_SCREENING
        self.stalled = 0  # number of consecutive steps without improvement
        self._valued: tuple[Point | None, float] = None, np.nan  # the last evaluated point and its objective
        self.head: State | None = None  # the state before the screening of this iteration
        self.stopped_by: str | None = None

    def run(self, start: Point | None, resumed: State | None = None) -> Result:
        """Minimise P. Returns the point that met the tolerance, otherwise (also after Ctrl-C) the best one seen."""
        if resumed is not None:
            point = self._resume(resumed)
        elif isinstance(self.solver, Certifying):
            point = start or self.solver.zero()
        else:
            point = start or point_at(self.objective)
        found: _Certificate | None = None
        self.objective.deadline = None if self.stopping.time_limit is None else self.began + self.stopping.time_limit
        try:
            while self.stopped_by is None:
                self._watch(point)
                self._keep(point)
                point, found = self._look(point)
                enough = self._record(point, found)
                if self.stopped_by is None and self.dev is not None and self.dev.exhausted(self.iteration):
                    self.stopped_by = "dev"
                if self.stopped_by is None and enough:
                    self.stopped_by = "callback"
                if self.stopped_by is None:
                    self.everything = None  # free the memory of the solver
                    new = self.solver.step(point)
                    self.stalled = self.stalled + 1 if new is point else 0
                    if self.stalled:
                        self.solver.forget()
                    self.iteration += 1
                    point = new
        except KeyboardInterrupt:
            self.stopped_by, found = "interrupt", None
        finally:
            # The state is saved before this iteration's decisions, so that a later run with wider limits continues as
            # if this one had not stopped.
            if self.keeper is not None and self.head is not None:
                self.keeper.save(self.head)
        return self._result(point, found)

    # ---- The steps of an iteration

    def _watch(self, point: Point) -> None:
        """Remember earlier weights as long as they are better than `point`, and record the lowest objective."""
        value = self._value(point)
        if self.lowest is not None and value <= self.lowest.value:
            self.lowest = None
        if self.lowest is None and self.previous is not None and self.previous.value < value:
            self.lowest = self.previous
        self.previous = Lowest(point.known.numbers, point.w, value)
        self.values.append(value if self.lowest is None else self.lowest.value)

    def _keep(self, point: Point) -> None:
        """Record the state, and write it to the checkpoint if it is due."""
        # A step that the time limit cut short is not saved: the run continues from before it.
        if self.keeper is not None and not self.objective.cut_short:
            self.head = self._state(point)
            if self.keeper.due():
                self.keeper.save(self.head)

    def _look(self, point: Point) -> tuple[Point, _Certificate | None]:
        """Screen if it is due, and decide whether to stop: at a limit, by a certificate, or by the estimate."""
        if isinstance(self.solver, Certifying):
            return point, self._look_at_bound(point, self.solver)
        left, limit = remaining(self.values), self._limit_reached()
        since = self.iteration - self.screened
        optimal = self._relative_kkt(point) <= _NOTHING  # optimal over the working set: no solver can improve it
        if self.stopping.tol < _ASKED_ONCE:  # a very small estimate must be confirmed once
            left = max(left, remaining(self.values[:-_AFTER_SCREENING]))
        target = self._target(point)
        settled = self.stalled > 1 or optimal or left <= target
        wait = _AFTER_SCREENING if self.stopping.gap is None else _SCREEN_EVERY
        if left > self.stopping.believable(self.bound.gap_of(self._value(point)), target):
            wait = max(_SCREEN_EVERY, self.iteration // _DOUBTED)
        due = since >= max(_SCREEN_EVERY, self.iteration // 2) or self.iteration == self.first_screening
        if limit == "time_limit" and not self._time_to_screen():
            self.stopped_by = limit
            return point, None
        if not (limit or due or self.stalled > 1 or optimal or (settled and since >= wait)):
            return point, None
        ask = settled and limit != "time_limit"
        try:
            wide, found = self._screen(point, tighten=ask and self.stopping.gap is not None)
        except OutOfTime:
            self.stopped_by, self.screening_s = "time_limit", np.inf
            return point, None
        if wide is not point:
            self.solver.move(wide.known, point.known)
        self.screened = self.iteration
        if found.gap <= target:
            self.stopped_by = "tol" if self.stopping.gap is None else "gap"
        elif self.stopping.gap is None and settled and self._believed(found, 0.0 if optimal else left, target):
            self.stopped_by = "tol"
        elif limit:
            self.stopped_by = limit
        elif self.stalled > 1:
            if found.promise > 0:  # useful features joined, so the solver restarts with them
                self.stalled = 0
            else:
                self.stopped_by = "precision"
        return wide, found

    def _look_at_bound(self, point: Point, solver: Certifying) -> _Certificate:
        """The counterpart of `_look` for a solver with its own lower bound over all features."""
        value, limit = self._value(point), self._limit_reached()
        self.bound.of_solver = max(self.bound.of_solver, solver.bound)
        if limit or self.stalled > 1 or value - self.bound.of_solver <= self._target(point):
            self.bound.of_solver = solver.certify()
        gap = self.bound.gap_of(value)
        if gap <= self._target(point):
            self.stopped_by = "tol" if self.stopping.gap is None else "gap"
        elif limit or self.stalled > 1:
            self.stopped_by = limit or "precision"
        return _Certificate(None, gap, 0.0)

    def _believed(self, found: _Certificate, left: float, target: float) -> bool:
        """Whether the estimate is small enough for the gap. If not, tighten the gap first, which a run that stops here
        would do anyway."""
        left += found.promise
        if self.stopping.believable(found.gap, target) < left <= target and self.everything is not None:
            found.gap = self._tightened(self.everything, found.gap)
            self.everything = None
        return left <= self.stopping.believable(found.gap, target) or found.gap <= target

    def _result(self, point: Point, found: _Certificate | None) -> Result:
        """The point to return, with a certificate that is as tight as possible unless time is up."""
        assert self.stopped_by is not None
        self.head = None
        in_time = self.stopped_by not in ("time_limit", "interrupt")
        best = self._best()
        if isinstance(self.solver, Certifying):
            return self._result_with_bound(self.solver, point, best, in_time)
        self.solver.forget()  # free the solver's pairs before computing the certificate, when memory use peaks
        if isinstance(best, Lowest) and not (in_time or self._time_to_screen()):
            point, found = self._unseen(best), None
        elif best is not None:
            point, found = point_at(self.objective, best.numbers, best.w), None
        value = self._value(point)
        if found is None and not (in_time or self._time_to_screen()):
            found = self._uncertified(value)
        elif found is None:
            try:
                point, found = self._screen(point, tighten=in_time and self.stopping.certify)
            except OutOfTime:
                found = self._uncertified(value)
        elif in_time and self.stopping.certify and self.everything is not None:  # screened, but not yet tightened
            found = _Certificate(found.kkt, self._tightened(self.everything, found.gap), found.promise)
        # The estimate refers to the lowest objective, but the returned point may be the one that is best on dev data.
        higher = max(value - self.values[-1], 0.0) if self.values else np.inf
        left = min(higher + remaining(self.values) + found.promise, found.gap)
        assert found.kkt is not None
        return Result(point, value, found.kkt, found.gap, left, self.stopped_by, self.history)

    def _result_with_bound(self, solver: Certifying, point: Point, best: Best | Lowest | None, in_time: bool) -> Result:
        """The counterpart of `_result` for a solver with its own lower bound. Its objective does not decrease steadily,
        so the gap also serves as the estimate."""
        assert self.stopped_by is not None
        self.bound.of_solver = solver.certify()
        if best is not None:
            point = self._unseen(best)
        kkt = np.inf
        if in_time or self._time_to_screen() or np.isnan(point.loss):
            loss, residual = solver.finish(point.known, point.w)
            point, kkt = replace(point, loss=loss), self._relative(residual)
        value = self._value(point)
        gap = max(0.0, self.bound.gap_of(value))
        return Result(point, value, kkt, gap, gap, self.stopped_by, self.history)

    def _unseen(self, best: Best | Lowest) -> Point:
        """The point with these weights, without a gradient; without a loss, too, unless the objective is known."""
        known = self.objective.working_set(best.numbers)
        loss = np.nan
        if isinstance(best, Lowest):
            loss = best.value - self.objective.penalty_on(known).value(best.w)
        return Point(known, best.w, loss, np.full(known.size, np.nan))

    def _uncertified(self, value: float) -> _Certificate:
        """The certificate of a point that was not screened."""
        return _Certificate(np.inf, self.bound.gap_of(value), self.promise)

    def _best(self) -> Best | Lowest | None:
        """The weights to return instead of the last ones. If the tolerance was met, these are the last ones."""
        if self.stopped_by in ("tol", "gap"):
            return None
        if self.dev is not None and self.dev.patience is not None and self.stopped_by != "precision":
            return self.dev.best
        return self.lowest

    # ---- States, for checkpoints

    def _state(self, point: Point) -> State:
        return State(
            point,
            self.iteration,
            self.screened,
            self.stalled,
            self.objective.passes,
            time.perf_counter() - self.began,
            list(self.history),
            self.values[:-1],  # the last value belongs to `point`, which is watched again
            self.solver.state(),
            None if self.dev is None else self.dev.best,
            self.lowest,
            self.bound.best,
            0 if self.objective.prepared.ngrams is None else len(self.objective.prepared.ngrams.table),
            self.promise,
        )

    def _resume(self, state: State) -> Point:
        self.began -= state.elapsed
        self.history = list(state.history)
        self.values = list(state.values)
        self.objective.passes = state.passes
        self.solver.restore(state.solver)
        if self.dev is not None:
            self.dev.best = state.best
        self.lowest, self.bound.best, self.promise = state.lowest, state.mixture, state.promise
        self.iteration, self.screened, self.stalled = state.iteration, state.screened, state.stalled
        return state.point

    # ---- Properties of a point

    def _value(self, point: Point) -> float:
        if self._valued[0] is not point:  # cached, since it is needed several times per iteration
            self._valued = point, point.loss + self.objective.penalty_on(point.known).value(point.w)
        return self._valued[1]

    def _target(self, point: Point) -> float:
        """The requested distance to the optimum."""
        return self.stopping.target * abs(self._value(point))

    def _relative_kkt(self, point: Point) -> float:
        """The relative KKT residual over the working set only, which is at most the residual over all features."""
        return self._relative(float(np.abs(self.objective.penalty_on(point.known).subgradient(point.w, point.g)).sum()))

    def _relative(self, residual: float) -> float:
        return residual / self.residual_at_zero if self.residual_at_zero > 0 else residual

    def _screen(self, point: Point, *, tighten: bool = False) -> tuple[Point, _Certificate]:
        """The same weights on a working set that contains every violation, with KKT residual and gap over all
        features."""
        began = time.perf_counter()
        if self.objective.penalty.threshold == 0:  # the set already contains all features
            gap = self.bound.gap(point.known.numbers, point.w, point.loss, point.g)
            return point, _Certificate(self._relative_kkt(point), gap, 0.0)
        wide, w, loss, g = self.objective.screen(point.known, point.w)
        everything = Point(wide, w, loss, g)
        gap = self.bound.gap(wide.numbers, w, loss, g)
        if tighten:
            gap = self._tightened(everything, gap)
        self.everything = None if tighten else everything
        self.promise = self._promise(everything, point)
        found = _Certificate(self._relative_kkt(everything), gap, self.promise)
        keep = self.objective.penalty_on(wide).movable(w, g, _KEEP)
        known = self.objective.working_set(wide.numbers[keep])
        if not tighten:
            self.screening_s = time.perf_counter() - began
        return Point(known, w[keep], loss, g[keep], point.trials, point.step), found

    def _tightened(self, everything: Point, gap: float) -> float:
        """The gap of a screening, with a factor for each sequence if that could make it smaller."""
        if gap <= _TIGHT * abs(self._value(everything)):
            return gap
        return min(gap, self.bound.tighten(everything.known, everything.w, everything.loss, everything.g))

    def _time_to_screen(self) -> bool:
        """Whether a screening is short enough to run although time is up. Without an l1 term, screening takes no
        time."""
        if self.objective.penalty.threshold == 0:
            return True
        expected = _PASSES_TO_SCREEN * self.objective.pass_s if self.screening_s is None else self.screening_s
        late = 0.0 if self.objective.deadline is None else max(time.perf_counter() - self.objective.deadline, 0.0)
        return late + expected <= LAST_SECONDS

    def _promise(self, everything: Point, point: Point) -> float:
        """The possible gain of the features outside the working set: the sum of excess^2 / (2 curvature). The curvature
        of a feature with expectation E is at most E (times the size of values other than 1); to be cautious, this uses
        a quarter of that."""
        new = place_among(everything.known.numbers, point.known.numbers) < 0
        penalty = self.objective.penalty_on(everything.known)
        excess = np.abs(penalty.subgradient(everything.w, everything.g))[new]
        expected = np.abs(everything.g[new] + everything.known.counts[new])
        curvature = np.maximum(expected, self.objective.penalty.threshold)
        if not isinstance(unit := self.objective.units(everything.known), float):
            curvature = curvature * unit[new]
        return float((2.0 * excess**2 / curvature).sum())

    def _limit_reached(self) -> str | None:
        limits = self.stopping
        if limits.max_iter is not None and self.iteration >= limits.max_iter:
            return "max_iter"
        if limits.time_limit is not None and time.perf_counter() - self.began >= limits.time_limit:
            return "time_limit"
        return None

    def _record(self, point: Point, found: _Certificate | None) -> bool:
        """Record an iteration. Returns whether the callback ends the run."""
        if self.watch is not None:
            self.watch(point)
        n_unigram, n_pairs = point.known.feature_set.n_unigram, point.known.size - point.known.feature_set.n_ngram
        dev_error = None if self.dev is None else self.dev.look(self.iteration, point.known.numbers, point.w)
        record = Record(
            iter=self.iteration,
            time_s=time.perf_counter() - self.began,
            passes=self.objective.passes,
            objective=self._value(point),
            loss=point.loss,
            gap=None if found is None else found.gap,
            kkt=None if found is None else found.kkt,
            active_unigram=int(np.count_nonzero(point.w[:n_unigram])),
            active_bigram=int(np.count_nonzero(point.w[n_unigram:n_pairs])),
            dev_error=dev_error,
            active_ngram=int(np.count_nonzero(point.w[n_pairs:])),
        )
        self.history.append(record)
        answer = None if self.callback is None else self.callback(asdict(record))
        return isinstance(answer, (bool, np.bool_)) and bool(answer)
