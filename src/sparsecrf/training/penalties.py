"""Finds penalties by their names in `sparsecrf.defaults.PENALTIES`, for the option `penalty`."""

from __future__ import annotations

from sparsecrf.compatibility import Named, OptionError
from sparsecrf.defaults import PENALTIES as PLACES
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.lazy import registered
from sparsecrf.training.groups import ByAttribute
from sparsecrf.training.penalty import PenaltyKind

PENALTIES: dict[str, PenaltyKind] = {name: kind() for name, kind in registered("sparsecrf.training", PLACES).items()}
#: Values of `penalty=`: a name, `FeatureGroups`, or a user-defined kind of penalty.
PenaltyChoice = str | PenaltyKind


def kind_of(asked: PenaltyChoice) -> PenaltyKind:
    """The kind of penalty; "group" means groups by attribute."""
    if isinstance(asked, PenaltyKind):
        return asked
    kind = PENALTIES.get(ByAttribute.name if asked == "group" else asked) if isinstance(asked, str) else None
    if kind is None:
        names = ", ".join(PENALTIES)
        raise OptionError(Named("penalty"), f": expected one of {names}, found {asked!r}")
    return kind


def named(asked: PenaltyChoice, vocabulary: Vocabulary, template: Template | None = None) -> PenaltyKind:
    """The penalty for `fit`, with the names of attributes or labels if it needs them."""
    return kind_of(asked).named(vocabulary, template)
