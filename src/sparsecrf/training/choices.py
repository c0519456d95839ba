"""Checks whether the training options are compatible with each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import isfinite
from numbers import Real
from typing import Any, cast

from sparsecrf.compatibility import Capabilities, Choice, Named, OptionError, Trait, check_compatible, has
from sparsecrf.defaults import AUTO, RHO2, SEARCH, SMALL, SMALL_RHO1, SMALL_RHO2
from sparsecrf.encoding.label_parts import CLASS_PAIRS, PARTS, LabelParts, check_asked
from sparsecrf.options import PRIOR, FitOptions, Rho1Choice, options_of
from sparsecrf.shards.dataset import Dataset
from sparsecrf.training import solvers
from sparsecrf.training.ngrams import NgramSpace
from sparsecrf.training.penalties import kind_of


def check_options(given: Mapping[str, Any], more: Iterable[Choice] = ()) -> None:
    """Reject training options that cannot be combined with each other, or with the additional choices `more`."""
    # Of `auto` and `proximal`, checking `auto` is enough.
    kinds = {name: kind.capabilities for name, kind in solvers.SOLVERS.items() if name != "proximal"}
    check_compatible([*more, *choices_of(given)], kinds)


def choices_of(given: Mapping[str, Any]) -> list[Choice]:
    """The options on which others may depend."""
    declared = declared_choices(FitOptions, given)
    by_value = [(name, value, _BY_VALUE[name](value)) for name, value in given.items() if name in _BY_VALUE]
    found = [Choice(name, _shown(value), brought) for name, value, brought in by_value if brought is not None]
    chosen = [Choice("rho1", AUTO, CHOSEN)] if given.get("rho1") == AUTO else []
    return found + declared + chosen


def declared_choices(group: Any, given: Mapping[str, Any]) -> list[Choice]:
    """The options of a dataclass that declare capabilities and are not at their default."""
    found = []
    for name, _, default, declared in options_of(group):
        if declared.capabilities is None or name not in given:
            continue
        if given[name] is not default and given[name] != default:
            found.append(Choice(name, _shown(given[name]), declared.capabilities))
    return found


def options_for(data: Dataset, given: Mapping[str, Any]) -> dict[str, Any]:
    """Translate the options of `fit` for these data. The result contains the parts of the labels instead of
    `label_parts` and `class_pairs`, the attributes of label n-grams, and the penalty with the names that it needs."""
    options = dict(given)
    options["parts"] = data.label_parts(options.pop("label_parts"), options.pop("class_pairs"))
    options["ngram_attributes"] = data.ngram_attributes()
    options["penalty"] = kind_of(options["penalty"]).named(data.vocabulary, data.template)
    return options


def _solver(name: Any) -> Capabilities:
    if name not in solvers.SOLVERS:
        raise OptionError(Named("solver"), f": expected one of {', '.join(solvers.SOLVERS)}, found {name!r}")
    return solvers.SOLVERS[name].capabilities


def penalties_of(rho1: Rho1Choice, rho2: Any) -> tuple[float, float]:
    """Return rho1 and rho2 as numbers. "small" sets rho1 and, if rho2 is the default, rho2."""
    if rho2 == SEARCH:
        raise OptionError(
            Named("rho2", rho2),
            " is supported only by path and CRFCV; for one fit, give a number or ",
            Named("rho1", AUTO),
        )
    if rho1 == SMALL:
        return SMALL_RHO1, SMALL_RHO2 if rho2 == RHO2 else rho2
    if rho1 == AUTO:
        raise OptionError(Named("rho1"), f": expected a number or {SMALL!r} here, found {AUTO!r}")
    return cast(float, rho1), rho2


def _rho1(value: Any) -> Capabilities | None:
    """Check a number or a name; other types are checked elsewhere."""
    if isinstance(value, Real) and not isfinite(value):
        raise OptionError(Named("rho1"), f": expected a finite number >= 0, found {value!r}")
    if isinstance(value, str):
        if value not in (SMALL, AUTO):
            raise OptionError(Named("rho1"), f": expected a number, {SMALL!r} or {AUTO!r}, found {value!r}")
        return has(Trait.L1)
    return has(Trait.L1 if float(value) > 0 else Trait.NO_L1) if isinstance(value, Real) else None


def _rho2(value: Any) -> Capabilities | None:
    return has(Trait.NO_L2) if isinstance(value, Real) and float(value) == 0 else None


def _label_parts(asked: Any) -> Capabilities | None:
    if asked is None:
        return None
    if not isinstance(asked, LabelParts):
        check_asked(asked)
    return PARTS


#: Capabilities of penalties that are chosen from the data.
CHOSEN = Capabilities(
    refuses={
        Trait.SHARDS: "the search needs data in memory",
        Trait.PRIOR: "the search does not support a prior",
    }
)
_BY_VALUE: dict[str, Callable[[Any], Capabilities | None]] = {
    "solver": _solver,
    "rho1": _rho1,
    "rho2": _rho2,
    "penalty": lambda asked: kind_of(asked).capabilities,
    "order": lambda order: None if order == 2 else NgramSpace.capabilities,
    "label_parts": _label_parts,
    "class_pairs": lambda asked: CLASS_PAIRS if asked else None,
    "prior": lambda prior: None if prior is None else PRIOR,
    "dev": lambda dev: None if dev is None else has(Trait.DEV),
}


def _shown(value: Any) -> Any:
    """A value as messages show it; user-defined groups are shown by name."""
    return getattr(value, "name", value)
