"""The page of `sparsecrf serve`, without WebAssembly: a sentence is typed, labels and probabilities are read."""

import pytest
from playwright.sync_api import expect
from served import running, word_model
from try_page import shown

from sparsecrf import Model


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Files by name: words, and attributes whose names are hard on a page."""
    folder = tmp_path_factory.mktemp("models")
    hard = Model.from_weights(["<b>", "B"], {("<img src=x onerror=alert(1)>", "<b>"): 1.0})
    for name, model in (("words", word_model()), ("hard", hard)):
        model.save(folder / f"{name}.safetensors")
    return {name: folder / f"{name}.safetensors" for name in ("words", "hard")}


@pytest.fixture
def open_page(browser):
    """Opens a page of a server; at the end it has written nothing to the console and asked nobody else."""
    contexts, complaints = [], []

    def go(server, width=1300, query="", expected=()):
        context = browser.new_context(viewport={"width": width, "height": 900})
        contexts.append(context)
        page, own = context.new_page(), f"http://127.0.0.1:{server.port}/"
        page.set_default_timeout(20_000)
        page.on("console", lambda m: None if any(e in m.text for e in expected) else complaints.append(m.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: None if request.url.startswith(own) else complaints.append(request.url))
        page.goto(own + query)
        return page

    yield go
    for context in contexts:
        context.close()
    assert [text for text in complaints if not text.startswith("data:")] == []


def wait(page):
    page.wait_for_selector("html[data-try=ready]", state="attached")


@pytest.mark.parametrize("width", [1300, 420])
def test_a_sentence(open_page, models, width):
    model = Model.load(models["words"])
    with running(models["words"]) as server:
        page = open_page(server, width)
        wait(page)
        page.locator("#try-text").fill("Ada saw Grace in New Kyoto.")
        words = ["Ada", "saw", "Grace", "in", "New", "Kyoto", "."]
        labels, p = model.label(words), model.marginals(words)
        expect(page.locator("#try-tokens .token")).to_have_count(len(words))
        assert shown(page) == list(zip(words, labels, strict=True))
        for t, label in enumerate(labels):
            page.locator("#try-tokens .token").nth(t).click()
            sure = f"{100 * p[t, model.labels.index(label)]:.1f} %"
            here = page.locator("#try-token .chances li").filter(has_text=label).first
            expect(here).to_contain_text(sure)
            assert page.locator("#try-tokens .token").nth(t).get_attribute("aria-label").endswith(sure)
        page.locator("#try-tokens .token").first.click()
        why = model.explain(words).tokens[0].contributions()
        rows = page.locator("#try-token tbody tr")
        expect(rows).to_have_count(len(why))
        expect(rows.first).to_contain_text(why[0].attribute)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.locator("#try-text").fill(" ")
        expect(page.locator("#try-tokens .token")).to_have_count(0)


def test_several_models_and_hard_names(open_page, models):
    with running(models["words"], models["hard"]) as server:
        page = open_page(server, query="?model=hard")
        wait(page)
        expect(page.locator("#model")).to_have_value("hard")
        page.locator("#try-text").fill("a\nb")
        expect(page.locator("#try-tokens .tag")).to_have_text(["<b>", "<b>"])
        page.locator("#model").select_option("words")
        expect(page.locator("#title")).to_have_text("words")
        expect(page.locator("#try-tokens .tag")).to_have_text(Model.load(models["words"]).label(["a", "b"]))


def test_token(open_page, models, tmp_path):
    (tmp_path / "token").write_text("s3cret")
    with running(models["words"], "--token-file", tmp_path / "token") as server:
        page = open_page(server, 420, expected=["401"])
        page.locator("#token").fill("wrong")
        page.locator("#token").blur()
        expect(page.locator("#try-error")).to_contain_text("expected the token for this server")
        page.locator("#token").fill("s3cret")
        page.locator("#token").blur()
        wait(page)
        page.locator("#try-text").fill("Ada")
        expect(page.locator("#try-tokens .tag")).to_have_text(Model.load(models["words"]).label(["Ada"]))
