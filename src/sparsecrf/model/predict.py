"""Labels files that contain gold labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from sparsecrf._core import InputError, parse_crfsuite
from sparsecrf.encoding.formats import Format, Records
from sparsecrf.encoding.unknown_labels import UNCERTAIN, certain, listed
from sparsecrf.files.charset import Charset
from sparsecrf.files.columns import CELL
from sparsecrf.files.text import Piece, Source, name_of
from sparsecrf.metrics import Evaluation
from sparsecrf.model import Model
from sparsecrf.model.format import charset_for, format_for, with_hint


class Predicted(NamedTuple):
    """A sequence of a file."""

    tokens: list[Any]  #: in the form that Model.encode accepts
    gold: list[str | None]  #: None if it is missing or a set
    labels: list[str]  #: labels predicted by the model


def predicted(
    model: Model, source: Source, *, format: str | None = None, ragged: bool = False, encoding: str | None = None
) -> Iterator[Predicted]:
    """Label the sequences of a file with gold labels.

    By default, the file name determines `format` or, if it does not, the training data do; `encoding` and the marks of
    uncertain labels are the same as in the training data. Raises InputError if the data do not fit the model. With
    `ragged`, lines may differ in their number of columns.
    """
    of, charset = format_for(model, source, format), charset_for(model, encoding)
    of.check_columns(ragged, charset.is_bytes, "--")
    if isinstance(of, Records):
        answer = _of_records(model, of, name_of(source), charset)
    elif of.takes_template:
        answer = _of_columns(model, of, name_of(source), charset, ragged)
    else:
        answer = _of_items(model, name_of(source), charset)
    missing, label_sets = (str(model.training.get(name, "")) for name in UNCERTAIN)
    return (
        found._replace(gold=[certain(label, missing, label_sets) for label in found.gold])
        for found in _of_pieces(of, source, answer)
    )


def unknown_gold(evaluation: Evaluation, known: Sequence[str]) -> str | None:
    """A warning about gold labels that are not among the model's `known` ones; None if all are known."""
    counts = Counter[str]()
    for (gold, _), count in evaluation.confusion.items():
        counts[gold] += count
    for label in known:
        del counts[label]
    if not counts:
        return None
    n, text = counts.total(), "have gold labels that are not in the model and count as wrong"
    question = "; was the model trained for this task?" if 2 * n > evaluation.tokens else ""
    return f"{n:,} of {evaluation.tokens:,} tokens {text}: {listed(counts)}{question}"


#: Labels the sequences of a piece of a file.
_Answer: TypeAlias = Callable[[Piece], Iterator[Predicted]]


def _of_pieces(format: Format, source: Source, answer: _Answer) -> Iterator[Predicted]:
    for piece in format.pieces(source):
        try:
            yield from answer(piece)
        except InputError as error:
            raise with_hint(error, format, piece) from None


def _of_records(model: Model, format: Records, name: str, charset: Charset) -> _Answer:
    from sparsecrf.model.record_labeller import RecordLabeller

    labeller = RecordLabeller(model, format, name)

    def answer(piece: Piece) -> Iterator[Predicted]:
        records = [r for r in format.records(charset.decoded(piece, name), name, True) if r.rows]
        for record, answer in zip(records, labeller.answers(records), strict=True):
            if record.labels is None:
                raise InputError(f"{name}, line {record.line}: expected gold labels, found none")
            yield Predicted(record.rows, list(record.labels), answer.labels)

    return answer


def _of_items(model: Model, name: str, charset: Charset) -> _Answer:
    """Label files in CRFsuite's format."""

    def answer(piece: Piece) -> Iterator[Predicted]:
        data = charset.decoded(piece, name).data
        text = model.label_text(data, name, 0, piece.line).decode()
        # Labels may contain spaces, so a tab separates them.
        labelled = [[line.split("\t") for line in rows.split("\n")] for rows in text.split("\n\n")[:-1]]
        for (tokens, _), rows in zip(parse_crfsuite(data, name, piece.line), labelled, strict=True):
            yield Predicted(tokens, [gold for gold, _ in rows], [label for _, label in rows])

    return answer


def _of_columns(model: Model, format: Format, name: str, charset: Charset, ragged: bool) -> _Answer:
    assert model.template is not None
    template, n_columns = model.template, 0

    def answer(piece: Piece) -> Iterator[Predicted]:
        nonlocal n_columns
        if n_columns == 0 and not ragged:
            n_columns = format.width(piece, name)
            needed = max(model.n_columns, template.n_columns)
            if n_columns > 0 and (n_columns <= needed or n_columns > model.n_columns + 1 > 1):
                raise InputError(
                    f"{name}, line {piece.line}: expected {needed + 1} columns, the last with the gold label, "
                    f"found {n_columns}"
                )
        data = charset.decoded(piece, name).data
        labelled = model.label_text(data, name, n_columns, piece.line, bytes=charset.is_bytes, ragged=ragged)
        text = labelled.decode("utf-8", "backslashreplace")
        for rows in ([CELL.findall(line) for line in rows.split("\n")] for rows in text.split("\n\n")[:-1]):
            if ragged:
                _check_gold(rows, template.n_columns, f"{name}, from line {piece.line}")
            yield Predicted([row[:-2] for row in rows], [row[-2] for row in rows], [row[-1] for row in rows])

    return answer


def _check_gold(rows: list[list[str]], needed: int, where: str) -> None:
    """Reject lines that are too short to contain a gold label after the columns that the template needs."""
    for row in rows:
        if len(row) < needed + 2:
            expected = f"at least {needed} columns before the gold label"
            raise InputError(f"{where}: expected {expected}, found {' '.join(row[:-1])!r:.60}")
