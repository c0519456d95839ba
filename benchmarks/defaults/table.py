"""Makes the tables of benchmarks/record/penalties.md from the lines that measure.py wrote.

    python benchmarks/defaults/table.py results.jsonl ... --chosen NAME ...

`--chosen` names the data sets on which the defaults were chosen; the defaults were only checked on all others.
"""

from __future__ import annotations

import argparse
import json
import pathlib
from collections.abc import Iterable
from math import sqrt
from statistics import mean, median, stdev
from typing import Any

from sparsecrf.defaults import RHO1, RHO2

PRESENT = RHO1, RHO2
PAIR_HEADS = ["rho1, rho2", "chosen on: dev", "test", "checked on: dev", "test", "loss to the best", "weights", "time"]
HEADS = ["set", "tokens", "labels", "small", "default", "best on dev", "best on test", "CRFsuite", "spaCy"]
HEADS += ["seconds", "weights", "kB", "gap, %"]
AUTO_HEADS = ["set", "labels", "chosen", "test", "to the best on dev", "to the default", "seconds", "plain fits"]
Row = dict[str, Any]


class Measured:
    """The results on one data set."""

    def __init__(self, name: str, rows: list[Row]) -> None:
        self.name = name
        self.of_part = {row["part"]: row for row in rows}
        self.grid = {(row["rho1"], row["rho2"]): row for row in rows if row["part"] in ("default", "grid")}
        self.present = self.grid[PRESENT]

    @property
    def best(self) -> Row:
        """The pair of the grid that is best on the dev data."""
        return max(self.grid.values(), key=lambda row: row["dev"])

    @property
    def best_on_test(self) -> Row:
        return max(self.grid.values(), key=lambda row: row["test"])

    @property
    def best_on_the_other_half(self) -> float:
        """The mean score on each half of the test data with the pair that is best on the other half."""
        rows = self.grid.values()
        return mean(max(rows, key=lambda row: row["halves"][1 - k])["halves"][k] for k in (0, 1))

    def cells(self) -> list[str]:
        crfs = [self.of_part.get("small"), self.present, self.of_part.get("crfsuite")]
        spacy = self.of_part.get("spacy")
        return [
            self.name,
            f"{self.present['tokens']:,}",
            str(self.present["labels"]),
            *(f"{row['test']:.1f}" if row else "-" for row in crfs[:2]),
            f"{self.best['test']:.1f} ({pair(self.best)})",
            f"{self.best_on_test['test']:.1f} ({pair(self.best_on_test)})",
            *(f"{row['test']:.1f}" if row else "-" for row in (crfs[2], spacy)),
            " / ".join(f"{row['seconds']:.1f}" for row in (*crfs, spacy) if row),
            " / ".join(f"{row['weights']:,}" for row in crfs if row),
            " / ".join(f"{row['bytes'] / 1e3:,.0f}" for row in (*crfs, spacy) if row),
            " / ".join(f"{100 * row['gap']:.1f}" for row in crfs[:2] if row),
        ]

    def auto_cells(self) -> list[str]:
        row = self.of_part["auto"]
        return [
            self.name,
            str(row["labels"]),
            f"{row['rho1']:.2g}",
            f"{row['test']:.1f}",
            f"{row['test'] - self.best['test']:+.1f} ({pair(self.best)})",
            f"{row['test'] - self.present['test']:+.1f}",
            f"{row['seconds']:.1f}",
            f"{row['seconds'] / self.present['seconds']:.1f}",
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=pathlib.Path)
    parser.add_argument("--chosen", nargs="+", default=[], metavar="NAME")
    given = parser.parse_args()
    sets = read(given.results)
    chosen = [task for task in sets if task.name in given.chosen]
    checked = [task for task in sets if task.name not in given.chosen]
    print(by_pair(chosen, checked) + "\n")
    for title, part in (("chosen on", chosen), ("checked on", checked), ("all", sets)):
        print(losses(title, part))
    print("\n" + table(HEADS, [task.cells() for task in chosen + checked]) + "\n")
    for part_name in ("small", "crfsuite", "spacy"):
        found = [task for task in sets if part_name in task.of_part]
        print(f"default to {part_name}: {spread([against(task, part_name) for task in found])}")
    with_auto = [task for task in chosen + checked if "auto" in task.of_part]
    print("\n" + table(AUTO_HEADS, [task.auto_cells() for task in with_auto]) + "\n")
    print(f"auto to the best on dev: {spread([t.of_part['auto']['test'] - t.best['test'] for t in with_auto])}")
    print(f"auto to the default: {spread([-against(task, 'auto') for task in with_auto])}")
    print(f"plain fits: {spread([t.of_part['auto']['seconds'] / t.present['seconds'] for t in with_auto])}")


def read(files: Iterable[pathlib.Path]) -> list[Measured]:
    """The data sets with results for the default."""
    by_name: dict[str, list[Row]] = {}
    for line in (line for file in files for line in file.read_text().splitlines()):
        row = json.loads(line)
        by_name.setdefault(row["set"], []).append(row)
    return [Measured(*item) for item in by_name.items() if any(row["part"] == "default" for row in item[1])]


def table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def by_pair(chosen: list[Measured], checked: list[Measured]) -> str:
    """For each pair of penalties: the mean difference from the default, the mean difference from the best pair on test
    data, weights and time."""
    rows = []
    for at in (chosen + checked)[0].grid:
        every = [(task.grid[at], task) for task in chosen + checked]
        differences = [
            spread([task.grid[at][part] - task.present[part] for task in sets])
            for sets in (chosen, checked)
            for part in ("dev", "test")
        ]
        loss = mean(task.best_on_test["test"] - row["test"] for row, task in every)
        ratios = [
            f"{median(row[key] / task.present[key] for row, task in every):.2f}" for key in ("weights", "seconds")
        ]
        rows.append([f"{at[0]:g}, {at[1]:g}", *differences, f"{loss:.2f}", *ratios])
    return table(PAIR_HEADS, rows)


def losses(title: str, sets: list[Measured]) -> str:
    """Points that the default loses on the test data."""
    over = {
        "the best on dev": [task.best["test"] - task.present["test"] for task in sets],
        "the best on test": [task.best_on_test["test"] - task.present["test"] for task in sets],
        "the best on the other half of test": [
            task.best_on_the_other_half - mean(task.present["halves"]) for task in sets
        ],
    }
    return f"{title}, {len(sets)} sets: loss " + "; ".join(f"to {name} {spread(found)}" for name, found in over.items())


def against(task: Measured, part: str) -> float:
    """By how many points the default is better."""
    return float(task.present["test"] - task.of_part[part]["test"])


def spread(values: list[float]) -> str:
    """Mean, standard error and range."""
    if len(values) < 2:
        return ", ".join(f"{value:+.2f}" for value in values) or "-"
    error = stdev(values) / sqrt(len(values))
    return f"{mean(values):+.2f} ± {error:.2f} ({min(values):+.1f} to {max(values):+.1f})"


def pair(row: Row) -> str:
    return f"{row['rho1']:.2g}, {row['rho2']:.2g}"


if __name__ == "__main__":
    main()
