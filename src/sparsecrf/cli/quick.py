"""`sparsecrf label` without Typer. Importing Typer takes several times as long as starting Python, importing the core
and loading a model together.

This module handles only valid, plainly spelled arguments. It leaves help, completion, unusual spellings and errors to
Typer, so that each message exists once.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from typing import Any, get_args, get_type_hints

from sparsecrf.declared import Declared


def quick_call(arguments: Sequence[str]) -> Callable[[], None] | None:
    """The call for these arguments; None if Typer must handle them."""
    if not arguments or arguments[0] != "label" or "_SPARSECRF_COMPLETE" in os.environ:
        return None
    from sparsecrf.cli.label import label

    given = parsed(arguments[1:], label)
    return None if given is None else partial(label, **given)


def parsed(arguments: Sequence[str], command: Callable[..., None]) -> dict[str, Any] | None:
    """The keyword arguments for a command, including defaults; None if Typer must handle them."""
    hints = get_type_hints(command)
    defaults = dict(zip(command.__code__.co_varnames, command.__defaults__ or (), strict=False))
    names_of = {key: default.declared.names_of(key, default.value) for key, default in defaults.items()}
    by_name = {name: key for key, names in names_of.items() for name in names}
    places = [key for key, names in names_of.items() if not names]
    found: dict[str, Any] = {}
    left = list(arguments)
    while left:
        argument = left.pop(0)
        if argument == "-" or not argument.startswith("-"):
            if not places:
                return None
            key, text = places.pop(0), argument
        else:
            name, equals, text = argument.partition("=") if argument.startswith("--") else (argument, "", "")
            if name not in by_name:
                return None
            key = by_name[name]
            if hints[key] is bool:
                text = "true"
                if equals:
                    return None
            elif not equals:
                text = left.pop(0) if left else ""
        value = _value(text, hints[key], defaults[key].declared)
        if value is None or key in found:
            return None
        found[key] = value
    found = {key: default.value for key, default in defaults.items()} | found
    return None if any(value is ... for value in found.values()) else found


def _value(text: str, kind: Any, declared: Declared) -> Any:
    """The value of an option of this type; None if the text is not clearly valid."""
    kind = next((part for part in get_args(kind) if part is not type(None)), kind)  # the type inside an optional type
    if kind is bool:
        return True
    if kind is int:
        if not (text.isascii() and text.isdecimal()) or len(text) > 9:
            return None
        number = int(text)
        too_small = declared.min is not None and number < declared.min
        too_large = declared.max is not None and number > declared.max
        return None if too_small or too_large else number
    if kind is float:
        return None
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next((member for member in kind if member.value == text), None)
    if not text or (text.startswith("-") and text != "-"):
        return None
    return None if declared.choices and text not in declared.choices else text
