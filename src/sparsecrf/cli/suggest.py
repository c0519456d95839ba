"""`sparsecrf suggest`: chooses the sentences in a pool to annotate next."""

from __future__ import annotations

import sys
from enum import Enum
from typing import Annotated

import typer

from sparsecrf.cli.options import Encoding, ModelFormat, Quiet, Ragged
from sparsecrf.compatibility import OptionError


class Measure(str, Enum):
    """The kind of uncertainty to rank by."""

    CONFIDENCE = "confidence"
    ENTROPY = "entropy"
    CHANGE = "change"


def suggest(
    pool: Annotated[
        str,
        typer.Argument(
            metavar="POOL",
            help="Sentences to choose from, with or without labels; - is standard input.",
            show_default=False,
        ),
    ],
    model: Annotated[str, typer.Option("--model", "-m", metavar="FILE", help="The model file.")],
    n: Annotated[int, typer.Option("-n", min=1, metavar="N", help="Number of sentences to choose.")] = 100,
    output: Annotated[str, typer.Option("--output", "-o", help="File to write; by default standard output.")] = "-",
    rest: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the remaining sentences to this file, as the next pool.")
    ] = None,
    by: Annotated[
        Measure,
        typer.Option(
            help="Rank sentences by the uncertainty of the whole label sequence (confidence) or of the labels of "
            "single tokens (entropy), or by the expected change in the weights (change)."
        ),
    ] = Measure.CONFIDENCE,
    diversity: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="X",
            help="Strength of the preference for attributes that no chosen sentence contains yet (0 for none).",
        ),
    ] = 1.0,
    format: ModelFormat = None,
    ragged: Ragged = False,
    encoding: Encoding = None,
    threads: Annotated[
        int, typer.Option(min=0, max=1024, metavar="N", help="Number of threads (0 for all cores).")
    ] = 0,
    quiet: Quiet = False,
) -> None:
    """Choose the sentences that are worth annotating next, the most useful first.

    The sentences are copied unchanged from POOL; its labels are ignored. To let annotators correct predicted labels,
    pipe the sentences to `label`: sparsecrf suggest POOL -m MODEL | sparsecrf label -m MODEL.
    """
    from sparsecrf.cli.files import check_readable, check_writable, total_bytes
    from sparsecrf.cli.long_runs import shown_warnings
    from sparsecrf.cli.train import check_distinct
    from sparsecrf.contrib.suggest import read_pool
    from sparsecrf.contrib.suggest import suggest as chosen_from
    from sparsecrf.files.atomic import write_atomically
    from sparsecrf.files.text import name_of
    from sparsecrf.model import Model
    from sparsecrf.progress import progress, say

    to_file = None if output == "-" else output
    if pool == model == "-":
        raise OptionError("--model: expected a file, found - (standard input)")
    check_readable(model, pool)
    check_writable(to_file, rest, inputs=[model, pool])
    check_distinct({"output": to_file, "rest": rest})
    known = Model.load(model)
    with shown_warnings(), progress("choosing", total_bytes([pool]), quiet=quiet) as advance:
        sequences = list(
            read_pool(known, pool, format=format, ragged=ragged, encoding=encoding, progress=lambda size: advance(size))
        )
        if not any(one.tokens for one in sequences):
            from sparsecrf import InputError

            raise InputError(f"{name_of(pool)}: expected at least one sequence, found none")
        found = chosen_from(
            known, (one.tokens for one in sequences), n, by=by.value, diversity=diversity, threads=threads
        )
    chosen = [suggestion.sequence for suggestion in found]
    if rest is not None:
        gone = set(chosen)
        write_atomically(rest, b"".join(one.text for i, one in enumerate(sequences) if i not in gone))
    text = b"".join(sequences[i].text for i in chosen)
    if to_file is None:
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()
    else:
        write_atomically(to_file, text)
    say(_closing(len(chosen), len(sequences), n), quiet=quiet)


def _closing(chosen: int, of: int, asked: int) -> str:
    from sparsecrf.tables import counted

    few = "; the pool contains no more" if chosen < asked else ""
    return f"{chosen:,} of {counted(of, 'sentence')} chosen{few}"
