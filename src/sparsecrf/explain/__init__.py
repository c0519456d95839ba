"""Explanations: what a model has learnt, and why it labels a sequence as it does. `Model.explain` makes them."""

from sparsecrf.explain.label_strings import LabelString, longest_strings, weights_by_length
from sparsecrf.explain.of_model import ModelExplanation, explain_model
from sparsecrf.explain.of_sequence import SequenceExplanation, explain_sequence
from sparsecrf.explain.templates import OTHER, TemplateUse
from sparsecrf.explain.token import Contribution, TokenExplanation
from sparsecrf.explain.weights import START, Weight

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
