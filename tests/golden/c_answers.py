"""What the C library answers, called by ctypes as examples/c/label.py does."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import internals
from case import Setting

ROOT = Path(__file__).parents[2]
_NAME = "libsparsecrf.dylib" if sys.platform == "darwin" else "libsparsecrf.so"


@cache
def library() -> Path | None:
    """$SPARSECRF_LIBRARY, or that of the folder of build/ in which the module was last built, brought up to date, which
    takes seconds; None: there is no such folder, or no CMake."""
    if given := os.environ.get("SPARSECRF_LIBRARY"):
        return Path(given)
    modules = sorted(ROOT.glob("build/*/_core*.so"), key=lambda file: file.stat().st_mtime)
    tools = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    cmake = shutil.which("cmake", path=tools)
    if not modules or cmake is None:
        return None
    folder = modules[-1].parent
    command = [cmake, "--build", str(folder), "--target", "sparsecrf"]
    done = subprocess.run(command, env={**os.environ, "PATH": tools}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(
            f"golden: the C library cannot be built in {folder}:\n{done.stdout[-2000:]}{done.stderr[-500:]}"
        )
    return folder / "cpp" / "c" / _NAME


@cache
def _example() -> Any:
    spec = importlib.util.spec_from_file_location("label_by_ctypes", ROOT / "examples" / "c" / "label.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _functions() -> Any:
    return _example().Library(str(library()))


def comparable(setting: Setting) -> bool:
    """The library is there, and this is the instruction set that it has chosen: the best of the machine."""
    return library() is not None and setting.instruction_set == internals.instruction_sets()[-1]


def answers(model: bytes, X: Any) -> list[Any]:
    """Labels, marginals, n-best and reasons for sequences of attributes or of columns."""
    tagger = _example().Tagger(_functions(), model)
    tokens = [[_token(token) for token in x] for x in X]
    return [[tagger.label(x), tagger.marginals(x), tagger.nbest(x, 3), _reasons(tagger, x)] for x in tokens]


def _reasons(tagger: Any, tokens: list[Any]) -> Any:
    """None for models with label n-grams: the library does not explain them."""
    try:
        return tagger.reasons(tokens)
    except ValueError:
        return None


def _token(token: Any) -> list[Any]:
    if isinstance(token, str):
        return [token]
    return list(token.items()) if isinstance(token, dict) else list(token)
