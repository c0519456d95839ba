"""`sparsecrf eval`: scores predicted labels. The report is the command's result, so it goes to standard output."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, zip_longest
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

import typer

from sparsecrf._core import InputError
from sparsecrf.chunks import Scheme
from sparsecrf.cli.options import LABEL_SETS, MISSING_LABEL, for_typer
from sparsecrf.compatibility import OptionError
from sparsecrf.declared import ENCODING, FORMAT, RAGGED, parameter
from sparsecrf.encoding.formats import Format, Records, format_named, format_of
from sparsecrf.files.charset import UTF8, Charset, decoded
from sparsecrf.files.columns import read_columns
from sparsecrf.files.text import name_of
from sparsecrf.metrics import COLUMNS, ChunkScore, Evaluation
from sparsecrf.model import Model
from sparsecrf.progress import say
from sparsecrf.tables import counted

if TYPE_CHECKING:
    from rich.table import Table

    from sparsecrf.cli.remarks import SeenDocuments

_Labels: TypeAlias = Sequence[str | None]
_Pair: TypeAlias = tuple[_Labels, Sequence[str]]  # gold labels (None if unknown) and predicted labels
_MOST_LABELS = 50  # maximum number of labels in a table
_NO_LIMIT = 1 << 16  # maximum width of a table; wider than any terminal, so that labels and numbers are not cut off


@for_typer
def evaluate(
    file: str = parameter(..., "Labelled data; - is standard input.", metavar="FILE"),
    model: str | None = parameter(None, "Label FILE with this model first.", "--model", "-m"),
    gold: str | None = parameter(
        None, "The same data with gold labels, if FILE contains only predicted labels.", metavar="FILE"
    ),
    scheme: Scheme = parameter(
        Scheme.AUTO,
        "Chunk encoding of the labels. auto means conlleval if they look like chunks (B-TYPE, I-TYPE, ...), else none. "
        "conlleval and iob1 accept labels at invalid positions; iob2 and iobes ignore them. With grobid, I-<x> begins "
        "a field and <x> continues it; with runs, each run of equal labels is a field; with none, only tokens are "
        "scored.",
    ),
    format: str | None = parameter(None, FORMAT),
    ragged: bool = parameter(False, RAGGED),
    encoding: str | None = parameter(None, ENCODING),
    missing: str | None = parameter(None, MISSING_LABEL),
    label_sets: str | None = parameter(None, LABEL_SETS),
    confusion: int = parameter(0, "Show the N most frequent confusions.", min=0, metavar="N"),
    as_json: bool = parameter(False, "Print one line of JSON.", "--json"),
) -> None:
    """Score predicted labels: token and sequence errors; precision, recall and F1 of chunks, as conlleval does.

    The last two columns of FILE are the gold and the predicted label; with -m the last column is the gold label. In
    other formats a token has one label: use -m to predict, or --gold to compare with another file. Tokens whose gold
    label is missing (--missing) or a set (--label-sets) do not count.
    """
    from rich.console import Console

    from sparsecrf.cli.remarks import SeenDocuments
    from sparsecrf.model.format import format_for
    from sparsecrf.model.predict import unknown_gold

    if model is not None and gold is not None:
        raise typer.BadParameter("cannot be used with -m, which predicts labels for FILE itself", param_hint="--gold")
    notes = Console(stderr=True, highlight=False, markup=False, emoji=False)
    with notes.status(f"Evaluating {name_of(file)} ..."):
        known = None if model is None else Model.load(model)
        documents = None if known is None else SeenDocuments(format_for(known, file, format), name_of(file))
        reading = {"gold": gold, "format": format, "ragged": ragged, "encoding": encoding, "documents": documents}
        evaluation = _evaluate(file, known, scheme, missing or "", label_sets or "", **reading)
    if model is None and gold is None and not _columns_share_labels(evaluation):
        pairs = list(evaluation.confusion)
        first, second = next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])
        raise InputError(
            f"{name_of(file)}: expected gold and predicted labels in the last two columns, found columns with "
            f"few or no labels in common (such as {first!r} and {second!r}). If the file contains no predicted "
            "labels yet, use -m MODEL to predict them"
        )
    if as_json:
        typer.echo(json.dumps(_as_json(evaluation, confusion)))
    else:
        _print_report(evaluation, confusion)
    if known is not None and (remark := unknown_gold(evaluation, known.labels)) is not None:
        say(f"sparsecrf: warning: {name_of(file)}: {remark}")
    if known is not None and evaluation.wrong_tokens == 0 and evaluation.tokens >= _ENOUGH:
        say(
            f"sparsecrf: warning: {name_of(file)}: all {evaluation.tokens:,} gold labels equal the predicted labels; "
            "if `sparsecrf label` wrote the last column, omit -m, which reads that column as gold labels"
        )
    if documents is not None:
        say(documents.remark)


def _evaluate(
    file: str, model: Model | None, scheme: Scheme, missing: str, label_sets: str, **reading: Any
) -> Evaluation:
    """`reading` contains the arguments gold, format, ragged, encoding and documents of `_label_sequences`."""
    from sparsecrf.encoding.unknown_labels import certain

    evaluation, name = Evaluation(scheme), name_of(file)
    for gold, predicted in _label_sequences(file, model, **reading):
        try:
            evaluation.add([certain(label, missing, label_sets) for label in gold], predicted)
        except InputError as error:
            raise InputError(f"{name}: {error}") from None
    if not evaluation.tokens:
        raise InputError(f"{name}: expected at least one line with labels, found none")
    return evaluation


def _label_sequences(
    file: str,
    model: Model | None,
    *,
    gold: str | None = None,
    format: str | None = None,
    ragged: bool = False,
    encoding: str | None = None,
    documents: SeenDocuments | None = None,
) -> Iterator[_Pair]:
    """Gold and predicted labels, sequence by sequence. `documents` inspects the input that a model labels."""
    if model is not None:
        from sparsecrf.model.predict import predicted

        for tokens, right, found in predicted(model, file, format=format, ragged=ragged, encoding=encoding):
            if documents is not None:
                documents.look(tokens)
            yield right, found
        return
    charset = Charset(encoding or UTF8, "--encoding")
    of = format_of(file) if format is None else format_named(format, "--format")
    of.check_columns(ragged, charset.is_bytes, "--")
    with decoded(file, charset) as source:
        if gold is not None:
            with decoded(gold, charset) as gold_source:
                place = partial(_place, of, charset, file)
                labels = of.labels(gold_source, ragged=ragged), of.labels(source, ragged=ragged)
                yield from _in_step(*labels, gold, file, place)
        elif of.has_columns:
            yield from _last_two(file, read_columns(source, ragged=ragged))
        else:
            raise OptionError(
                f"--gold: expected a file with gold labels or -m MODEL for {of.title} files, found neither"
            )


def _in_step(
    gold: Iterator[_Labels], predicted: Iterator[_Labels], gold_file: str, file: str, place: Callable[[int], str]
) -> Iterator[_Pair]:
    """Pair the gold and the predicted labels of the same sequences, from two files. `place` describes a sequence of
    `file`."""
    for i, (right, found) in enumerate(zip_longest(gold, predicted)):
        if right is None or found is None:
            raise InputError(
                f"{name_of(file)}: expected as many sequences as in {name_of(gold_file)}, found "
                f"{'more' if right is None else f'only {i}'}"
            )
        if len(right) != len(found):
            expected = f"{counted(len(right), 'token')}, as in {name_of(gold_file)}"
            raise InputError(f"{place(i)}: expected {expected}, found {len(found)}")
        labels = [label for label in found if label is not None]
        if len(labels) < len(found):
            raise InputError(
                f"{place(i)}: expected a predicted label for every token, found {counted(len(labels), 'label')} for "
                f"{counted(len(found), 'token')}"
            )
        yield right, labels


def _place(of: Format, charset: Charset, file: str, i: int) -> str:
    """The name of a file, with the line of sequence i (unless the file is a pipe) and its number, counted from 1."""
    where = name_of(file)
    if os.path.isfile(file):
        with decoded(file, charset) as source:
            if isinstance(of, Records):
                lines = (record.line for record in of.labelled(source))
            else:
                lines = (sequence.line for piece in of.pieces(source) for sequence in of.sequences(piece))
            where += f", line {next(islice(lines, i, None))}"
    return f"{where}, sequence {i + 1}"


def _last_two(file: str, sequences: Iterable[list[list[str]]]) -> Iterator[_Pair]:
    """Gold and predicted labels, which are the last two columns."""
    for rows in sequences:
        if _is_header(rows[0]):
            raise InputError(
                f"{name_of(file)}: expected one label sequence per sentence, found a header written by "
                f"label --nbest or --score: {' '.join(rows[0])}"
            )
        if (fewest := min(map(len, rows))) < 2:
            meaning = "the last two are the gold and the predicted label; use -m MODEL to predict labels"
            raise InputError(f"{name_of(file)}: expected at least 2 columns ({meaning}), found {fewest}")
        yield [row[-2] for row in rows], [row[-1] for row in rows]


def _is_header(row: list[str]) -> bool:
    """Whether a row is the line `# rank probability score` that `label` writes before a label sequence."""
    try:
        return len(row) == 4 and row[0] == "#" and int(row[1]) >= 0 and 0 <= float(row[2]) <= 1 and float(row[3]) < inf
    except ValueError:
        return False


_RARE = 0.01
_ENOUGH = 1000  # tokens
_SEVERAL = 4  # labels


def _columns_share_labels(evaluation: Evaluation) -> bool:
    """Whether the two columns share enough labels to be gold and predicted labels. A column of words shares almost none
    with predicted labels (the word O may occur), and a column of tags shares at most O."""
    gold, predicted = ({pair[k] for pair in evaluation.confusion} for k in (0, 1))
    common = gold & predicted
    if len(common) <= 1 and min(len(gold), len(predicted)) >= _SEVERAL:
        return False
    return sum(count for (y, _), count in evaluation.confusion.items() if y in common) > _RARE * evaluation.tokens


def _as_json(evaluation: Evaluation, n_confusions: int) -> dict[str, Any]:
    found = evaluation.as_dict()
    if n_confusions:
        rows = evaluation.confusions(n_confusions)
        found["confusion"] = [{"gold": y, "predicted": z, "tokens": count} for y, z, count in rows]
    return found


def _print_report(evaluation: Evaluation, n_confusions: int) -> None:
    from rich.console import Console

    # Types and labels may look like markup, so markup is turned off.
    console = Console(width=_NO_LIMIT, highlight=False, markup=False, emoji=False)
    console.print(_errors(evaluation))
    if (chunks := evaluation.chunks) is not None:
        console.print(_chunks(evaluation, chunks))
    else:
        console.print(_labels(evaluation))
    if n_confusions:
        console.print(_confusions(evaluation, n_confusions))


def _table(title: str, n_text: int, *columns: str) -> Table:
    """A table whose first `n_text` columns are text and whose other columns are numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", header_style="dim", box=SIMPLE_HEAD)
    for k, name in enumerate(columns):
        table.add_column(name, justify="left" if k < n_text else "right")
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
    """The table with one line per type and a line for the total, as conlleval prints them."""
    table = _table(f"Chunks, read as {evaluation.scheme.value}", 1, "type", *COLUMNS)
    for name, score in evaluation.types.items():
        table.add_row(name or "(no type)", *_row(score))
    table.add_section()
    table.add_row("all", *_row(overall), style="bold")
    return table


def _labels(evaluation: Evaluation) -> Table:
    """The table with one line per label, the most frequent first if there are many labels."""
    table = _table("Labels, by tokens", 1, "label", *COLUMNS)
    scores = evaluation.labels
    shown = scores if len(scores) <= _MOST_LABELS else sorted(scores, key=lambda y: -scores[y].gold)[:_MOST_LABELS]
    for name in shown:
        table.add_row(name, *_row(scores[name]))
    left = len(scores) - len(shown)
    more = f"{left:,} rarer labels are not shown. " if left else ""
    table.caption, table.caption_justify = f"{more}--scheme runs scores each run of equal labels as one field.", "left"
    return table


def _row(score: ChunkScore) -> list[str]:
    """The values of `COLUMNS`."""
    rates = [f"{score.precision:.2f} %", f"{score.recall:.2f} %", f"{score.f1:.2f}"]
    return rates + [f"{count:,}" for count in (score.gold, score.predicted, score.correct)]


def _confusions(evaluation: Evaluation, n: int) -> Table:
    wrong = evaluation.wrong_tokens
    table = _table("Most frequent confusions", 2, "gold", "predicted", "tokens", "of all errors")
    for gold, predicted, count in evaluation.confusions(n):
        table.add_row(gold, predicted, f"{count:,}", f"{100 * count / wrong:.2f} %")
    return table
