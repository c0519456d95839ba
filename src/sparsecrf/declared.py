"""Declarations of options, made once for the command line, the checks and the manual. `cli/options.py` converts them
for Typer. This module imports almost nothing, because `label` must start quickly."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sparsecrf.compatibility import Capabilities


class Declared:
    """An option or an argument of a command. Its type and default come from the parameter or field that it
    declares."""

    def __init__(
        self,
        help: str,
        *names: str,
        metavar: str | None = None,
        min: float | None = None,
        max: float | None = None,
        choices: tuple[str, ...] = (),
        panel: str | None = None,
        is_argument: bool = False,
        parse: Callable[[Any], Any] | None = None,
        capabilities: Capabilities | None = None,
    ) -> None:
        """`choices`: the allowed values; the command rejects others. `panel`: the section of the help. `parse` converts
        the typed text to a value. `capabilities`: the capabilities of a run in which the option differs from its
        default."""
        self.help, self.names, self.metavar, self.panel = help, names, metavar, panel
        self.min, self.max, self.choices = min, max, choices
        self.parse, self.capabilities, self._is_argument = parse, capabilities, is_argument

    def names_of(self, parameter: str, default: Any) -> tuple[str, ...]:
        """The names on the command line: the declared names or, by default, the parameter's name as an option. An
        argument has no names. It is a parameter without declared names, and either without a default (`...`) or with
        `is_argument`."""
        if not self.names and (default is ... or self._is_argument):
            return ()
        return self.names or (f"--{parameter.replace('_', '-')}",)


class Default(NamedTuple):
    """The default of a command's parameter, with its declaration."""

    value: Any  #: `...` if the parameter is required
    declared: Declared


def parameter(default: Any, declared: str | Declared, *names: str, **how: Any) -> Any:
    """Declare a command's parameter as an option or argument. `declared` is its help text, or an option declared
    elsewhere. `how` contains the other arguments of `Declared`."""
    return Default(default, declared if isinstance(declared, Declared) else Declared(declared, *names, **how))


QUIET = Declared("Do not print progress.", "--quiet", "-q")
ENCODING = Declared(
    "Text encoding: utf-8, latin-1 or another encoding that Python supports, or bytes for arbitrary bytes. The "
    "default is the encoding of the model's training data if there is a model, else utf-8.",
    metavar="NAME|bytes",
    panel="Data",
)
FORMAT = Declared(
    "Format of the data: columns, crfsuite, conllu (or conllu:upos, xpos, feats, upos+feats), jsonl (or jsonl:FIELD), "
    "tokens, documents, simpletagger (or simpletagger:unlabelled), or text (label only). By default, the file name "
    "determines the format; if it does not, the format of the training data is used.",
    metavar="NAME",
    panel="Data",
)
RAGGED = Declared(
    "Accept lines with different numbers of columns; the template's columns come first and the label comes last.",
    panel="Data",
)
THREADS = Declared("Number of threads (0 for all cores).", metavar="N", min=0, max=1024)
