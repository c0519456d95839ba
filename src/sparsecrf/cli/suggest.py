"""`sparsecrf suggest`: chooses the sentences in a pool to annotate next."""

from __future__ import annotations

import sys
from typing import Literal

from sparsecrf.cli.files import check_readable, check_writable, total_bytes
from sparsecrf.cli.long_runs import shown_warnings
from sparsecrf.cli.options import MODEL, for_typer
from sparsecrf.cli.train import check_distinct
from sparsecrf.compatibility import OptionError
from sparsecrf.declared import ENCODING, FORMAT, QUIET, RAGGED, THREADS, parameter
from sparsecrf.files.atomic import write_atomically
from sparsecrf.files.text import name_of
from sparsecrf.model import Model
from sparsecrf.progress import progress, say
from sparsecrf.tables import counted


@for_typer
def suggest(
    pool: str = parameter(
        ..., "Sentences to choose from, with or without labels; - is standard input.", metavar="POOL"
    ),
    model: str = parameter(..., MODEL),
    n: int = parameter(100, "Number of sentences to choose.", "-n", min=1, metavar="N"),
    output: str = parameter("-", "File to write; by default standard output.", "--output", "-o"),
    rest: str | None = parameter(None, "Write the remaining sentences to this file, as the next pool.", metavar="FILE"),
    by: Literal["confidence", "entropy", "change"] = parameter(
        "confidence",
        "Rank sentences by the uncertainty of the whole label sequence (confidence) or of the labels of single tokens "
        "(entropy), or by the expected change in the weights (change).",
    ),
    diversity: float = parameter(
        1.0,
        "Strength of the preference for attributes that no chosen sentence contains yet (0 for none).",
        min=0,
        metavar="X",
    ),
    format: str | None = parameter(None, FORMAT),
    ragged: bool = parameter(False, RAGGED),
    encoding: str | None = parameter(None, ENCODING),
    threads: int = parameter(0, THREADS),
    quiet: bool = parameter(False, QUIET),
) -> None:
    """Choose the sentences that are worth annotating next, the most useful first.

    The sentences are copied unchanged from POOL; its labels are ignored. To let annotators correct predicted labels,
    pipe the sentences to `label`: sparsecrf suggest POOL -m MODEL | sparsecrf label -m MODEL.
    """
    from sparsecrf.contrib.suggest import read_pool
    from sparsecrf.contrib.suggest import suggest as chosen_from

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
        found = chosen_from(known, (one.tokens for one in sequences), n, by=by, diversity=diversity, threads=threads)
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
    few = "; the pool contains no more" if chosen < asked else ""
    return f"{chosen:,} of {counted(of, 'sentence')} chosen{few}"
