"""Formats of data files. To add a format, write a subclass of `Records` in a new file here and add it to FORMATS.

Every command then supports it: `train`, `path`, `--cache`, Dask, `label`, `eval`, `report` and `convert`.
"""

from sparsecrf.compatibility import OptionError
from sparsecrf.encoding.formats.base import Format, Layout
from sparsecrf.encoding.formats.columns import Columns
from sparsecrf.encoding.formats.conllu import Conllu
from sparsecrf.encoding.formats.crfsuite import CrfSuite
from sparsecrf.encoding.formats.documents import Documents
from sparsecrf.encoding.formats.json_lines import JsonLines
from sparsecrf.encoding.formats.plain_text import PlainText
from sparsecrf.encoding.formats.records import Records
from sparsecrf.encoding.formats.simple_tagger import SimpleTagger
from sparsecrf.encoding.formats.token_lines import TokenLines

COLUMNS, CRFSUITE = Columns(), CrfSuite()

#: Formats by name. The first is the default if the file name does not determine the format.
FORMATS: dict[str, Format] = {
    format.name: format
    for format in (COLUMNS, CRFSUITE, Conllu(), JsonLines(), TokenLines(), Documents(), SimpleTagger(), PlainText())
}


def format_named(name: str, option: str = "format") -> Format:
    """The format with this name. `option` is the user's name for the setting."""
    known, colon, choice = name.partition(":")
    if known not in FORMATS:
        *others, last = FORMATS
        raise OptionError(f"{option}: expected {', '.join(others)} or {last}, found {name!r}")
    return FORMATS[known].variant(choice, option) if colon else FORMATS[known]


def format_of(file: str) -> Format:
    """The format that the name of a file indicates."""
    by_suffix = (format for format in FORMATS.values() if format.suffix and file.endswith(format.suffix))
    return next(by_suffix, COLUMNS)


__all__ = ["COLUMNS", "CRFSUITE", "FORMATS", "Format", "Layout", "Records", "format_named", "format_of"]
