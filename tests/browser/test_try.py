"""A sentence of one's own in the page of `sparsecrf report --try`: labels, confidence, reasons, and no network."""

import pytest
from c_library import PACKAGE
from newswire import sentences
from playwright.sync_api import expect
from random_words import random_sentences
from try_page import shown

from sparsecrf import CRF
from sparsecrf.contrib.report import make_report
from sparsecrf.contrib.report.trial import VARIABLE

if not (PACKAGE / "sparsecrf.wasm").exists():
    pytest.skip("expected what `make wasm` builds, found none", allow_module_level=True)


@pytest.fixture(scope="module")
def model():
    news = sentences(80, 1)
    X = [[word for word, _, _ in sentence] for sentence in news]
    return CRF(features="words", rho1=0.3, tol=0.2).fit(X, [[label for *_, label in s] for s in news]).model_


@pytest.fixture
def trial(browser, model, tmp_path, monkeypatch):
    """The page, ready; at the end it has written nothing to the console and asked for nothing."""
    monkeypatch.setenv(VARIABLE, str(PACKAGE / "sparsecrf.wasm"))
    path, complaints = tmp_path / "page.html", []
    path.write_text(make_report(model, trial=True, example="Juan vive."), encoding="utf-8")
    context = browser.new_context(offline=True)
    page = context.new_page()
    page.set_default_timeout(20_000)
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url) if request.url != path.as_uri() else None)
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-try=ready]", state="attached")
    yield page
    context.close()
    assert [text for text in complaints if not text.startswith("data:")] == []


def test_a_sentence(trial, model):
    assert [word for word, _ in shown(trial)] == ["Juan", "vive", "."]
    words = ["Ana", "visitó", "el", "Banco", "de", "Lima", ",", "dijo", "Íñigo"]
    trial.locator("#try-text").fill("Ana visitó el Banco de Lima, dijo Íñigo")
    assert shown(trial) == list(zip(words, model.label(words), strict=True))
    # Confidence and reasons of a token.
    trial.locator("#try-tokens .token").nth(5).click()
    why, labels = model.explain(words).tokens[5], model.labels
    best = max(model.marginals(words)[5])
    expect(trial.locator("#try-token .chances li").first).to_contain_text(f"{100 * best:.1f} %")
    rows = trial.locator("#try-token tbody tr")
    expect(rows).to_have_count(len(why.contributions()))
    largest = why.contributions()[0]
    expect(rows.first).to_contain_text(largest.attribute)
    expect(rows.first).to_contain_text(f"{abs(largest.amount):.2f}")
    assert set(labels) >= {label for _, label in shown(trial)}


def test_by_keyboard(trial):
    trial.locator("#try-tokens .token").first.focus()
    trial.keyboard.press("ArrowRight")
    expect(trial.locator("#try-token h4")).to_have_text("vive")
    expect(trial.locator("#try-tokens .token.on .word")).to_have_text("vive")


def test_a_token_a_line(trial, model):
    trial.locator("#try-text").fill("Banco\nde\nSan-Juan")
    assert shown(trial) == list(zip(["Banco", "de", "San-Juan"], model.label(["Banco", "de", "San-Juan"]), strict=True))
    trial.locator("#try-text").fill("<img src=x onerror=alert(1)>")
    assert [word for word, _ in shown(trial)][:2] == ["<", "img"]
    trial.locator("#try-text").fill("  ")
    assert shown(trial) == []


def test_ten_thousand_sentences(trial, model):
    asked = random_sentences(10_000)
    found = trial.evaluate(
        """(sentences) => {
            const detail = { sentences };
            document.dispatchEvent(new CustomEvent("sparsecrf-label", { detail }));
            return detail.labels;
        }""",
        asked,
    )
    assert sum(labels != model.label(tokens) for labels, tokens in zip(found, asked, strict=True)) == 0
