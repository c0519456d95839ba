"""Formats of labelled data files. A new one is a subclass of `Format` in a file here, and a line in FORMATS.

`train`, `path`, `--cache`, Dask and `convert` then know it. `label`, `eval -m` and `report` read what the core's
Labeller reads: columns for a model with a template, CRFsuite's format for others.
"""

from sparsecrf._core import InputError
from sparsecrf.encoding.formats.base import Format, Items, Layout
from sparsecrf.encoding.formats.columns import Columns
from sparsecrf.encoding.formats.crfsuite import CrfSuite

COLUMNS, CRFSUITE = Columns(), CrfSuite()

#: By name. The first is that of files whose name says nothing.
FORMATS: dict[str, Format] = {format.name: format for format in (COLUMNS, CRFSUITE)}


def format_named(name: str, option: str = "format") -> Format:
    """The format of that name. `option` is what the user calls the choice."""
    if name not in FORMATS:
        raise InputError(f"{option}: expected {' or '.join(FORMATS)}, found {name!r}")
    return FORMATS[name]


def format_of(file: str) -> Format:
    """The format that the name of a file says."""
    by_suffix = (format for format in FORMATS.values() if format.suffix and file.endswith(format.suffix))
    return next(by_suffix, COLUMNS)


__all__ = ["COLUMNS", "CRFSUITE", "FORMATS", "Format", "Items", "Layout", "format_named", "format_of"]
