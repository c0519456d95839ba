"""Reads and writes recipe files (`recipe.py`), which save users from repeating the data options in every command.

A recipe file is TOML, or JSON if its name ends in .json. Its keys are the data options, with _ for -, and its paths are
relative to the file:

    features = "words"
    start = false
    encoding = "latin-1"

    [lexicon]
    towns = "towns.txt"
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.compatibility import OptionError
from sparsecrf.files.atomic import write_atomically

TABLES = ("lexicon", "clusters", "classes")  #: resources, given as files by name
_TEXT, _FILE, _FLAG, _TABLE = "text", "the name of a file", "true or false", "a table of names and files"
_COUNT, _NUMBER, _NAMES = "an integer >= 0", "a number above 0", "bias, all or a list of attributes"
_WINDOW, _WIDEST = "an integer from 0 to 10", 10
#: Allowed entries of a recipe file, by key.
SETTINGS = {
    **dict.fromkeys(("format", "features", "boundary", "missing", "label_sets", "encoding"), _TEXT),
    **dict.fromkeys(("template", "vectors", "vectors_words"), _FILE),
    **dict.fromkeys(("standardize", "refer", "start", "bytes", "ragged"), _FLAG),
    **dict.fromkeys(("vectors_column", "min_count"), _COUNT),
    "vectors_window": _WINDOW,
    **dict.fromkeys(TABLES, _TABLE),
    "vectors_scale": _NUMBER,
    "bigrams": _NAMES,
}


def read_settings(source: str) -> dict[str, Any]:
    """The settings in a file, with their paths made relative to the current directory."""
    given: dict[str, Any] = {}
    for key, value in _parsed(source).items():
        if key not in SETTINGS:
            raise InputError(f"{source}, {key}: unknown setting; expected one of {', '.join(SETTINGS)}")
        _check(value, key, source)
        given[key] = _placed(value, SETTINGS[key], partial(os.path.join, os.path.dirname(source)))
    return given


def read_setting(text: str) -> tuple[str, Any] | None:
    """A setting that is given as NAME=VALUE; None for other text."""
    name, equals, given = text.partition("=")
    if not equals or name not in SETTINGS:
        return None
    value: Any = given
    if SETTINGS[name] in (_FLAG, _COUNT, _WINDOW, _NUMBER):
        with suppress(ValueError, RecursionError):
            value = json.loads(given)
    if not _is_right(value, SETTINGS[name]):
        raise OptionError(f"--recipe {name}: expected {SETTINGS[name]}, found {given!r:.60}")
    return name, value


def write_settings(given: Mapping[str, Any], target: str) -> None:
    """Write settings to a file."""
    place, entries = partial(os.path.relpath, start=os.path.dirname(os.path.abspath(target))), {}
    for key, value in given.items():
        plain = os.fspath(value) if isinstance(value, os.PathLike) else value
        plain = sorted(plain) if isinstance(plain, (set, frozenset)) else plain
        _check(plain, key, target)
        entries[key] = _placed(plain, SETTINGS[key], place)
    text = json.dumps(entries, indent=1, ensure_ascii=False) + "\n" if target.endswith(".json") else _toml(entries)
    write_atomically(target, text.encode())


def _check(value: Any, key: str, source: str) -> None:
    if not _is_right(value, SETTINGS[key]):
        raise InputError(f"{source}, {key}: expected {SETTINGS[key]}, found {value!r:.60}")


def _parsed(source: str) -> dict[str, Any]:
    """The content of a file."""
    kind = "JSON" if source.endswith(".json") else "TOML"
    with open(source, "rb") as file:
        content = file.read()
    try:
        if kind == "JSON":
            entries = json.loads(content)
        else:
            import tomllib

            entries = tomllib.loads(content.decode())
    except ImportError:
        raise InputError(f"{source}: expected JSON (*.json), because Python before 3.11 cannot read TOML") from None
    except ValueError as error:
        raise InputError(f"{source}: expected {kind}, found other content ({error})") from None
    if not isinstance(entries, dict):
        raise InputError(f"{source}: expected settings by name, found {type(entries).__name__}")
    return entries


def _is_right(value: Any, expected: str) -> bool:
    if expected == _FLAG:
        return isinstance(value, bool)
    if expected == _WINDOW:
        return _is_right(value, _COUNT) and value <= _WIDEST
    if expected in (_COUNT, _NUMBER):
        is_number = isinstance(value, (int, float) if expected == _NUMBER else int) and not isinstance(value, bool)
        return is_number and (value > 0 if expected == _NUMBER else value >= 0)
    if expected == _TABLE:
        return isinstance(value, Mapping) and all(isinstance(file, (str, os.PathLike)) for file in value.values())
    if expected == _NAMES and not isinstance(value, str):
        return isinstance(value, (list, tuple)) and all(isinstance(name, str) for name in value)
    return isinstance(value, str)


def _placed(value: Any, expected: str, place: Callable[[str], str]) -> Any:
    """A setting with its paths changed. Text of several lines is a template, not a path."""
    if expected == _TABLE:
        return {name: place(os.fspath(file)) for name, file in value.items()}
    return place(value) if expected == _FILE and "\n" not in value else value


def _toml(entries: Mapping[str, Any]) -> str:
    """The lines of a TOML file, tables last. JSON's notation for text, numbers and lists is also valid TOML."""

    def lines(table: Mapping[str, Any], quote: Callable[[str], str] = str) -> Iterable[str]:
        for key, value in table.items():
            if not isinstance(value, Mapping):
                yield f"{quote(key)} = {json.dumps(value, ensure_ascii=False)}\n".replace("\x7f", "\\u007f")

    tables = ((key, table) for key, table in entries.items() if isinstance(table, Mapping))
    parts = ["".join(lines(entries)), *(f"[{key}]\n" + "".join(lines(table, json.dumps)) for key, table in tables)]
    return "\n".join(part for part in parts if part)
