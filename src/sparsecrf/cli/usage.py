"""Rewords messages about usage errors, so that they say what was expected, what was found, and what to type instead."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from sparsecrf.model.chunk_rules import BIO

#: Commands, by the names that other tools give them.
_COMMANDS = {
    "predict": "label",
    "tag": "label",
    "annotate": "label",
    "test": "eval",
    "evaluate": "eval",
    "score": "eval",
    "fit": "train",
}
_OF_FEATURES = ("--features", "--template", "-t")
#: The base class of all errors about usage. Typer does not export it, and its module depends on the version of Typer.
_UsageError: Any = typer.BadParameter.__base__


class Commands(TyperGroup):
    """The commands of the program, with clear messages about usage errors."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; the message of an error about usage is reworded."""
        try:
            return super().invoke(ctx)
        except _UsageError as error:
            _reword(error)
            raise


def _reword(error: Any) -> None:
    """Reword the message of an error. Typer's classes of errors are recognised by their names."""
    kind = type(error).__name__
    command: Any = error.ctx.command if error.ctx else None
    options = set() if command is None else {name for option in command.params for name in option.opts}
    if kind == "BadParameter" and error.param is not None:
        error.message = _of_value(error.message, error.param)
    elif kind == "NoSuchOption" and error.option_name in _OF_FEATURES and _reads_model(command):
        error.message = f"{error.message.rstrip('.')}; the model contains its features; omit {error.option_name}"
        error.possibilities = None
    elif kind == "MissingParameter" and "-m" in error.param.opts and command.name != "train":
        error.message = f"The model goes after -m, as in `sparsecrf {command.name} -m MODEL FILE`."
    elif error.message.startswith("Got unexpected extra argument"):
        if "--data" in options:
            error.message += "; the data go after --data"
        elif "-m" in options and error.ctx.params.get("model") is None:
            error.message += "; the model goes after -m"
    elif error.message.startswith("No such command ") and error.ctx.parent is None:
        typed = error.message.split("'")[1]
        if typed in _COMMANDS:
            error.message = f"No such command {typed!r}. Did you mean {_COMMANDS[typed]!r}?"


def _reads_model(command: Any) -> bool:
    return command.name != "train" and any(option.name == "model" for option in command.params)


def _of_value(message: str, option: Any) -> str:
    """Reword a message about a value that is not one of the choices, not a number, or out of range; return others
    unchanged."""
    kind = option.type
    for words in (" is not one of ", " is not a valid ", " is not in the range "):
        found, is_here, _ = message.rpartition(words)
        if is_here:
            break
    else:
        return message
    if hasattr(kind, "choices"):
        expected, hint = f"one of {', '.join(kind.choices)}", BIO if "iob2" in kind.choices else ""
    elif kind.name.startswith(("int", "float")):
        expected = ("a number" if kind.name.startswith("float") else "an integer") + _range_of(kind)
        hint = "; search is for `sparsecrf path`" if (option.name, found) == ("rho2", "'search'") else ""
    else:
        return message
    found = found if found.startswith(("'", '"')) else repr(found.removesuffix(".0"))
    return f"expected {expected}, found {found}{hint}"


def _range_of(kind: Any) -> str:
    least, most = (getattr(kind, name, None) for name in ("min", "max"))
    least, most = (None if bound is None else str(bound).removesuffix(".0") for bound in (least, most))
    if least is None:
        return "" if most is None else f" of at most {most}"
    return f" of at least {least}" if most is None else f" from {least} to {most}"
