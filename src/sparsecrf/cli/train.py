"""`sparsecrf train`: from labelled data to a model file."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Annotated, Any

import typer

from sparsecrf._core import InputError
from sparsecrf.cli.options import (
    Boundary,
    DataFiles,
    Format,
    Json,
    Missing,
    Plot,
    Quiet,
    Rho2,
    Solver,
    Start,
    TemplateFile,
    Threads,
)

INTERRUPTED = 130


def train(
    data: DataFiles,
    model: Annotated[str, typer.Option("--model", "-m", help="The model file to write.", metavar="FILE")],
    template: TemplateFile = None,
    dev: Annotated[
        str | None,
        typer.Option(help="Other labelled data: its token error is recorded at every iteration.", metavar="FILE"),
    ] = None,
    solver: Solver = "auto",
    rho1: Annotated[
        float, typer.Option(metavar="X", min=0, help="Absolute (l1) penalty: rho1 |w|_1. The larger, the sparser.")
    ] = 1.0,
    rho2: Rho2 = 0.01,
    max_iter: Annotated[
        int | None, typer.Option(rich_help_panel="Stopping", metavar="N", min=1, help="Stop after so many iterations.")
    ] = None,
    tol: Annotated[
        float, typer.Option(rich_help_panel="Stopping", metavar="X", min=0, help="Stop at this relative KKT residual.")
    ] = 1e-3,
    gap: Annotated[
        float | None,
        typer.Option(
            rich_help_panel="Stopping",
            metavar="X",
            min=0,
            help="Stop at a duality gap of this times the objective instead.",
        ),
    ] = None,
    time_limit: Annotated[
        float | None,
        typer.Option(rich_help_panel="Stopping", metavar="X", min=0, help="Stop after so many seconds of training."),
    ] = None,
    patience: Annotated[
        int | None,
        typer.Option(
            rich_help_panel="Stopping",
            metavar="N",
            min=1,
            help="Stop when the error on --dev has not improved for so many iterations; keep the best.",
        ),
    ] = None,
    threads: Threads = 0,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Orders the sequences of sgd and sgd-l1.")] = 0,
    observed_only: Annotated[
        bool, typer.Option("--observed-only", help="Leave out features that never occur, as CRFsuite does.")
    ] = False,
    start: Start = True,
    boundary: Boundary = "crf++",
    format: Format = None,
    missing: Missing = "",
    cache: Annotated[
        str | None,
        typer.Option(
            rich_help_panel="Data larger than memory",
            help="Keep the encoded data in this folder, in parts that are read one at a time; made anew when data, "
            "template or options change. For the solvers auto, owlqn and lbfgs.",
            metavar="FOLDER",
        ),
    ] = None,
    shard_tokens: Annotated[
        int | None,
        typer.Option(
            rich_help_panel="Data larger than memory",
            help="Tokens in each part; memory follows the largest. By default a million.",
            metavar="N",
            min=1,
        ),
    ] = None,
    init: Annotated[
        str | None,
        typer.Option(rich_help_panel="Long runs", help="Start from the weights of this model.", metavar="MODEL"),
    ] = None,
    checkpoint: Annotated[
        str | None,
        typer.Option(
            rich_help_panel="Long runs",
            help="Keep the state of the run in this file, so that --resume can go on.",
            metavar="FILE",
        ),
    ] = None,
    checkpoint_every: Annotated[
        float, typer.Option(rich_help_panel="Long runs", metavar="X", min=0, help="Seconds between two checkpoints.")
    ] = 60.0,
    resume: Annotated[
        bool, typer.Option("--resume", rich_help_panel="Long runs", help="Go on from --checkpoint if it is there.")
    ] = False,
    log: Annotated[
        str | None,
        typer.Option(
            rich_help_panel="Long runs", help="Write one JSON object an iteration to this file.", metavar="FILE.jsonl"
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            rich_help_panel="Long runs",
            help="Train on the workers of this Dask scheduler (tcp://...), or on N started here (local:N). TRAIN may "
            "then be patterns and URLs; a file is a partition.",
            metavar="ADDRESS|local:N",
        ),
    ] = None,
    plot: Plot = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn a sparse CRF from labelled data and save it.

    Minimises loss + rho1 |w|_1 + rho2/2 |w|^2 over all features that can be formed, and says how close to the optimum
    it came. An interrupted run (Ctrl-C, SIGTERM) saves the best weights so far and exits with status 130.
    """
    from sparsecrf.cli.files import check_readable, check_solver, check_writable
    from sparsecrf.cli.labelled import Labelled, read_cached, read_labelled
    from sparsecrf.cli.on_dask import LabelledOnDask, labelled_on_dask
    from sparsecrf.cli.train_report import Log, as_json, closing, summary
    from sparsecrf.model import Model
    from sparsecrf.plots import check_plot, plot_convergence
    from sparsecrf.progress import note, progress, say
    from sparsecrf.training import OVER_SHARDS, fit, weights_in
    from sparsecrf.training.data import virtual_features

    check_readable(*(data if dask is None else ()), dev, init, template)
    check_writable(model, checkpoint, log, plot, inputs=[*data, dev, init, template])
    if plot is not None:
        check_plot(plot)
    check_solver(solver, rho1)
    if patience is not None and dev is None:
        raise typer.BadParameter("expected --dev with it, found none", param_hint="--patience")
    if cache is not None and dask is not None:
        raise typer.BadParameter("expected no --dask with it, whose workers keep the data", param_hint="--cache")
    if (cache or dask) is not None and solver not in OVER_SHARDS:
        hint = f"expected {' or '.join(OVER_SHARDS)} with --{'dask' if cache is None else 'cache'}, found {solver!r}"
        raise typer.BadParameter(hint, param_hint="--solver")
    if resume and checkpoint is None:
        raise typer.BadParameter("expected --checkpoint with it, found none", param_hint="--resume")
    if shard_tokens is not None and cache is None:
        raise typer.BadParameter("expected --cache with it, found none", param_hint="--shard-tokens")
    warm = None if init is None else Model.load(init)
    how: dict[str, Any] = {"boundary": boundary, "format": format, "start": start, "missing": missing, "quiet": quiet}
    with ExitStack() as stack:
        read: Labelled[Any] | LabelledOnDask
        if cache is not None:
            read = read_cached(data, dev, template, cache, shard_tokens, threads=threads, **how)
        elif dask is None:
            read = read_labelled(data, dev, template, **how)
        else:
            read = stack.enter_context(labelled_on_dask(dask, data, dev, template, threads=threads, **how))
        vocabulary, corpus, virtual = read.vocabulary, read.corpus, virtual_features(read.corpus)
        say(
            f"{corpus.n_sequences:,} sequences, {corpus.n_tokens:,} tokens, {len(vocabulary.labels):,} labels, "
            f"{len(vocabulary.attributes):,} attributes: {virtual:,} features",
            quiet=quiet,
        )

        with stopping(), progress("training", None, quiet=quiet) as advance, Log(log, resume) as write:

            def watch(record: dict[str, Any]) -> None:
                write(record)
                advance(note=note(record))

            found = fit(
                corpus,
                rho1=rho1,
                rho2=rho2,
                solver=solver,
                tol=tol,
                gap=gap,
                max_iter=max_iter,
                time_limit=time_limit,
                observed_only=observed_only,
                init=None if warm is None else weights_in(warm, vocabulary),
                dev=read.dev,
                patience=patience,
                checkpoint=checkpoint,
                checkpoint_every=checkpoint_every,
                resume=resume,
                seed=seed,
                threads=threads,
                callback=watch,
            )
        # First of all: whoever interrupts once more must not lose it.
        read.model(found).save(model)
        result = summary(found, read, virtual)
    say(closing(found, result, model), quiet=quiet)
    if json:
        print(as_json(result))
    if plot is not None and found.history:  # an interrupt may come before the first iteration
        plot_convergence(found, file=plot)
    if write.error is not None:
        raise InputError(f"{log}: {write.error.strerror}; the model was saved")
    if found.stopped_by == "interrupt":
        raise typer.Exit(INTERRUPTED)


@contextmanager
def stopping() -> Iterator[None]:
    """The first Ctrl-C ends training, the next one the program."""
    from sparsecrf.progress import say

    before = signal.getsignal(signal.SIGINT)

    def stop(*_: object) -> None:
        say("\nstopping, and saving what there is; once more to give up")
        signal.signal(signal.SIGINT, signal.default_int_handler)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
