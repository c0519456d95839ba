"""The recipe of a model: how its training data were read, as far as its file records it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparsecrf.encoding.recipe import Recipe
from sparsecrf.model.format import FORMAT

if TYPE_CHECKING:
    from sparsecrf.model import Model


def recipe_of(model: Model) -> Recipe:
    """The recipe for data to train a new model that starts from this one."""
    scale = None
    if model.vectors is not None and model.dense is not None:
        scale = model.dense.scale[
            model.vectors.width
        ]  # the column that marks words without a vector is not standardised
    return Recipe(
        format=str(model.training[FORMAT]) if FORMAT in model.training else None,
        vectors=model.vectors,
        vectors_scale=scale,
        start=model.vocabulary.start,
        encoding=model.training.get("encoding"),
        labels=tuple(model.labels),
        lines=model.template,
    )
