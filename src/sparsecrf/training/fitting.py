"""`fit`, which trains with any solver."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from sparsecrf import defaults
from sparsecrf._core import Corpus, InputError
from sparsecrf.compatibility import Named, OptionError
from sparsecrf.encoding.label_parts import LabelParts
from sparsecrf.encoding.ngrams import Ngrams
from sparsecrf.shards import Shards
from sparsecrf.shards.dataset import Dataset
from sparsecrf.shards.folder import CorpusFolder
from sparsecrf.training.checkpoint import Checkpoint
from sparsecrf.training.choices import check_options, choices_of, penalties_of
from sparsecrf.training.data import TrainingData
from sparsecrf.training.feature_sets import Floats, Numbers
from sparsecrf.training.heldout import Dev, check_same_vocabulary
from sparsecrf.training.objective import Objective
from sparsecrf.training.penalties import PenaltyChoice, kind_of
from sparsecrf.training.penalty import Strengths
from sparsecrf.training.prior import added, fingerprint
from sparsecrf.training.result import Fit
from sparsecrf.training.solvers import SOLVERS
from sparsecrf.training.solvers.choosing import choose_solver
from sparsecrf.training.solvers.sgd import EPOCHS
from sparsecrf.training.solvers.solver import Point, point_at
from sparsecrf.training.solvers.working_set import Callback, Run
from sparsecrf.training.starting_weights import Weights
from sparsecrf.training.stopping import Stopping


def fit(
    corpus: Corpus | Shards | CorpusFolder | TrainingData,
    *,
    rho1: float | Literal["small"] = defaults.RHO1,
    rho2: float = defaults.RHO2,
    penalty: PenaltyChoice = defaults.PENALTY,
    group_weight: float = defaults.GROUP_WEIGHT,
    solver: str = defaults.SOLVER,
    solver_options: Mapping[str, Any] | None = None,
    tol: float = defaults.TOL,
    gap: float | None = None,
    max_iter: int | None = None,
    time_limit: float | None = None,
    observed_only: bool = False,
    numbers: Numbers | None = None,
    order: int | None = defaults.ORDER,
    ngram_attributes: Sequence[int] | None = None,
    order_factor: float = defaults.ORDER_FACTOR,
    parts: LabelParts | None = None,
    init: Fit | Weights | None = None,
    prior: Weights | None = None,
    dev: Corpus | Dataset | None = None,
    patience: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_every: float = defaults.CHECKPOINT_EVERY,
    resume: bool = False,
    seed: int = 0,
    threads: int = 0,
    callback: Callback | None = None,
    heartbeat: Callable[[str], None] | None = None,
    watch: Callable[[Point], None] | None = None,
    certify: bool = True,
) -> Fit:
    """Minimise loss + rho1 |w|_1 + rho2/2 |w|^2 over all virtual features of a corpus.

    `rho1="small"` gives a small model: rho1 = 1 and, if rho2 is the default, rho2 = 0.01.

    With a `penalty` over groups of features ("group:attribute", "group:label", "tree"; "group:line" and `FeatureGroups`
    after a call of `named`), the objective also contains rho1 group_weight sum_G sqrt(n_G) ||w_G||_2, where n_G is the
    number of features of group G that occur. Whole groups then become zero. This requires the solver auto or fista, and
    rho1 > 0.

    Training stops when the objective is within `tol` (relative) of its optimum: certified if the duality gap is tight
    enough, otherwise estimated from the decrease of the objective (`stopping`). If `gap` is given, training stops only
    at that relative duality gap. Limits can end training earlier.

    `observed_only` leaves out features that never occur; `numbers` (ascending) restricts the features to those listed.
    With `order` above 2, features can have up to `order` labels (None means no limit): the attributes
    `ngram_attributes` (ids; None means all that condition label pairs) also condition longer label n-grams. This
    requires the solver auto, owlqn, lbfgs, fista or sgd-l1, and rho1 > 0. rho1 of an n-gram is multiplied by
    `order_factor` (>= 1) for each of its labels beyond two. With `parts` of labels (`LabelParts.of`), all labels with a
    part share the features of that part; the solvers dual, sbcd and cd do not support this.

    `init` is a warm start: another fit with the same labels and attributes, or the result of `weights_in` for a model.
    With a `prior`, which is also a result of `weights_in`, the penalty applies to the difference from these weights.
    The result contains the prior plus that difference; during training, only weights that differ from the prior are
    counted. A prior requires the solver auto, owlqn, lbfgs or fista.

    The solver `auto` chooses `dual` for few labels and small penalties, otherwise `proximal`; the `solver` of the
    result names the choice. `solver_options` are passed to the solver. `seed` determines the order of sequences in
    stochastic solvers, which stop after 50 epochs unless `max_iter` is given. `certify=False` skips the final work,
    about five passes, that makes the certified `gap` of the result as small as possible.

    `callback` receives the fields of a `Record` at every iteration and can end training by returning True. `heartbeat`
    is called with a line of text before the first iteration, and `watch` with the weights and the gradient (NaN for
    dual) of every iteration, before `callback`.

    `dev`, encoded by the same vocabulary, is labelled at every iteration, and its token error is recorded
    (`heldout.wrong_tokens`). With `patience`, training also stops when that error has not improved for that many
    iterations, and returns the weights with the smallest error unless the optimum is found first.

    `checkpoint` names a file for the state of the run, written every `checkpoint_every` seconds and at the end, even
    if the run is interrupted or reaches a limit. With `resume`, training resumes from that file bit for bit, with the
    limits of this call (counted from the start of the run); `init` is ignored. If the file does not exist, a new run
    begins, so you can repeat the same command until training has finished.

    The solvers auto, owlqn, lbfgs and fista also accept data in `Shards` or in a `CorpusFolder`. Shards use their own
    threads; `threads` then limits those of the solver itself. `TrainingData` can be prepared once for several fits, and
    then determines the features and threads.
    """
    if isinstance(corpus, CorpusFolder):
        corpus = corpus.in_shards(threads)
    for name, value in (("tol", tol), ("gap", gap)):
        if value is not None and not value >= 0:
            raise OptionError(Named(name), f": expected a number >= 0, found {value}")
    rho1, rho2 = penalties_of(rho1, rho2)
    longer = {"order": order, "ngram_attributes": ngram_attributes}
    space = {"observed_only": observed_only, "numbers": numbers, **longer, "parts": parts}
    prepared = TrainingData.of(corpus, **space, threads=threads)
    corpus, data = prepared.corpus, prepared.shards
    given = {"solver": solver, "rho1": rho1, "rho2": rho2, "penalty": penalty, "gap": gap, "dev": dev}
    given |= {"patience": patience, "prior": prior, "checkpoint": checkpoint}
    given |= {"resume": resume, "group_weight": group_weight, "order_factor": order_factor}
    check_options(given, prepared.choices)
    options = _checked_options(solver, solver_options or {})
    if solver == "auto":
        can_choose = init is None and not options  # a warm start uses proximal
        every = [*choices_of(given), *prepared.choices]
        solver = choose_solver(prepared, rho1, rho2, every) if can_choose else "proximal"
    if "seed" in SOLVERS[solver].options:
        options = {"seed": seed, **options}
    if SOLVERS[solver].is_stochastic:
        max_iter = EPOCHS if max_iter is None else max_iter
    if data.n_free == data.n_tokens:
        raise InputError("training: the corpus has no labels")
    omega = kind_of(penalty).make(Strengths(rho1, rho2, group_weight, order_factor), prepared)
    objective = Objective(prepared, omega, prior)
    objective.heartbeat = heartbeat
    if isinstance(init, Fit):
        check_same_vocabulary("init", init.corpus, corpus)
        if init.parts != prepared.parts:
            raise InputError("init: expected a fit with the same label parts, found a fit with different parts")
    held_out = None
    if dev is not None:
        ngram_table = None if prepared.ngrams is None else prepared.ngrams.table
        held_out = Dev(dev, patience, threads, ngram_table, prepared.part_rows, prior)
        check_same_vocabulary("dev", held_out.corpus, corpus)
    keeper = resumed = None
    if checkpoint is not None:
        identity = _identity(objective, solver, options, held_out)
        keeper = Checkpoint(checkpoint, checkpoint_every, identity, prepared.ngrams)
        resumed = keeper.load(objective) if resume else None
    start = None
    if init is not None and resumed is None:
        numbers_of_init, w_of_init = _given(prepared, init)
        if prior is not None:
            numbers_of_init, w_of_init = added(Weights(prior.numbers, -prior.w), numbers_of_init, w_of_init)
        start = point_at(objective, numbers_of_init, w_of_init)
    stopping = Stopping(tol, gap, max_iter, time_limit, certify, SOLVERS[solver].doubt)
    algorithm = SOLVERS[solver].make(objective, **options)
    with threadpool_limits(limits=1, user_api="blas"):
        result = Run(objective, algorithm, stopping, callback, held_out, keeper, watch).run(start, resumed)
    point = result.point
    numbers, w = objective.with_prior(point.known.numbers, point.w)
    kept, ngrams = _compact(prepared, numbers)
    return Fit(
        corpus,
        objective.penalty.rho1,
        objective.penalty.rho2,
        kept,
        w,
        result.objective,
        point.loss,
        result.kkt,
        result.gap,
        result.remaining,
        solver,
        result.stopped_by,
        result.history,
        prepared.n_features(),
        prepared.order,
        ngrams,
        parts=prepared.parts,
        n_changed=None if prior is None else int(np.count_nonzero(point.w)),
        penalty_summary=omega.summary(point.known.numbers[point.w != 0]),
    )


def _compact(data: TrainingData, numbers: Numbers) -> tuple[Numbers, Ngrams]:
    """Renumber the features for a table that contains only their label n-grams. Return the numbers and the n-grams."""
    if data.ngrams is None:
        return numbers, Ngrams.none()
    ngrams = Ngrams.of(data.working_set(numbers).feature_set)
    numbers = numbers.copy()
    n = len(ngrams.attribute)
    numbers[len(numbers) - n :] = data.ngrams.numbering.first_ngram + np.arange(n)
    return numbers, ngrams


def _given(data: TrainingData, init: Fit | Weights) -> tuple[Numbers, Floats]:
    """The features to start from, as ascending numbers in the table of these data, and their weights."""
    if not init.ngrams:
        return init.numbers, init.w
    if data.ngrams is None:
        raise InputError("init: expected weights of at most two labels for order 2, found label n-grams")
    n = len(init.ngrams.attribute)
    numbers = np.concatenate([init.numbers[: len(init.numbers) - n], data.ngrams.numbers(init.ngrams)])
    order = np.argsort(numbers)
    return numbers[order], init.w[order]


def _checked_options(solver: str, options: Mapping[str, Any]) -> dict[str, Any]:
    known = SOLVERS[solver].options
    for name in options:
        if name not in known:
            wrong = f": for the solver {solver}, expected {' or '.join(known) or 'none'}, found {name!r}"
            raise OptionError(Named("solver_options"), wrong)
    return dict(options)


def _identity(
    objective: Objective, solver: str, options: Mapping[str, Any], dev: Dev | None
) -> dict[str, str | float | bool | None]:
    """The entries that must be equal for a run to resume from a checkpoint."""
    allowed, longer = objective.prepared.allowed, objective.prepared.ngrams
    return {
        "version": version("sparsecrf"),
        "corpus": f"{objective.data.fingerprint:016x}",
        "dev corpus": None if dev is None else dev.fingerprint,
        **objective.penalty.record(),
        "solver": solver,
        "solver options": repr(sorted(options.items())),
        "features": "all" if allowed is None else hashlib.sha256(allowed.tobytes()).hexdigest(),
        **({} if objective.prior is None else {"prior": fingerprint(objective.prior)}),
        **({} if longer is None else {"order": longer.order, "n-gram attributes": longer.fingerprint()}),
        **({} if objective.prepared.parts is None else {"parts of labels": repr(objective.prepared.parts)}),
    }
