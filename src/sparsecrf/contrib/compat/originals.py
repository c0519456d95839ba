"""Registers this package's classes under the names of python-crfsuite and sklearn-crfsuite."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from importlib.abc import Loader
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from sparsecrf.contrib import compat

#: The original packages, and which of their names `compat` provides.
_PACKAGES = {
    "pycrfsuite": ("BaseTrainer", "CRFSUITE_VERSION", "CRFSuiteError", "ItemSequence", "Tagger", "Trainer"),
    "sklearn_crfsuite": ("CRF",),
}
#: Modules of the original packages, and their replacements here.
_MODULES = {
    "pycrfsuite._pycrfsuite": "pycrfsuite",
    "pycrfsuite._logparser": "sparsecrf.contrib.compat.training_log",
    "pycrfsuite._dumpparser": "sparsecrf.contrib.compat.tagger",
    "sklearn_crfsuite.compat": "sparsecrf.contrib.compat.estimator",
    "sklearn_crfsuite._fileresource": "sparsecrf.contrib.compat.modelfile",
    **{
        f"sklearn_crfsuite.{name}": f"sparsecrf.contrib.compat.{name}"
        for name in ("estimator", "metrics", "scorers", "trainer", "utils")
    },
}


def install() -> None:
    """Make `import pycrfsuite` and `import sklearn_crfsuite` load this package's classes.

    Call this function before a library imports the original packages, or to open pickles of the original classes, which
    name the original modules. The change lasts until the process ends. Modules are imported on first use, so a program
    that only tags does not load scikit-learn.
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    for name in list(sys.modules):
        if name.partition(".")[0] in _PACKAGES:
            del sys.modules[name]
    sys.meta_path.insert(0, _Finder())


class _Redirect(Loader):
    """Loads a module under another name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(self._name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # restore the module's own spec, which the import system has overwritten


class _Finder(Loader):
    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name in _MODULES:
            return ModuleSpec(name, _Redirect(_MODULES[name]))
        return ModuleSpec(name, self, is_package=True) if name in _PACKAGES else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Returns None, which lets Python create an ordinary module."""

    def exec_module(self, module: ModuleType) -> None:
        package = module.__name__
        vars(module).update(__all__=_PACKAGES[package], __getattr__=partial(_attribute, package))


def _attribute(package: str, name: str) -> Any:
    if f"{package}.{name}" in _MODULES:
        return import_module(f"{package}.{name}")
    if name in _PACKAGES[package]:
        return getattr(compat, name)
    raise AttributeError(f"module {package!r} has no attribute {name!r}")
