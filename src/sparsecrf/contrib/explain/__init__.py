"""Explanations of a model's weights, and of the labels that it assigns to a sequence. `Model.explain` makes them."""

from sparsecrf.contrib.explain.label_strings import LabelString, longest_strings, weights_by_length
from sparsecrf.contrib.explain.of_model import ModelExplanation, TemplateUse, explain_model
from sparsecrf.contrib.explain.of_sequence import SequenceExplanation, explain_sequence
from sparsecrf.contrib.explain.token import Contribution, TokenExplanation
from sparsecrf.contrib.explain.weights import START, Weight
from sparsecrf.encoding.template_groups import OTHER

__all__ = [
    "OTHER",
    "START",
    "Contribution",
    "LabelString",
    "ModelExplanation",
    "SequenceExplanation",
    "TemplateUse",
    "TokenExplanation",
    "Weight",
    "explain_model",
    "explain_sequence",
    "longest_strings",
    "weights_by_length",
]
