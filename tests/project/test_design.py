"""DESIGN.md and docs/internals are true where a test can tell: the files that they name exist, and the example has its
numbers."""

import re
from pathlib import Path

import numpy as np
import pytest

from sparsecrf import Template, Vocabulary, fit
from sparsecrf._core import FeatureSet, Oracle
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.shards.dataset import encode_columns

ROOT = Path(__file__).parents[2]
DESIGN = (ROOT / "DESIGN.md").read_text()
INTERNALS = sorted((ROOT / "docs" / "internals").glob("*.md"))
MAP = DESIGN[DESIGN.index("## 3. The map") : DESIGN.index("## 4. ")]
EXAMPLE = " ".join(DESIGN[DESIGN.index("### One example") : DESIGN.index("### Glossary")].split())
SENTENCES = ["the DET dog NOUN barks VERB", "dogs NOUN bark VERB", "a DET cat NOUN sleeps VERB", "cats NOUN sleep VERB"]


def files_named(text):
    """Names in backquotes that are paths."""
    return {name for name in re.findall(r"`([\w./-]+)`", text) if re.search(r"/|\.(py|cpp|hpp|inl|js|md)$", name)}


def missing(names):
    """Names that no file or folder of the tree ends with, with or without its extension."""
    paths = [path.relative_to(ROOT) for top in ("src", "cpp", "tests") for path in (ROOT / top).rglob("*")]
    tree = {f"/{name}" for path in paths for name in (path, path.with_suffix(""))}
    return {
        name
        for name in names
        if not (ROOT / name).exists() and not any(f.endswith(f"/{name.rstrip('/')}") for f in tree)
    }


def test_the_map_names_files_that_exist():
    assert len(files_named(MAP)) > 60
    assert missing(files_named(DESIGN)) == set()
    assert missing({"cpp/core/recursion.cpp", "io/text.py"}) == {"cpp/core/recursion.cpp", "io/text.py"}


@pytest.mark.parametrize("page", INTERNALS, ids=lambda page: page.stem)
def test_the_internals_name_files_that_exist(page):
    names = files_named(page.read_text())
    assert names
    assert missing(names) == set()


def test_the_design_is_short():
    assert len(DESIGN.split()) <= 5000


#: What readers look for: words of their question, the file, and the text that it must contain.
QUESTIONS = {
    "Where is Viterbi?": ("Viterbi", "cpp/core/inference/decode.cpp", "double best_path("),
    "Where is the forward recursion?": ("forward-backward", "cpp/core/inference/recursion.cpp", "Recursion::forward"),
    "Where does a run decide to stop?": (
        "stopping rule",
        "src/sparsecrf/training/solvers/working_set.py",
        "def _look(",
    ),
    "Where is a new data format registered?": ("data formats", "formats/__init__.py", "FORMATS: "),
    "Where is the proximal step of the tree penalty?": (
        "proximal step of the group and tree",
        "src/sparsecrf/training/forest.py",
        "def sweep(",
    ),
    "Where is the duality gap computed?": ("duality gap", "src/sparsecrf/training/dual.py", "class LowerBound"),
    "Where are violating features outside the working set found?": (
        "screening",
        "cpp/core/training/screening/screen.cpp",
        "Screen::",
    ),
    "Where is chosen which rho1 is tried next?": ("search for rho1", "src/sparsecrf/path/grid.py", "class Search"),
    "Where is a model file parsed?": ("format of model files", "cpp/core/model/model_file.cpp", "Container"),
    "Where is a preset such as --features words defined?": (
        "feature templates",
        "src/sparsecrf/encoding/presets.py",
        "words",
    ),
}


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_reader_finds_it_at_the_first_look(question):
    """The first row of the map with these words names the file, and the file has what was looked for."""
    words, file, found = QUESTIONS[question]
    row = next(line for line in MAP.splitlines() if line.startswith("|") and words in line.split("|")[1])
    assert f"`{file}`" in row
    path = next(path for path in (ROOT / file, ROOT / "src/sparsecrf/encoding" / file) if path.exists())
    assert found in path.read_text(encoding="utf-8")


def unknown_modules(text):
    """Modules that the table of cpp/core names and their folder does not have."""
    rows = re.findall(r"^\| `(\w+)` \| (.*) \| [^|]* \|$", text[text.index("| `cpp/core/` | holds") :], flags=re.M)
    assert len(rows) == len(list((ROOT / "cpp/core").iterdir()))
    return {
        f"{folder}/{name}"
        for folder, holds in rows
        for name in re.findall(r"`([a-z_0-9]+)`", holds)
        if not any((ROOT / "cpp/core" / folder).rglob(f"{name}.*"))
    }


def test_the_map_names_modules_that_exist():
    assert (
        unknown_modules(MAP) - {"training/proximal", "training/owlqn", "training/compat"} == set()
    )  # no files: solvers, ...
    assert unknown_modules(MAP.replace("`string_table`", "`string_tables`")) >= {"corpus/string_tables"}


def test_the_map_names_every_file_of_training():
    for file in (ROOT / "src/sparsecrf/training").rglob("*.py"):
        assert file.name == "__init__.py" or f"`{file.name}`" in MAP, file


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    tokens = [re.sub(r"(\S+) (\S+) ?", r"\1 \2\n", sentence) for sentence in SENTENCES]
    file = tmp_path_factory.mktemp("design") / "train.txt"
    file.write_text("\n".join(tokens))
    vocabulary, template = Vocabulary(Template.conditions_pairs), Template("U:%x[0,0]\nB\n")
    corpus = encode_columns([file], vocabulary, template, grow=True).corpus
    found = fit(corpus, rho1=0.1, rho2=0.01, tol=1e-9)
    return vocabulary, corpus, found, found.model(vocabulary, template=template, n_columns=1)


def says(number, digits=4):
    assert f"{number:.{digits}f}" in EXAMPLE


def test_the_features_of_the_example(example):
    vocabulary, corpus, found, _ = example
    assert [vocabulary.attributes[k] for k in range(3)] == ["U:the", "B", "U:dog"]
    assert [vocabulary.labels[k] for k in range(3)] == ["DET", "NOUN", "VERB"]
    numbering = Numbering.of(corpus)
    assert (numbering.unigram(0, 0), numbering.bigram(1, 1, 2)) == (0, 50)
    space = FeatureSet.all_virtual(corpus)
    assert (corpus.n_attributes, len(space), len(FeatureSet.observed(corpus)), len(found.w)) == (11, 42, 14, 5)
    for phrase in ("11 attributes", "a space of 42 features, of which 14 occur", "5 of the 42 weights"):
        assert phrase in EXAMPLE


def test_the_weights_of_the_example(example):
    _, corpus, found, _ = example
    space, oracle = FeatureSet.all_virtual(corpus), Oracle(corpus)
    w = np.zeros(len(space))
    says(oracle.loss_grad(space, w)[1][0], 3)
    w[np.searchsorted(space.numbers, found.numbers)] = found.w
    g = oracle.loss_grad(space, w)[1]
    says(w[0])
    says(g[0])
    says(1 + g[0])
    says(g[np.searchsorted(space.numbers, 7)])
    assert g[0] + 0.1 + 0.01 * w[0] == pytest.approx(0, abs=1e-6)


def test_the_labels_of_the_example(example):
    _, _, found, model = example
    weight = dict(zip(found.numbers.tolist(), found.w.tolist(), strict=True))
    for number in (0, 54, 46, 50):
        says(weight[number])
    says(sum(weight[number] for number in (0, 54, 46, 50)))
    tokens = [["the"], ["cat"], ["barks"]]
    assert model.label(tokens) == ["DET", "NOUN", "VERB"]
    says(np.exp(model.log_prob(tokens, ["DET", "NOUN", "VERB"])), 3)
    says(model.marginals(tokens)[0, 0], 3)
