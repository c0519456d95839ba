"""Groups attributes by the template line they come from or, without a template, by prefix."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsecrf.encoding.template import Template
from sparsecrf.encoding.template_lines import Line, lines_of
from sparsecrf.encoding.vocabulary import BIAS

#: The name of the group for attributes that match no line or have no prefix.
OTHER = "[other]"

# The part of a mapping's attribute before its value: `word[-3:]` of `word[-3:]:ing`, `-1:postag` of `-1:postag:NN`.
_NAME = r"(?:\[[^\]]*\]|\([^)]*\)|[^:=\[(])+"
_OFFSET = r"[+-]?\d+"
_PREFIX = re.compile(rf"((?:{_OFFSET}:(?={_NAME}[:=]))?{_NAME})[:=]")
# `-1:postag:NN` has a name and a value. `-1:istitle` has only a name, `-1:dog` only a value.
_NAMED = re.compile(rf"({_OFFSET}):{_NAME}[:=]")
_UNNAMED = re.compile(rf"({_OFFSET}):{_NAME}")


def by_prefix(texts: list[str]) -> tuple[list[str], NDArray[np.intp]]:
    """Names of groups, and the group of each attribute.

    If most attributes after an offset have both a name and a value, attributes with only one of them have a name.
    """
    number: dict[str, int] = {}
    named = Counter(found[1] for text in texts if (found := _NAMED.match(text)))
    unnamed = Counter(found[1] for text in texts if (found := _UNNAMED.fullmatch(text)))
    group = np.empty(len(texts), dtype=np.intp)
    for k, text in enumerate(texts):
        found, offset = _PREFIX.match(text), _UNNAMED.fullmatch(text)
        is_name = offset is not None and named[offset[1]] >= unnamed[offset[1]]
        name = text if text == BIAS or is_name else OTHER if found is None else found[1]
        group[k] = number.setdefault(name, len(number))
    return list(number), group


def by_line(texts: list[str], template: Template) -> tuple[list[str], NDArray[np.intp]]:
    """Like `by_prefix`, but with a group for each line of a template, and OTHER last.

    An attribute does not record its line, so it is assigned to the matching line with the most literal text.
    Lines that differ only in their macros make the same attributes and share a group.
    """
    groups: dict[str, list[Line]] = {}  # the lines of each pattern
    for line in lines_of(template):
        groups.setdefault(line.pattern, []).append(line)
    patterns, shapes = list(groups), list(groups.values())
    most_literal = sorted(range(len(shapes)), key=lambda k: -sum(map(len, shapes[k][0].literals)))
    pattern = re.compile("|".join(f"({patterns[k]})" for k in most_literal), re.DOTALL)

    def line_of(found: Any) -> int:
        return len(shapes) if found is None else most_literal[found.lastindex - 1]

    group = np.fromiter((line_of(pattern.fullmatch(text)) for text in texts), dtype=np.intp, count=len(texts))
    return [*(" | ".join(line.raw for line in lines) for lines in shapes), OTHER], group
