"""`sparsecrf train`: from labelled data to a model file."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsecrf._core import InputError
from sparsecrf.cli.declared import INTERRUPTED
from sparsecrf.cli.options import Inputs, ReportOptions, with_groups
from sparsecrf.compatibility import Capabilities, Named, OptionError, Trait, has
from sparsecrf.defaults import AUTO
from sparsecrf.options import LONG_RUNS, PRIOR, FitOptions, option

if TYPE_CHECKING:
    from collections.abc import Callable

    from sparsecrf.path.auto import Chosen
    from sparsecrf.progress import Advance
    from sparsecrf.shards.dataset import Dataset
    from sparsecrf.training import Fit, Weights
    from sparsecrf.training.data import TrainingData

_LARGE = "Data larger than memory"


@dataclass(frozen=True)
class RunOptions:
    """Where to store encoded data, what to leave out, what to start from, and where to write the log."""

    cache: str | None = option(
        None,
        "Keep the encoded data in this folder, in parts, so that they need not fit into memory. The folder is "
        "rebuilt when data, template or options change. Supported by the solvers auto, owlqn, lbfgs and fista.",
        panel=_LARGE,
        metavar="FOLDER",
        capabilities=Capabilities(
            frozenset({Trait.SHARDS, Trait.IN_FOLDER}), refuses={Trait.ON_CLUSTER: "its workers keep the data"}
        ),
    )
    shard_tokens: int | None = option(
        None,
        "Tokens per part; by default a million. In addition to --cache-memory, training needs memory for the "
        "largest part.",
        panel=_LARGE,
        metavar="N",
        min=1,
        capabilities=Capabilities(frozenset({Trait.SEVERAL_SHARDS}), needs={Trait.IN_FOLDER: ""}),
    )
    cache_memory: int | None = option(
        None,
        "How much of the data to keep in memory (0 for nothing); by default a quarter of all memory.",
        panel=_LARGE,
        metavar="MB",
        min=0,
        capabilities=Capabilities(needs={Trait.IN_FOLDER: ""}),
    )
    init: str | None = option(
        None,
        "Start from the weights of this model and use its labels and, unless given, its template and start label.",
        panel=LONG_RUNS,
        metavar="MODEL",
    )
    prior: str | None = option(
        None,
        "Use this model as a prior: penalise differences from its weights. Its labels, "
        "template and start label are used as for --init; weights of attributes that do not occur in the data "
        "stay unchanged. Supported by the solvers auto, owlqn, lbfgs and fista.",
        metavar="MODEL",
        capabilities=PRIOR,
    )
    log: str | None = option(
        None, "Write one JSON object per iteration to this file.", panel=LONG_RUNS, metavar="FILE.jsonl"
    )
    dask: str | None = option(
        None,
        "Train on the workers of this Dask scheduler (tcp://...), or on N workers started here (local:N). TRAIN "
        "may then contain patterns and URLs; each file is a partition, and large files are split.",
        panel=LONG_RUNS,
        metavar="ADDRESS|local:N",
        capabilities=has(Trait.SHARDS, Trait.SEVERAL_SHARDS, Trait.ON_CLUSTER),
    )


@with_groups
def train(
    model: Annotated[str, typer.Option("--model", "-m", help="The model file to write.", metavar="FILE")],
    inputs: Inputs,
    fitting: FitOptions,
    run: RunOptions,
    reporting: ReportOptions,
) -> None:
    """Train a sparse CRF on labelled data and save it.

    Minimises loss + rho1 |w|_1 + rho2/2 |w|^2 over all features that can be formed, and reports how close to the
    optimum it came. An interrupted run (Ctrl-C, SIGTERM) saves the best weights so far and exits with status 130.
    """
    from sparsecrf.cli.long_runs import shown_warnings
    from sparsecrf.cli.next_step import ignored_columns, next_step
    from sparsecrf.cli.reading import read
    from sparsecrf.cli.train_report import (
        closing,
        empty_model,
        on_dev_data,
        remarks,
        saved_by_small,
        size,
        summary,
        taken,
    )
    from sparsecrf.model import Model
    from sparsecrf.model.joined import check_prior
    from sparsecrf.progress import say
    from sparsecrf.training import weights_in
    from sparsecrf.training.data import TrainingData

    check_together(inputs, fitting, run)
    check_files(model, inputs, fitting, run, reporting)
    warm, prior = (None if file is None else Model.load(file) for file in (run.init, run.prior))
    if prior is not None:
        check_prior(prior, "--prior")
    began = time.perf_counter()
    reading = read(inputs, run, prior or warm, threads=fitting.threads, quiet=reporting.quiet)
    with shown_warnings(), reading as read_data:
        labelled = replace(read_data, prior=prior)
        read_s = time.perf_counter() - began
        parts = labelled.label_parts(fitting.label_parts, fitting.class_pairs)
        if fitting.label_parts is not None and parts is None:
            say(
                f"--label-parts {fitting.label_parts} has no effect: no part is shared by some but not all labels",
                quiet=reporting.quiet,
            )
        elif fitting.class_pairs and parts is not None and not parts.classes:
            say(
                "--class-pairs has no effect: no first part is shared by some but not all labels", quiet=reporting.quiet
            )
        data = TrainingData(
            labelled.shards,
            observed_only=fitting.observed_only,
            order=fitting.order,
            ngram_attributes=labelled.ngram_attributes(),
            parts=parts,
            threads=fitting.threads,
        )
        say(size(labelled, data.n_virtual()), quiet=reporting.quiet)
        for remark in remarks(labelled, inputs.data):
            say(remark)
        if (ignored := ignored_columns(labelled)) is not None:
            say(ignored, quiet=reporting.quiet)
        init = None if warm is None else weights_in(warm, labelled.vocabulary, parts)
        if warm is not None and init is not None:
            say(taken(run.init or "", warm, labelled, init), quiet=reporting.quiet)
        old = None if prior is None else weights_in(prior, labelled.vocabulary)
        if prior is not None and old is not None:
            say(taken(run.prior or "", prior, labelled, old), quiet=reporting.quiet)
        found, log_error = fit_with_log(data, labelled, fitting, run.log, init, old, quiet=reporting.quiet)
        # Save the model first, so that a second interrupt cannot lose it.
        made = labelled.model(found)
        made.save(model)
        on_dev = on_dev_data(found, labelled, fitting.threads)
        result = summary(found, labelled, data, read_s, on_dev, fitting.rho1)
    if on_dev is not None:  # --quiet hides progress, not the result
        say(str(on_dev), quiet=reporting.quiet and reporting.json)
    say(closing(found, result, model, made.n_active), quiet=reporting.quiet)
    if (warning := empty_model(found, labelled)) is not None:
        say(warning, quiet=reporting.quiet)
    elif found.stopped_by != "interrupt":
        if (saved := saved_by_small(found, fitting.rho1)) is not None:
            say(saved, quiet=reporting.quiet or reporting.json)
        hint = next_step(labelled, inputs, fitting, is_continued=warm is not None or prior is not None)
        say(hint or "", quiet=hint is None or reporting.quiet or reporting.json)
    show(found, result, reporting)
    if log_error is not None:
        raise InputError(f"{run.log}: {log_error.strerror}; the model was saved")
    if found.stopped_by == "interrupt":
        raise typer.Exit(INTERRUPTED)


def check_files(model: str, inputs: Inputs, fitting: FitOptions, run: RunOptions, reporting: ReportOptions) -> None:
    """Raise for files that cannot be read or written, before work begins."""
    from sparsecrf.cli.files import check_readable, check_writable
    from sparsecrf.cli.reading import asked_recipe, recipe_files
    from sparsecrf.contrib.plots import check_plot

    recipe, files = asked_recipe(inputs), [*recipe_files(inputs), inputs.dev, run.init, run.prior]
    check_readable(*(inputs.data if run.dask is None else ()), *files, *recipe.files(resources=False))
    outputs = {"model": model, "checkpoint": fitting.checkpoint, "log": run.log, "plot": reporting.plot}
    outputs["save_recipe"] = inputs.save_recipe
    check_writable(*outputs.values(), inputs=[*inputs.data, *files, *recipe.files()])
    check_distinct(outputs)
    if reporting.plot is not None:
        check_plot(reporting.plot)


def check_distinct(outputs: dict[str, str | None]) -> None:
    """Raise if two outputs are the same file."""
    written: dict[str, str] = {}
    for name, file in outputs.items():
        if file is None or (os.path.exists(file) and not os.path.isfile(file)):  # a device or a pipe may be shared
            continue
        target = os.path.realpath(file)
        if target in written:
            raise OptionError(
                Named(name, file), " is also the file of ", Named(written[target]), "; give each its own file"
            )
        written[target] = name


def check_together(inputs: Inputs, fitting: FitOptions, run: RunOptions) -> None:
    """Raise for options that cannot be combined."""
    from sparsecrf.cli.files import check_readable
    from sparsecrf.cli.reading import given_options, recipe_files
    from sparsecrf.training.choices import check_options, declared_choices

    check_readable(*recipe_files(inputs))
    of_run = declared_choices(RunOptions, vars(run)) + declared_choices(Inputs, given_options(inputs))
    check_options(vars(fitting), of_run)


def fit_with_log(
    data: TrainingData,
    labelled: Dataset,
    fitting: FitOptions,
    log: str | None,
    init: Weights | None,
    prior: Weights | None = None,
    *,
    quiet: bool,
) -> tuple[Fit, OSError | None]:
    """Train on the data, starting from the weights `init` and staying close to the weights `prior`. Also return the
    error that ended the log early, if any; it does not end training."""
    from sparsecrf.cli.long_runs import stopping
    from sparsecrf.cli.train_report import Log
    from sparsecrf.progress import note, progress, say
    from sparsecrf.training import fit
    from sparsecrf.training.choices import options_for

    with (
        stopping() as lost,
        progress("training", None, quiet=quiet) as advance,
        Log(log, fitting.resume and fitting.checkpoint is not None and os.path.exists(fitting.checkpoint)) as write,
    ):

        def watch(record: dict[str, Any]) -> None:
            write(record)
            advance(note=note(record))
            lost.raise_again()

        def beat(doing: str) -> None:
            advance(note=doing)
            lost.raise_again()

        options = options_for(labelled, asdict(fitting))
        if fitting.rho1 == AUTO:
            chosen = _chosen(labelled, options, advance, beat)
            say(str(chosen), quiet=quiet)
            options |= chosen.penalties._asdict()
            init = chosen.start if init is None else init
        found = fit(
            data,
            init=init,
            prior=prior,
            dev=labelled.dev,
            callback=watch,
            heartbeat=beat,
            **options,
        )
        if lost.is_pending:  # an interrupt that came after the last iteration
            found = replace(found, stopped_by="interrupt")
    return found, write.error


def _chosen(labelled: Dataset, options: dict[str, Any], advance: Advance, beat: Callable[[str], None]) -> Chosen:
    """The penalties that --rho1 auto finds."""
    from sparsecrf.path.auto import choose_for, score_on_dev
    from sparsecrf.path.progress import PathProgress
    from sparsecrf.progress import note

    watch = PathProgress(advance, score_on_dev(labelled).name)
    return choose_for(labelled, {**options, "callback": lambda record: beat(note(record))}, watch.each)


def show(found: Fit, result: dict[str, Any], reporting: ReportOptions) -> None:
    """Write the result as JSON for other programs, and as a plot."""
    from sparsecrf.cli.train_report import as_json
    from sparsecrf.contrib.plots import plot_convergence

    if reporting.json:
        print(as_json(result))
    if reporting.plot is not None and found.history:  # an interrupt may come before the first iteration
        plot_convergence(found, file=reporting.plot)
