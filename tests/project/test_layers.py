"""The layers of DESIGN.md, section 3: who may include or import whom. Imports inside functions count too."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE, PACKAGE = ROOT / "cpp" / "core", ROOT / "src" / "sparsecrf"

#: Folders of cpp/core, with the folders that each may include besides itself.
CORE_LAYERS = {
    "base": set(),
    "simd": {"base"},
    "corpus": {"base"},
    "inference": {"base", "simd", "corpus"},
    "training": {"base", "simd", "corpus", "inference"},
    "text": {"base", "corpus", "inference"},
    "model": {"base", "corpus", "inference", "text"},
}
#: Packages and modules of sparsecrf, from the bottom to the top: each may import its own row and those above it here.
PACKAGE_LAYERS = [
    {
        "_core",
        "compatibility",
        "declared",
        "defaults",
        "options",
        "interrupts",
        "lazy",
        "progress",
        "chunks",
        "metrics",
        "scorers",
        "tables",
        "warn",
    },
    {"files"},
    {"encoding"},
    {"model"},
    {"shards"},
    {"training"},
    {"path"},
    {"estimators"},
    {"contrib"},
    {"cli", "__main__"},
]
#: Methods that users look for on a lower layer: file and the module above that does the work.
PASSED_ON = {("model/model.py", "sparsecrf.contrib.explain")}


def core_violations(core: Path) -> Iterator[str]:
    """Includes of cpp/core that its layers do not allow."""
    for file in sorted(core.rglob("*.[hci]*")):
        layer = file.relative_to(core).parts[0]
        for included in re.findall(r'#include "core/([^/"]+)/', file.read_text()):
            if included != layer and included not in CORE_LAYERS[layer]:
                yield f"{file.relative_to(core)} includes core/{included}"


def imports(file: Path) -> Iterator[str]:
    """The modules of sparsecrf that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "sparsecrf":
            yield from (f"sparsecrf.{name.name}" for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def package_violations(package: Path) -> Iterator[str]:
    """Imports of the package that its layers do not allow. `sparsecrf` itself passes the public names on."""
    rank = {name: k for k, layer in enumerate(PACKAGE_LAYERS) for name in layer}
    for file in sorted(package.rglob("*.py")):
        layer = file.relative_to(package).with_suffix("").parts[0]
        if layer == "__init__":
            continue
        for module in imports(file):
            parts = module.split(".")
            passed_on = (file.relative_to(package).as_posix(), module) in PASSED_ON
            if parts[0] == "sparsecrf" and len(parts) > 1 and rank.get(parts[1], -1) > rank[layer] and not passed_on:
                yield f"{file.relative_to(package)} imports {module}"


def test_every_folder_has_a_layer():
    assert {folder.name for folder in CORE.iterdir()} == set(CORE_LAYERS)
    found = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert found - {"__init__"} == {name for layer in PACKAGE_LAYERS for name in layer} - {"_core"}


def test_the_core_keeps_its_layers():
    assert list(core_violations(CORE)) == []


@pytest.mark.slow
def test_the_package_keeps_its_layers():
    assert list(package_violations(PACKAGE)) == []


@pytest.mark.parametrize(
    ("name", "line"),
    [("base/x.hpp", '#include "core/corpus/corpus.hpp"'), ("text/x.cpp", '#include "core/training/oracle.hpp"')],
)
def test_a_planted_include_is_found(tmp_path, name, line):
    file = tmp_path / name
    file.parent.mkdir()
    file.write_text(line)
    assert len(list(core_violations(tmp_path))) == 1


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("files/x.py", "def f():\n    from sparsecrf.model import Model"),
        ("encoding/x.py", "import sparsecrf.training.objective"),
        ("training/x.py", "from sparsecrf import path"),
    ],
)
def test_a_planted_import_is_found(tmp_path, name, line):
    file = tmp_path / name
    file.parent.mkdir()
    file.write_text(line)
    assert len(list(package_violations(tmp_path))) == 1
