"""Shared code of both demos: tables, the regularisation path, and the files that a demo writes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path as FilePath
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from sparsecrf.contrib.plots import plot_path, plot_weights
from sparsecrf.contrib.report import make_report
from sparsecrf.files.atomic import write_atomically
from sparsecrf.files.crfsuite import crfsuite_lines
from sparsecrf.model import Model
from sparsecrf.path import Path
from sparsecrf.progress import progress
from sparsecrf.training import Fit


def table(title: str, *columns: str, numbers: Sequence[str] = (), caption: str | None = None) -> Table:
    """A table under its title; the columns named in `numbers` are flush right."""
    made = Table(
        box=box.SIMPLE_HEAD,
        title=f"\n{title}",
        title_justify="left",
        title_style="bold",
        header_style="dim",
        caption=caption,
        caption_justify="left",
        show_edge=False,
    )
    for name in columns:
        made.add_column(name, justify="right" if name in numbers else "left")
    return made


def path_table(fits: Iterable[Fit], errors: Sequence[float], chosen: int, console: Console) -> Table:
    """The table of the regularisation path. As the penalty decreases, weights are added, and the dev error (in percent)
    falls, then rises."""
    full = "\u2588" if console.encoding.lower().startswith("utf") else "#"
    columns = ("rho1", "weights", "objective", "gap", "dev error")
    made = table("Regularisation path, with each fit starting from the previous one", *columns, "", numbers=columns)
    for k, (fit, error) in enumerate(zip(fits, errors, strict=True)):
        row = (f"{fit.rho1:.3g}", f"{len(fit.w):,}", f"{fit.objective:,.0f}", f"{fit.gap:.2g}", f"{error:.2f} %")
        made.add_row(*row, Text(full * round(0.25 * error), "bold green" if k == chosen else "blue"))
        if k == chosen:
            made.caption = f"chosen: rho1 = {row[0]}, {row[1]} weights, dev error {row[-1]}"
    return made


def what_next(commands: Mapping[str, str]) -> Panel:
    """Commands to try, each with a description."""
    lines = Text("\n").join(
        Text.assemble((f"# {purpose}\n", "dim"), (command, "bold")) for purpose, command in commands.items()
    )
    return Panel(lines, title="what to do next", title_align="left", border_style="dim", box=box.ROUNDED)


@contextmanager
def path_progress(n_rho: int) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Yields a callback that shows the progress of a path of `n_rho` fits; each fit begins with iteration 0."""
    with progress("path", n_rho) as advance:

        def callback(record: dict[str, Any]) -> None:
            active = int(record["active_unigram"]) + int(record["active_bigram"])
            advance(int(record["iter"] == 0), f"{active:,} active weights, objective {record['objective']:,.0f}")

        yield callback


def write_files(
    folder: FilePath, model: Model, path: Path, test: Iterable[tuple[Iterable[list[str]], list[str]]]
) -> str:
    """Write the model, its test data (attributes of tokens, and labels), pictures and the report, and list them."""
    folder.mkdir(parents=True, exist_ok=True)
    data = folder / "test.crfsuite"
    lines = (line for tokens, labels in test for line in crfsuite_lines(tokens, labels))
    write_atomically(data, "".join(lines).encode())
    model.save(folder / "model.safetensors")
    with warnings.catch_warnings():  # ignore warnings about labels that occur only in the test data of a small sample
        warnings.simplefilter("ignore", UserWarning)
        page = make_report(model, name="the demo's model", data=data)
    write_atomically(folder / "report.html", page.encode())
    named = {
        "report.html": "the model and its errors, as a page for the browser",
        "model.safetensors": "the model",
        "test.crfsuite": "the test data",
    }
    if find_spec("matplotlib") is not None:
        plot_path(path, file=folder / "path.svg")
        plot_weights(model, file=folder / "weights.svg")
        named["path.svg"] = "the regularisation path"
        named["weights.svg"] = "the largest weights by attribute and label"
    width = max(len(str(folder / name)) for name in named)
    text = "".join(f"\n  [bold]{escape(str(folder / name)):<{width}}[/bold]  {what}" for name, what in named.items())
    missing = "" if "path.svg" in named else "\n  [dim]pictures: pip install 'sparsecrf\\[plot]'[/dim]"
    return f"\nWritten:{text}{missing}"
