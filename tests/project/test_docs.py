"""Every code block of README and manual runs, and prints what the page says; links lead somewhere; examples run."""

import re
import runpy
import sys
from pathlib import Path

import pytest
from pages import run_page
from reader_files import write_files

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "_ext"))

from repository_links import in_manual  # noqa: E402

PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
INTERNALS = sorted((DOCS / "internals").glob("*.md"))
FOR_CONTRIBUTORS = [ROOT / "DESIGN.md", ROOT / "CONTRIBUTING.md", *INTERNALS]  #: pages without code that runs
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
GALLERY = sorted(path for path in (ROOT / "examples").glob("*.py") if path.name != "made_up.py")
NEEDS = {"spacy.md": "spacy", "http.md": "uvicorn"}  #: pages that need another package
#: Pages that only describe.
WITHOUT_CODE = {"api.md", "changelog.md", "cli.md", "index.md", "mathematics.md"}

pytest.importorskip("matplotlib", reason="pictures need the extra `plot`")


def name_of(page):
    return page.relative_to(ROOT).as_posix()


@pytest.fixture
def quiet_pictures():
    """No window is opened, and no figure stays."""
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks(page, program, monkeypatch, quiet_pictures):
    if page.name in NEEDS:
        pytest.importorskip(NEEDS[page.name], reason="an extra of its own")
    monkeypatch.setenv("COLUMNS", "100")  # of tables
    write_files(program)
    ran = run_page(page, program)
    assert (ran == 0) == (page.name in WITHOUT_CODE)


@pytest.mark.parametrize("page", [*PAGES, *FOR_CONTRIBUTORS], ids=name_of)
def test_links(page):
    """On the page of a repository: to files that are there, and to headings that they have."""
    for link, heading in links_of(page.read_text(encoding="utf-8")):
        target = page.parent / link if link else page
        assert target.exists(), f"{page.name}: {link}"
        if heading:
            assert heading in headings_of(target), f"{page.name}: {link}#{heading}"


@pytest.mark.parametrize("page", [*PAGES[1:], *INTERNALS], ids=name_of)
def test_links_in_the_manual(page):
    """Nothing outside of docs: the examples and the changelog are pages there."""
    for link, _ in links_of(in_manual(page.read_text(encoding="utf-8"))):
        if link.startswith("gallery/"):  # made from the examples
            assert link == "gallery/index.rst" or (ROOT / "examples" / f"{Path(link).stem}.py").exists(), link
        else:
            target = (page.parent / link).resolve()
            assert target.is_relative_to(DOCS), f"{page.name}: {link}"
            assert target.exists(), f"{page.name}: {link}"


def links_of(text):
    """Files and headings in them; addresses of the network are left out."""
    links = re.findall(r"\]\(([^)#:]*)(?:#([^)]*))?\)|src=\"([^\":]+)\"", text)
    return [(file or source, heading) for file, heading, source in links]


def headings_of(page):
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_no_page_is_forgotten():
    listed = (DOCS / "index.md").read_text(encoding="utf-8").splitlines()
    assert {page.stem for page in PAGES[1:]} - {"index"} <= set(listed)
    assert {f"internals/{page.stem}" for page in INTERNALS} <= set(listed)
    contents = [(DOCS / "internals" / "index.md").read_text(encoding="utf-8"), (ROOT / "DESIGN.md").read_text()]
    for page in INTERNALS:
        assert page.name == "index.md" or all(f"{page.name})" in text for text in contents), page.name


@pytest.mark.parametrize("example", GALLERY, ids=lambda example: example.name)
def test_every_example_has_a_picture(example):
    """Those that are run with the manual draw one. For others that name none, the gallery would show a placeholder."""
    text = example.read_text(encoding="utf-8")
    if example in EXAMPLES:
        assert re.search(r"^\w[^#]*(\bplot_\w+\(|\.plot\(|subplots\()", text, flags=re.M)
        return
    named = re.search(r"^# sphinx_gallery_thumbnail_path = '(.*)'$", text, flags=re.M)
    assert named
    assert (DOCS / named[1]).exists()


def test_the_readme_is_for_newcomers():
    """At most 120 lines: install, a task from data to report, Python, comparisons, where to go on, how it is made."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    marks = ("pip install", "sparsecrf data fetch", "sparsecrf train", "sparsecrf report", "<img src=")
    lines = [text[: text.index(mark)].count("\n") for mark in marks]
    assert lines == sorted(lines)
    assert lines[-1] < 20
    later = ("from sparsecrf import", "| | sparsecrf | other tool |", "## Choose your path", "(CONTRIBUTING.md)")
    places = [text.index(mark) for mark in later]
    assert places == sorted(places)
    assert text.count("\n") <= 120


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_examples(example, monkeypatch, quiet_pictures):
    monkeypatch.syspath_prepend(str(example.parent))
    runpy.run_path(str(example))
