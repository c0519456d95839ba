"""The options of training, declared once: name, type, default, range, help, and incompatible options.

The command line is built from these declarations (`cli/options.py`), `training/choices.py` checks values by them, and
tests/estimators/test_options.py compares the signatures of `fit`, `CRF` and `CRFCV` with them. Imports little: the
command line starts with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, Literal, TypeAlias, cast

from sparsecrf.compatibility import Capabilities, OptionError, Trait, has
from sparsecrf.declared import Declared
from sparsecrf.defaults import (
    AUTO,
    CHECKPOINT_EVERY,
    GROUP_WEIGHT,
    ORDER,
    ORDER_FACTOR,
    PENALTIES,
    PENALTY,
    RHO1,
    RHO2,
    SMALL,
    SOLVER,
    SOLVERS,
    TOL,
)

STOPPING, LONG_RUNS = "Stopping", "Long runs"  #: sections of the program's help


#: What the parameter rho1 may be: a number, "small", or, where the data can be split, "auto".
Rho1Choice: TypeAlias = float | Literal["small", "auto"]


def parsed_rho1(given: str | float) -> Rho1Choice:
    """The value of `--rho1`."""
    if given in (SMALL, AUTO):
        return cast("Rho1Choice", given)
    try:
        rho1 = float(given)
    except ValueError:
        rho1 = -1.0
    if not 0 <= rho1 < inf:
        raise OptionError(f"expected a number of at least 0, {SMALL} or {AUTO}, found {given!r}")
    return rho1


def parsed_order(given: str | int | None) -> int | None:
    """The value of `--order`."""
    if given is None or given == "none":
        return None
    try:
        order = int(given)
    except ValueError:
        order = 0
    if order < 2:
        raise OptionError(f"expected 2 or more labels, or none for no limit, found {given!r}")
    return order


Solver = Annotated[str, Declared(f"One of {', '.join(SOLVERS)}.", "--solver", metavar="NAME", choices=SOLVERS)]
Rho1 = Annotated[
    float, Declared("L1 penalty: rho1 |w|_1. The larger, the fewer nonzero weights.", "--rho1", metavar="X", min=0)
]
Rho2 = Annotated[float, Declared("L2 penalty: rho2/2 |w|^2.", "--rho2", metavar="X", min=0)]
Penalty = Annotated[
    str,
    Declared(
        "elastic-net, or a penalty that keeps or drops whole groups of features: those of an attribute, a template "
        "line or a label; tree: label pairs below their label. Groups need the solver auto or fista.",
        "--penalty",
        metavar="|".join(PENALTIES),
        choices=(*PENALTIES, "group"),
    ),
]
GroupWeight = Annotated[
    float,
    Declared(
        "With a group penalty: adds rho1 X sqrt(n) |w|_2 for each group, where n is the number of its features that "
        "occur.",
        "--group-weight",
        metavar="X",
        min=0,
        capabilities=Capabilities(needs={Trait.GROUPS: ""}),
    ),
]
Order = Annotated[
    int | None,
    Declared(
        "Longest label n-gram that features may contain; none: no limit. Above 2, they come from the lines T... of "
        "the template; without such lines, they are plain label n-grams. For the solvers auto, owlqn, lbfgs, fista "
        "and sgd-l1.",
        "--order",
        metavar="K|none",
        parse=parsed_order,
    ),
]
OrderFactor = Annotated[
    float,
    Declared(
        "With --order above 2: multiply rho1 by X for each label beyond two.",
        "--order-factor",
        metavar="X",
        min=1,
        capabilities=Capabilities(frozenset({Trait.ORDER_FACTOR}), needs={Trait.NGRAMS: ""}),
    ),
]
LabelPartsRule = Annotated[
    str | None,
    Declared(
        "Let labels share weights of their parts. RULE is a separator such as '|', ud (part of speech, then "
        "feature=value) or bio. Not for the solvers dual, sbcd and cd.",
        "--label-parts",
        metavar="RULE",
    ),
]
ClassPairs = Annotated[
    bool,
    Declared(
        "With --label-parts: also learn weights of pairs of classes. Labels with the same first part (the part of "
        "speech, for ud) form a class. Not with --order above 2, --dask or --shard-tokens.",
        "--class-pairs",
    ),
]
Threads = Annotated[int, Declared("Number of threads; 0: all cores.", "--threads", metavar="N", min=0, max=1024)]


#: Capabilities of a run with a prior.
PRIOR = Capabilities(
    frozenset({Trait.PRIOR}),
    refuses={
        Trait.NGRAMS: "",
        Trait.PARTS: "",
        Trait.DENSE: "vectors are scaled by the data",
        Trait.ON_CLUSTER: "",
    },
)


@dataclass(frozen=True)
class FitOptions:
    """Options that go to `sparsecrf.fit` as they are, by the same names."""

    solver: Solver = SOLVER
    rho1: Annotated[
        Any,
        Declared(
            f"L1 penalty: rho1 |w|_1. The larger, the fewer nonzero weights. {SMALL}: the penalties of a small model. "
            f"{AUTO}: it is chosen by the score on held-out data, --dev or a part of TRAIN.",
            "--rho1",
            metavar=f"X|{SMALL}|{AUTO}",
            parse=parsed_rho1,
        ),
    ] = RHO1
    rho2: Rho2 = RHO2
    penalty: Penalty = PENALTY
    group_weight: GroupWeight = GROUP_WEIGHT
    max_iter: Annotated[
        int | None, Declared("Stop after N iterations.", "--max-iter", panel=STOPPING, metavar="N", min=1)
    ] = None
    tol: Annotated[
        float,
        Declared(
            "Stop when the training objective is within this fraction of its optimum.",
            "--tol",
            panel=STOPPING,
            metavar="X",
            min=0,
        ),
    ] = TOL
    gap: Annotated[
        float | None,
        Declared(
            "Stop at a certified duality gap of at most X times the objective instead.",
            "--gap",
            panel=STOPPING,
            metavar="X",
            min=0,
            capabilities=Capabilities(refuses={Trait.MISSING: "the loss is then not convex, and has no duality gap"}),
        ),
    ] = None
    time_limit: Annotated[
        float | None,
        Declared("Stop after X seconds of training.", "--time-limit", panel=STOPPING, metavar="X", min=0),
    ] = None
    patience: Annotated[
        int | None,
        Declared(
            "Stop when the error on --dev has not improved for N iterations, and keep the best model.",
            "--patience",
            panel=STOPPING,
            metavar="N",
            min=1,
            capabilities=Capabilities(needs={Trait.DEV: ""}),
        ),
    ] = None
    threads: Threads = 0
    seed: Annotated[
        int,
        Declared(
            "Random seed for the order of the sequences (solvers dual, sgd and sgd-l1).", "--seed", metavar="N", min=0
        ),
    ] = 0
    order: Order = ORDER
    order_factor: OrderFactor = ORDER_FACTOR
    label_parts: LabelPartsRule = None
    class_pairs: ClassPairs = False
    observed_only: Annotated[
        bool, Declared("Leave out features that never occur, as CRFsuite does.", "--observed-only")
    ] = False
    checkpoint: Annotated[
        str | None,
        Declared(
            "Save the state of the run to this file, so that --resume can continue it.",
            "--checkpoint",
            panel=LONG_RUNS,
            metavar="FILE",
            capabilities=has(Trait.CHECKPOINT),
        ),
    ] = None
    checkpoint_every: Annotated[
        float, Declared("Seconds between two checkpoints.", "--checkpoint-every", panel=LONG_RUNS, metavar="X", min=0)
    ] = CHECKPOINT_EVERY
    resume: Annotated[
        bool,
        Declared(
            "Continue from --checkpoint if the file exists.",
            "--resume",
            panel=LONG_RUNS,
            capabilities=Capabilities(needs={Trait.CHECKPOINT: ""}),
        ),
    ] = False
