"""`sparsecrf train`: trains a model on labelled data and writes its file."""

from __future__ import annotations

import os
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import typer

from sparsecrf.__main__ import INTERRUPTED
from sparsecrf._core import InputError
from sparsecrf.cli.files import check_readable, check_writable
from sparsecrf.cli.long_runs import shown_warnings
from sparsecrf.cli.options import Inputs, ReportOptions, for_typer
from sparsecrf.compatibility import Capabilities, Named, OptionError, Trait, has
from sparsecrf.declared import parameter
from sparsecrf.defaults import AUTO
from sparsecrf.model import Model
from sparsecrf.options import LONG_RUNS, PRIOR, FitOptions, option
from sparsecrf.progress import note, say

if TYPE_CHECKING:
    from sparsecrf.cli.watched_run import WatchedRun
    from sparsecrf.encoding.label_parts import LabelParts
    from sparsecrf.path.auto import Chosen
    from sparsecrf.shards.dataset import Dataset
    from sparsecrf.training import Fit, Weights

_LARGE = "Data larger than memory"


@dataclass(frozen=True)
class RunOptions:
    """Options for storing encoded data, starting from a model, logging and distributed training."""

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
        "Number of tokens per part; by default, one million. In addition to --cache-memory, training needs memory for "
        "the largest part.",
        panel=_LARGE,
        metavar="N",
        min=1,
        capabilities=Capabilities(frozenset({Trait.SEVERAL_SHARDS}), needs={Trait.IN_FOLDER: ""}),
    )
    cache_memory: int | None = option(
        None,
        "Amount of data to keep in memory (0 for none); by default, a quarter of the total memory.",
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


@for_typer
def train(
    *,
    model: str = parameter(..., "The model file to write.", "--model", "-m", metavar="FILE"),
    inputs: Inputs,
    fitting: FitOptions,
    run: RunOptions,
    reporting: ReportOptions,
) -> None:
    """Train a sparse CRF on labelled data and save it.

    Minimises loss + rho1 |w|_1 + rho2/2 |w|^2 over all features that can be formed, and reports the
    remaining distance to the optimum. An interrupted run (Ctrl-C, SIGTERM) saves the best weights so far and exits with
    status 130.
    """
    from sparsecrf.cli import train_report
    from sparsecrf.cli.next_step import ignored_columns, next_step
    from sparsecrf.cli.reading import read
    from sparsecrf.cli.watched_run import WatchedRun
    from sparsecrf.model.joined import check_prior
    from sparsecrf.path.following import prepared
    from sparsecrf.training import fit
    from sparsecrf.training.choices import options_for

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
        options = options_for(labelled, asdict(fitting))
        data, parts = prepared(labelled.shards, options), options["parts"]
        for text in (train_report.unshared(fitting, parts), train_report.size(labelled, data.n_virtual())):
            say(text, quiet=reporting.quiet)
        for remark in train_report.remarks(labelled, inputs.data, inputs.dev):
            say(remark)
        say(ignored_columns(labelled), quiet=reporting.quiet)
        init = _weights(warm, run.init, labelled, parts, quiet=reporting.quiet)
        old = _weights(prior, run.prior, labelled, None, quiet=reporting.quiet)
        with WatchedRun(run.log, fitting, quiet=reporting.quiet) as watched:
            if fitting.rho1 == AUTO:
                chosen = _chosen(labelled, options, watched)
                say(str(chosen), quiet=reporting.quiet)
                options |= chosen.penalties._asdict()
                init = chosen.start if init is None else init
            found = fit(
                data,
                init=init,
                prior=old,
                dev=labelled.dev,
                callback=watched.record,
                heartbeat=watched.beat,
                **options,
            )
            found = watched.ended(found)
        # Save the model first, so that a second interrupt cannot lose it.
        made = labelled.model(found)
        made.save(model)
        on_dev = train_report.on_dev_data(found, labelled, fitting.threads)
        result = train_report.summary(found, labelled, data, read_s, on_dev, fitting.rho1)
    if on_dev is not None:  # --quiet hides progress, not the result
        say(str(on_dev), quiet=reporting.quiet and reporting.json)
    say(train_report.closing(found, result, model, made.n_active), quiet=reporting.quiet)
    if (warning := train_report.empty_model(found, labelled)) is not None:
        say(warning, quiet=reporting.quiet)
    elif found.stopped_by != "interrupt":
        say(train_report.saved_by_small(found, fitting.rho1), quiet=reporting.quiet or reporting.json)
        hint = next_step(labelled, inputs, fitting, is_continued=warm is not None or prior is not None)
        say(hint, quiet=reporting.quiet or reporting.json)
    show(found, result, reporting)
    if watched.log_error is not None:
        raise InputError(f"{run.log}: {watched.log_error.strerror}; the model was saved")
    if found.stopped_by == "interrupt":
        raise typer.Exit(INTERRUPTED)


def check_files(model: str, inputs: Inputs, fitting: FitOptions, run: RunOptions, reporting: ReportOptions) -> None:
    """Reject files that cannot be read or written, before work begins."""
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
    """Reject two outputs that are the same file."""
    written: dict[str, str] = {}
    for name, file in outputs.items():
        if file is None or (os.path.exists(file) and not os.path.isfile(file)):  # a device or a pipe may be shared
            continue
        target = os.path.realpath(file)
        if target in written:
            raise OptionError(
                Named(name, file), " is also the file of ", Named(written[target]), "; give each output its own file"
            )
        written[target] = name


def check_together(inputs: Inputs, fitting: FitOptions, run: RunOptions) -> None:
    """Reject options that cannot be combined."""
    from sparsecrf.cli.reading import given_options, recipe_files
    from sparsecrf.training.choices import check_options, declared_choices

    check_readable(*recipe_files(inputs))
    of_run = declared_choices(RunOptions, vars(run)) + declared_choices(Inputs, given_options(inputs))
    check_options(vars(fitting), of_run)


def _weights(
    model: Model | None, file: str | None, labelled: Dataset, parts: LabelParts | None, *, quiet: bool
) -> Weights | None:
    """The weights of the model of --init or --prior for the features of these data."""
    from sparsecrf.cli.train_report import taken
    from sparsecrf.training import weights_in

    if model is None:
        return None
    found = weights_in(model, labelled.vocabulary, parts)
    say(taken(file or "", model, labelled, found), quiet=quiet)
    return found


def _chosen(labelled: Dataset, options: dict[str, Any], run: WatchedRun) -> Chosen:
    """The penalties that --rho1 auto chooses."""
    from sparsecrf.path.auto import choose_for, score_on_dev
    from sparsecrf.path.progress import PathProgress

    progress = PathProgress(run.advance, score_on_dev(labelled).name)
    return choose_for(labelled, {**options, "callback": lambda record: run.beat(note(record))}, progress.each)


def show(found: Fit, result: dict[str, Any], reporting: ReportOptions) -> None:
    """Write the result as JSON for other programs, and as a plot."""
    from sparsecrf.cli.train_report import as_json
    from sparsecrf.contrib.plots import plot_convergence

    if reporting.json:
        print(as_json(result))
    if reporting.plot is not None and found.history:  # an interrupt may come before the first iteration
        plot_convergence(found, file=reporting.plot)
