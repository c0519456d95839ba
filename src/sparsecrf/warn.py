"""Warnings that point to the line of the program that called the library, however deep inside they are raised."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
Returned = TypeVar("Returned")


def warn_caller(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, with the first line outside of this package as the location."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def renamed(old: str, new: str) -> Callable[[Callable[P, Returned]], Callable[P, Returned]]:
    """A function that still accepts its keyword `new` under the old name, with a warning that names the new one."""

    def decorate(function: Callable[P, Returned]) -> Callable[P, Returned]:
        @wraps(function)
        def call(*arguments: P.args, **given: P.kwargs) -> Returned:
            if old in given:
                if new in given:
                    raise TypeError(f"{function.__name__}: expected only {new}, found its old name {old}, too")
                warn_deprecated(old, new)
                given[new] = given.pop(old)
            return function(*arguments, **given)

        return call

    return decorate


def warn_deprecated(old: str, new: str) -> None:
    """Warn that a keyword has a new name."""
    warn_caller(f"{old}= is deprecated: write {new}=", DeprecationWarning)
