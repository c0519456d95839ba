"""`sparsecrf path`: fits models for a range of penalties and chooses the best on held-out data."""

from __future__ import annotations

import json
import os
import time
import warnings
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any

import typer

from sparsecrf.__main__ import INTERRUPTED
from sparsecrf.cli.files import check_readable, check_writable
from sparsecrf.cli.options import Inputs, ReportOptions, for_typer
from sparsecrf.cli.train import RunOptions
from sparsecrf.declared import parameter
from sparsecrf.defaults import N_RHO, ORDER, RHO1, RHO2, RHO_MIN_RATIO, SEARCH
from sparsecrf.files.atomic import write_atomically
from sparsecrf.lazy import np
from sparsecrf.options import ModelOptions, number_or, option
from sparsecrf.progress import progress, say
from sparsecrf.tables import counted

if TYPE_CHECKING:
    from sparsecrf.path import Path, Point, Score
    from sparsecrf.shards.dataset import Dataset
    from sparsecrf.training import Fit

_BEST = "best.safetensors"


@dataclass(frozen=True)
class PathOptions(ModelOptions):
    """Options that are passed to `sparsecrf.path.path` unchanged, under the same names."""

    n_rho: int | None = option(
        None, f"Use a grid of N values of rho1 instead of a search (without --dev, {N_RHO} values).", metavar="N", min=1
    )
    rho_min_ratio: float | None = option(
        None,
        f"The smallest rho1 of a grid, relative to the largest. By default, the grid ends at {RHO_MIN_RATIO:g} times "
        f"the largest value, or at {RHO1:g} (the default of train) if that is smaller.",
        metavar="X",
        min=0,
        max=1,
    )
    rho2: Any = option(
        RHO2,
        f"L2 penalty: rho2/2 |w|^2. With {SEARCH}, find the best pair of rho1 and rho2 on --dev.",
        metavar=f"X|{SEARCH}",
        parse=number_or(SEARCH),
    )


@for_typer
def path(
    *,
    output: str = parameter(..., "Directory to write the models and path.tsv to.", "--output", "-o", metavar="DIR"),
    inputs: Inputs,
    fitting: PathOptions,
    reporting: ReportOptions,
    score: str = parameter(
        "auto",
        "Score to optimise on --dev: f1 (of chunks), error (of tokens) or auto, which means f1 if the labels encode "
        "chunks and error otherwise.",
        metavar="auto|f1|error",
    ),
) -> None:
    """Fit models for decreasing L1 penalties, each starting from the previous one, and choose the best on --dev.

    With --dev, rho1 decreases until the score gets worse; then values around the best are tried. Without --dev, or with
    --n-rho or --rho-min-ratio, the values form a grid. With --rho2 search, pairs of rho1 and rho2 around the best are
    tried as well. Writes path.tsv, a model for each penalty, and best.safetensors: the model with the best score on
    --dev or, with --rho2 search, the smallest of the models that are nearly as good. An interrupted run (Ctrl-C,
    SIGTERM) writes the models so far and exits with status 130; the unfinished last model is chosen only if there is no
    other.
    """
    from sparsecrf.cli.reading import read
    from sparsecrf.path import score_of

    _check(output, inputs, fitting, reporting)
    with read(inputs, RunOptions(), threads=fitting.threads, quiet=reporting.quiet) as data:
        unknown = {} if data.dev is None else data.dev.unknown.at
        models = _Models(output, data, score_of(score, data.label_names, unknown), fitting.threads)
        began = time.perf_counter()
        found = _follow(data, fitting, models, quiet=reporting.quiet)
        _tell(found, models, reporting, time.perf_counter() - began)
    if found.interrupted:
        raise typer.Exit(INTERRUPTED)


def _check(output: str, inputs: Inputs, fitting: PathOptions, reporting: ReportOptions) -> None:
    """Check options and files before work begins."""
    from sparsecrf.cli.reading import asked_recipe, given_options, recipe_files
    from sparsecrf.contrib.plots import check_plot
    from sparsecrf.path.following import check_search
    from sparsecrf.training.choices import check_options, declared_choices

    check_readable(*recipe_files(inputs))
    check_options({**vars(fitting), "rho1": RHO1}, declared_choices(Inputs, given_options(inputs)))
    grid = {"n_rho": fitting.n_rho, "rho_min_ratio": fitting.rho_min_ratio}
    check_search(fitting.rho2, inputs.dev is not None, grid)
    recipe, files = asked_recipe(inputs), [*inputs.data, *recipe_files(inputs), inputs.dev]
    check_readable(*files, *recipe.files(resources=False))
    os.makedirs(output, exist_ok=True)
    check_writable(reporting.plot, inputs.save_recipe, inputs=[*files, *recipe.files()])
    if reporting.plot is not None:
        check_plot(reporting.plot)


def _follow(read: Dataset, fitting: PathOptions, models: _Models, *, quiet: bool) -> Path:
    """Follow the path; after Ctrl-C, return the part that is finished."""
    from sparsecrf.path import Path, PathWarning
    from sparsecrf.path import path as fit_path
    from sparsecrf.path.progress import PathProgress
    from sparsecrf.training.choices import options_for

    with progress("path", None, quiet=quiet) as advance, warnings.catch_warnings():
        warnings.simplefilter("ignore", PathWarning)  # the command's own message reports this below
        watch = PathProgress(advance, models.score.name)

        def each(point: Point) -> None:
            models.save(point)
            watch.each(point)

        try:
            options: dict[str, Any] = {
                "each": each,
                "callback": watch.callback,
                "dev": read.dev,
                "error": models.score,
            }
            return fit_path(read.corpus, **options, **options_for(read, asdict(fitting)))
        except KeyboardInterrupt:
            if not models.points:
                raise
    models.write_table()  # the last model may be missing
    points = models.falling()
    errors = None if read.dev is None else np.array([point.error for point in points])
    fits = [point.fit for point in points if point.fit is not None]
    return Path(fits, errors, score=models.score.name, interrupted=True)


@dataclass
class _Models:
    """The models of a path and their rows of path.tsv, written as they become available."""

    folder: str
    read: Dataset
    score: Score
    threads: int
    points: list[Point] = field(default_factory=list)
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)  #: rows of path.tsv, by model number

    def save(self, point: Point) -> None:
        """Write the model of a finished fit."""
        assert point.fit is not None
        if not self.points:  # files of an earlier run would not match these models
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(self.folder, _BEST))
        name = f"model-{point.number:02d}.safetensors"
        row = _row(point.fit, self._scores(point), name)
        self.read.model(point.fit).save(os.path.join(self.folder, name))
        self.rows[point.number] = row
        self.points.append(point)
        self.write_table()

    def _scores(self, point: Point) -> tuple[float | None, float | None]:
        """Token error and chunk F1 on the dev data, in percent."""
        from sparsecrf.path.scores import CHUNKS
        from sparsecrf.training.heldout import wrong_tokens

        dev, found = self.read.dev, point.fit
        if dev is None or point.error is None or found is None:
            return None, None
        if self.score.name != CHUNKS:
            return point.error, None
        best = found.chain(self.threads).viterbi(dev.corpus)[0]
        return wrong_tokens(dev.corpus, best, len(dev.unknown.at)).percent, 100 - point.error

    def falling(self) -> list[Point]:
        return sorted(self.points, key=lambda point: (-point.rho1, point.rho2))

    def table(self) -> list[dict[str, Any]]:
        """The rows, by decreasing rho1, then by increasing rho2."""
        return [self.rows[point.number] for point in self.falling()]

    def write_table(self) -> None:
        table = self.table()
        rows = [list(table[0]), *(list(row.values()) for row in table)]
        text = "".join("\t".join(map(_cell, row)) + "\n" for row in rows)
        write_atomically(os.path.join(self.folder, "path.tsv"), text.encode())

    def write_best(self, best: int) -> None:
        with open(os.path.join(self.folder, self.table()[best]["model"]), "rb") as file:
            write_atomically(os.path.join(self.folder, _BEST), file.read())


def _tell(found: Path, models: _Models, reporting: ReportOptions, seconds: float) -> None:
    """Write the best model, and report the result as text, as JSON and as a plot."""
    from sparsecrf.contrib.plots import plot_path

    if found.best is not None:
        models.write_best(found.best)
    if len(found):
        say(found.text(), quiet=reporting.quiet)
    say(_closing(found, models.folder, seconds), quiet=reporting.quiet)
    if found.advice is not None:
        say(f"warning: {found.advice}")
    if reporting.json:
        choice = {name: getattr(found, name) for name in ("best", "score", "edge", "edge_rho2")}
        print(json.dumps({"path": models.table(), **choice, "warning": found.advice, "time_s": seconds}))
    if reporting.plot is not None:
        plot_path(found, file=reporting.plot)


def _row(found: Fit, scores: tuple[float | None, float | None], name: str) -> dict[str, Any]:
    """The row of path.tsv for a fit, with None for values that are not finite, which JSON cannot express."""
    numbers = {key: getattr(found, key) for key in ("rho1", "objective", "loss", "kkt", "gap")}
    row: dict[str, Any] = {key: value if isfinite(value) else None for key, value in numbers.items()}
    row |= {"active_unigram": found.n_unigram, "active_bigram": len(found.w) - found.n_unigram - found.n_ngram}
    row |= {"dev_error": scores[0], "dev_f1": scores[1], "model": name, "rho2": found.rho2}
    longer = {} if found.order == ORDER else {"active_ngram": found.n_ngram}
    return {**row, **longer, "stopped_by": found.stopped_by}


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)


def _closing(found: Path, output: str, seconds: float) -> str:
    text = f"{output}: {counted(len(found), 'model')} in {seconds:.1f} s"
    if found.best is None or found.scores is None:
        return f"{text}; no best model was chosen, because that requires held-out labelled data (--dev)"
    best = found[found.best]
    score = f"{found.score} {found.scores[found.best]:.2f} % on the dev data"
    weights, file = counted(len(best.w), "nonzero weight"), os.path.join(output, _BEST)
    return f"{text}; best: {found.text_of(found.best)}, {weights}, {score}; saved as {file}"
