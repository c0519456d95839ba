"""Generates the compatibility tables of docs/training.md from the declarations. Run this file to update the page.

tests/project/test_what_goes_together.py compares the page with the declarations.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from sparsecrf.cli.options import Inputs
from sparsecrf.cli.train import RunOptions
from sparsecrf.compatibility import OF_SOLVERS, Capabilities, Trait
from sparsecrf.encoding.label_parts import CLASS_PAIRS, PARTS
from sparsecrf.options import FitOptions, options_of
from sparsecrf.path.both import SearchBoth
from sparsecrf.training import SOLVERS
from sparsecrf.training.choices import CHOSEN
from sparsecrf.training.ngrams import NgramSpace
from sparsecrf.training.penalties import PENALTIES

PAGE = Path(__file__).parents[1] / "training.md"
BEGIN, END = "<!-- made by docs/_ext/what_goes_together.py -->", "<!-- end -->"


def of_solvers() -> Iterator[str]:
    """A row for each solver, with the traits that it supports."""
    yield "| solver | " + " | ".join(trait.title for trait in OF_SOLVERS) + " | cannot be combined with |"
    yield "|---" * (len(OF_SOLVERS) + 2) + "|"
    for name, kind in SOLVERS.items():
        cells = ("" if trait in kind.capabilities.refuses else "yes" for trait in OF_SOLVERS)
        others = (trait.title for trait in kind.capabilities.refuses if trait not in OF_SOLVERS)
        yield f"| `{name}` | " + " | ".join([*cells, ", ".join(others)]) + " |"


def of_others() -> Iterator[str]:
    """A row for each other choice that has requirements or cannot be combined with something."""
    yield "| | needs | cannot be combined with |"
    yield "|---|---|---|"
    for name, capabilities in _choices():
        needs = ", ".join(f"`{trait.value[1]}` {trait.value[2]}".strip() for trait in capabilities.needs)
        refuses = ", ".join(trait.title + (f" ({why})" if why else "") for trait, why in capabilities.refuses.items())
        if needs or refuses:
            yield f"| {name} | {needs} | {refuses} |"


def _choices() -> Iterator[tuple[str, Capabilities]]:
    yield f"`order` above 2: {Trait.NGRAMS.title}", NgramSpace.capabilities
    yield "`label_parts`", PARTS
    yield "`class_pairs`", CLASS_PAIRS
    for capabilities, kinds in groupby(PENALTIES.values(), lambda kind: kind.capabilities):
        yield "`penalty` " + ", ".join(kind.name for kind in kinds), capabilities
    yield "`rho1` auto", CHOSEN
    yield "`rho2` search", SearchBoth.capabilities
    for group in (FitOptions, RunOptions, Inputs):
        yield from _declared(group)


def _declared(group: Any) -> Iterator[tuple[str, Capabilities]]:
    for option in options_of(group):
        if option.declared.capabilities is not None:
            yield f"`{option.name if group is FitOptions else option.names[0]}`", option.declared.capabilities


def tables() -> str:
    return "\n".join([BEGIN, "", *of_solvers(), "", *of_others(), "", END])


def with_tables(page: str) -> str:
    """The page with tables that match the current declarations."""
    before, _, rest = page.partition(BEGIN)
    return before + tables() + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
