"""Every code block of README and manual runs, and prints what the page says; links lead somewhere; examples run."""

import re
import runpy
from pathlib import Path

import pytest

from pages import run_page
from reader_files import write_files

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
#: Pages that only describe.
WITHOUT_CODE = {"api.md", "changelog.md", "cli.md", "index.md", "mathematics.md"}

pytest.importorskip("matplotlib", reason="pictures need the extra `plot`")


@pytest.fixture
def quiet_pictures():
    """No window is opened, and no figure stays."""
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks(page, program, monkeypatch, quiet_pictures):
    monkeypatch.setenv("COLUMNS", "100")  # of tables
    write_files(program)
    ran = run_page(page, program)
    assert (ran == 0) == (page.name in WITHOUT_CODE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links(page):
    text = page.read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)|src=\"([^\":]+)\"", text)
    for link in (a or b for a, b in links):
        made = link.startswith("gallery/")  # of an example
        target = ROOT / "examples" / Path(link).with_suffix(".py").name if made else page.parent / link
        assert target.exists(), f"{page.name}: {link}"


def test_no_page_is_forgotten():
    listed = (DOCS / "index.md").read_text(encoding="utf-8").splitlines()
    assert {page.stem for page in PAGES[1:]} - {"index"} <= set(listed)


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_examples(example, monkeypatch, quiet_pictures):
    monkeypatch.syspath_prepend(str(example.parent))
    runpy.run_path(str(example))
