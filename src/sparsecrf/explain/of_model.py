"""A whole model explained: its largest weights, transitions, what each line of the template is good for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sparsecrf.explain.frame import frame
from sparsecrf.explain.templates import TemplateUse, template_uses
from sparsecrf.explain.weights import Weight, WeightTable, check_top

if TYPE_CHECKING:
    from sparsecrf.model import Model

TOP = 10  # weights of each label, unless told


@dataclass(frozen=True, eq=False)
class ModelExplanation:
    """What a model has learnt. Made by `Model.explain`."""

    labels: list[str]  #: [Y]
    weights: dict[str, list[Weight]]  #: of single labels, by label, the largest first: at most `top` of each
    bigrams: list[Weight]  #: of label pairs, but for plain transitions, the largest first: at most `top`
    transitions: NDArray[np.float64]  #: [Y + 1, Y] plain transitions, the last row the start
    templates: list[TemplateUse]  #: by falling mass
    training: dict[str, Any]  #: how the weights were found, and how close to the optimum they are
    summary: dict[str, Any]  #: labels, attributes, active_unigram, active_bigram (their numbers), start
    template: dict[str, str] | None  #: text and boundary
    top: int | None
    label: str | None  #: what was asked about, None: all
    attribute: str | None
    _table: WeightTable = field(repr=False)
    _is_plain: NDArray[np.bool_] = field(repr=False)  # [K] which weights are plain transitions

    def largest(self, n: int | None = None, *, label: str | None = None, transitions: bool = True) -> list[Weight]:
        """The n largest weights of both kinds (None: all), of one label, without plain transitions if asked so."""
        kept = np.ones(len(self._table), dtype=np.bool_) if transitions else ~self._is_plain
        if label is not None:
            kept &= self._table.label == self.labels.index(label)
        return self._table.where(kept).top(n)

    def plain_transitions(self, n: int | None = None) -> list[Weight]:
        """The n largest weights of plain transitions (None: all)."""
        return self._table.where(self._is_plain).top(n)

    def to_frame(self) -> Any:
        """All active weights that were asked about, whatever `top`, in a pandas frame: attribute, previous, label,
        weight, the largest first.
        """
        return frame(self.largest(), Weight._fields)

    def __repr__(self) -> str:
        counts = self.summary
        return f"<ModelExplanation: {counts['active_unigram'] + counts['active_bigram']} weights>"


def explain_model(
    model: Model, top: int | None = TOP, *, label: str | None = None, attribute: str | None = None
) -> ModelExplanation:
    """Explain a model: the `top` largest weights (None: all), of one label or one attribute if asked so."""
    check_top(top)
    table = WeightTable.of(model, label, attribute)
    plain = [model.vocabulary.attributes.find(name) for name in model.plain_attributes()]
    pairs = table.previous >= 0
    is_plain = pairs & np.isin(table.attribute, np.array(plain, dtype=np.int32))
    of_labels = table.where(~pairs).by_label()
    active = model.w != 0
    n_unigram = int(np.count_nonzero(active[: model.features.n_unigram]))
    template = model.template
    return ModelExplanation(
        labels=model.labels,
        weights={
            name: own.top(top) for name, own in zip(model.labels, of_labels, strict=True) if label in (None, name)
        },
        bigrams=table.where(pairs & ~is_plain).top(top),
        transitions=model.transitions(),
        templates=template_uses(table, template),
        training=model.training,
        summary={
            "labels": len(model.labels),
            "attributes": len(model.vocabulary.attributes),
            "active_unigram": n_unigram,
            "active_bigram": int(np.count_nonzero(active)) - n_unigram,
            "start": model.vocabulary.start,
        },
        template=None if template is None else {"text": template.text, "boundary": template.boundary},
        top=top,
        label=label,
        attribute=attribute,
        _table=table,
        _is_plain=is_plain,
    )
