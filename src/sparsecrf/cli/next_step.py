"""The closing hint of `sparsecrf train`: the most useful next step for this run, in at most two lines."""

from __future__ import annotations

from sparsecrf._core import Corpus
from sparsecrf.cli.options import Inputs
from sparsecrf.cli.remarks import has_documents
from sparsecrf.defaults import AUTO, PENALTY, RHO1, RHO2
from sparsecrf.encoding.template import Template
from sparsecrf.options import FitOptions
from sparsecrf.shards.dataset import Dataset

_FEATURES = (
    "next: --features words (named entities, fields) or --features tagging (parts of speech); without --features,\n"
    "the raw columns are the only features, without neighbouring words, prefixes, suffixes or shapes"
)
_COLUMNS = (
    "next: --features columns (the word first, then other columns such as tags); without --features, the raw\n"
    "columns of the token itself are the only features, without neighbours, prefixes, suffixes or shapes"
)
_DEV = "next: --dev FILE, labelled data that you do not train on, shows how good the model is"
_DEV_AND_PENALTY = f"{_DEV}; --rho1 auto chooses\nrho1 on dev data or by cross-validation"
_PENALTY = (
    "next: --rho1 auto chooses rho1 on the dev data; `sparsecrf path`, with these options and\n"
    "-o FOLDER instead of -m, shows the effect of rho1"
)
_DOCUMENTS = (
    "next: --features documents, since {file} contains documents (-DOCSTART-); these features also use the other\n"
    "mentions of a word in its document, and the model labels whole documents"
)
_CLUSTERS = (
    "next: add word clusters from unlabelled text (`sparsecrf data clusters`, then --clusters NAME=FILE), a lexicon\n"
    "of names (--lexicon) or word vectors (--vectors)"
)


def next_step(data: Dataset, inputs: Inputs, fitting: FitOptions, *, is_continued: bool) -> str | None:
    """A hint about the first of these that the run has not used: features, dev data, documents, penalties, resources.
    None if the run used all of them. `is_continued`: training started from a model and uses its features."""
    if plain_columns(data) and not is_continued:
        return _FEATURES if data.n_columns == 1 else _COLUMNS
    # --rho1 auto supports neither a prior nor data in parts.
    can_choose = fitting.rho1 != AUTO and data.prior is None and isinstance(data.shards, Corpus)
    if data.dev is None:
        return _DEV_AND_PENALTY if can_choose else _DEV
    recipe, file = data.recipe, inputs.data[0]
    if recipe.features in ("words", "columns") and has_documents(file):
        return _DOCUMENTS.format(file=file)
    if can_choose and fitting.penalty == PENALTY and (fitting.rho1, fitting.rho2) == (RHO1, RHO2):
        return _PENALTY
    has_resources = bool(recipe.lexicon or recipe.clusters or recipe.classes) or recipe.vectors is not None
    return _CLUSTERS if recipe.features in ("words", "columns", "tagging", "documents") and not has_resources else None


def plain_columns(data: Dataset) -> bool:
    """Whether only the raw columns are features, because neither a template nor features were given."""
    if data.template is None or data.recipe.template is not None or data.recipe.features is not None:
        return False
    return data.template.text == Template.of_columns(data.n_columns).text


def ignored_columns(data: Dataset) -> str | None:
    """A hint if ready-made features use fewer columns than the data contain, else None."""
    features, used = data.recipe.features, 0 if data.template is None else data.template.n_columns
    if features in (None, "documents") or not 0 < used < data.n_columns:
        return None
    return (
        f"--features {features} uses {used} of the {data.n_columns} columns before the label and ignores the others; "
        "--features columns uses them all"
    )
