"""Attaches a template to a model of attributes, so that the core computes the attributes from columns instead of a
Python program."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from sparsecrf._core import InputError
from sparsecrf.contrib.convert.crfsuite import as_written
from sparsecrf.contrib.convert.importing import assemble
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.template_lines import Line, lines_of
from sparsecrf.lazy import np
from sparsecrf.model import Model


def attach_template(
    model: Model, template: Template | str | os.PathLike[str], *, rename: Mapping[str, str] | None = None
) -> Model:
    """The same model for rows of columns, from which a template generates the attributes.

    Use this function for models that CRFsuite or `contrib.compat` trained on attributes computed in Python: with a
    template that computes the same attributes, the model labels columns and text files without Python, several times as
    fast. A line `Uw[0]:%x[0,0]` generates the attributes w[0]:dog, w[0]:cat and so on, and a line `B` generates the
    transitions. `rename` maps attributes to the names that the template generates for them: {"BOS": "w[-1]:_B-1"} if
    the program uses the attribute BOS where the line `Uw[-1]:%x[-1,0]` finds no word. An attribute that no line can
    generate is an error.
    """
    if model.template is not None:
        raise InputError("template: this model already has a template")
    lines = Template.of(template)
    labels, attributes, states, transitions = as_written(model)
    names = [(rename or {}).get(name, name) for name in attributes]
    _check(names, lines_of(lines), has_transitions=len(transitions[0]) > 0)
    bias = np.full(len(transitions[0]), len(names))
    return assemble(
        "template",
        labels,
        [*(f"U{name}" for name in names), "B"],
        (np.stack(states[:2], axis=1), states[2]),
        (np.stack([bias, *transitions[:2]], axis=1), transitions[2]),
        tool="crfsuite",
        template=lines,
    ).noted(**model.training)


def _check(names: Iterable[str], lines: list[Line], *, has_transitions: bool) -> None:
    """Reject attributes and transitions that no line generates."""
    if has_transitions and not any(line.text == "B" for line in lines):
        raise InputError("template: expected a B line, because the model contains transitions, found none")
    patterns = [line.pattern for line in lines if line.text[0] == "U"]
    can_be_made = re.compile("|".join(patterns), re.DOTALL).fullmatch
    if unknown := [name for name in names if not can_be_made(f"U{name}")]:
        shown = ", ".join(map(repr, unknown[:3]))
        raise InputError(
            f"template: expected lines that generate every attribute of the model; no line generates {len(unknown)} of "
            f"them, such as {shown}: add lines, or use rename= to map attributes to names that the template generates"
        )
