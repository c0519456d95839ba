"""`sparsecrf train`: from labelled data to a model file."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsecrf._core import InputError
from sparsecrf.cli.options import (
    Boundary,
    DataFiles,
    Format,
    Json,
    Missing,
    Quiet,
    Rho2,
    Solver,
    Start,
    TemplateFile,
    Threads,
)

if TYPE_CHECKING:
    from sparsecrf.io.encode import Encoded
    from sparsecrf.training import Fit
    from sparsecrf.vocabulary import Vocabulary

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
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Learn a sparse CRF from labelled data and save it.

    Minimises loss + rho1 |w|_1 + rho2/2 |w|^2 over all features that can be formed, and says how close to the optimum
    it came. An interrupted run (Ctrl-C, SIGTERM) saves the best weights so far and exits with status 130.
    """
    from sparsecrf.cli.files import check_readable, check_solver, check_writable, encode, format_of, total_bytes
    from sparsecrf.cli.progress import progress, say
    from sparsecrf.features.template import Template
    from sparsecrf.model import Model
    from sparsecrf.training import fit, weights_in
    from sparsecrf.vocabulary import Vocabulary

    check_readable(*data, dev, init, template)
    check_writable(model, checkpoint, log, inputs=[*data, dev, init, template])
    check_solver(solver, rho1)
    if patience is not None and dev is None:
        raise typer.BadParameter("expected --dev with it, found none", param_hint="--patience")
    if resume and checkpoint is None:
        raise typer.BadParameter("expected --checkpoint with it, found none", param_hint="--resume")
    kind = format_of(data[0], format)
    lines = None if template is None else Template.load(template, boundary)
    warm = None if init is None else Model.load(init)

    began = time.perf_counter()
    vocabulary = Vocabulary(bigrams="bias" if kind == "crfsuite" else Template.conditions_pairs, start=start)
    with progress("reading", total_bytes([*data, *([dev] if dev else [])]), quiet=quiet) as advance:
        encoded = encode(data, kind, vocabulary, lines, advance=advance, grow=True, missing=missing)
        dev_corpus = None
        if dev is not None:
            dev_corpus = encode(
                [dev], kind, vocabulary, encoded.template, advance=advance, n_columns=encoded.n_columns, missing=missing
            ).corpus
    read_s = time.perf_counter() - began
    corpus, virtual = encoded.corpus, virtual_features(encoded, vocabulary)
    say(
        f"{corpus.n_sequences:,} sequences, {corpus.n_tokens:,} tokens, {len(vocabulary.labels):,} labels, "
        f"{len(vocabulary.attributes):,} attributes: {virtual:,} features",
        quiet=quiet,
    )

    signal.signal(signal.SIGINT, _stopping)
    with progress("training", None, quiet=quiet) as advance, Log(log, resume) as write:

        def watch(record: dict[str, Any]) -> None:
            write(record)
            advance(note=_note(record))

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
            dev=dev_corpus,
            patience=patience,
            checkpoint=checkpoint,
            checkpoint_every=checkpoint_every,
            resume=resume,
            seed=seed,
            threads=threads,
            callback=watch,
        )
    # First of all: whoever interrupts once more must not lose it.
    found.model(vocabulary, template=encoded.template, n_columns=max(0, encoded.n_columns - 1)).save(model)
    result = summary(found, encoded, vocabulary, virtual, read_s)
    say(_closing(found, result, model), quiet=quiet)
    if as_json:
        print(json.dumps(result))
    if write.error is not None:
        raise InputError(f"{log}: {write.error.strerror}; the model was saved")
    if found.stopped_by == "interrupt":
        raise typer.Exit(INTERRUPTED)


def _stopping(*_: object) -> None:
    """The first Ctrl-C ends training, the next one the program."""
    from sparsecrf.cli.progress import say

    say("\nstopping, and saving what there is; once more to give up")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    raise KeyboardInterrupt


class Log:
    """A file of JSON objects, one a line, written as they come; None: no file. A resumed run goes on with its file."""

    def __init__(self, path: str | None, resume: bool) -> None:
        self.error: OSError | None = None  # what ended it early
        self._next = 0  # iteration that is not in the file yet
        if path is not None and resume and os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                self._next = 1 + max((json.loads(line)["iter"] for line in file), default=-1)
        self._file = None if path is None else open(path, "a" if self._next else "w", encoding="utf-8")  # noqa: SIM115

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._file.close()

    def __call__(self, record: dict[str, Any]) -> None:
        if self._file is None or record["iter"] < self._next:
            return
        try:
            print(json.dumps(record), file=self._file, flush=True)
        except OSError as error:  # a full disk must not cost the model
            self.error, self._file = error, None


def virtual_features(encoded: Encoded, vocabulary: Vocabulary) -> int:
    """How many features can be formed: labels of unigram attributes, pairs of bigram ones, those of the start too."""
    from sparsecrf._core import Oracle

    Y = len(vocabulary.labels)
    unigram, start, inner = Oracle(encoded.corpus).masses()
    pairs = Y * Y + (Y if vocabulary.start else 0)
    return int((unigram > 0).sum()) * Y + int(((start > 0) | (inner > 0)).sum()) * pairs


def summary(found: Fit, encoded: Encoded, vocabulary: Vocabulary, virtual: int, read_s: float) -> dict[str, Any]:
    """What `--json` prints."""
    from sparsecrf._core import FeatureSet

    last = found.history[-1] if found.history else None
    Y = len(vocabulary.labels)
    n_unigram = int((found.numbers < len(vocabulary.attributes) * Y).sum())
    return {
        "objective": found.objective,
        "loss": found.loss,
        "gap": found.gap,
        "kkt": found.kkt,
        "active_unigram": n_unigram,
        "active_bigram": len(found.numbers) - n_unigram,
        "virtual_features": virtual,
        "observed_features": len(FeatureSet.observed(encoded.corpus)),
        "labels": Y,
        "attributes": len(vocabulary.attributes),
        "sequences": encoded.corpus.n_sequences,
        "tokens": encoded.corpus.n_tokens,
        "iterations": last.iter if last else 0,
        "passes": last.passes if last else 0.0,
        "time_read_s": read_s,
        "time_train_s": last.time_s if last else 0.0,
        "peak_rss_mb": peak_rss_mb(),
        "stopped_by": found.stopped_by,
    }


def peak_rss_mb() -> float | None:
    """Largest memory of the process so far; None where the system does not say."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10


def _note(record: dict[str, Any]) -> str:
    """One iteration for people."""
    active = record["active_unigram"] + record["active_bigram"]
    parts = [f"iteration {record['iter']}", f"objective {record['objective']:,.2f}", f"{active:,} active"]
    if record["kkt"] is not None:
        parts.append(f"kkt {record['kkt']:.1e}")
    if record["dev_error"] is not None:
        parts.append(f"dev error {record['dev_error']:.2f} %")
    return "  ".join(parts)


REASONS = {
    "tol": "the KKT residual is small enough",
    "gap": "the gap is small enough",
    "max_iter": "the iterations are used up",
    "time_limit": "the time is used up",
    "dev": "the dev error no longer improves",
    "interrupt": "interrupted",
    "precision": "no step improves the objective any more",
}


def _distance(found: Fit) -> str:
    """What is known of the distance to the optimum."""
    if found.gap > 0.1 * abs(found.objective):
        return "a certificate of how far that is from the optimum costs more iterations: --gap 0.01"
    return f"the optimum is at most {found.gap:.3g} below"


def _closing(found: Fit, result: dict[str, Any], model: str) -> str:
    active = result["active_unigram"] + result["active_bigram"]
    iterations = "1 iteration" if result["iterations"] == 1 else f"{result['iterations']} iterations"
    memory = "" if result["peak_rss_mb"] is None else f", {result['peak_rss_mb']:.0f} MB"
    return (
        f"{model}: objective {found.objective:,.3f} ({_distance(found)}), kkt {found.kkt:.1e}, "
        f"{active:,} active features ({result['active_unigram']:,} unigram, {result['active_bigram']:,} bigram)\n"
        f"{iterations} in {result['time_train_s']:.1f} s after {result['time_read_s']:.1f} s of "
        f"reading{memory}; stopped: {REASONS[found.stopped_by]}"
    )
