"""The tables of benchmarks/record/penalties.md from the lines that measure.py wrote.

    python benchmarks/defaults/table.py results.jsonl --chosen NAME ...

`--chosen` names the data sets on which the defaults were chosen; all others were only checked.
"""

from __future__ import annotations

import argparse
import json
import pathlib
from statistics import mean, median
from typing import Any

FORMER, PRESENT = (1.0, 0.01), (0.1, 0.1)
HEADS = ["set", "former", "present", "best on dev", "best on test", "CRFsuite", "seconds", "weights", "kB", "gap, %"]
AUTO_HEADS = ["set", "chosen", "test", "best on dev", "difference", "to the default", "seconds", "plain fits"]
NEEDED = {"fixed", "grid", "crfsuite"}  #: parts of a row of the first table
Row = dict[str, Any]


class Measured:
    """The results on one data set."""

    def __init__(self, name: str, rows: list[Row]) -> None:
        self.name = name
        self.of_part = {row["part"]: row for row in rows}
        fixed = {(row["rho1"], row["rho2"]): row for row in rows if row["part"] == "fixed"}
        self.former, self.present = fixed[FORMER], fixed[PRESENT]
        self.grid = [row for row in rows if row["part"] == "grid"]

    @property
    def best(self) -> Row:
        """Of the grid and both defaults, by the dev data."""
        return max((*self.grid, self.former, self.present), key=lambda row: row["dev"])

    @property
    def best_on_test(self) -> Row:
        return max((*self.grid, self.former, self.present), key=lambda row: row["test"])

    def gain(self, row: Row) -> float:
        """In points on the test data, over the present default."""
        return float(row["test"] - self.present["test"])

    def cells(self) -> list[str]:
        of_crfsuite = self.of_part["crfsuite"]
        return [
            self.name,
            *(f"{row['test']:.1f}" for row in (self.former, self.present)),
            f"{self.best['test']:.1f} ({pair(self.best)})",
            f"{self.best_on_test['test']:.1f} ({pair(self.best_on_test)})",
            f"{of_crfsuite['test']:.1f}",
            " / ".join(f"{row['seconds']:.1f}" for row in (self.former, self.present, of_crfsuite)),
            " / ".join(f"{row['weights']:,}" for row in (self.former, self.present, of_crfsuite)),
            " / ".join(f"{row['bytes'] / 1e3:,.0f}" for row in (self.former, self.present, of_crfsuite)),
            " / ".join(f"{100 * row['gap']:.1f}" for row in (self.former, self.present)),
        ]

    def auto_cells(self) -> list[str]:
        row = self.of_part["auto"]
        return [
            self.name,
            f"{row['rho1']:.2g}, {row['rho2']:.2g}",
            f"{row['test']:.1f}",
            f"{self.best['test']:.1f} ({pair(self.best)})",
            f"{row['test'] - self.best['test']:+.1f}",
            f"{self.gain(row):+.1f}",
            f"{row['seconds']:.1f}",
            f"{row['seconds'] / self.present['seconds']:.1f}",
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--chosen", nargs="+", default=[], metavar="NAME")
    given = parser.parse_args()
    sets = read(given.results)
    chosen = [task for task in sets if task.name in given.chosen]
    checked = [task for task in sets if task.name not in given.chosen]
    print(table(HEADS, [task.cells() for task in chosen + checked]))
    for title, part in (("chosen on", chosen), ("checked on", checked), ("all", sets)):
        print(means(title, part))
    with_auto = [task for task in chosen + checked if "auto" in task.of_part]
    if with_auto:
        print("\n" + table(AUTO_HEADS, [task.auto_cells() for task in with_auto]))
        differences = [task.of_part["auto"]["test"] - task.best["test"] for task in with_auto]
        prices = [task.of_part["auto"]["seconds"] / task.present["seconds"] for task in with_auto]
        print(f"mean difference {mean(differences):+.2f}, median price {median(prices):.1f}")
    print("\n" + by_pair(chosen))


def read(results: pathlib.Path) -> list[Measured]:
    """Data sets with all that a row of the table needs."""
    by_name: dict[str, list[Row]] = {}
    for line in results.read_text().splitlines():
        row = json.loads(line)
        by_name.setdefault(row["set"], []).append(row)
    return [Measured(name, rows) for name, rows in by_name.items() if {row["part"] for row in rows} >= NEEDED]


def table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def means(title: str, sets: list[Measured]) -> str:
    """Gains and losses of the present default, in points."""
    if not sets:
        return f"{title}: none"
    over = {
        "the former one": [-task.gain(task.former) for task in sets],
        "the best on dev": [-task.gain(task.best) for task in sets],
        "the best on test": [-task.gain(task.best_on_test) for task in sets],
        "CRFsuite": [-task.gain(task.of_part["crfsuite"]) for task in sets],
    }
    points = ", ".join(f"{mean(found):+.2f} to {name} (least {min(found):+.1f})" for name, found in over.items())
    weights, seconds = (
        median([task.present[key] / task.former[key] for task in sets]) for key in ("weights", "seconds")
    )
    return f"{title}, {len(sets)} sets: {points}; median {weights:.1f} x weights, {seconds:.1f} x time"


def by_pair(sets: list[Measured]) -> str:
    """Mean scores of each pair of penalties that was tried on all of the sets."""
    pairs = sorted({(row["rho1"], row["rho2"]) for task in sets for row in task.grid}, reverse=True)
    rows = []
    for rho1, rho2 in pairs:
        found = [row for task in sets for row in task.grid if (row["rho1"], row["rho2"]) == (rho1, rho2)]
        if len(found) == len(sets):
            rows.append([f"{rho1:g}, {rho2:g}", *(f"{mean([r[part] for r in found]):.2f}" for part in ("dev", "test"))])
    return table(["rho1, rho2", "mean on dev", "mean on test"], rows)


def pair(row: Row) -> str:
    return f"{row['rho1']:.2g}, {row['rho2']:.2g}"


if __name__ == "__main__":
    main()
