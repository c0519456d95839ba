"""How far along a path the training is: a bar on a terminal, plain lines otherwise, on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def path_progress(n_rho: int) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Gives the callback for the fits of a path of `n_rho` values of rho1: each begins with an iteration 0."""
    if not sys.stderr.isatty():
        step = 0

        def line(record: dict[str, Any]) -> None:
            nonlocal step
            if record["iter"] == 0:
                step += 1
                print(f"path: step {step} of {n_rho}, {_active(record):,} active weights", file=sys.stderr, flush=True)

        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("path: step"),
        MofNCompleteColumn(separator=" of "),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        TextColumn("{task.description}", style="dim"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=n_rho)

        def bar(record: dict[str, Any]) -> None:
            note = f"{_active(record):,} active weights, objective {record['objective']:,.0f}"
            progress.update(task, advance=record["iter"] == 0, description=note)

        yield bar


def _active(record: dict[str, Any]) -> int:
    return int(record["active_unigram"]) + int(record["active_bigram"])
