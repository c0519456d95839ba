"""`sparsecrf eval`: scores of predicted labels. The report is the command's data: it goes to standard output."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from math import inf
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsecrf.chunks import Scheme
from sparsecrf.cli.options import Encoding, Ragged

if TYPE_CHECKING:
    from rich.table import Table

    from sparsecrf.metrics import ChunkScore, Evaluation

_SCORES = ("precision", "recall", "F1", "gold", "predicted", "correct")
_MOST_LABELS = 50  # in a table


def evaluate(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Column file; - is standard input.")],
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Label FILE with this model first."),
    ] = None,
    scheme: Annotated[
        Scheme,
        typer.Option(
            help="How labels encode chunks. auto: as conlleval, if they look like chunks at all; "
            "conlleval and iob1 give impossible labels a meaning, iob2 and iobes leave them out. grobid: I-<x> begins "
            "a field, <x> goes on; runs: every run of equal labels is a field."
        ),
    ] = Scheme.AUTO,
    ragged: Ragged = False,
    encoding: Encoding = None,
    confusion: Annotated[int, typer.Option(min=0, metavar="N", help="Show the N most frequent confusions.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
) -> None:
    """Score predicted labels: errors by token and sequence; precision, recall and F1 of chunks, as conlleval has them.

    The last two columns of FILE are the gold and the predicted label; with -m the last column is the gold label.
    """
    from rich.console import Console

    from sparsecrf import InputError
    from sparsecrf.files.text import name_of

    notes = Console(stderr=True, highlight=False, markup=False, emoji=False)
    with notes.status(f"Evaluating {name_of(file)} ..."):
        evaluation = _evaluate(file, model, scheme, ragged=ragged, encoding=encoding)
    if model is None and not _columns_share_labels(evaluation):
        gold, predicted = next(iter(evaluation.confusion))
        raise InputError(
            f"{name_of(file)}: expected gold and predicted labels in the last two columns, found columns without a "
            f"common label ({gold!r} and {predicted!r} in the first line). If the file has no predicted labels yet, "
            "-m MODEL predicts them"
        )
    if as_json:
        typer.echo(json.dumps(_as_json(evaluation, confusion)))
    else:
        _print_report(evaluation, confusion)


def _evaluate(file: str, model: str | None, scheme: Scheme, **reading: Any) -> Evaluation:
    """`reading`: ragged, encoding."""
    from sparsecrf import InputError
    from sparsecrf.files.text import name_of
    from sparsecrf.metrics import Evaluation

    evaluation, name = Evaluation(scheme), name_of(file)
    for gold, predicted in _label_sequences(file, model, **reading):
        try:
            evaluation.add(gold, predicted)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
    if not evaluation.tokens:
        raise InputError(f"{name}: expected at least one line with labels, found none")
    return evaluation


def _label_sequences(
    file: str, model: str | None, *, ragged: bool = False, encoding: str | None = None
) -> Iterator[tuple[list[str], list[str]]]:
    """Gold and predicted labels, sequence by sequence."""
    from sparsecrf.files.charset import UTF8, Charset, decoded
    from sparsecrf.files.columns import read_columns

    if model is not None:
        yield from _predicted(file, model, ragged=ragged, encoding=encoding)
        return
    with decoded(file, Charset(encoding or UTF8, "--encoding")) as source:
        yield from _last_two(file, read_columns(source, ragged=ragged))


def _last_two(file: str, sequences: Iterable[list[list[str]]]) -> Iterator[tuple[list[str], list[str]]]:
    """Gold and predicted labels, the last two columns."""
    from sparsecrf import InputError
    from sparsecrf.files.text import name_of

    for rows in sequences:
        if _is_header(rows[0]):
            raise InputError(
                f"{name_of(file)}: expected one labelling a sequence, found a header of label --nbest or --score: "
                f"{' '.join(rows[0])}"
            )
        if (fewest := min(map(len, rows))) < 2:
            meaning = "the last two: gold and predicted label; -m MODEL predicts them if there are none"
            raise InputError(f"{name_of(file)}: expected at least 2 columns ({meaning}), found {fewest}")
        yield [row[-2] for row in rows], [row[-1] for row in rows]


def _is_header(row: list[str]) -> bool:
    """Whether a line is `# rank probability score`, as `label` writes it before a labelling."""
    try:
        return len(row) == 4 and row[0] == "#" and int(row[1]) >= 0 and 0 <= float(row[2]) <= 1 and float(row[3]) < inf
    except ValueError:
        return False


def _predicted(file: str, model: str, **reading: Any) -> Iterator[tuple[list[str], list[str]]]:
    """Gold and predicted labels of a file that the model labels."""
    from sparsecrf import Model
    from sparsecrf.model.predict import predicted

    for _, sequences in predicted(Model.load(model), file, **reading):
        for rows in sequences:
            yield [row[-2] for row in rows], [row[-1] for row in rows]


def _columns_share_labels(evaluation: Evaluation) -> bool:
    return not {y for y, _ in evaluation.confusion}.isdisjoint(z for _, z in evaluation.confusion)


def _as_json(evaluation: Evaluation, n_confusions: int) -> dict[str, Any]:
    found = evaluation.as_dict()
    if n_confusions:
        rows = evaluation.confusions(n_confusions)
        found["confusion"] = [{"gold": y, "predicted": z, "tokens": count} for y, z, count in rows]
    return found


def _print_report(evaluation: Evaluation, n_confusions: int) -> None:
    from rich.console import Console

    # Types and labels may look like markup.
    console = Console(highlight=False, markup=False, emoji=False)
    console.print(_errors(evaluation))
    if (chunks := evaluation.chunks) is not None:
        console.print(_chunks(evaluation, chunks))
    else:
        console.print(_labels(evaluation))
    if n_confusions:
        console.print(_confusions(evaluation, n_confusions))


def _table(title: str, n_text: int, *columns: str) -> Table:
    """A table whose first `n_text` columns are text and whose others are numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", header_style="dim", box=SIMPLE_HEAD)
    for k, name in enumerate(columns):
        table.add_column(name, justify="left" if k < n_text else "right", overflow="fold", no_wrap=k >= n_text)
    return table


def _errors(evaluation: Evaluation) -> Table:
    table = _table("Errors", 1, "", "all", "wrong", "error")
    counts = {
        "tokens": (evaluation.tokens, evaluation.wrong_tokens, evaluation.token_error),
        "sequences": (evaluation.sequences, evaluation.wrong_sequences, evaluation.sequence_error),
    }
    for name, (everything, wrong, error) in counts.items():
        table.add_row(name, f"{everything:,}", f"{wrong:,}", f"{error:.2f} %")
    return table


def _chunks(evaluation: Evaluation, overall: ChunkScore) -> Table:
    """One line a type and one for all, as conlleval prints them."""
    table = _table(f"Chunks, read as {evaluation.scheme.value}", 1, "type", *_SCORES)
    for name, score in evaluation.types.items():
        table.add_row(name or "(no type)", *_row(score))
    table.add_section()
    table.add_row("all", *_row(overall), style="bold")
    return table


def _labels(evaluation: Evaluation) -> Table:
    """One line a label, the most frequent ones first where there are many."""
    table = _table("Labels, by tokens", 1, "label", *_SCORES)
    scores = evaluation.labels
    shown = scores if len(scores) <= _MOST_LABELS else sorted(scores, key=lambda y: -scores[y].gold)[:_MOST_LABELS]
    for name in shown:
        table.add_row(name, *_row(scores[name]))
    left = len(scores) - len(shown)
    more = f"{left:,} rarer labels are not shown. " if left else ""
    table.caption, table.caption_justify = f"{more}--scheme runs scores each run of equal labels as one field.", "left"
    return table


def _row(score: ChunkScore) -> list[str]:
    """Of _SCORES."""
    rates = [f"{score.precision:.2f} %", f"{score.recall:.2f} %", f"{score.f1:.2f}"]
    return rates + [f"{count:,}" for count in (score.gold, score.predicted, score.correct)]


def _confusions(evaluation: Evaluation, n: int) -> Table:
    wrong = evaluation.wrong_tokens
    table = _table("Most frequent confusions", 2, "gold", "predicted", "tokens", "of all errors")
    for gold, predicted, count in evaluation.confusions(n):
        table.add_row(gold, predicted, f"{count:,}", f"{100 * count / wrong:.2f} %")
    return table
