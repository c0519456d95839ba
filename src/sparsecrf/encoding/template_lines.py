"""Parses the lines of a template: literal text and macros."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sparsecrf.encoding.template import Template

#: A macro that the core has accepted; there may be spaces between its parts.
_MACRO = re.compile(
    r"%([xXtTmMlpPsShcnedD])\[\s*(@?)\s*([+-]?\d+)\s*(?:,\s*(\d+)\s*)?"
    r'(?:,\s*(?:"((?:\\.|[^"\\])*)"|(\d+)|([^"\]\s][^\]]*?))\s*)?\]',
    re.DOTALL,
)
_BLANKS = " \t\n\v\f\r"


@dataclass(frozen=True)
class Macro:
    """A macro, such as `%x[row,column]`."""

    letter: str
    absolute: bool  #: whether the row counts from an end of the sequence
    row: int
    column: int | None  #: None for %e, which has no column
    regex: str | None = None
    number: int | None = None  #: number of characters
    look_up: str | None = None  #: the name of a resource, and its arguments

    @property
    def text(self) -> str:
        """The macro without spaces and plus signs, which some tools reject."""
        column = "" if self.column is None else f",{self.column}"
        regex = "" if self.regex is None else f',"{self.regex}"'
        number = "" if self.number is None else f",{self.number}"
        look_up = "" if self.look_up is None else f",{self.look_up}"
        return f"%{self.letter}[{'@' * self.absolute}{self.row}{column}{regex}{number}{look_up}]"

    @property
    def is_of_words(self) -> bool:
        """Whether the macro is a function of the cell that other tools do not support."""
        return self.letter not in "xXtTmM"

    @property
    def leaves(self) -> bool:
        """Whether the macro can refer to a cell beyond the ends of the sequence."""
        return self.absolute or self.row != 0


@dataclass(frozen=True)
class Line:
    """A line without its comment; the first part begins with the letter that determines what its attributes
    condition."""

    raw: str  #: the line as written
    parts: tuple[str | Macro, ...]  #: the line as the core reads it

    @property
    def kind(self) -> str:
        """The first letter: U, B, T or *."""
        return str(self.parts[0])[0].upper()

    @property
    def macros(self) -> list[Macro]:
        return [part for part in self.parts if isinstance(part, Macro)]

    @property
    def text(self) -> str:
        return "".join(part if isinstance(part, str) else part.text for part in self.parts)

    @property
    def literals(self) -> list[str]:
        """The parts that are not macros."""
        return [part for part in self.parts if isinstance(part, str)]

    @property
    def pattern(self) -> str:
        """A regular expression for the attributes that the line generates."""
        return "".join(re.escape(part) if isinstance(part, str) else ".*" for part in self.parts)


def lines_of(template: Template) -> list[Line]:
    """The lines of a template, as the core reads them (cpp/core/text/templates/template.cpp)."""
    made = []
    for raw in template.text.removeprefix("\ufeff").split("\n"):
        line = raw.removesuffix("\r")
        if template.boundary == "wapiti":
            line = line.partition("#")[0].rstrip(_BLANKS)
            if line:
                made.append(Line(line, tuple(_parts(line[0].lower() + line[1:]))))
        elif line.strip(_BLANKS) and not line.startswith("#"):
            made.append(Line(line, tuple(_parts(line))))
    return made


def _parts(line: str) -> list[str | Macro]:
    parts: list[str | Macro] = []
    at = 0
    for match in _MACRO.finditer(line):
        if match.start() > at:
            parts.append(line[at : match.start()])
        letter, absolute, row, column, regex, number, look_up = match.groups()
        numbers = (None if text is None else int(text) for text in (column, number))
        parts.append(Macro(letter, bool(absolute), int(row), next(numbers), regex, next(numbers), look_up))
        at = match.end()
    return [*parts, line[at:]] if at < len(line) else parts
