"""Options that several commands share, declared without Typer, so that `label` starts quickly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args, get_type_hints

from sparsecrf.declared import Declared

INTERRUPTED = 130  #: the exit status of an interrupted command that saved its result so far


def hints_of(command: Callable[..., None]) -> dict[str, Any]:
    """The annotations of the parameters of a command, by name, as written in the source."""
    return {name: _as_written(hint) for name, hint in get_type_hints(command, include_extras=True).items()}


def _as_written(hint: Any) -> Any:
    """Return a hint as written: before Python 3.11, a parameter with default None has its hint wrapped in Optional."""
    annotated = [part for part in get_args(hint) if hasattr(part, "__metadata__")]
    return hint if hasattr(hint, "__metadata__") or len(annotated) != 1 else annotated[0]


QUIET = Declared("Do not print progress.", "--quiet", "-q")
ENCODING = Declared(
    "Text encoding: utf-8, latin-1 or another encoding that Python supports, or bytes for arbitrary bytes. The "
    "default is the encoding of the model's training data if there is a model, else utf-8.",
    "--encoding",
    metavar="NAME|bytes",
    panel="Data",
)
FORMAT = Declared(
    "Format of the data: columns, crfsuite, conllu (or conllu:upos, xpos, feats, upos+feats), jsonl (or jsonl:FIELD), "
    "tokens, documents, simpletagger (or simpletagger:unlabelled), or text (label only). By default, the file name "
    "determines the format; if it does not, the format of the training data is used.",
    "--format",
    metavar="NAME",
    panel="Data",
)
RAGGED = Declared(
    "Accept lines with different numbers of columns; the template's columns come first and the label comes last.",
    "--ragged",
    panel="Data",
)
