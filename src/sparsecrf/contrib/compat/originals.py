"""python-crfsuite and sklearn-crfsuite by their own names."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

#: Modules of the originals; where their names are here: all of a module, or some of it.
_MODULES: dict[str, dict[str, str]] = {
    "pycrfsuite": {
        "ItemSequence": "itemsequence",
        "Tagger": "tagger",
        "Trainer": "trainer",
        "BaseTrainer": "trainer",
        "CRFSuiteError": "errors",
        "CRFSUITE_VERSION": "errors",
    },
    "pycrfsuite._logparser": {"TrainLogParser": "training_log", "LabelScore": "training_log"},
    "pycrfsuite._dumpparser": {"ParsedDump": "tagger"},
    "sklearn_crfsuite": {"CRF": "estimator"},
    "sklearn_crfsuite.estimator": {"CRF": "estimator"},
    "sklearn_crfsuite.trainer": {"LinePerIterationTrainer": "trainer"},
    "sklearn_crfsuite._fileresource": {"FileResource": "modelfile"},
}
_MODULES["pycrfsuite._pycrfsuite"] = _MODULES["pycrfsuite"]
_SAME = {f"sklearn_crfsuite.{name}": name for name in ("metrics", "scorers", "utils")}


def install() -> None:
    """Let `import pycrfsuite` and `import sklearn_crfsuite` give this package's classes from now on.

    For libraries that import the originals (call it before they do), and to open pickles of the originals' classes,
    which name the modules of those. Nothing is written to disk, and it ends with the process.
    """
    for name, places in _MODULES.items():
        module = ModuleType(name, f"{name} by sparsecrf.contrib.compat")
        for attribute, place in places.items():
            setattr(module, attribute, getattr(import_module(f"sparsecrf.contrib.compat.{place}"), attribute))
        sys.modules[name] = module
    for name, place in _SAME.items():
        sys.modules[name] = import_module(f"sparsecrf.contrib.compat.{place}")
    for name in [*_MODULES, *_SAME]:
        parent, _, child = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], child, sys.modules[name])
            sys.modules[parent].__path__ = []  # a package
