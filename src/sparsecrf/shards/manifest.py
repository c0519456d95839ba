"""Checks the manifest of a folder, since a complete file with the right digest may still be invalid."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from sparsecrf._core import InputError

_DIGEST = re.compile(r"[0-9a-f]{16}")


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**31


def _is_large_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**63


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


#: For each entry, a description of valid values and a test. Templates are checked separately.
_ENTRIES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "format": ("text", _is_text),
    "version": ("a count", _is_count),
    "recipe": ("text", _is_text),
    "template": ("a template", lambda value: True),
    "n_columns": ("a count", _is_count),
    "start": ("true or false", lambda value: isinstance(value, bool)),
    "labels": ("a count", _is_count),
    "attributes": ("a count", _is_count),
    "sequences": ("a count", _is_large_count),
    "tokens": ("a count", _is_large_count),
    "vocabulary": ("text", _is_text),
    "shards": ("a list that is not empty", lambda value: isinstance(value, list) and len(value) > 0),
}
_OPTIONAL: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "tokenizer": ("an object", lambda value: isinstance(value, dict)),
}
_SHARD: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "sequences": ("a count", _is_large_count),
    "tokens": ("a count", _is_large_count),
    "digest": ("16 hexadecimal digits", _is_digest),
}


def check_manifest(entries: Mapping[str, Any], source: str) -> None:
    """Check that all entries exist, have the right types, and agree with each other."""
    _check(entries, _ENTRIES | {name: _OPTIONAL[name] for name in entries.keys() & _OPTIONAL.keys()}, source)
    for k, shard in enumerate(entries["shards"]):
        if not isinstance(shard, dict):
            raise InputError(f"{source}: expected an object as shard {k}, found {shard!r:.60}")
        _check(shard, _SHARD, f"{source}, shard {k}")
    for name in ("sequences", "tokens"):
        total = sum(shard[name] for shard in entries["shards"])
        if total != entries[name]:
            raise InputError(f"{source}: expected {entries[name]} {name} in all shards, found {total}")


def _check(entries: Mapping[str, Any], expected: Mapping[str, tuple[str, Callable[[Any], bool]]], source: str) -> None:
    if entries.keys() != expected.keys():
        raise InputError(f"{source}: expected the entries {sorted(expected)}, found {sorted(entries)!r:.200}")
    for name, (what, is_right) in expected.items():
        if not is_right(entries[name]):
            raise InputError(f"{source}: expected {what} as {name}, found {entries[name]!r:.60}")
