"""`sparsecrf report`: a model as one HTML page."""

from __future__ import annotations

from typing import Annotated

import typer

from sparsecrf.cli.options import AnyModel, ModelFormat, Quiet


def report(
    model: AnyModel,
    output: Annotated[
        str, typer.Option("--output", "-o", help="The page to write.", metavar="FILE.html", show_default=False)
    ],
    data: Annotated[
        str | None,
        typer.Option(
            help="Labelled data for scores and a list of sentences, with wrongly labelled sentences first.",
            metavar="FILE",
        ),
    ] = None,
    format: ModelFormat = None,
    max_sentences: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of sentences of --data to show.")
    ] = 300,
    max_weights: Annotated[
        int, typer.Option(min=1, max=400_000, metavar="N", help="Number of weights to list, largest first.")
    ] = 200_000,
    trial: Annotated[
        bool,
        typer.Option(
            "--try", help="Include the model and the labeller, so that readers can label their own sentences."
        ),
    ] = False,
    example: Annotated[
        str | None, typer.Option(help="With --try, the sentence that is shown first.", metavar="TEXT")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Write an HTML page about a model: quality and errors (with --data), weights, transitions, training, certificate.

    The page needs no other file and no network. Open it in any browser, or send it to someone. --try needs the
    WebAssembly build that release wheels contain; [bold]sparsecrf serve[/bold] lets you type sentences without it.
    """
    import os
    import shlex

    from sparsecrf.cli.files import check_readable, check_writable
    from sparsecrf.cli.long_runs import shown_warnings
    from sparsecrf.contrib.convert.foreign import open_model
    from sparsecrf.contrib.report import make_report
    from sparsecrf.contrib.report.trial import runtime
    from sparsecrf.files.atomic import write_atomically
    from sparsecrf.files.text import name_of
    from sparsecrf.progress import say

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
