"""Checks, before work begins, whether the options of a run can be combined.

A solver, a penalty, a kind of feature, a data source and an option each declare their `Capabilities`: the traits they
have, the traits they require from another choice, and the traits they exclude. `check_compatible` compares the choices
of a run. Its `OptionError` spells options as in Python; the command line spells them as typed (`as_typed`) and reports
a usage error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple

from sparsecrf._core import InputError


class Trait(Enum):
    """A property of the model, the data or the run on which other choices may depend.

    Each value consists of the trait's name in the manual, the option that sets it, and the value of that option.
    """

    L1 = "an L1 penalty", "rho1", "above 0"
    NO_L1 = "no L1 penalty", "rho1", "of 0"
    NO_L2 = "no L2 penalty", "rho2", "of 0"
    GROUPS = "a penalty over groups of features", "penalty", "group:attribute, group:line, group:label or tree"
    ANY_PENALTY = "a solver for any penalty", "solver", "fista"
    NGRAMS = "features of more than two labels", "order", "above 2"
    ORDER_FACTOR = "a penalty that grows with the order", "order_factor", "above 1"
    PARTS = "parts of labels", "label_parts", ""
    CLASS_PAIRS = "pairs of label classes", "class_pairs", ""
    DENSE = "dense columns", "vectors", ""
    LISTED = "a list of features", "numbers", ""
    SHARDS = "data in shards", "cache", ""
    SEVERAL_SHARDS = "data in several shards", "shard_tokens", ""
    IN_FOLDER = "data in a folder", "cache", ""
    ON_CLUSTER = "data on a cluster", "dask", ""
    MISSING = "missing labels or label sets", "missing", ""
    TOKEN_WEIGHTS = "token weights", "", ""
    NEGATIVE = "negative values", "", ""
    DEV = "held-out data", "dev", ""
    CHECKPOINT = "a checkpoint", "checkpoint", ""
    PRIOR = "a prior", "prior", ""
    GRID = "a grid of rho1", "n_rho", ""

    @property
    def title(self) -> str:
        """The trait's name in the manual."""
        return self.value[0]

    @property
    def setting(self) -> tuple[str | Named, ...]:
        """The option that sets the trait, with its value."""
        _, option, how = self.value
        return (Named(option), f" {how}" if how else "")


#: Traits that only some solvers support; every solver supports all others.
OF_SOLVERS = (Trait.NGRAMS, Trait.PARTS, Trait.GROUPS, Trait.DENSE, Trait.SHARDS, Trait.L1, Trait.PRIOR)


class Named(NamedTuple):
    """An option in a message, with its value if that is None, text or a number."""

    option: str
    value: Any = ...  #: other values are not printed

    def in_python(self) -> str:
        return f"{self.option}={self.value!r}" if self._is_printed else self.option

    def as_typed(self) -> str:
        """The option as it is spelled on the command line."""
        option = "--" + self.option.replace("_", "-")
        if not self._is_printed or self.value is True:
            return option
        value = f"{self.value:g}" if isinstance(self.value, float) else self.value
        return f"{option} {'none' if value is None else value}"

    @property
    def _is_printed(self) -> bool:
        return self.value is None or isinstance(self.value, (str, int, float))


class OptionError(InputError):
    """Wrong usage: an option with a wrong value, or options that cannot be combined."""

    def __init__(self, *pieces: str | Named) -> None:
        """The `pieces` of the message are text, and options, which Python and the command line spell differently."""
        super().__init__(*pieces)
        self.pieces = pieces

    def __str__(self) -> str:
        return "".join(piece if isinstance(piece, str) else piece.in_python() for piece in self.pieces)

    def as_typed(self) -> str:
        """The message with options as they are spelled on the command line."""
        return "".join(piece if isinstance(piece, str) else piece.as_typed() for piece in self.pieces)


class Capabilities(NamedTuple):
    """The traits that a choice has, requires and excludes. The texts state the reasons and may be empty."""

    has: frozenset[Trait] = frozenset()
    needs: Mapping[Trait, str] = MappingProxyType({})
    refuses: Mapping[Trait, str] = MappingProxyType({})

    def conflicts(self, others: Iterable[Capabilities]) -> bool:
        """Whether any of `others` has a trait that this choice excludes."""
        return any(self.refuses.keys() & other.has for other in others)


def has(*traits: Trait) -> Capabilities:
    """Capabilities of a choice that has these traits and can be combined with everything that does not exclude
    them."""
    return Capabilities(frozenset(traits))


def solver_for(*supported: Trait, has: Iterable[Trait] = ()) -> Capabilities:
    """Capabilities of a solver that supports these optional traits and none of the others in `OF_SOLVERS`."""
    return Capabilities(frozenset(has), refuses={trait: "" for trait in OF_SOLVERS if trait not in supported})


class Choice(NamedTuple):
    """An option that was given; or, if `option` is empty, a property of the data, which `value` describes."""

    option: str
    value: Any
    capabilities: Capabilities

    @property
    def name(self) -> str | Named:
        return Named(self.option, self.value) if self.option else str(self.value)


#: The value of an option that turns its trait off. To turn off other traits, users omit the option.
_WITHOUT: dict[Trait, tuple[str | Named, ...]] = {
    Trait.L1: (Named("rho1", 0),),
    Trait.NO_L1: Trait.L1.setting,
    Trait.NO_L2: (Named("rho2"), " above 0"),
    Trait.GROUPS: (Named("penalty", "elastic-net"),),
    Trait.NGRAMS: (Named("order", 2),),
    Trait.ORDER_FACTOR: (Named("order_factor", 1),),
}


def check_compatible(choices: Sequence[Choice], solvers: Mapping[str, Capabilities] | None = None) -> None:
    """Reject the first choice that excludes a trait of another choice, or requires a trait that no other choice has.
    The message may recommend other `solvers`."""
    for choice in choices:
        for trait, reason in choice.capabilities.refuses.items():
            for other in choices:
                if trait not in other.capabilities.has:
                    continue
                if choice.option == "solver":
                    use = _other_solvers(choices, solvers or {}, trait)
                    if other.option:
                        raise OptionError(other.name, " is not supported by ", choice.name, "; ", *use)
                    raise OptionError(choice.name, " does not support ", other.name, "; ", *use)
                use = _without(trait, other, choice)
                raise OptionError(choice.name, " cannot be combined with ", other.name, _because(reason), "; ", *use)
    brought = {trait for choice in choices for trait in choice.capabilities.has}
    for choice in choices:
        for trait, reason in choice.capabilities.needs.items():
            if trait not in brought:
                raise OptionError(choice.name, " needs ", *trait.setting, _because(reason))


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""


def _other_solvers(
    choices: Sequence[Choice], solvers: Mapping[str, Capabilities], trait: Trait
) -> tuple[str | Named, ...]:
    """Advice: solvers that support all other choices, or how to turn the trait off."""
    others = [choice.capabilities for choice in choices if choice.option != "solver"]
    able = [name for name, solver in solvers.items() if not solver.conflicts(others)]
    named = f"{', '.join(able[:-1])} or {able[-1]}" if len(able) > 1 else "".join(able)
    without = _WITHOUT.get(trait, ())
    return ("use ", named, ", or " if able and without else "", *without)


def _without(trait: Trait, brought_by: Choice, refused_by: Choice) -> tuple[str | Named, ...]:
    """Advice: how to set either option so that the conflict disappears."""
    for each, choice in ((trait, brought_by), *((own, refused_by) for own in refused_by.capabilities.has)):
        if each in _WITHOUT and choice.option:
            return ("use ", *_WITHOUT[each])
    return ("leave out ", Named(brought_by.option or refused_by.option))
