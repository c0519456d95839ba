"""Formats the record of the labelling benchmark as a page."""

from __future__ import annotations

from typing import Any

_PEERS = ("Wapiti", "CRF++", "CRFsuite", "CRFsuite's library, attributes in memory")


def table(record: dict[str, Any]) -> str:
    machine = ", ".join(f"{name} {value}" for name, value in record["machine"].items())
    lines = ["# Labelling", "", f"{record['date']}; {machine}", ""]
    lines += [
        "`make bench-labelling`; see benchmarks/README.md. Tokens a second of processor time, start left out.",
        "",
    ]
    lines += [record["note"], ""] if record["note"] else []
    peers = [name for name in _PEERS if any(name in tools for tools in record["labelling"].values())]
    heads = ["task", "sparsecrf", *peers, "against the fastest peer"]
    lines += [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    for task, tools in record["labelling"].items():
        for name, found in tools.items():
            if name.startswith("sparsecrf") and "threads" not in name:
                lines.append(_row(task + name.removeprefix("sparsecrf"), found, tools, peers))
    lines += ["", "## Start, memory, threads", "", "| task | tool | elapsed s | to start, s | peak MB, a tenth | all |"]
    lines += ["|---|---|---|---|---|---|"]
    for task, tools in record["labelling"].items():
        for name, found in tools.items():
            if "peak_mb" in found:
                peak, seconds = found["peak_mb"], f"{found['elapsed_s']:.2f} | {found['start_s']:.2f}"
                lines.append(f"| {task} | {name} | {seconds} | {peak['tenth']:.0f} | {peak['whole']:.0f} |")
    if "reading" in record:
        lines += ["", "## Reading and encoding the training file of CoNLL-2000", "", "| tool | seconds |", "|---|---|"]
        reading = record["reading"]
        lines += [f"| {name} | {reading[name]:.2f} |" for name in ("sparsecrf", "Wapiti") if name in reading]
    return "\n".join(lines) + "\n"


def _row(task: str, found: dict[str, Any], tools: dict[str, Any], peers: list[str]) -> str:
    theirs = {name: tools[name]["tokens_per_s"] for name in peers if name in tools}
    cells = [f"{found['tokens_per_s']:,.0f}", *(f"{theirs[name]:,.0f}" if name in theirs else "" for name in peers)]
    ratio = f"{found['tokens_per_s'] / max(theirs.values()):.1f} x" if theirs else ""
    return f"| {task} | {' | '.join(cells)} | {ratio} |"
