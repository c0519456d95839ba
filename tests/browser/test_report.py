"""The page of `sparsecrf report` in a browser: by mouse, by keyboard alone, on a phone, in the dark."""

import re

import pytest
from playwright.sync_api import expect
from reports import HEBREW, SCRIPT, small_model

from sparsecrf.contrib.report import make_report

# ---- Helpers

MINUS = "\N{MINUS SIGN}"


def cells(page):
    """The rows of the table of weights in sight: attribute, previous, label, weight."""
    rows = page.evaluate("""() => [...document.querySelectorAll('#weight-rows .row')].map((row) =>
        [...row.querySelectorAll('[role=gridcell]')].map((cell) => cell.innerText.trim()))""")
    return [tuple(row) for row in rows]


def weights(page):
    return [float(row[3].replace(MINUS, "-")) for row in cells(page)]


def tab_to(page, wanted, limit=80):
    """Press Tab until the focus is on the element of this id."""
    for _ in range(limit):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == wanted:
            return
    raise AssertionError(f"expected to reach #{wanted} by Tab, found none in {limit} presses")


def background(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


# ---- What is there


def test_the_summary(visit):
    page = visit()
    expect(page.locator("#certificate")).to_contain_text("Training objective within 0.041 % of its optimum")
    expect(page.locator("#sparsity")).to_contain_text("14 of 1,000 features")
    expect(page.locator("#facts")).to_contain_text("close enough to the optimum")
    titles = ["Summary", "Sentences", "Weights", "Attributes by label", "Transitions", "Templates", "Training"]
    assert page.locator("#nav a").all_inner_texts() == titles
    page.get_by_role("link", name="Training", exact=True).click()
    expect(page.locator("#curves figure")).to_have_count(4)
    expect(page.locator("#template-table tbody tr")).to_have_count(4)
    expect(page.locator("#templates-note")).to_contain_text("1 line has none")


def test_the_score_is_a_headline(visit):
    page = visit()
    score = page.locator(".hero > :first-child")
    expect(score).to_contain_text("Accuracy ")
    expect(score).to_contain_text("sentences have no error")
    expect(page.locator("#maps-note")).to_contain_text("with weights for labels")


def test_longer_strings_of_labels(visit):
    """Their labels have names in the table of weights, a kind of their own, and a section; other pages have neither."""
    page = visit("longer")
    expect(page.locator("#strings-note")).to_contain_text("of 3 labels")
    lengths = [int(text) for text in page.locator("#string-table tbody td:nth-child(2)").all_inner_texts()]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > 3
    page.select_option("#weight-kind", "longer")
    longer = cells(page)
    assert longer
    assert all(" " in previous for _, previous, _, _ in longer)
    page.select_option("#weight-kind", "plain")
    assert all(" " not in previous for _, previous, _, _ in cells(page))
    expect(page.locator("#facts")).to_contain_text("Weights for longer strings")
    other = visit()
    expect(other.locator("#strings")).to_be_hidden()
    expect(other.locator("#kind-longer")).to_be_hidden()


def test_axes_begin_where_the_data_are(browser, tmp_path):
    """An error that falls from 80 to 5 % does not leave room for 0."""
    history = {"iter": [0, 1, 2, 3], "dev_error": [80.0, 30.0, 6.0, 5.0], "active": [0, 5, 9, 9]}
    model = small_model().noted(history=history)
    path = tmp_path / "page.html"
    path.write_text(make_report(model), encoding="utf-8")
    page = browser.new_page()
    page.goto(path.as_uri())
    ticks = [
        figure.locator(".tick[text-anchor=end]").all_text_contents() for figure in page.locator("#curves figure").all()
    ]
    page.close()
    assert ticks[0][0] == "0"  # where weights begin
    assert ticks[1] == ["20", "40", "60", "80"]


def test_a_model_alone(visit):
    expect(visit("bare").locator("#score")).to_be_hidden()
    page = visit("bare")
    expect(page.locator("#certificate")).to_contain_text("No certificate")
    expect(page.locator("#sentences")).to_be_hidden()
    expect(page.locator("#training")).to_be_hidden()
    assert "Sentences" not in page.locator("#nav a").all_inner_texts()


# ---- Weights


def test_search_and_filters(visit):
    page = visit()
    assert weights(page)[:3] == [4.0, 3.0, 2.5]
    page.fill("#weight-search", "DOG")
    expect(page.locator("#weight-count")).to_have_text("2 of 14 weights")
    assert cells(page) == [("U:dog", "", "NOUN", "+2.0000"), ("U:dog", "", "VERB", f"{MINUS}1.0000")]
    page.select_option("#weight-sign", "-")
    assert cells(page) == [("U:dog", "", "VERB", f"{MINUS}1.0000")]
    page.fill("#weight-search", "")
    expect(page.locator("#weight-count")).to_have_text("2 of 14 weights")
    page.select_option("#weight-kind", "plain")
    expect(page.locator("#weight-count")).to_have_text("1 of 14 weights")
    page.select_option("#weight-sign", "all")
    page.select_option("#weight-label", label="NOUN")
    assert [row[1:3] for row in cells(page)] == [("DET", "NOUN"), ("NOUN", "VERB"), ("[start]", "NOUN")]
    page.fill("#weight-search", "nothing like this")
    expect(page.locator("#weight-rows .empty")).to_have_text("No weight matches.")


def test_weights_of_parts_and_of_longer_label_strings(visit):
    page = visit("parts")
    page.select_option("#weight-label", label="Number=Sing")
    assert {row[2] for row in cells(page)} == {"Number=Sing"}
    page.select_option("#weight-label", "")
    page.locator("#weight-rows [role=columnheader] button").filter(has_text="Previous").click()
    page.locator("#weight-rows [role=columnheader] button").filter(has_text="Previous").click()
    before = {row[1] for row in cells(page)}
    assert "[start] NOUN|Number=Sing" in before
    assert "undefined" not in page.inner_text("body")


def pairs_by_cell(page):
    """(attribute, label) of the weights of label pairs in the table: their number and sum of sizes."""
    page.select_option("#weight-kind", "bigram")
    sums = {}
    for attribute, _, label, weight in cells(page):
        number, size = sums.get((attribute, label), (0, 0.0))
        sums[attribute, label] = number + 1, size + abs(float(weight.replace(MINUS, "-")))
    return sums


def test_pairs_of_classes(visit):
    """The map of label pairs has columns of classes, whose sums are those of the table of weights."""
    page = visit("classes")
    facts = page.locator("#facts dt").all_inner_texts()
    assert facts.index("of which for class pairs") == facts.index("Weights for label pairs") + 1
    expected = pairs_by_cell(page)
    page.check("input[name=map-kind][value=bigram]")
    page.locator("#map summary").click()
    expect(page.locator("#map li").first).to_be_visible()
    found = {}
    for text in page.locator("#map li").all_inner_texts():
        attribute, label, size, number = re.fullmatch(
            r"(.*) for (.*): Σ\|λ\| ([\d.]+) in (\d+) weights?, net .*", text
        ).groups()
        found[attribute, label] = int(number), float(size)
    assert {label for _, label in found} >= {"NOUN", "VERB"}
    assert found == {cell: pytest.approx(sums, abs=1e-3) for cell, sums in expected.items() if cell[0] != "[bias]"}
    # Parts that are not classes have no column.
    assert "NOUN" in (shown := page.locator("#map").inner_text().split())
    assert "Number=Sing" not in shown


def test_words_with_vectors(visit):
    expect(visit("vectors").locator("#facts")).to_contain_text("Words with vectors")
    expect(visit("vectors").locator("#facts")).to_contain_text("3, with 2 dimensions each")
    assert "Words with vectors" not in visit("parts").locator("#facts").inner_text()


def test_sorting(visit):
    page = visit()

    def press(title):
        page.locator("#weight-rows [role=columnheader] button").filter(has_text=title).click()

    press("Attribute")
    names = [row[0] for row in cells(page)]
    assert names == sorted(names)
    expect(page.locator("[role=columnheader]").first).to_have_attribute("aria-sort", "ascending")
    press("Attribute")
    assert [row[0] for row in cells(page)] == sorted(names, reverse=True)
    press("Weight")  # from another column: by size again
    assert weights(page) == sorted(weights(page), key=abs, reverse=True)
    press("Weight")
    assert weights(page) == sorted(weights(page), reverse=True)
    press("Weight")
    assert weights(page) == sorted(weights(page))
    press("Previous")
    assert [row[1] for row in cells(page)][-4:] == ["DET", "NOUN", "VERB", "[start]"]


# ---- Sentences


def test_scores_by_label(visit):
    """Of labels that are no chunks."""
    page = visit()
    expect(page.locator("#types-box summary")).to_have_text("Labels, by tokens")
    page.locator("#types-box summary").click()
    rows = page.locator("#types tbody tr")
    expect(rows).to_have_count(5)  # one of them occurs only in the data
    noun = [text.split("\n")[0] for text in rows.nth(2).locator("th, td").all_inner_texts()]
    assert noun == ["NOUN", "88.89", "80.00 %", "100.00 %", "4", "5", "4"]


def test_explore_a_sentence(visit):
    page = visit()
    expect(page.locator("#scores")).to_contain_text("80.00 %")
    expect(page.locator("#sentence-h")).to_contain_text("Sentence 2: 1 error")  # the first with an error
    wrong = page.locator("#tokens .token.bad")
    expect(wrong).to_have_count(1)
    assert wrong.inner_text().split() == ["dog", "✗", "NOUN", "gold", "VERB"]  # in words, not by colour alone
    expect(page.locator("#token")).to_contain_text("✗ error: predicted NOUN, gold VERB")
    assert page.locator(".terms tbody tr").first.locator("th, td").all_inner_texts()[:3] == [
        "U:dog",
        "+2.00",
        f"{MINUS}1.00",
    ]
    page.locator("#tokens .token").nth(1).hover()
    expect(page.locator("#token h4")).to_have_text("runs VB")
    page.locator("#sentence-h").hover()
    expect(page.locator("#token h4")).to_have_text("dog NN")  # the one that was chosen
    page.locator("#next-sentence").click()
    expect(page.locator("#sentence-h")).to_contain_text("Sentence 3")
    page.check("#errors-only")
    expect(page.locator("#sentence-count")).to_have_text("2 of 4 sentences")
    page.uncheck("#errors-only")
    page.fill("#sentence-search", "THE dog")
    probability = small_model().nbest([["the", "NN"], ["dog", "NN"], ["runs", "VB"]], 1)[0][1]
    title = f"Sentence 1: no error, probability {100 * probability:.1f} %"
    expect(page.locator("#sentence-h")).to_have_text(title)
    page.fill("#sentence-search", "no such words")
    expect(page.locator("#sentence-list .empty")).to_be_visible()
    expect(page.locator("#sentence-panel")).to_be_hidden()


# ---- Matrices and curves


def test_matrices_are_read_by_pointer(visit):
    page = visit()
    canvas = page.locator("#transition-map canvas").first
    canvas.scroll_into_view_if_needed()
    canvas.hover(position={"x": 5, "y": 5})
    expect(page.locator("#transition-map .readout")).to_have_text("[start] → DET: no weight")
    page.locator("#transition-map summary").click()
    expect(page.locator("#transition-map li").first).to_have_text("DET → NOUN: +1.250")
    page.locator("#map summary").click()
    expect(page.locator("#map li").first).to_have_text(f'U:{SCRIPT} for <b>"&: µ +4.000')
    page.get_by_role("radio", name="Label pairs").check()
    expect(page.locator("#maps-note")).to_contain_text("The 1 strongest attribute of 1")
    page.fill("#map-search", "dog")
    expect(page.locator("#map .empty")).to_be_visible()


def test_curves(visit):
    page = visit()
    curve = page.locator("#curves svg").first
    curve.focus()
    page.keyboard.press("Home")
    expect(page.locator("#curves figcaption").first).to_contain_text("1,000 at iteration 0")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#curves figcaption").first).to_contain_text("325 at iteration 1")
    page.get_by_role("radio", name="Passes over the data").check()
    page.locator("#curves svg").first.focus()
    expect(page.locator("#curves figcaption").first).to_contain_text("at passes 60")


# ---- By keyboard alone


def test_keyboard_alone(visit):
    page = visit()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    tab_to(page, "sentence-search")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(page.locator("#errors-only")).to_be_checked()
    tab_to(page, "sentence-list")
    page.keyboard.press("End")
    expect(page.locator("#sentence-h")).to_contain_text("Sentence 3")
    expect(page.locator("#sentence-list [aria-selected=true]")).to_contain_text(SCRIPT)
    tab_to(page, "next-sentence")
    page.keyboard.press("Tab")  # one stop for all tokens: the error
    assert page.evaluate("document.activeElement.className") == "token bad on"
    page.keyboard.press("ArrowRight")
    expect(page.locator("#token h4")).to_have_text('"quoted" NN')
    page.keyboard.press("PageUp")
    expect(page.locator("#sentence-h")).to_contain_text("Sentence 2")
    assert page.evaluate("document.activeElement.getAttribute('aria-label')") == "dog: error, predicted NOUN, gold VERB"
    tab_to(page, "weight-rows")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#weight-readout")).to_have_text("U:the for DET: +3.000000")
    current = page.locator("#weight-rows").get_attribute("aria-activedescendant")
    expect(page.locator(f"[id='{current}']")).to_contain_text("U:the")
    page.keyboard.press("End")
    expect(page.locator("#weight-readout")).to_contain_text("+0.125000")
    page.keyboard.press("Enter")  # all weights of its attribute
    expect(page.locator("#weight-count")).to_have_text("1 of 14 weights")
    page.locator("#transition-map canvas").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#transition-map .readout")).to_have_text("DET → NOUN: +1.250")


def test_the_focus_can_be_seen(visit):
    page = visit()
    for _ in range(25):
        page.keyboard.press("Tab")
        style = page.evaluate("""() => {
            const at = document.activeElement, shown = at.closest('.choice label')?.querySelector('span') ?? at;
            return [at.tagName + '#' + at.id, getComputedStyle(shown).outlineStyle];
        }""")
        assert style[1] != "none", style[0]


# ---- Screens


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone(visit, scheme):
    page = visit(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True, color_scheme=scheme)
    for box in page.locator("details summary").all():
        if box.is_visible():
            box.tap()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    token = page.locator("#tokens .token").nth(1)
    token.tap()
    expect(page.locator("#token h4")).to_have_text("runs VB")
    page.locator("#weight-rows .row").first.tap()
    expect(page.locator("#weight-readout")).to_contain_text("+4.000000")
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    # Every button is large enough for a finger.
    small = page.evaluate("""() => [...document.querySelectorAll('button, select, input[type=search]')]
        .filter((node) => node.offsetParent && node.getBoundingClientRect().height < 30)
        .map((node) => node.outerHTML)""")
    assert small == []


@pytest.mark.parametrize("width", [400, 500])
def test_nothing_is_cut_on_small_screens(visit, width):
    """Tables, links and choices have room; names in lists end in an ellipsis, and matrices scroll."""
    page = visit(viewport={"width": width, "height": 900})
    for box in page.locator("details summary").all():
        if box.is_visible():
            box.click()
    assert page.evaluate("document.documentElement.scrollWidth") == width
    cut = page.evaluate("""() => [...document.querySelectorAll('.scroll, nav, .facts div, .lead, .controls, select')]
        .filter((node) => node.offsetParent && node.scrollWidth > node.clientWidth + 1)
        .map((node) => node.id || node.tagName + node.textContent)""")
    assert cut == []
    label = page.locator("#map-label")
    assert label.bounding_box()["width"] > 100


@pytest.mark.parametrize("name", ["long", "longer", "parts"])
@pytest.mark.parametrize("width", [1300, 420])
def test_long_labels_do_not_make_the_page_scroll_sideways(visit, name, width):
    page = visit(name, viewport={"width": width, "height": 900})
    for box in page.locator("details summary").all():
        if box.is_visible():
            box.click()
    for token in page.locator("#tokens .token").all():
        token.click()
        assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate("document.documentElement.scrollWidth") == width
    cut = page.evaluate("""() => [...document.querySelectorAll('.scroll')]
        .filter((node) => node.offsetParent && node.scrollWidth > node.clientWidth + 1).map((node) => node.id)""")
    assert cut == []


def test_matrices_use_their_card(visit):
    page = visit(viewport={"width": 1280, "height": 900})
    for name in ("#map", "#transition-map"):
        host, matrix = page.locator(name).bounding_box(), page.locator(f"{name} .matrix").bounding_box()
        assert 0.85 * host["width"] < matrix["width"] <= host["width"]


def test_light_and_dark(visit):
    light, dark = visit(color_scheme="light"), visit(color_scheme="dark")
    assert background(light) != background(dark)
    dark.get_by_role("button", name="Light theme").click()  # the button says what it does
    expect(dark.locator("#theme")).to_have_text("Dark theme")
    expect(light.locator("#theme")).to_have_text("Dark theme")
    assert background(dark) == background(light)
    dark.reload()
    assert background(dark) == background(light)  # kept


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(visit, scheme):
    """Text has a contrast of at least 4.5 to what is behind it (WCAG 2, level AA)."""
    page = visit(color_scheme=scheme)
    poor = page.evaluate("""() => {
        const parse = (text) => text.match(/[\\d.]+/g).map(Number);
        const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
            .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
            .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
        const behind = (node) => {
            for (let at = node; at; at = at.parentElement) {
                const found = parse(getComputedStyle(at).backgroundColor);
                if (found.length === 3 || found[3] === 1) return found;
            }
            return [255, 255, 255];
        };
        const found = [];
        const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
            const node = walker.currentNode.parentElement;
            if (!walker.currentNode.data.trim() || !node.offsetParent) continue;
            if (node.closest('[aria-disabled=true], option')) continue;
            const a = light(parse(getComputedStyle(node).color)), b = light(behind(node));
            const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            if (ratio < 4.5) found.push([walker.currentNode.data, ratio]);
        }
        return found;
    }""")
    assert poor == []


def test_paper(visit):
    page = visit()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(page.locator(".bar")).to_be_hidden()
    expect(page.locator("#weight-rows .row")).to_have_count(14)
    expect(page.locator("#sentence-list")).to_be_hidden()  # the open sentence is enough
    assert page.evaluate("document.getElementById('weight-rows').scrollHeight") > 300
    assert len(page.pdf()) > 10_000


# ---- Names that are hard on a page


def test_names_are_text(visit):
    page = visit()
    assert page.title() == '<img src=x onerror="alert(1)">.safetensors \N{EN DASH} sparsecrf report'
    expect(page.locator("#name")).to_have_text('<img src=x onerror="alert(1)">.safetensors')
    page.fill("#sentence-search", "<script>")
    expect(page.locator("#tokens .token").first).to_contain_text(SCRIPT)
    expect(page.locator("#tokens .token").first).to_contain_text('<b>"&')
    expect(page.locator("#tokens .token").nth(2)).to_contain_text("</script>")
    page.fill("#weight-search", "<script>")
    expect(page.locator("#weight-count")).to_have_text("1 of 14 weights")
    assert cells(page)[0][0] == f"U:{SCRIPT}"
    expect(page.locator("#weight-label option").nth(4)).to_have_text('<b>"&')
    assert page.evaluate("document.querySelectorAll('script').length") == 2
    assert page.evaluate("document.querySelectorAll('img, b > script, iframe').length") == 0


def test_right_to_left(visit):
    page = visit()
    page.fill("#sentence-search", HEBREW)
    expect(page.locator("#tokens")).to_have_attribute("dir", "rtl")
    first, second = (page.locator("#tokens .token").nth(k) for k in (0, 1))
    assert first.bounding_box()["x"] > second.bounding_box()["x"]
    assert first.locator("bdi.word").inner_text() == HEBREW
    first.focus()
    page.keyboard.press("ArrowLeft")  # onwards
    expect(second).to_be_focused()
    page.fill("#weight-search", HEBREW)
    expect(page.locator("#weight-rows .row bdi").first).to_have_text(f"U:{HEBREW}")


# ---- Speed


def test_100_000_weights_within_two_seconds(visit):
    """From the click on the link to a page that answers; the best of three, as the machine may be busy."""
    times = []
    for _ in range(3):
        page = visit("large")
        page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
        times.append(page.evaluate("performance.now()"))
    assert min(times) < 2000, times
    expect(page.locator("#weight-count")).to_have_text("100,000 weights")
    assert page.locator("#weight-rows .row").count() < 60
    page.locator("#weight-rows").focus()
    page.keyboard.press("End")
    expect(page.locator("#weight-rows .row").last).to_have_attribute("aria-rowindex", "100001")
    took = page.evaluate("""async () => {
        const box = document.getElementById('weight-search'), from = performance.now();
        box.value = 'word123';
        box.dispatchEvent(new Event('input'));
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        return performance.now() - from;
    }""")
    assert took < 1000
    expect(page.locator("#weight-count")).to_contain_text(" of 100,000 weights")
