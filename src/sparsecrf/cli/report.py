"""`sparsecrf report`: writes an HTML page about a model."""

from __future__ import annotations

import os
import shlex

from sparsecrf.cli.files import check_readable, check_writable
from sparsecrf.cli.long_runs import shown_warnings
from sparsecrf.cli.options import ANY_MODEL, for_typer
from sparsecrf.declared import FORMAT, QUIET, parameter
from sparsecrf.files.atomic import write_atomically
from sparsecrf.files.text import name_of
from sparsecrf.progress import say


@for_typer
def report(
    model: str = parameter(..., ANY_MODEL),
    output: str = parameter(..., "The page to write.", "--output", "-o", metavar="FILE.html"),
    data: str | None = parameter(
        None,
        "Labelled data for scores and a list of sentences, with wrongly labelled sentences first.",
        metavar="FILE",
    ),
    format: str | None = parameter(None, FORMAT),
    max_sentences: int = parameter(300, "Number of sentences of --data to show.", min=1, metavar="N"),
    max_weights: int = parameter(200_000, "Number of weights to list, largest first.", min=1, max=400_000, metavar="N"),
    trial: bool = parameter(
        False, "Include the model and the labeller, so that readers can label their own sentences.", "--try"
    ),
    example: str | None = parameter(None, "With --try, the sentence that is shown first.", metavar="TEXT"),
    quiet: bool = parameter(False, QUIET),
) -> None:
    """Write an HTML page about a model: quality and errors (with --data), weights, transitions, training, certificate.

    The page needs no other file and no network. Open it in any browser, or send it to someone. --try needs the
    WebAssembly build that release wheels contain; [bold]sparsecrf serve[/bold] lets you type sentences without it.
    """
    from sparsecrf.contrib.convert.foreign import open_model
    from sparsecrf.contrib.report import make_report
    from sparsecrf.contrib.report.trial import runtime

    check_readable(model, data)
    check_writable(output, inputs=[model, data])
    if trial:
        runtime(shlex.quote(model))  # checked before work begins, since it may be missing
    name = os.path.basename(name_of(model))
    with shown_warnings():
        page = make_report(
            open_model(model),
            name=name,
            data=data,
            format=format,
            max_sentences=max_sentences,
            max_weights=max_weights,
            trial=trial,
            example=example,
        ).encode()
    write_atomically(output, page)
    say(f"{name_of(output)}: {len(page) / 2**20:.1f} MB", quiet=quiet)
