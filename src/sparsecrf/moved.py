"""Old names of modules that have moved: importing one still works, with a warning that names the new one."""

from __future__ import annotations

import sys
import warnings
from importlib import import_module
from importlib.machinery import ModuleSpec

TYPE_CHECKING = False  # as in `typing`, which is slow to import
if TYPE_CHECKING:
    from importlib.abc import Loader as Loader
    from types import ModuleType
    from typing import Any
else:
    Loader = object  # importing importlib.abc takes longer than everything else here

_PACKAGES = ("compat", "dask", "datasets", "demo", "explain", "plots", "report", "selection", "simulate", "spacy")
_CONVERT = ("crfpp", "crfpp_binary", "crfsuite", "crfsuite_write", "exporting", "foreign", "template_lines", "wapiti")

#: Old name of a module or package, without `sparsecrf.`, to its new one.
MOVED = {
    **{name: f"contrib.{name}" for name in _PACKAGES},
    **{f"model.{name}": f"contrib.convert.{name}" for name in _CONVERT},
    "estimator_base": "model.spans",
}


def new_name(name: str) -> str | None:
    """The new name of a module, or None if it has not moved."""
    parts = name.removeprefix("sparsecrf.").split(".")
    for n in range(len(parts), 0, -1):
        home = MOVED.get(".".join(parts[:n]))
        if home is not None:
            return ".".join(["sparsecrf", home, *parts[n:]])
    return None


class Redirect(Loader):
    """Loads a module under another name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = (
            self._spec
        )  # restore the module's own spec: the import system has set the spec of the old name


class _Finder:
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        new = new_name(name) if name.startswith("sparsecrf.") else None
        if new is None:
            return None
        if name.removeprefix("sparsecrf.") in MOVED:  # warn once per package, not for each of its modules
            warnings.warn(f"{name} has moved: import {new}", DeprecationWarning, stacklevel=2)
        return ModuleSpec(name, Redirect(new))


def install() -> None:
    """Lets the old names be imported."""
    sys.meta_path.insert(
        0, _Finder()
    )  # first, so that modules of moved packages are not found by path and loaded twice
