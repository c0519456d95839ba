"""The C library as WebAssembly in Node against the Python package, and the page that has it in it."""

import json
import shutil
import subprocess

import pytest
from c_library import EXAMPLES, PACKAGE, ROOT, cmake
from newswire import sentences
from random_words import random_sentences
from reports import small_model

from sparsecrf import BIAS, CRF, InputError, Model
from sparsecrf.contrib.report import make_report
from sparsecrf.contrib.report.trial import VARIABLE, runtime

ASK = """
const { readFile } = await import("node:fs/promises");
const { Sparsecrf } = await import(process.argv[1]);
const library = await Sparsecrf.load(await readFile(process.argv[2]));
const tagger = library.open(await readFile(process.argv[3]));
const asked = JSON.parse(await readFile(process.argv[4], "utf8"));
const answers = asked.map(({ what, tokens, k }) => {
  try { return tagger[what](tokens, k); } catch (error) { return { error: error.message }; }
});
tagger.close();
console.log(JSON.stringify({ labels: tagger.labels, columns: tagger.columns, version: library.version, answers }));
"""


@pytest.fixture(scope="module")
def ask(tmp_path_factory):
    """Asks a model in Node: a list of {what, tokens, k}."""
    if shutil.which("node") is None or not (PACKAGE / "sparsecrf.wasm").exists():
        pytest.skip("expected Node and what `make wasm` builds, found neither or one")
    folder = tmp_path_factory.mktemp("asked")

    def answers(content, asked):
        (folder / "model").write_bytes(content)
        (folder / "asked").write_text(json.dumps(asked), encoding="utf-8")
        script = (PACKAGE / "sparsecrf.js").as_uri()
        command = ["node", "--input-type=module", "-e", ASK, script, str(PACKAGE / "sparsecrf.wasm")]
        done = subprocess.run([*command, str(folder / "model"), str(folder / "asked")], capture_output=True, check=True)
        return json.loads(done.stdout)

    return answers


@pytest.fixture(scope="module")
def tagger():
    """Of words, with ready-made features."""
    news = sentences(80, 1)
    X = [[word for word, _, _ in sentence] for sentence in news]
    return CRF(features="words", rho1=0.3, tol=0.2).fit(X, [[label for *_, label in s] for s in news]).model_


def test_random_sentences(ask, tagger):
    asked = random_sentences(10_000)
    found = ask(tagger.to_bytes(), [{"what": "label", "tokens": tokens} for tokens in asked])
    assert (found["labels"], found["columns"]) == (tagger.labels, 1)
    assert sum(a != tagger.label(tokens) for a, tokens in zip(found["answers"], asked, strict=True)) == 0


def test_all_questions(ask, tagger):
    tokens = random_sentences(1)[0]
    asked = [{"what": what, "tokens": tokens, "k": 4} for what in ("marginals", "nbest", "reasons")]
    marginals, nbest, reasons = ask(tagger.to_bytes(), asked)["answers"]
    assert marginals == [pytest.approx(row, abs=1e-12) for row in tagger.marginals(tokens).tolist()]
    for found, (labels, p) in zip(nbest, tagger.nbest(tokens, 4), strict=True):
        assert (found["labels"], found["probability"]) == (labels, pytest.approx(p))
    why = tagger.explain(tokens)
    expected = {
        (t, term.attribute, term.kind == "unigram", term.value, term.weight)
        for t, token in enumerate(why.tokens)
        for term in token.contributions()
    }
    assert {(r["token"], r["attribute"], r["previous"] is None, r["value"], r["weight"]) for r in reasons} == expected


def test_attributes_and_errors(ask, tagger):
    model = Model.from_weights(["N", "Ü"], {("é", "Ü"): 1.0, ("long", "N"): 0.3}, {(BIAS, None, "N"): 0.7})
    tokens = [["é", ["long", 2.5]], "é", []]
    found = ask(model.to_bytes(compact=True), [{"what": "label", "tokens": tokens}, {"what": "label", "tokens": []}])
    small = Model.from_bytes(model.to_bytes(compact=True))
    assert found["columns"] == -1
    assert found["answers"][0] == small.label([["é", ("long", 2.5)], "é", []])
    assert found["answers"][1] == {"error": "sequence 0: expected at least one position, found none"}


def test_node_program(ask, tagger, tmp_path):
    tagger.save(tmp_path / "model")
    text = "".join("".join(f"{word}\n" for (word,) in tokens) + "\n" for tokens in random_sentences(20))
    (tmp_path / "text").write_text(text, encoding="utf-8")
    command = ["node", EXAMPLES / "label.mjs", PACKAGE, tmp_path / "model", tmp_path / "text"]
    done = subprocess.run([str(part) for part in command], capture_output=True, check=True)
    assert done.stdout == tagger.label_text(text.encode(), "text")


def test_types(ask):
    """The declarations name what the script has."""
    script, types = ((PACKAGE / name).read_text() for name in ("sparsecrf.js", "sparsecrf.d.ts"))
    for name in ("label(", "marginals(", "nbest(", "reasons(", "close(", "load(", "open(", "get version"):
        assert f"  {name}" in script.replace("static async ", "")
        assert name.removeprefix("get ") in types
    described = json.loads((PACKAGE / "package.json").read_text())
    assert all((PACKAGE / name).exists() for name in described["files"])


# ---- The page.
def test_a_page_without_the_runtime(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere.wasm"))
    with pytest.raises(InputError, match=r"--try: expected .*nowhere.wasm, found none"):
        make_report(small_model(), trial=True)


def test_what_the_page_allows(monkeypatch, tmp_path):
    """WebAssembly is compiled only where a page has a labeller."""
    (tmp_path / "some.wasm").write_bytes(b"\0asm")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "some.wasm"))
    assert runtime() == b"\0asm"
    assert "wasm-unsafe-eval" in make_report(small_model(), trial=True)
    plain = make_report(small_model())
    assert "wasm-unsafe-eval" not in plain
    assert "class Tagger" not in plain


def test_program_says_what_is_missing(program, monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    small_model().save(program.directory / "model")
    done = program("report", "model", "-o", "page.html", "--try")
    if done.status == 0:  # this installation has it
        assert b"wasm-unsafe-eval" in (program.directory / "page.html").read_bytes()
    else:
        assert "run `make wasm` (with Emscripten)" in done.err
        assert not (program.directory / "page.html").exists()


# ---- The package does not include a labeller built from other sources.
@pytest.fixture
def small_sources(tmp_path):
    """A folder with what the digest is of, and a labeller that was built from it."""
    for name in ("CMakeLists.txt", "pyproject.toml", "cpp/wasm/CMakeLists.txt", "cpp/c/a.h", "cpp/core/base/b.cpp"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('[project]\nversion = "1"\nlist = [a;b]\n')
    (tmp_path / "sparsecrf.wasm").write_bytes(b"\0asm")
    cmake_script(f"-DROOT={tmp_path}", f"-DWASM={tmp_path / 'sparsecrf.wasm'}", "-P", RULES)
    return tmp_path


RULES = ROOT / "cpp" / "wasm" / "sources.cmake"


def cmake_script(*arguments):
    if cmake() is None:
        pytest.skip("expected a recent cmake, found none")
    return subprocess.run([cmake(), *map(str, arguments)], capture_output=True, text=True)


def install_labeller(folder, required="OFF"):
    """Whether it was installed; the status, and what CMake said."""
    rule = folder / "rule.cmake"
    rule.write_text(
        f"include([[{RULES}]])\nsparsecrf_install_wasm([[{folder}]] [[{folder}/sparsecrf.wasm]] {required})\n"
    )
    target = folder / "installed"
    shutil.rmtree(target, ignore_errors=True)
    done = cmake_script(f"-DCMAKE_INSTALL_PREFIX={target}", "-P", rule)
    return (
        (target / "sparsecrf" / "contrib" / "report" / "page" / "sparsecrf.wasm").exists(),
        done.returncode,
        done.stderr,
    )


@pytest.mark.slow
def test_a_labeller_of_these_sources_is_installed(small_sources):
    assert install_labeller(small_sources) == (True, 0, "")
    for file in small_sources.rglob("*.[cht][px]*"):  # line ends of another system
        file.write_bytes(file.read_bytes().replace(b"\n", b"\r\n"))
    (small_sources / "cpp" / "core" / "training").mkdir()
    (small_sources / "cpp" / "core" / "training" / "c.cpp").write_text("no part of it")
    assert install_labeller(small_sources, "ON") == (True, 0, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    "changed", ["cpp/core/base/b.cpp", "cpp/core/base/new.hpp", "pyproject.toml", "sparsecrf.wasm.sources"]
)
def test_a_labeller_of_other_sources_is_left_out(small_sources, changed):
    (small_sources / changed).write_text('version = "2"\n')
    installed, status, said = install_labeller(small_sources)
    assert (installed, status) == (False, 0)
    assert "`make wasm` builds it again" in " ".join(said.split())
    installed, status, said = install_labeller(small_sources, "ON")
    assert (installed, status) == (False, 1)
    assert "expected one of the sources" in said


@pytest.mark.slow
def test_no_labeller(small_sources):
    (small_sources / "sparsecrf.wasm").unlink()
    assert install_labeller(small_sources) == (False, 0, "")
    assert install_labeller(small_sources, "ON")[:2] == (False, 1)
