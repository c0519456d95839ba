"""The recipe of a model: how its training data were read, as far as its file says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparsecrf.encoding.recipe import Recipe
from sparsecrf.model.format import FORMAT

if TYPE_CHECKING:
    from sparsecrf.model import Model


def recipe_of(model: Model) -> Recipe:
    """That by which data are read that the training of a new model starts with."""
    scale = None
    if model.vectors is not None and model.dense is not None:
        scale = model.dense.scale[
            model.vectors.width
        ]  # of the column of words without a vector: it is not standardised
    return Recipe(
        format=str(model.training[FORMAT]) if FORMAT in model.training else None,
        vectors=model.vectors,
        vectors_scale=scale,
        start=model.vocabulary.start,
        encoding=model.training.get("encoding"),
        labels=tuple(model.labels),
        lines=model.template,
    )
