"""The options of training. Each is declared once, with its name, type, default, range, help, and incompatible options.

The command line is built from these dataclasses (`cli/options.py`), `training/choices.py` uses them to check values,
and tests/estimators/test_options.py compares the signatures of `fit`, `CRF` and `CRFCV` with them. This module imports
little, because the command line loads it at startup.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from math import inf
from typing import Any, Literal, NamedTuple, TypeAlias, get_type_hints

from sparsecrf.compatibility import Capabilities, OptionError, Trait, has
from sparsecrf.declared import THREADS, Declared, parameter
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


#: The type of the parameter rho1: a number, "small" or, where the data can be split, "auto".
Rho1Choice: TypeAlias = float | Literal["small", "auto"]


def number_or(*words: str) -> Callable[[Any], Any]:
    """Make the function that converts the text of an option whose value is a number of at least 0 or one of these
    words."""
    expected = " or ".join([", ".join(["a number of at least 0", *words[:-1]]), words[-1]])

    def parsed(given: Any) -> Any:
        if given in words:
            return given
        try:
            number = float(given)
        except ValueError:
            number = -1.0
        if not 0 <= number < inf:
            raise OptionError(f"expected {expected}, found {given!r}")
        return number

    return parsed


def parsed_order(given: str | int | None) -> int | None:
    """Convert the text of `--order` to its value."""
    if given is None or given == "none":
        return None
    try:
        order = int(given)
    except ValueError:
        order = 0
    if order < 2:
        raise OptionError(f"expected an integer >= 2, or none for no limit, found {given!r}")
    return order


def option(default: Any, declared: str | Declared, *names: str, **how: Any) -> Any:
    """Like `parameter`, for a field of a dataclass."""
    metadata = {"declared": parameter(default, declared, *names, **how).declared}
    return field(metadata=metadata) if default is ... else field(default=default, metadata=metadata)


class OptionField(NamedTuple):
    """An option that is a field of a dataclass, or a parameter of a command."""

    name: str
    type: Any
    default: Any  #: `...` if it is required
    declared: Declared

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the option on the command line; empty for an argument."""
        return self.declared.names_of(self.name, self.default)


@cache
def options_of(group: Any) -> list[OptionField]:
    """The options of a dataclass."""
    hints = get_type_hints(group)
    defaults = {f.name: ... if f.default is MISSING else f.default for f in fields(group)}
    return [OptionField(f.name, hints[f.name], defaults[f.name], f.metadata["declared"]) for f in fields(group)]


RHO2_OPTION = Declared("L2 penalty: rho2/2 |w|^2.", metavar="X", min=0)


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
class ModelOptions:
    """Options that are passed to both `fit` and `path`, under the same names."""

    solver: str = option(SOLVER, f"One of {', '.join(SOLVERS)}.", metavar="NAME", choices=tuple(SOLVERS))
    penalty: str = option(
        PENALTY,
        "elastic-net, or a penalty that keeps or drops whole groups of features: all features of an attribute, a "
        "template line or a label. With tree, the label pairs that end in a label are a group inside the group of that "
        "label. Group penalties need the solver auto or fista.",
        metavar="|".join(PENALTIES),
        choices=(*PENALTIES, "group"),
    )
    group_weight: float = option(
        GROUP_WEIGHT,
        "With a group penalty, add rho1 X sqrt(n) |w|_2 for each group, where n is the number of its features that "
        "occur in the data.",
        metavar="X",
        min=0,
        capabilities=Capabilities(needs={Trait.GROUPS: ""}),
    )
    order: int | None = option(
        ORDER,
        "Longest label n-gram that features may contain, or none for no limit. Above 2, n-grams come from the T... "
        "lines of the template, or are plain label n-grams if it contains none. Supported by the solvers auto, owlqn, "
        "lbfgs, fista and sgd-l1.",
        metavar="K|none",
        parse=parsed_order,
    )
    order_factor: float = option(
        ORDER_FACTOR,
        "With --order above 2, multiply rho1 by X for each label beyond two.",
        metavar="X",
        min=1,
        capabilities=Capabilities(frozenset({Trait.ORDER_FACTOR}), needs={Trait.NGRAMS: ""}),
    )
    label_parts: str | None = option(
        None,
        "Let labels share the weights of their parts. RULE is a separator such as '|', ud (part of speech, then "
        "feature=value) or bio. Not supported by the solvers dual, sbcd and cd.",
        metavar="RULE",
    )
    class_pairs: bool = option(
        False,
        "With --label-parts, also learn weights for pairs of classes. Labels with the same first part (the part of "
        "speech, for ud) form a class. Cannot be combined with --order above 2, --dask or --shard-tokens.",
    )
    threads: int = option(0, THREADS)
    tol: float = option(
        TOL,
        "Stop when the training objective is within this fraction of its optimum.",
        panel=STOPPING,
        metavar="X",
        min=0,
    )
    patience: int | None = option(
        None,
        "Stop when the error on --dev has not improved for N iterations, and keep the best model.",
        panel=STOPPING,
        metavar="N",
        min=1,
        capabilities=Capabilities(needs={Trait.DEV: ""}),
    )


@dataclass(frozen=True)
class FitOptions(ModelOptions):
    """Options that are passed to `sparsecrf.fit` unchanged, under the same names."""

    rho1: Any = option(
        RHO1,
        f"L1 penalty: rho1 |w|_1. Larger values give fewer nonzero weights. {SMALL} sets the penalties of a small "
        f"model; {AUTO} chooses rho1 by the score on held-out data (--dev, or parts of TRAIN).",
        metavar=f"X|{SMALL}|{AUTO}",
        parse=number_or(SMALL, AUTO),
    )
    rho2: float = option(RHO2, RHO2_OPTION)
    max_iter: int | None = option(None, "Stop after N iterations.", panel=STOPPING, metavar="N", min=1)
    gap: float | None = option(
        None,
        "Stop when the certified duality gap is at most X times the objective (replaces --tol).",
        panel=STOPPING,
        metavar="X",
        min=0,
        capabilities=Capabilities(refuses={Trait.MISSING: "the loss is then not convex and has no duality gap"}),
    )
    time_limit: float | None = option(None, "Stop after X seconds of training.", panel=STOPPING, metavar="X", min=0)
    seed: int = option(
        0, "Random seed for the order of the sequences (solvers dual, sgd and sgd-l1).", metavar="N", min=0
    )
    observed_only: bool = option(False, "Leave out features that never occur in the training data, as CRFsuite does.")
    checkpoint: str | None = option(
        None,
        "Save the state of the run to this file, so that --resume can continue it.",
        panel=LONG_RUNS,
        metavar="FILE",
        capabilities=has(Trait.CHECKPOINT),
    )
    checkpoint_every: float = option(
        CHECKPOINT_EVERY, "Seconds between two checkpoints.", panel=LONG_RUNS, metavar="X", min=0
    )
    resume: bool = option(
        False,
        "Continue from --checkpoint if the file exists.",
        panel=LONG_RUNS,
        capabilities=Capabilities(needs={Trait.CHECKPOINT: ""}),
    )
