"""Defaults are defined only in sparsecrf/defaults.py: signatures and the command line take them from there."""

import ast
from collections.abc import Iterator
from importlib import import_module
from inspect import signature
from pathlib import Path

import pytest
import typer

import sparsecrf.path
from sparsecrf import CRF, CRFCV, defaults, fit
from sparsecrf.cli import app

PACKAGE = Path(defaults.__file__).parent
#: By the name of a parameter.
DEFAULTS = {
    "rho1": defaults.RHO1,
    "rho2": defaults.RHO2,
    "tol": defaults.TOL,
    "solver": defaults.SOLVER,
    "checkpoint_every": defaults.CHECKPOINT_EVERY,
}
#: Parameters of the same name with another meaning.
OTHERS = {("contrib/datasets/align.py", "tol")}


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (fit, {"rho1", "rho2", "tol", "solver", "checkpoint_every"}),
        (sparsecrf.path.path, {"rho2"}),
        (sparsecrf.path.cross_validate, {"rho2"}),
        (CRF, {"rho1", "rho2", "tol", "solver"}),
        (CRFCV, {"rho2", "tol", "solver"}),
    ],
)
def test_signatures(function, names):
    parameters = signature(function).parameters
    found = {name: parameters[name].default for name in DEFAULTS if name in parameters}
    found = {name: value for name, value in found.items() if value is not None}  # rho1=None of paths: a grid
    assert found == {name: DEFAULTS[name] for name in names}


def test_signatures_for_dask():
    pytest.importorskip("distributed")
    dask = import_module("sparsecrf.contrib.dask")
    parameters = signature(dask.DaskCRF).parameters
    assert {n: parameters[n].default for n in DEFAULTS if n in parameters} == {
        name: DEFAULTS[name] for name in ("rho1", "rho2", "tol", "solver")
    }
    assert signature(dask.train).parameters["solver"].default == defaults.SOLVER


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("train", {"rho1", "rho2", "tol", "solver", "checkpoint_every"}),
        ("path", {"rho2", "tol", "solver"}),
    ],
)
def test_options_of_the_command_line(command, names):
    options = {option.name: option.default for option in typer.main.get_command(app).commands[command].params}
    assert {name: options[name] for name in DEFAULTS if name in options} == {name: DEFAULTS[name] for name in names}


def written_out(package: Path) -> Iterator[str]:
    """Parameters and fields whose default is a number or text where it should be a name of defaults.py."""
    for file in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            given: list[tuple[str, ast.expr | None]] = []
            if isinstance(node, ast.FunctionDef):
                arguments = [*node.args.posonlyargs, *node.args.args]
                first = len(arguments) - len(node.args.defaults)
                given += [(a.arg, d) for a, d in zip(arguments[first:], node.args.defaults, strict=True)]
                given += [(a.arg, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                given.append((node.target.id, node.value))
            for name, default in given:
                if name in DEFAULTS and isinstance(default, ast.Constant) and default.value is not None:
                    where = file.relative_to(package).as_posix()
                    if (where, name) not in OTHERS:
                        yield f"{where}:{default.lineno}: {name} = {default.value!r}"


@pytest.mark.slow
def test_no_default_is_written_out():
    assert list(written_out(PACKAGE)) == []


@pytest.mark.parametrize(
    "line", ["def f(a, tol=1e-3): ...", "def f(*, rho2=0.01): ...", "class A:\n    rho1: float = 1.0"]
)
def test_a_planted_default_is_found(tmp_path, line):
    (tmp_path / "x.py").write_text(line)
    assert len(list(written_out(tmp_path))) == 1


def test_they_cost_no_import():
    tree = ast.parse(Path(defaults.__file__).read_text())
    assert not [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
