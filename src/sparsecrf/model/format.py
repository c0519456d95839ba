"""The format of the files that a model is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sparsecrf._core import InputError
from sparsecrf.encoding.formats import COLUMNS, CRFSUITE, Format, format_named, format_of
from sparsecrf.files.text import Source, name_of

if TYPE_CHECKING:
    from sparsecrf.model import Model

FORMAT = "format"  #: in the training record, where it is neither columns nor CRFsuite's


def format_for(model: Model, source: Source, given: str | None = None, option: str = "--format") -> Format:
    """The format of that name; without one, what the name of the file says, else that of the training data.

    A file name says nothing of which labels a format is to have: those of the training data.
    """
    default = COLUMNS if model.template is not None else CRFSUITE
    trained = format_named(str(model.training.get(FORMAT, default.name)), option)
    if given is None:
        by_name = format_of(name_of(source))
        if by_name is COLUMNS or by_name.takes_template != default.takes_template or type(by_name) is type(trained):
            return trained
        return by_name
    chosen = format_named(given, option)
    if chosen.takes_template != default.takes_template:
        found = "one with a template" if default.takes_template else "one without"
        needed = "a model with a template" if chosen.takes_template else "a model without a template"
        raise InputError(f"{option}: expected {needed} for {chosen.title} files, found {found}")
    return trained if ":" not in given and type(chosen) is type(trained) else chosen
