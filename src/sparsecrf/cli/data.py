"""`sparsecrf data`: writes public and simulated data sets as column files."""

from __future__ import annotations

import os
from pathlib import Path

import typer

from sparsecrf.cli.files import check_readable, check_writable
from sparsecrf.cli.options import for_typer
from sparsecrf.declared import QUIET, parameter
from sparsecrf.encoding.clusters import MAX_ROUNDS, MIN_COUNT, N_CLUSTERS, word_clusters
from sparsecrf.encoding.presets import PRESETS, preset
from sparsecrf.files.atomic import write_atomically
from sparsecrf.progress import say
from sparsecrf.tables import counted

_FETCH = "Example: [bold]sparsecrf data fetch wnut17 -o wnut17[/bold]"

data = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")


@data.callback(epilog=_FETCH)
def _data() -> None:
    """List or fetch public data sets, simulate data, print ready-made templates and cluster the words of raw text."""


@data.command("list", epilog="Example: [bold]sparsecrf data list --json[/bold]")
@for_typer
def list_sets(json: bool = parameter(False, "Print one JSON object per data set.")) -> None:
    """List the public data sets that can be fetched, with their size, licence, content and source."""
    from sparsecrf.contrib.datasets.fetch import is_here
    from sparsecrf.contrib.datasets.registry import REGISTRY

    if json:
        from json import dumps

        for entry in REGISTRY:
            fields = ("name", "what", "columns", "size", "licence", "home")
            typer.echo(dumps({**{name: getattr(entry, name) for name in fields}, "fetched": is_here(entry)}))
        return
    from rich.console import Console
    from rich.padding import Padding
    from rich.text import Text

    console = Console(highlight=False)
    for entry in REGISTRY:
        facts = f"{entry.size / 1e6:.1f} MB, {entry.licence}{', downloaded' if is_here(entry) else ''}"
        console.print(Text.assemble((f"{entry.name:24}", "bold"), facts))
        console.print(
            Padding(Text(f"{entry.what}\ncolumns: {entry.columns}\n{entry.home}"), (0, 0, 0, 4), expand=False)
        )


@data.command(epilog=_FETCH)
@for_typer
def fetch(
    name: str = parameter(..., "Name of the data set, as listed by `sparsecrf data list`."),
    output: Path | None = parameter(
        None, "Folder to write to; by default the download cache.", "-o", "--output", metavar="DIR"
    ),
) -> None:
    """Fetch a data set, verify it, and write train.txt, dev.txt, test.txt and a suitable template."""
    from sparsecrf.contrib.datasets.fetch import fetch, is_here
    from sparsecrf.contrib.datasets.registry import find

    entry = find(name)
    how = "already downloaded" if is_here(entry) else f"downloading {entry.size / 1e6:.1f} MB from {entry.home}"
    typer.echo(f"{entry.name}: {entry.what} ({entry.licence}); {how}", err=True)
    for path in fetch(entry, output):
        typer.echo(path)
    typer.echo(f"columns: {entry.columns}; the last one is the label", err=True)


@data.command(epilog="Example: [bold]sparsecrf data simulate -o simulated --sequences 1000[/bold]")
@for_typer
def simulate(
    output: Path = parameter(..., "Folder to write to.", "-o", "--output", metavar="DIR"),
    sequences: int = parameter(1000, "Number of sequences in each of the three files.", min=1, max=10_000_000),
    seed: int = parameter(1, "Random seed; the same seed gives the same files.", min=0),
) -> None:
    """Write train.txt, dev.txt, test.txt and a template, simulated from the paper's hidden Markov model.

    The lowest possible error on these data is known.
    """
    from numpy.random import default_rng

    from sparsecrf.contrib.datasets.fetch import write_all
    from sparsecrf.contrib.datasets.readers import column_text
    from sparsecrf.contrib.simulate import paper_hmm

    hmm, rng = paper_hmm(), default_rng(seed)
    texts = {}
    for part in ("train", "dev", "test"):
        drawn = zip(*hmm.sample(sequences, rng), strict=True)
        texts[f"{part}.txt"] = column_text([list(zip(x, y, strict=True)) for x, y in drawn])
    texts["template.txt"] = "*0:%x[0,0]\n*\n"
    for path in write_all(output, texts):
        typer.echo(path)
    typer.echo(
        f"wrote a template and three files with {counted(sequences, 'sequence')} of {hmm.length} symbols and their "
        "hidden labels\n"
        f"the Bayes error is {100 * hmm.bayes_error():.2f} %; no model can do better",
        err=True,
    )


@data.command(epilog="Example: [bold]sparsecrf data template words > template.txt[/bold]")
@for_typer
def template(
    name: str = parameter(..., f"One of {', '.join(PRESETS)}."),
    columns: int = parameter(1, "For `columns`, the number of columns before the label.", min=1),
) -> None:
    """Print the ready-made template of `train --features NAME`, so that you can edit it and use it with --template."""
    typer.echo(preset(name, columns, "NAME"), nl=False)


@data.command(epilog="Example: [bold]sparsecrf data clusters news.txt wiki.txt -o paths.txt -n 1000[/bold]")
@for_typer
def clusters(
    text: list[Path] = parameter(
        ..., "Raw text: one sentence per line, tokenized like your data, with spaces between words.", metavar="TEXT"
    ),
    output: Path = parameter(..., "File to write.", "-o", "--output", metavar="FILE"),
    n_clusters: int = parameter(N_CLUSTERS, "Number of clusters.", "-n", "--clusters", metavar="N", min=1),
    min_count: int = parameter(
        MIN_COUNT, "Assign no cluster to words that occur fewer than N times.", metavar="N", min=1
    ),
    rounds: int = parameter(
        MAX_ROUNDS,
        "Maximum number of rounds; in each round, every word may move to another cluster.",
        metavar="N",
        min=1,
    ),
    columns: bool = parameter(False, "Read TEXT as column files with the word in the first column."),
    threads: int = parameter(0, "Number of threads (0 for all cores).", metavar="N", min=0),
    quiet: bool = parameter(False, QUIET),
) -> None:
    """Cluster the words of raw text for `train --clusters`. Writes one line per word: path, word, count.

    Words that occur in the same contexts get the same cluster; prefixes of paths denote larger clusters.
    """
    check_readable(*map(str, text))
    check_writable(str(output), inputs=map(str, text))
    found = word_clusters(
        files=text,
        columns=columns,
        n_clusters=n_clusters,
        min_count=min_count,
        max_rounds=rounds,
        threads=threads or os.cpu_count() or 1,
        each=lambda line: say(line, quiet=quiet),
    )
    write_atomically(output, "".join(f"{one.path}\t{one.word}\t{one.n}\n" for one in found).encode())
