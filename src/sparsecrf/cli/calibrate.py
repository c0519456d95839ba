"""`sparsecrf calibrate`: adds thresholds for a guaranteed coverage to a model file."""

from __future__ import annotations

import json

import typer

from sparsecrf.cli.files import check_readable, check_writable
from sparsecrf.cli.options import for_typer
from sparsecrf.declared import ENCODING, FORMAT, QUIET, RAGGED, parameter
from sparsecrf.files.text import name_of
from sparsecrf.model import Model
from sparsecrf.model.calibration import KEY, SEQUENCES, calibration_of
from sparsecrf.model.compact import RECORD
from sparsecrf.progress import progress, say


@for_typer
def calibrate(
    model: str = parameter(..., "The model file.", metavar="MODEL"),
    data: str = parameter(
        ..., "Held-out labelled data that resemble the data to label; - is standard input.", metavar="DATA"
    ),
    output: str | None = parameter(
        None, "Write the calibrated model to this file instead of MODEL.", "--output", "-o", metavar="FILE"
    ),
    format: str | None = parameter(None, FORMAT),
    ragged: bool = parameter(False, RAGGED),
    encoding: str | None = parameter(None, ENCODING),
    as_json: bool = parameter(
        False,
        "Print the number of sentences in each calibration and the share whose best labels are correct.",
        "--json",
    ),
    quiet: bool = parameter(False, QUIET),
) -> None:
    """Calibrate a model, so that `label --coverage` and `predict_set` return sets of answers that contain the right
    answer with the requested probability.

    Weights and predicted labels do not change. The model file is replaced at the end unless you give --output. The
    guarantee holds for sentences drawn like the sentences in DATA, which must not be among the training data. You need
    at least 19 sentences; with a few hundred, the coverage is within a point or two of the requested coverage.
    """
    from sparsecrf.model.calibrating import calibrated
    from sparsecrf.model.predict import predicted

    check_readable(model, data)
    check_writable(output or model, inputs=[data] if output is None else [data, model])
    known = Model.load(model)
    known.check_text()
    labelled = predicted(known, data, format=format, ragged=ragged, encoding=encoding)
    sentences = [(one.tokens, one.gold) for one in labelled]
    with progress("calibrating", len(sentences), quiet=quiet) as advance:
        made = calibrated(known, sentences, name_of(data), lambda: advance(1))
    made.save(output or model, compact=known.training.get(RECORD, {}).get("weights", False))
    found = calibration_of(made.training, SEQUENCES)
    right = found.n - found.missed[0] if found.score[0] == 0 else 0
    say(f"{name_of(output or model)}: calibrated on {found.n:,} sentences", quiet=quiet)
    say(f"the best labels are correct for {100 * right / found.n:.1f} % of them", quiet=quiet)
    say(f"you can request a coverage of up to {found.n / (found.n + 1):.4f}", quiet=quiet)
    if as_json:
        counts = {kind: record["n"] for kind, record in made.training[KEY].items()}
        typer.echo(json.dumps({**counts, "best_right": right / found.n}))
