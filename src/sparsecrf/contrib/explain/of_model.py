"""Explains a whole model: its largest weights, transitions, and the contribution of each template line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsecrf.contrib.explain.weights import Weight, WeightTable, check_top, frame
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.template_groups import OTHER, by_line, by_prefix
from sparsecrf.encoding.vocabulary import BIAS
from sparsecrf.lazy import lazy
from sparsecrf.model import Model
from sparsecrf.tables import counted


class TemplateUse(NamedTuple):
    """The weights that belong to one line of a template."""

    name: str  #: the line; without a template, the part of the attribute before `:` or `=`, BIAS, or OTHER
    unigram: int  #: number of nonzero weights of single labels
    bigram: int  #: number of nonzero weights of label pairs
    mass: float  #: the sum of |weight|
    attributes: int  #: number of attributes with a nonzero weight


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


TOP = 10  # default number of weights of each label


@dataclass(frozen=True, eq=False, repr=False)
class ModelExplanation:
    """An explanation of a model, made by `Model.explain`. Names of weights are looked up on demand."""

    labels: list[str]  #: [Y]
    transitions: NDArray[np.float64]  #: [Y + 1, Y] plain transitions, the last row the start
    training: dict[str, Any]  #: the training record, with the distance from the optimum
    #: Counts: labels, attributes (with a weight), parts (of labels) and active_part if there are parts, active_unigram,
    #: active_bigram, active_class_pair (the part of active_bigram for pairs of label classes) if there are classes, and
    #: active_ngram if there are label n-grams. Also vectors (the number of words, and the dimension of the vectors) if
    #: the model looks them up, and start.
    summary: dict[str, Any]
    template: Template | None
    top: int | None  #: number of weights of each kind to show; None means all
    label: str | None  #: the requested label or attribute; None means all
    attribute: str | None
    _table: WeightTable
    _is_plain: NDArray[np.bool_]  # [K] which weights of the table are plain transitions

    @lazy
    def weights(self) -> dict[str, list[Weight]]:
        """The weights of single labels and of parts, by label or part: at most `top` for each, the largest first."""
        own = zip(self._table.label_names, self._table.where(self._table.previous < 0).by_label(), strict=True)
        return {name: table.top(self.top) for name, table in own if self.label in (None, name)}

    @lazy
    def bigrams(self) -> list[Weight]:
        """The `top` largest weights of label pairs, except plain transitions, and of longer n-grams."""
        return self._table.where((self._table.previous >= 0) & ~self._is_plain).top(self.top)

    @lazy
    def templates(self) -> list[TemplateUse]:
        """The contribution of each template line, by decreasing mass."""
        return template_uses(self._table, self.template)

    def largest(self, n: int | None = None, *, label: str | None = None, transitions: bool = True) -> list[Weight]:
        """The n largest weights of both kinds (None means all), of one label, optionally without plain transitions."""
        kept = np.ones(len(self._table), dtype=np.bool_) if transitions else ~self._is_plain
        if label is not None:
            kept &= self._table.label == self._table.label_names.index(label)
        return self._table.where(kept).top(n)

    def plain_transitions(self, n: int | None = None) -> list[Weight]:
        """The n largest weights of plain transitions (None means all)."""
        return self._table.where(self._is_plain).top(n)

    def to_frame(self) -> Any:
        """All nonzero weights of the requested label or attribute, regardless of `top`, as a pandas frame: attribute,
        previous, label, weight, the largest first.
        """
        return frame(self.largest(), Weight._fields)

    def __repr__(self) -> str:
        counts = self.summary
        n = sum(counts.get(f"active_{kind}", 0) for kind in ("unigram", "bigram", "ngram"))
        return f"<ModelExplanation: {counted(n, 'weight')}>"

    def __str__(self) -> str:
        from sparsecrf.contrib.explain.tables import as_text, model_tables

        return as_text(lambda console: model_tables(self, console))

    def _repr_html_(self) -> str:
        from sparsecrf.contrib.explain.html import model_html

        return model_html(self)


def explain_model(
    model: Model, top: int | None = TOP, *, label: str | None = None, attribute: str | None = None
) -> ModelExplanation:
    """Explain a model: the `top` largest weights (None means all), optionally of one label or one attribute."""
    check_top(top)
    table = WeightTable.of(model, label, attribute)
    plain = [model.vocabulary.attributes.find(name) for name in model.plain_attributes()]
    n_unigram = int(np.count_nonzero(model.w[: model.features.n_unigram]))
    parts, n_part = model.label_parts, int(((table.label >= len(model.labels)) & (table.previous < 0)).sum())
    n_pairs, classes = len(model.features) - model.features.n_ngram, bool(model.features.class_cells)
    n_class = int(np.count_nonzero(model.w[n_pairs - model.features.n_class : n_pairs]))
    n_ngram = int(np.count_nonzero(model.w[len(model.features) - model.features.n_ngram :]))
    return ModelExplanation(
        labels=model.labels,
        transitions=model.transitions(),
        training=model.training,
        summary={
            "labels": len(model.labels),
            "attributes": model.n_attributes,
            **({} if parts is None else {"parts": len(parts.names), "active_part": n_part}),
            "active_unigram": n_unigram,
            "active_bigram": model.n_active - n_unigram - n_ngram,
            **({"active_class_pair": n_class} if classes else {}),
            **({"active_ngram": n_ngram} if n_ngram else {}),
            **({} if model.vectors is None else {"vectors": [len(model.vectors), model.vectors.width]}),
            "start": model.vocabulary.start,
        },
        template=model.template,
        top=top,
        label=label,
        attribute=attribute,
        _table=table,
        _is_plain=(table.previous >= 0)
        & (table.previous <= len(model.labels) + (0 if parts is None else len(parts.names)))
        & np.isin(table.attribute, np.array(plain, dtype=np.int32)),
    )
