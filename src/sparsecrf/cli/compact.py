"""`sparsecrf compact`: writes a model file of about a quarter of the size."""

from __future__ import annotations

import json
from typing import Literal

import typer

from sparsecrf.cli.files import check_readable, check_writable
from sparsecrf.cli.options import ANY_MODEL, for_typer
from sparsecrf.declared import QUIET, parameter
from sparsecrf.files.atomic import write_atomically
from sparsecrf.files.text import name_of
from sparsecrf.model.calibration import KEY
from sparsecrf.progress import say
from sparsecrf.tables import counted


@for_typer
def compact(
    model: str = parameter(..., ANY_MODEL),
    output: str = parameter(..., "The file to write.", metavar="OUTPUT"),
    weights: Literal["int16", "float32"] = parameter(
        "int16", "Round weights to 16 bits (int16) or, with a smaller error, to 32 bits (float32)."
    ),
    data: str | None = parameter(
        None,
        "Count the sentences in this file whose predicted labels stay the same. The file must be in the model's "
        "format, with or without labels.",
        metavar="FILE",
    ),
    as_json: bool = parameter(False, "Print sizes, error and counts as JSON.", "--json"),
    quiet: bool = parameter(False, QUIET),
) -> None:
    """Write a model with rounded weights and packed names. The file is about a quarter of the size and opens like any
    other model.

    No weight changes by more than the printed error. With --data, every sentence is labelled with both models, and the
    command counts the sentences whose labels provably cannot change, because their best label sequence leads by more
    than all rounding errors combined.
    """
    from sparsecrf.contrib.convert.foreign import open_model
    from sparsecrf.model.unchanged import compare, sequences_of

    check_readable(model, data)
    check_writable(output, inputs=[model, data])
    known = open_model(model)
    content, before = known.to_bytes(compact=weights), len(known.to_bytes())
    after, _ = known._rounded(weights)
    found = None if data is None else compare(known, after, sequences_of(known, data))
    write_atomically(output, content)
    error = after.training["compact"]["error"]
    share = 100 * len(content) / before
    say(f"{name_of(output)}: {len(content):,} bytes, {share:.1f} % of {before:,}", quiet=quiet)
    say(f"no weight changed by more than {error:.2g}", quiet=quiet)
    if KEY in known.training and KEY not in after.training:
        say(
            f"the calibration was dropped because the probabilities changed; calibrate {name_of(output)} again",
            quiet=quiet,
        )
    if found is not None:
        kept = found.sequences - found.changed_sequences
        say(f"{kept:,} of {found.sequences:,} sentences have the same labels", quiet=quiet)
        say(
            f"proved for {counted(found.proved, 'sentence')} ({100 * found.proved / max(1, found.sequences):.1f} %): "
            "the score margin of their best labels exceeds the sum of all rounding errors",
            quiet=quiet,
        )
    if as_json:
        sizes = {"bytes": len(content), "bytes_before": before, "weights": weights, "error": error}
        typer.echo(json.dumps(sizes | ({} if found is None else found.as_json())))
