"""The options of training, declared once: name, type, default, range, help, and what they do not go together with.

The command line is made of these declarations (`cli/options.py`), `training/choices.py` checks values by them, and
tests/estimators/test_options.py compares the signatures of `fit`, `CRF` and `CRFCV` with them. Imports little: the
command line starts with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sparsecrf.compatibility import Capabilities, OptionError, Trait, has
from sparsecrf.declared import Declared
from sparsecrf.defaults import (
    CHECKPOINT_EVERY,
    GROUP_WEIGHT,
    ORDER,
    ORDER_FACTOR,
    PENALTIES,
    PENALTY,
    RHO1,
    RHO2,
    SOLVER,
    SOLVERS,
    STOP_EPS,
    TOL,
)

STOPPING, LONG_RUNS = "Stopping", "Long runs"  #: panels of the program's help


def parsed_order(given: str | int | None) -> int | None:
    """What `--order` says."""
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
    float, Declared("Absolute (l1) penalty: rho1 |w|_1. The larger, the sparser.", "--rho1", metavar="X", min=0)
]
Rho2 = Annotated[float, Declared("Squared (l2) penalty: rho2/2 |w|^2.", "--rho2", metavar="X", min=0)]
Penalty = Annotated[
    str,
    Declared(
        "elastic-net, or one that keeps or drops whole groups of features: of an attribute, a template line, or a "
        "label; tree: label pairs under their label. For the solvers auto and fista.",
        "--penalty",
        metavar="|".join(PENALTIES),
        choices=(*PENALTIES, "group"),
    ),
]
GroupWeight = Annotated[
    float,
    Declared(
        "With groups: rho1 X sqrt(n) |w of the group|_2 is added for each, n its features that occur.",
        "--group-weight",
        metavar="X",
        min=0,
        capabilities=Capabilities(needs={Trait.GROUPS: ""}),
    ),
]
Order = Annotated[
    int | None,
    Declared(
        "Features have up to so many labels, none: no limit. Above 2, the lines T... of the template, or else "
        "plain label n-grams; for the solvers auto, owlqn, lbfgs, fista and sgd-l1.",
        "--order",
        metavar="K|none",
        parse=parsed_order,
    ),
]
OrderFactor = Annotated[
    float,
    Declared(
        "With --order above 2, rho1 is multiplied by this for each label beyond two.",
        "--order-factor",
        metavar="X",
        min=1,
        capabilities=Capabilities(frozenset({Trait.ORDER_FACTOR}), needs={Trait.NGRAMS: ""}),
    ),
]
LabelPartsRule = Annotated[
    str | None,
    Declared(
        "Labels share weights of their parts: a separator such as '|', ud (part of speech, then feature=value), "
        "or bio; not for the solvers sbcd and cd.",
        "--label-parts",
        metavar="RULE",
    ),
]
ClassPairs = Annotated[
    bool,
    Declared(
        "With --label-parts, also weights of pairs of classes: labels with the same first part (the part of "
        "speech, for ud) are one. Not with --order above 2, --dask or --shard-tokens.",
        "--class-pairs",
    ),
]
Threads = Annotated[int, Declared("Threads to use; 0: all cores.", "--threads", metavar="N", min=0, max=1024)]


@dataclass(frozen=True)
class FitOptions:
    """Options that go to `sparsecrf.fit` as they are, by the same names."""

    solver: Solver = SOLVER
    rho1: Rho1 = RHO1
    rho2: Rho2 = RHO2
    penalty: Penalty = PENALTY
    group_weight: GroupWeight = GROUP_WEIGHT
    max_iter: Annotated[
        int | None, Declared("Stop after so many iterations.", "--max-iter", panel=STOPPING, metavar="N", min=1)
    ] = None
    tol: Annotated[
        float,
        Declared(
            "Stop at most this share of the objective above the optimum.", "--tol", panel=STOPPING, metavar="X", min=0
        ),
    ] = TOL
    gap: Annotated[
        float | None,
        Declared(
            "Stop at a duality gap of this times the objective instead.",
            "--gap",
            panel=STOPPING,
            metavar="X",
            min=0,
            capabilities=Capabilities(refuses={Trait.MISSING: "the loss is then not convex, and has no duality gap"}),
        ),
    ] = None
    time_limit: Annotated[
        float | None,
        Declared("Stop after so many seconds of training.", "--time-limit", panel=STOPPING, metavar="X", min=0),
    ] = None
    patience: Annotated[
        int | None,
        Declared(
            "Stop when the error on --dev has not improved for so many iterations; keep the best.",
            "--patience",
            panel=STOPPING,
            metavar="N",
            min=1,
            capabilities=Capabilities(needs={Trait.DEV: ""}),
        ),
    ] = None
    stop_window: Annotated[
        int | None,
        Declared(
            "Stop when the error on --dev has varied by less than --stop-eps in so many iterations; Wapiti's -w.",
            "--stop-window",
            panel=STOPPING,
            metavar="N",
            min=2,
            capabilities=Capabilities(needs={Trait.DEV: ""}),
        ),
    ] = None
    stop_eps: Annotated[
        float,
        Declared(
            "For --stop-window, in percent of tokens; Wapiti's -e.", "--stop-eps", panel=STOPPING, metavar="X", min=0
        ),
    ] = STOP_EPS
    threads: Threads = 0
    seed: Annotated[int, Declared("Orders the sequences of sgd and sgd-l1.", "--seed", metavar="N", min=0)] = 0
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
            "Keep the state of the run in this file, so that --resume can go on.",
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
            "Go on from --checkpoint if it is there.",
            "--resume",
            panel=LONG_RUNS,
            capabilities=Capabilities(needs={Trait.CHECKPOINT: ""}),
        ),
    ] = False
