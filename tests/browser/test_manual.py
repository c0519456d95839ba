"""The built manual (`make docs`): nothing on its pages is cut off, and formulas have the font that they bring along."""

from pathlib import Path

import pytest

MANUAL = Path(__file__).parents[2] / "docs" / "_build" / "html"
PAGES = sorted(str(page.relative_to(MANUAL)) for page in MANUAL.rglob("*.html"))

pytestmark = pytest.mark.skipif(not PAGES, reason="the manual is not built: make docs")

#: What is wider than its place.
_CUT = """
    () => [...document.querySelectorAll("pre, math[display=block], .math-block, dt.sig, article table, article img")]
        .filter(part => part.scrollWidth > part.clientWidth + 1 && getComputedStyle(part).display !== "inline")
        .map(part => part.textContent.trim().slice(0, 80))
"""
_SUMS = ("block", "munder"), ("inline", "msub")


@pytest.fixture(scope="module")
def page(browser):
    context = browser.new_context(viewport={"width": 1300, "height": 900})
    yield context.new_page()
    context.close()


def test_nothing_is_cut_off(page):
    cut = {}
    for name in PAGES:
        page.goto((MANUAL / name).as_uri())
        cut[name] = page.evaluate(_CUT)
    assert {name: found for name, found in cut.items() if found} == {}


def test_formulas_have_their_font(page):
    """With tables for mathematics, a sum on a line of its own is larger than one in a line of text."""
    page.goto((MANUAL / "mathematics.html").as_uri())
    page.evaluate("document.fonts.ready")
    assert page.evaluate("document.fonts.check('16px \"Manual Math\"', '∑')")
    heights = "kind => document.querySelector(kind).getBoundingClientRect().height"
    alone, in_text = (page.evaluate(heights, f"math[display={kind}] {parent} > mo") for kind, parent in _SUMS)
    assert alone > 1.2 * in_text
