"""`sparsecrf path`: models for a range of penalties, and which of them labels other data best."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsecrf.cli.options import INTERRUPTED, Inputs, Rho2, Shown, Solver, Threads, with_groups
from sparsecrf.defaults import N_RHO, RHO2, RHO_MIN_RATIO, SOLVER, TOL

if TYPE_CHECKING:
    from sparsecrf.training import Fit

COLUMNS = ("rho1", "objective", "loss", "kkt", "gap", "active_unigram", "active_bigram", "dev_error", "model")


@dataclass(frozen=True)
class PathOptions:
    """Options that go to `sparsecrf.path.path` as they are, by the same names."""

    n_rho: Annotated[int, typer.Option(metavar="N", min=1, help="How many values of rho1.")] = N_RHO
    rho_min_ratio: Annotated[
        float, typer.Option(metavar="X", min=0, max=1, help="The smallest rho1, relative to the largest.")
    ] = RHO_MIN_RATIO
    rho2: Rho2 = RHO2
    solver: Solver = SOLVER
    tol: Annotated[float, typer.Option(metavar="X", min=0, help="Stop each fit at this relative KKT residual.")] = TOL
    threads: Threads = 0


@with_groups
def path(
    output: Annotated[
        str, typer.Option("--output", "-o", help="Directory for the models and path.tsv.", metavar="DIR")
    ],
    inputs: Inputs,
    fitting: PathOptions,
    shown: Shown,
) -> None:
    """Fit models from the largest useful l1 penalty downwards, each starting from the one before.

    Writes path.tsv, a model for each penalty, and best.safetensors: the one with the smallest error on --dev.
    """
    import numpy as np

    from sparsecrf.cli.files import check_readable, check_solver, check_writable
    from sparsecrf.cli.labelled import read_labelled
    from sparsecrf.files.atomic import write_atomically
    from sparsecrf.path import Path
    from sparsecrf.path import path as fit_path
    from sparsecrf.plots import check_plot, plot_path
    from sparsecrf.progress import progress, say
    from sparsecrf.training.heldout import token_error

    files = [*inputs.data, inputs.dev, inputs.template]
    check_readable(*files)
    check_solver(fitting.solver)
    os.makedirs(output, exist_ok=True)
    if shown.plot is not None:
        check_writable(shown.plot, inputs=files)
        check_plot(shown.plot)
    read = read_labelled(inputs, quiet=shown.quiet)

    fits: list[Fit] = []
    rows: list[dict[str, Any]] = []
    began = time.perf_counter()
    with progress("path", fitting.n_rho, quiet=shown.quiet) as advance:

        def each(k: int, found: Fit) -> None:
            error = None
            if read.dev is not None:
                error = token_error(read.dev, found.numbers, found.w, threads=fitting.threads)
            name = f"model-{k:02d}.safetensors"
            read.model(found).save(os.path.join(output, name))
            fits.append(found)
            rows.append(_row(found, error, name))
            note = "" if error is None else f"  dev error {error:.2f} %"
            advance(1, f"rho1 {found.rho1:.4g}  {len(found.w):,} active{note}")

        interrupted = False
        try:
            fit_path(read.corpus, **asdict(fitting), each=each)
        except KeyboardInterrupt:  # between two fits; during one, it ends with what there is
            if not rows:
                raise
            interrupted = True
    table = "".join("\t".join(map(_cell, row)) + "\n" for row in [COLUMNS, *(row.values() for row in rows)])
    write_atomically(os.path.join(output, "path.tsv"), table.encode())
    best = None
    if read.dev is not None:
        best = min(range(len(rows)), key=lambda k: rows[k]["dev_error"])
        with open(os.path.join(output, rows[best]["model"]), "rb") as file:
            write_atomically(os.path.join(output, "best.safetensors"), file.read())
    say(_closing(rows, best, output, time.perf_counter() - began), quiet=shown.quiet)
    if shown.json:
        print(json.dumps({"path": rows, "best": best, "time_s": time.perf_counter() - began}))
    if shown.plot is not None:
        errors = None if read.dev is None else np.array([row["dev_error"] for row in rows])
        plot_path(Path(fits, errors), file=shown.plot)
    if interrupted or fits[-1].stopped_by == "interrupt":
        raise typer.Exit(INTERRUPTED)


def _row(found: Fit, error: float | None, name: str) -> dict[str, Any]:
    """None for what is not finite: JSON has no such numbers."""
    numbers = (found.rho1, found.objective, found.loss, found.kkt, found.gap)
    finite = (value if isfinite(value) else None for value in numbers)
    values = (*finite, found.n_unigram, len(found.w) - found.n_unigram, error, name)
    return dict(zip(COLUMNS, values, strict=True))


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.10g}" if isinstance(value, float) else str(value)


def _closing(rows: list[dict[str, Any]], best: int | None, output: str, seconds: float) -> str:
    text = f"{output}: {len(rows)} models in {seconds:.1f} s"
    if best is None:
        return text
    row = rows[best]
    active = row["active_unigram"] + row["active_bigram"]
    return f"{text}; best: rho1 {row['rho1']:.4g}, {active:,} active features, dev error {row['dev_error']:.2f} %"
