"""python-crfsuite's and sklearn-crfsuite's interfaces: existing programs need another import line and nothing else.

    import sparsecrf.compat as pycrfsuite              # Trainer, Tagger, ItemSequence
    import sparsecrf.compat as sklearn_crfsuite        # CRF
    from sparsecrf.compat import metrics, scorers

The objective is CRFsuite's (params.py), on the features that CRFsuite would make (features.py). Model files are those
of sparsecrf; those of CRFsuite can be opened.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparsecrf.compat import metrics, scorers
    from sparsecrf.compat.estimator import CRF
    from sparsecrf.compat.itemsequence import ItemSequence
    from sparsecrf.compat.tagger import Tagger
    from sparsecrf.compat.trainer import Trainer

#: Imported when first used: a tagger does not wait for scikit-learn.
_HOME = {"CRF": "estimator", "ItemSequence": "itemsequence", "Tagger": "tagger", "Trainer": "trainer"}

__all__ = ["CRF", "ItemSequence", "Tagger", "Trainer", "metrics", "scorers"]


def __getattr__(name: str) -> Any:
    if name in ("metrics", "scorers"):
        return import_module(f"sparsecrf.compat.{name}")
    if name in _HOME:
        found = getattr(import_module(f"sparsecrf.compat.{_HOME[name]}"), name)
        globals()[name] = found
        return found
    raise AttributeError(f"module 'sparsecrf.compat' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
