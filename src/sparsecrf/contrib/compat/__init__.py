"""The interfaces of python-crfsuite and sklearn-crfsuite: existing programs only need to change their imports.

    import sparsecrf.contrib.compat as pycrfsuite              # Trainer, Tagger, ItemSequence
    import sparsecrf.contrib.compat as sklearn_crfsuite        # CRF
    from sparsecrf.contrib.compat import metrics, scorers, utils

The objective is CRFsuite's (params.py), over the features that CRFsuite would generate (features.py). Models are saved
in sparsecrf's format; CRFsuite's files can be opened, and written on request. `install` registers these classes under
the names of the original classes, for pickles and libraries that refer to the original classes.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparsecrf.contrib.compat import metrics as metrics
    from sparsecrf.contrib.compat import scorers as scorers
    from sparsecrf.contrib.compat import utils as utils
    from sparsecrf.contrib.compat.errors import CRFSUITE_VERSION as CRFSUITE_VERSION
    from sparsecrf.contrib.compat.errors import CRFSuiteError as CRFSuiteError
    from sparsecrf.contrib.compat.estimator import CRF as CRF
    from sparsecrf.contrib.compat.itemsequence import ItemSequence as ItemSequence
    from sparsecrf.contrib.compat.originals import install as install
    from sparsecrf.contrib.compat.tagger import Tagger as Tagger
    from sparsecrf.contrib.compat.trainer import BaseTrainer as BaseTrainer
    from sparsecrf.contrib.compat.trainer import Trainer as Trainer

#: Imported on first use, so that a tagger does not load scikit-learn.
_HOME = {
    "BaseTrainer": "trainer",
    "CRF": "estimator",
    "CRFSUITE_VERSION": "errors",
    "CRFSuiteError": "errors",
    "ItemSequence": "itemsequence",
    "Tagger": "tagger",
    "Trainer": "trainer",
    "install": "originals",
}

_MODULES = ("metrics", "scorers", "utils")

__all__ = [*_HOME, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"sparsecrf.contrib.compat.{name}")
    if name in _HOME:
        found = getattr(import_module(f"sparsecrf.contrib.compat.{_HOME[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'sparsecrf.contrib.compat' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
