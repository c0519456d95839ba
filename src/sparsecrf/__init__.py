"""Sparse linear-chain conditional random fields: exact, certified, fast."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # type checkers treat this as `typing.TYPE_CHECKING`; importing `typing` is slow
if TYPE_CHECKING:
    from typing import Any

    from sparsecrf._core import Corpus as Corpus
    from sparsecrf._core import InputError as InputError
    from sparsecrf._core import UnsatisfiableError as UnsatisfiableError
    from sparsecrf.compatibility import OptionError as OptionError
    from sparsecrf.contrib.audit import audit as audit
    from sparsecrf.encoding.formats.conllu import read_conllu as read_conllu
    from sparsecrf.encoding.formats.documents import read_documents as read_documents
    from sparsecrf.encoding.formats.json_lines import read_jsonl as read_jsonl
    from sparsecrf.encoding.formats.token_lines import read_tokens as read_tokens
    from sparsecrf.encoding.label_parts import LabelParts as LabelParts
    from sparsecrf.encoding.label_sets import candidate_labels as candidate_labels
    from sparsecrf.encoding.mentions import with_mentions as with_mentions
    from sparsecrf.encoding.recipe import Recipe as Recipe
    from sparsecrf.encoding.resources import Resource as Resource
    from sparsecrf.encoding.template import Template as Template
    from sparsecrf.encoding.vocabulary import BIAS as BIAS
    from sparsecrf.encoding.vocabulary import Vocabulary as Vocabulary
    from sparsecrf.estimators.crf import CRF as CRF
    from sparsecrf.estimators.cv import CRFCV as CRFCV
    from sparsecrf.files.columns import read_columns as read_columns
    from sparsecrf.model import Model as Model
    from sparsecrf.shards.encode_folder import encode_folder as encode_folder
    from sparsecrf.shards.folder import CorpusFolder as CorpusFolder
    from sparsecrf.training import FeatureGroups as FeatureGroups
    from sparsecrf.training import Fit as Fit
    from sparsecrf.training import fit as fit

    __version__: str

#: Imported when first used, so that labelling does not wait for imports that only training needs, and so that the
#: command line can report why the core does not load.
_HOME = {
    "BIAS": "encoding.vocabulary",
    "CRF": "estimators.crf",
    "CRFCV": "estimators.cv",
    "Corpus": "_core",
    "CorpusFolder": "shards.folder",
    "Fit": "training",
    "FeatureGroups": "training",
    "InputError": "_core",
    "LabelParts": "encoding.label_parts",
    "Model": "model",
    "OptionError": "compatibility",
    "Recipe": "encoding.recipe",
    "Resource": "encoding.resources",
    "Template": "encoding.template",
    "UnsatisfiableError": "_core",
    "Vocabulary": "encoding.vocabulary",
    "audit": "contrib.audit",
    "candidate_labels": "encoding.label_sets",
    "encode_folder": "shards.encode_folder",
    "fit": "training",
    "read_columns": "files.columns",
    "read_conllu": "encoding.formats.conllu",
    "read_documents": "encoding.formats.documents",
    "read_jsonl": "encoding.formats.json_lines",
    "read_tokens": "encoding.formats.token_lines",
    "with_mentions": "encoding.mentions",
}

#: Submodules that can be used as attributes without importing them.
_MODULES = ("chunks", "contrib", "metrics", "path", "scorers")

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("sparsecrf")
    if name in _HOME:
        found = getattr(import_module(f"sparsecrf.{_HOME[name]}"), name)
        globals()[name] = found
        return found
    if name in _MODULES:
        return import_module(f"sparsecrf.{name}")
    raise AttributeError(f"module 'sparsecrf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES])
