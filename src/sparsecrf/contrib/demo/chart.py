"""A line chart in the terminal: drawn with braille dots, two by four to a character, readable without colour."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from rich.text import Text

# Bit of each dot in the braille block, [row][column]; the block begins at U+2800.
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_ROWS, _COLUMNS = 4, 2
LEAST = 0.01  # smallest error (percent) that is drawn: zero has no logarithm


class Canvas:
    """Characters, each with eight dots, and marks drawn over them. (0, 0) is at the top left."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height  #: in characters
        self.dots = [[0] * width for _ in range(height)]
        self.marks: dict[tuple[int, int], tuple[str, str]] = {}  #: [column, row]: character and style

    def line(self, x0: float, y0: float, x1: float, y1: float) -> None:
        """Dots between two places, given in characters."""
        steps = max(1, math.ceil(max(abs(x1 - x0) * _COLUMNS, abs(y1 - y0) * _ROWS)))
        for k in range(steps + 1):
            self._dot(x0 + (x1 - x0) * k / steps, y0 + (y1 - y0) * k / steps)

    def mark(self, x: float, y: float, character: str, style: str = "") -> None:
        """A whole character at a place."""
        self.marks[min(int(x), self.width - 1), min(int(y), self.height - 1)] = character, style

    def rows(self, *, style: str, ascii_only: bool = False) -> list[Text]:
        """The drawing, one string per row."""
        rows = []
        for row, line in enumerate(self.dots):
            text = Text()
            for column, bits in enumerate(line):
                dots = " " if not bits else "." if ascii_only else chr(0x2800 + bits)
                text.append(*self.marks.get((column, row), (dots, style)))
            rows.append(text)
        return rows

    def _dot(self, x: float, y: float) -> None:
        column, row = min(int(x * _COLUMNS), self.width * _COLUMNS - 1), min(int(y * _ROWS), self.height * _ROWS - 1)
        self.dots[row // _ROWS][column // _COLUMNS] |= _DOTS[row % _ROWS][column % _COLUMNS]


def path_chart(
    active: Sequence[int],
    errors: Sequence[float],
    chosen: int,
    *,
    width: int = 72,
    height: int = 15,
    ascii_only: bool = False,
) -> Text:
    """Dev error (percent) against the number of active weights, both logarithmic: a point for each rho1 of a path.

    Models without any weight cannot be placed on the axis and are left out.
    """
    point, star, corner, vertical, across, tick = "o*+|-+" if ascii_only else "\u25cb\u25c6\u2514\u2502\u2500\u252c"
    shown = [k for k, n in enumerate(active) if n > 0]
    if chosen not in shown:
        return Text("the chosen model has no weight: nothing to draw")
    left = 7  # characters before the vertical axis
    canvas = Canvas(max(20, width - left - 2), height)
    heights = {k: max(LEAST, errors[k]) for k in shown}
    percents = round_numbers(min(heights.values()), max(heights.values()))
    most = max(10, *active)
    counts = [10**k for k in range(int(math.log10(most)) + 1)]

    def column(n: float) -> float:
        return _share(n, 1, most) * (canvas.width - 1) + 0.5

    def row(percent: float) -> float:
        return (1.0 - _share(percent, percents[0], percents[-1])) * (height - 1) + 0.5

    places = {k: (column(active[k]), row(heights[k])) for k in shown}
    for a, b in pairwise(shown):
        canvas.line(*places[a], *places[b])
    x, y = places[chosen]
    canvas.line(x, y, x, height)
    for place in places.values():
        canvas.mark(*place, point)
    canvas.mark(x, y, star, "bold green")

    text = Text().append("dev error\n", "dim")
    ticks = {int(row(percent)): f"{percent:g} %" for percent in percents}
    for k, drawn in enumerate(canvas.rows(style="blue", ascii_only=ascii_only)):
        text.append(f"{ticks.get(k, ''):>{left - 1}} {vertical}", "dim").append_text(drawn).append("\n")
    axis, names = [across] * canvas.width, [" "] * canvas.width
    for n in counts:
        at, name = int(column(n)), f"{n:,}"
        axis[at] = tick
        begin = max(0, min(at - len(name) // 2, canvas.width - len(name)))
        names[begin : begin + len(name)] = name
    text.append(f"{corner:>{left + 1}}{''.join(axis)}\n{'':{left + 1}}{''.join(names)}\n", "dim")
    return text.append("active weights".rjust(left + 1 + canvas.width), "dim")


def _share(value: float, low: float, high: float) -> float:
    """The position of a value between two others, 0 to 1, on a logarithmic scale."""
    return math.log(value / low) / math.log(high / low)


def round_numbers(low: float, high: float) -> list[float]:
    """Two or more of 1, 2, 5, 10, 20, ...: from the last not above `low` to the first not below `high`."""
    numbers = [float(f"{digit}e{power}") for power in range(-2, 4) for digit in (1, 2, 5)]
    first = max(k for k, number in enumerate(numbers) if number <= low)
    last = min(k for k, number in enumerate(numbers) if number >= high)
    return numbers[first : max(last, first + 1) + 1]
