"""Formats that are read in Python. Sequences are records, which can be written back with other labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, ClassVar, NamedTuple

from sparsecrf._core import Corpus, Encoder, InputError
from sparsecrf.encoding.formats.base import Format, Labelled, Layout
from sparsecrf.encoding.presets import preset
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.vocabulary import Vocabulary, Words
from sparsecrf.files.text import PIECE_BYTES, Piece, Source, name_of, not_decoded, pieces, whole_lines


class FoundSpan(NamedTuple):
    """A chunk of tokens start to end - 1."""

    start: int
    end: int
    type: str
    probability: float | None  #: None if not requested


class Answer(NamedTuple):
    """A model's labels for a record."""

    labels: list[str]
    probabilities: list[float] | None = None  #: probability of each label; None if not requested
    spans: Sequence[FoundSpan] = ()  #: for records with `has_spans`


class Record(ABC):
    """One sequence of a file."""

    line: int  #: number of its first line in the file
    rows: list[list[str]]  #: the columns of each token
    labels: list[str | None] | None = None  #: None means no labels; None in the list means an unknown label
    has_spans: bool = False  #: whether an answer is written as spans

    @abstractmethod
    def filled(self, answer: Answer) -> str:
        """The record with these labels, as text for a file, including the end of the line."""


class Records(Format):
    """A format of records. Subclasses implement `records`, which reads records, and `text`, which writes a new
    record."""

    takes_template = True
    one_line: ClassVar[bool] = False  #: whether each line is a sequence; if not, a blank line ends a sequence
    default_features: ClassVar[str] = "words"  #: the default ready-made template
    #: Name and label field for `Model.label_records`, if the core can label plain files in this format.
    core: tuple[str, str] | None = None

    @abstractmethod
    def records(self, piece: Piece, source: str, labelled: bool) -> Iterator[Record]:
        """The sequences of a piece of a file, called `source` in messages. If not `labelled`, labels are left out."""

    @abstractmethod
    def text(self, rows: list[list[str]], labels: list[str]) -> str:
        """The text of a sequence in this format."""

    def template_for(self, template: Template | None, n_observed: int) -> Template:
        if template is not None:
            return template
        return Template(preset(self.default_features), source=f"features {self.default_features!r}")

    def pieces(self, source: Source, size: int = PIECE_BYTES, *, inside: bool = False) -> Iterator[Piece]:
        return pieces(source, size, whole_lines) if self.one_line else super().pieces(source, size)

    def fit_columns(self, record: Record, n_columns: int, source: str) -> None:
        """Adapt the rows of a record to a model that was trained with `n_columns` columns; raise an error if they
        cannot fit."""

    def sequences(self, piece: Piece) -> Iterator[Piece]:
        if not self.one_line:
            yield from super().sequences(piece)
            return
        for number, line in enumerate(piece.data.split(b"\n"), piece.line):
            if line.strip():
                yield Piece(line + b"\n", number)

    def width(self, piece: Piece, source: str) -> int:
        first = next((record.rows[0] for record in self.records(piece, source, False) if record.rows), None)
        return 0 if first is None else len(first) + 1

    def encoder(self, *arguments: Any, **options: Any) -> RecordEncoder:
        return RecordEncoder(*arguments, **options)

    def add(self, encoder: RecordEncoder, piece: Piece, source: str, layout: Layout) -> Layout:
        template = self.template_for(layout.template, 1)
        layout = layout._replace(template=template)
        for record in self._with_labels(piece, source):
            n_columns = len(record.rows[0]) + 1
            if layout.n_columns not in (0, n_columns):
                where = f"{source}, line {record.line}"
                raise InputError(f"{where}: expected {layout.n_columns - 1} columns per token, found {n_columns - 1}")
            encoder.add(record, template, source)
            layout = layout._replace(n_columns=n_columns)
        return layout

    def first_column(self, piece: Piece, source: str) -> Iterator[str]:
        return (row[0] for record in self.records(piece, source, True) for row in record.rows)

    def _with_labels(self, piece: Piece, source: str) -> Iterator[Record]:
        """The nonempty sequences, all of which must have labels."""
        for record in self.records(piece, source, True):
            if not record.rows:
                continue
            if record.labels is None:
                raise InputError(
                    f"{source}, line {record.line}: expected labels, found none (to predict labels, use "
                    "`sparsecrf label`)"
                )
            yield record

    def read_rows(self, source: Source, *, ragged: bool = False) -> Iterator[Labelled]:
        name = name_of(source)
        for record in self.labelled(source):
            yield record.rows, [_known(label, record, name) for label in record.labels or ()]

    def labelled(self, source: Source) -> Iterator[Record]:
        """The nonempty sequences of a file, all of which must have labels."""
        return chain.from_iterable(self._with_labels(piece, name_of(source)) for piece in self.pieces(source))

    def labels(self, source: Source, *, ragged: bool = False) -> Iterator[Sequence[str | None]]:
        return (record.labels or () for record in self.labelled(source))

    def write_rows(self, sequences: Iterable[Labelled], source: str) -> Iterator[str]:
        for i, (rows, labels) in enumerate(sequences):
            try:
                yield self.text(rows, labels)
            except InputError as error:
                raise InputError(f"{source}, sequence {i}: {error}") from None


def _known(label: str | None, record: Record, source: str) -> str:
    if label is None:
        raise InputError(f"{source}, the sequence at line {record.line}: expected a label for every token, found none")
    return label


class RecordEncoder:
    """Adds records to a corpus, as the core's TextEncoder does for text. It takes the options of `Format.encoder`."""

    def __init__(
        self, vocabulary: Vocabulary, grow: bool, missing: str, words: Words | None, threads: int, label_sets: str
    ) -> None:
        self.vocabulary, self.grow, self.missing, self.words = vocabulary, grow, missing, words
        self.threads, self.label_sets = threads, label_sets
        self.n_sequences = self.n_tokens = 0  #: counted since the last corpus was built
        self._encoder: Encoder | None = None  # created with the template of the first record

    def add(self, record: Record, template: Template, source: str) -> None:
        if self._encoder is None:
            self._encoder = self.vocabulary.encoder(
                grow=self.grow, template=template, words=self.words, threads=self.threads
            )
        try:
            self.n_tokens += self._encoder.add(record.rows, [self._label(name) for name in record.labels or ()])
        except InputError as error:
            raise InputError(f"{source}, line {record.line}: {error}") from None
        self.n_sequences += 1

    def _label(self, text: str | None) -> str | frozenset[str] | None:
        """The label or label set; None if it is missing, or if it is (or contains) an unknown label and the vocabulary
        does not grow."""
        if not text or text == self.missing:
            return None
        names = text.split(self.label_sets) if self.label_sets else [text]
        if len(names) > 1 and ("" in names or self.missing in names):
            raise InputError(f"expected labels on both sides of {self.label_sets!r}, found {text!r:.80}")
        if not self.grow and any(self.vocabulary.labels.find(name) is None for name in names):
            return None
        return frozenset(names) if len(names) > 1 else names[0]

    def build(self) -> Corpus:
        assert self._encoder is not None
        self.n_sequences = self.n_tokens = 0
        return self._encoder.build()


def text_lines(piece: Piece, source: str) -> list[str]:
    """The lines of a piece, which must be UTF-8."""
    try:
        text = piece.data.decode()
    except UnicodeDecodeError as error:
        raise not_decoded(error, piece, source, "text in UTF-8") from None
    if "\0" in text:
        line = piece.line + text.count("\n", 0, text.index("\0"))
        raise InputError(f"{source}, line {line}: expected text, found a NUL byte")
    lines = text.split("\n")[: -1 if text.endswith("\n") else None]
    if piece.line == 1 and lines:
        lines[0] = lines[0].removeprefix("\ufeff")
    return [line.removesuffix("\r") for line in lines]


def read_records(format: Records, source: Source) -> Iterator[tuple[list[Any], list[Any]]]:
    """The tokens and labels of the sequences of a file, as `CRF.fit` takes them. Tokens of one column are text."""
    for record in format.labelled(source):
        tokens = [row[0] for row in record.rows] if len(record.rows[0]) == 1 else record.rows
        yield tokens, list(record.labels or ())
