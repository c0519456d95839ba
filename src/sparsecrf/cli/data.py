"""`sparsecrf data`: public and simulated data sets, as column files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from sparsecrf.encoding.clusters import MAX_ROUNDS, MIN_COUNT, N_CLUSTERS
from sparsecrf.encoding.presets import PRESETS

data = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")

LIST_EXAMPLE = "Example: [bold]sparsecrf data list --json[/bold]"
FETCH_EXAMPLE = "Example: [bold]sparsecrf data fetch wnut17 -o wnut17[/bold]"
SIMULATE_EXAMPLE = "Example: [bold]sparsecrf data simulate -o simulated --sequences 1000[/bold]"
TEMPLATE_EXAMPLE = "Example: [bold]sparsecrf data template words > template.txt[/bold]"
CLUSTERS_EXAMPLE = "Example: [bold]sparsecrf data clusters news.txt wiki.txt -o paths.txt -n 1000[/bold]"


@data.callback(epilog=FETCH_EXAMPLE)
def _data() -> None:
    """List or fetch public data sets, simulate data, print ready-made templates and cluster the words of raw text."""


@data.command("list", epilog=LIST_EXAMPLE)
def list_sets(
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per data set.")] = False,
) -> None:
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


@data.command(epilog=FETCH_EXAMPLE)
def fetch(
    name: Annotated[
        str, typer.Argument(help="Name of the data set, as listed by `sparsecrf data list`.", show_default=False)
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="DIR", help="Folder to write to; by default the download cache."),
    ] = None,
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


@data.command(epilog=SIMULATE_EXAMPLE)
def simulate(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="DIR", help="Folder to write to.", show_default=False)
    ],
    sequences: Annotated[
        int, typer.Option(min=1, max=10_000_000, help="Number of sequences in each of the three files.")
    ] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Random seed; the same seed gives the same files.")] = 1,
) -> None:
    """Write train.txt, dev.txt, test.txt and a template, simulated from the paper's hidden Markov model.

    The lowest possible error on these data is known.
    """
    from numpy.random import default_rng

    from sparsecrf.contrib.datasets.fetch import write_all
    from sparsecrf.contrib.datasets.readers import column_text
    from sparsecrf.contrib.simulate import paper_hmm
    from sparsecrf.tables import counted

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


@data.command(epilog=TEMPLATE_EXAMPLE)
def template(
    name: Annotated[str, typer.Argument(help=f"One of {', '.join(PRESETS)}.", show_default=False)],
    columns: Annotated[int, typer.Option(min=1, help="For `columns`, the number of columns before the label.")] = 1,
) -> None:
    """Print the ready-made template of `train --features NAME`, so that you can edit it and use it with --template."""
    from sparsecrf.encoding.presets import preset

    typer.echo(preset(name, columns, "NAME"), nl=False)


@data.command(epilog=CLUSTERS_EXAMPLE)
def clusters(
    text: Annotated[
        list[Path],
        typer.Argument(
            help="Raw text: one sentence per line, tokenized like your data, with spaces between words.",
            metavar="TEXT",
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="File to write.", show_default=False)],
    n_clusters: Annotated[
        int, typer.Option("-n", "--clusters", metavar="N", min=1, help="Number of clusters.")
    ] = N_CLUSTERS,
    min_count: Annotated[
        int, typer.Option(metavar="N", min=1, help="Assign no cluster to words that occur fewer than N times.")
    ] = MIN_COUNT,
    rounds: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, help="Maximum number of rounds; in each round, every word may move to another cluster."
        ),
    ] = MAX_ROUNDS,
    columns: Annotated[
        bool, typer.Option("--columns", help="Read TEXT as column files with the word in the first column.")
    ] = False,
    threads: Annotated[int, typer.Option(metavar="N", min=0, help="Number of threads (0 for all cores).")] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Do not print progress.")] = False,
) -> None:
    """Cluster the words of raw text for `train --clusters`. Writes one line per word: path, word, count.

    Words that occur in the same contexts get the same cluster; prefixes of paths denote larger clusters.
    """
    from sparsecrf.cli.files import check_readable, check_writable
    from sparsecrf.encoding.clusters import word_clusters
    from sparsecrf.files.atomic import write_atomically
    from sparsecrf.progress import say

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
