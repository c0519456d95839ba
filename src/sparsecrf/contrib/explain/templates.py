"""Which lines of a template the weights of a model are for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sparsecrf.encoding.template_groups import OTHER, by_line, by_prefix
from sparsecrf.encoding.vocabulary import BIAS

if TYPE_CHECKING:
    from sparsecrf.contrib.explain.weights import WeightTable
    from sparsecrf.encoding.template import Template


class TemplateUse(NamedTuple):
    """The weights that belong to one line of a template."""

    name: str  #: the line; without a template, the part of the attribute before `:` or `=`, BIAS, or OTHER
    unigram: int  #: active weights of single labels
    bigram: int  #: active weights of label pairs
    mass: float  #: the sum of |weight|
    attributes: int  #: attributes with an active weight


def template_uses(weights: WeightTable, template: Template | None) -> list[TemplateUse]:
    """Lines by decreasing mass. Lines without any weight are included, since they could be removed."""
    attributes, of_weight = np.unique(weights.attribute, return_inverse=True)
    texts = [weights.attribute_names[x] for x in attributes.tolist()]
    names, group = by_prefix(texts) if template is None else by_line(texts, template)
    n, group_of_weight = len(names), group[of_weight]
    pairs = weights.previous >= 0
    columns = (
        np.bincount(group_of_weight[~pairs], minlength=n),
        np.bincount(group_of_weight[pairs], minlength=n),
        np.bincount(group_of_weight, np.abs(weights.weight), minlength=n),
        np.bincount(group, minlength=n),
    )
    uses = [TemplateUse(*row) for row in zip(names, *(column.tolist() for column in columns), strict=True)]
    return sorted((use for use in uses if use.attributes or use.name not in (OTHER, BIAS)), key=lambda use: -use.mass)
