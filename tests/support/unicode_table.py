"""Writes cpp/core/base/unicode_table.inl from Python's unicodedata: `python tests/support/unicode_table.py`.

The table is part of the source, not made when the package is built: a model must see the same attributes in every
build, whatever version of Unicode the Python beside it has.
"""

import re
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from reference.word_functions import CLASS_OF_CATEGORY

TABLE = Path(__file__).parents[2] / "cpp" / "core" / "base" / "unicode_table.inl"
NAMES = {"X": "U", "x": "L", "o": "O", "0": "N", ".": "P", "$": "S", "m": "M", "?": "R"}


def class_runs() -> Iterator[tuple[int, str]]:
    """Where runs of code points of one class begin, and the class; A: runs in which upper and lower case alternate."""
    classes = "".join(NAMES[CLASS_OF_CATEGORY[unicodedata.category(chr(code))]] for code in range(sys.maxunicode + 1))
    for run in re.finditer(r"(?:UL){2,}(?!L)|(.)\1*", classes):
        yield run.start(), run[1] or "A"


def lower_runs() -> Iterator[list[int]]:
    """[first, last, step, distance]: first, first + step, ... last each have their lower case so far away."""
    run: list[int] = []
    for code in range(sys.maxunicode + 1):
        lower = chr(code).lower()
        if lower == chr(code) or len(lower) > 1:  # more than one: only U+0130, a special case in the core
            continue
        distance, step = ord(lower) - code, code - run[1] if run else 0
        if run and distance == run[3] and step <= 2 and run[2] in (0, step):
            run[1:3] = [code, step]
            continue
        if run:
            yield run
        run = [code, code, 0, distance]
    yield run


def wrapped(items: list[str]) -> str:
    lines, line = [], ""
    for item in items:
        if len(line) + len(item) > 118:
            lines.append(line.rstrip())
            line = ""
        line += item + " "
    return "\n".join([*lines, line.rstrip()]) + "\n"


def table() -> str:
    classes = [f"{{0x{code:X}, {found}}}," for code, found in class_runs()]
    lowers = [f"{{0x{first:X}, 0x{last:X}, {step or 1}, {by}}}," for first, last, step, by in lower_runs()]
    return (
        f"// Unicode {unicodedata.unidata_version}. Written by tests/support/unicode_table.py: do not edit.\n"
        "// clang-format off\n"
        "// Where runs begin, and their class.\nconstexpr ClassRun kClassRuns[] = {\n"
        + wrapped(classes)
        + "};\n// First, last, step, distance to the lower case.\nconstexpr LowerRun kLowerRuns[] = {\n"
        + wrapped(lowers)
        + "};\n// clang-format on\n"
    )


if __name__ == "__main__":
    TABLE.write_text(table(), encoding="utf-8")
