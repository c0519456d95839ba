"""The manual's tables of what goes together are those of the declarations, and the declarations those of the check."""

import sys
from pathlib import Path

import pytest

from sparsecrf.compatibility import OF_SOLVERS, Choice, OptionError, check_compatible, has
from sparsecrf.training import SOLVERS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def made(monkeypatch):
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    yield __import__("what_goes_together")
    sys.modules.pop("what_goes_together", None)


def test_the_page_has_the_tables_of_the_declarations(made):
    page = (DOCS / "training.md").read_text(encoding="utf-8")
    assert made.BEGIN in page
    assert made.with_tables(page) == page, "run python docs/_ext/what_goes_together.py"


def test_another_page_would_be_noticed(made):
    page = (DOCS / "training.md").read_text(encoding="utf-8")
    assert made.with_tables(page.replace("| `cd` |", "| `cd` | yes", 1)) == made.with_tables(page)
    assert page.replace("| `cd` |", "| `cd` | yes", 1) != page


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("trait", OF_SOLVERS)
def test_every_cell_of_the_table_is_what_the_check_says(made, solver, trait):
    row = next(line for line in made.of_solvers() if line.startswith(f"| `{solver}` |"))
    cell = row.split("|")[2 + OF_SOLVERS.index(trait)].strip()
    choices = [Choice("solver", solver, SOLVERS[solver].capabilities), Choice("", trait.title, has(trait))]
    if cell == "yes":
        check_compatible(choices)
    else:
        with pytest.raises(OptionError, match=trait.title):
            check_compatible(choices)
