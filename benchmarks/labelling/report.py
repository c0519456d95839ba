"""The record of the labelling benchmark as a page."""

from __future__ import annotations

from typing import Any


def table(record: dict[str, Any]) -> str:
    machine = ", ".join(f"{name} {value}" for name, value in record["machine"].items())
    lines = ["# Labelling and reading CoNLL-2000", "", f"{record['date']}; {machine}", ""]
    lines += ["`make bench-labelling`; see benchmarks/README.md.", "", "## Goals", "", *_goals(record), ""]
    lines += ["## Labelling", "", "| tool | tokens a second | to start, s | peak MB, a tenth | peak MB, all |"]
    lines += ["|---|---|---|---|---|"]
    for name, found in record["labelling"].items():
        peak = found.get("peak_mb", {})
        cells = [f"{found['tokens_per_s']:,.0f}", _number(found.get("start_s"), 2)]
        cells += [_number(peak.get("tenth"), 0), _number(peak.get("whole"), 0)]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    lines += ["", "## Reading and encoding the training file", "", "| tool | seconds |", "|---|---|"]
    reading = record["reading"]
    lines += [f"| {name} | {reading[name]:.2f} |" for name in ("sparsecrf", "Wapiti") if name in reading]
    return "\n".join(lines) + "\n"


def _number(x: float | None, digits: int) -> str:
    return "" if x is None else f"{x:.{digits}f}"


def _goals(record: dict[str, Any]) -> list[str]:
    labelling, reading = record["labelling"], record["reading"]
    ours = labelling["sparsecrf"]["tokens_per_s"]
    lines = ["| | goal | found |", "|---|---|---|"]

    def add(what: str, goal: str, found: str, met: bool) -> None:
        lines.append(f"| {what} | {goal} | {found}: {'met' if met else '**missed**'} |")

    for name in ("CRFsuite", "CRF++", "Wapiti"):
        if name in labelling:
            ratio = ours / labelling[name]["tokens_per_s"]
            add(f"tokens a second, one thread, against {name}", "3 x", f"{ratio:.1f} x", ratio >= 3)
    both = labelling["sparsecrf, 2 threads"]["tokens_per_s"] / ours
    add("two threads against one", "1.8 x", f"{both:.2f} x", both >= 1.8)
    peak = labelling["sparsecrf"]["peak_mb"]
    grown = peak["whole"] / peak["tenth"]
    add("memory for ten times the input", "constant", f"{grown:.2f} x", grown < 1.1)
    if "Wapiti" in reading:
        share = reading["sparsecrf"] / reading["Wapiti"]
        add("reading and encoding, against Wapiti", "half its time", f"{share:.2f}", share <= 0.5)
    million = reading["sparsecrf"] / (reading["attributes"] / 1e6)
    add("reading and encoding a million attributes", "1 s", f"{million:.2f} s", million <= 1)
    return lines
