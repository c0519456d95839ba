"""Chromium, and pages that must not complain."""

import os
import shutil

import pytest
from ngram_sentences import sentences
from playwright.sync_api import sync_playwright
from reports import DATA, LONG_LABELS, large_model, model_of_parts, model_with_vectors, small_model

from sparsecrf import CRF
from sparsecrf.contrib.report import make_report

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


def chromium():
    """Where Chromium is: $CHROMIUM, or where systems put it."""
    names = [os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"]
    return next((found for name in names if name and (found := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser():
    where = chromium()
    if where is None:
        pytest.fail("expected Chromium on this machine (or its path in $CHROMIUM), found none")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=where, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """Addresses of pages by name: full (with data), bare (a model alone), large (100,000 weights), parts (labels with
    parts, label n-grams), classes (label pairs of classes too, with every attribute), vectors (of words), longer
    (strings of many labels), long (labels with long names, with data)."""
    folder = tmp_path_factory.mktemp("reports")
    (folder / "test.txt").write_text(DATA, encoding="utf-8")
    (folder / "long.txt").write_text(LONG_LABELS, encoding="utf-8")
    bare = small_model()._with(training={})
    rows = [line.split() for line in LONG_LABELS.splitlines()]
    long = CRF(features="words", rho1=0.1).fit([[row[0] for row in rows]], [[row[1] for row in rows]]).model_
    pages = {
        "full": make_report(small_model(), name='<img src=x onerror="alert(1)">.safetensors', data=folder / "test.txt"),
        "bare": make_report(bare),
        "large": make_report(large_model()),
        "parts": make_report(model_of_parts()),
        "classes": make_report(model_of_parts(solver_options={"class_pairs": True}, bigrams="all")),
        "vectors": make_report(model_with_vectors()),
        "long": make_report(long, data=folder / "long.txt"),
        "longer": make_report(CRF(rho1=0.3, order=None).fit(*sentences()).model_),
    }
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8", newline="\n")
    return {name: (folder / f"{name}.html").as_uri() for name in pages}


@pytest.fixture
def visit(browser, reports):
    """Opens a page of `reports`; at the end, none has written to the console, failed, or asked for anything else."""
    contexts, complaints = [], []

    def go(name="full", **options):
        defaults = {"viewport": {"width": 1200, "height": 900}, "reduced_motion": "reduce"}
        context = browser.new_context(**{**defaults, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: complaints.append(request.url) if request.url != reports[name] else None)
        page.goto(reports[name])
        return page

    yield go
    for context in contexts:
        context.close()
    assert [text for text in complaints if not text.startswith("data:")] == []
