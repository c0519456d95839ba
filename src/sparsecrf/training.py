"""Training: one call for every solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sparsecrf._core import Corpus, InputError
from sparsecrf.model import Model
from sparsecrf.objective import Floats, Numbers, Objective, union
from sparsecrf.solvers.lbfgs import Lbfgs
from sparsecrf.solvers.owlqn import Owlqn
from sparsecrf.solvers.proximal import Proximal
from sparsecrf.solvers.sbcd import Sbcd
from sparsecrf.solvers.sgd import EPOCHS, Sgd, SgdL1
from sparsecrf.solvers.working_set import Callback, Point, Record, Solver, Stopping, run
from sparsecrf.vocabulary import Vocabulary

#: The objective never rises, and any tolerance is reached.
DETERMINISTIC: dict[str, Callable[[Objective], Solver]] = {
    "auto": Proximal,
    "sbcd": Sbcd,
    "owlqn": Owlqn,
    "lbfgs": Lbfgs,
}
#: Take a seed; come near the optimum, and stop after EPOCHS iterations if no other limit is given.
STOCHASTIC: dict[str, Callable[[Objective, int], Solver]] = {"sgd": Sgd, "sgd-l1": SgdL1}
SOLVERS = (*DETERMINISTIC, *STOCHASTIC)


@dataclass(frozen=True)
class Fit:
    """A trained set of weights with its certificate."""

    corpus: Corpus
    rho1: float
    rho2: float
    numbers: Numbers  #: the features that are not zero, by their number in the virtual space
    w: Floats  #: their weights
    objective: float
    loss: float
    kkt: float  #: sum of |smallest subgradient| over the virtual space, relative to that at w = 0
    gap: float  #: P(w) - P* is at most this
    stopped_by: str  #: tol, gap, max_iter, time_limit, interrupt, or precision: no step improves any more
    history: list[Record]

    def model(self, vocabulary: Vocabulary) -> Model:
        """The model, for the vocabulary that encoded the corpus."""
        from sparsecrf._core import FeatureSet

        features = FeatureSet.from_numbers(self.corpus.n_labels, self.corpus.n_attributes, self.numbers)
        return Model(vocabulary, features, self.w)


def fit(
    corpus: Corpus,
    *,
    rho1: float = 1.0,
    rho2: float = 0.01,
    solver: str = "auto",
    tol: float = 1e-3,
    gap: float | None = None,
    max_iter: int | None = None,
    time_limit: float | None = None,
    observed_only: bool = False,
    init: Fit | None = None,
    seed: int = 0,
    threads: int = 0,
    callback: Callback | None = None,
) -> Fit:
    """Minimise loss + rho1 |w|_1 + rho2/2 |w|^2 over all virtual features of a corpus.

    Stops at a relative KKT residual of `tol`, or, if `gap` is given, at a duality gap of `gap` times the objective;
    or at a limit. `init` starts from another fit on the same corpus. `observed_only` leaves out features that never
    occur. `seed` orders the sequences of the stochastic solvers, which stop after 50 epochs unless `max_iter` says
    otherwise. `callback` gets the fields of a `Record` at every iteration.
    """
    if solver not in SOLVERS:
        raise InputError(f"solver: expected one of {', '.join(SOLVERS)}, found {solver!r}")
    if (corpus.labels < 0).all():
        raise InputError("training: expected labels, found none in the whole corpus")
    objective = Objective(corpus, rho1, rho2, observed_only=observed_only, threads=threads)
    start = None if init is None else _start(objective, init)
    if solver in STOCHASTIC:
        algorithm = STOCHASTIC[solver](objective, seed)
        max_iter = EPOCHS if max_iter is None else max_iter
    else:
        algorithm = DETERMINISTIC[solver](objective)
    result = run(objective, algorithm, start, Stopping(tol, gap, max_iter, time_limit), callback)
    point = result.point
    active = point.w != 0
    return Fit(
        corpus,
        objective.rho1,
        objective.rho2,
        point.known.numbers[active],
        point.w[active],
        result.objective,
        point.loss,
        result.kkt,
        result.gap,
        result.stopped_by,
        result.history,
    )


def _start(objective: Objective, init: Fit) -> Point:
    """The weights of another fit, on them and on what can become positive."""
    corpus = objective.corpus
    if (init.corpus.n_labels, init.corpus.n_attributes) != (corpus.n_labels, corpus.n_attributes):
        raise InputError(
            f"init: expected {corpus.n_labels} labels and {corpus.n_attributes} attributes, "
            f"found {init.corpus.n_labels} and {init.corpus.n_attributes}"
        )
    known = objective.working_set(union(objective.hopeful().numbers, init.numbers))
    w = known.carry(init.w, objective.working_set(init.numbers))
    return Point(known, w, *objective.loss_grad(known, w))
