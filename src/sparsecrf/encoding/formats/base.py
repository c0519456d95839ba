"""The interface for formats of labelled data files. Each format is a subclass in its own file.

The core reads columns and CRFsuite's lines. All other formats are read in Python, by subclasses of `Records`
(`records.py`) that implement two methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple, TypeAlias

from sparsecrf._core import InputError, TextEncoder
from sparsecrf.compatibility import OptionError
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.vocabulary import Vocabulary, Words
from sparsecrf.files.crfsuite import Items
from sparsecrf.files.text import PIECE_BYTES, Piece, Source, pieces

#: A sequence: the columns of each token, and the label of each token.
Labelled: TypeAlias = tuple[list[list[str]], list[str]]


class Layout(NamedTuple):
    """Settings for converting lines to attributes. Settings that are not given are inferred from the first lines."""

    template: Template | None = None  #: None if it is not known yet, or if the files contain attributes
    #: number of columns of each line, including the label; 0 if it is not known yet, or if there are none
    n_columns: int = 0
    ragged: bool = False  #: whether lines may have further columns between the template's columns and the label
    bytes: bool = False  #: whether cells are arbitrary bytes, not text in UTF-8


class Format(ABC):
    """A format of labelled data files. It has no state."""

    name: str  #: name for `--format`, `--from` and `--to`
    title: ClassVar[str]  #: name of these files in error messages
    suffix: ClassVar[str] = ""  #: suffix of file names in this format; "" if there is none
    takes_template: ClassVar[bool] = False  #: whether a template generates attributes; otherwise files contain them
    has_columns: ClassVar[bool] = False  #: whether lines are columns, which may be ragged or contain arbitrary bytes
    token_a_line: ClassVar[bool] = False  #: whether a line contains the columns of a token, with the label last
    skipped: ClassVar[bytes] = b"\n"  #: the text that `label` writes for a skipped sequence
    not_in_labels: ClassVar[str] = " \t\v\f\r\n\0"  #: characters that end a label in these files
    tokenizer: str | None = None  #: tokenizer of running text; None if files contain tokens

    def variant(self, choice: str, option: str) -> Format:
        """The format with a setting, as in `--format NAME:CHOICE`."""
        raise OptionError(f"{option}: expected {self.name} alone, found {self.name}:{choice}")

    def with_tokenizer(self, name: str) -> Format:
        """The format with another tokenizer, one of `TOKENIZERS`, for running text."""
        return self

    def check_template(self, template: object | None, option: str) -> None:
        """Reject a template (or its file) that the format cannot use. `option` is the user's name for the
        template."""
        if template is not None and not self.takes_template:
            raise OptionError(f"{option}: not supported for {self.title} files, which contain attributes")

    def check_vectors(self, vectors: object | None, option: str) -> None:
        """Reject word vectors that the format cannot use."""
        if vectors is not None and not self.takes_template:
            raise OptionError(
                f"{option}: not supported for {self.title} files, which contain attributes instead of words"
            )

    def check_columns(self, ragged: bool, is_bytes: bool, prefix: str = "") -> None:
        """Reject settings that only column files support. `prefix`: the prefix of options in messages."""
        if ragged and not self.has_columns:
            raise OptionError(f"{prefix}ragged: expected column files, found {self.title} files")
        if is_bytes and not self.has_columns:
            raise OptionError(f"{prefix}encoding: expected text for {self.title} files, found bytes")

    def check_labels(self, labels: Iterable[str]) -> None:
        """Reject a label that these files cannot contain."""
        for label in labels:
            if wrong := next((c for c in label if c in self.not_in_labels), None):
                raise InputError(
                    f"label {label!r:.80}: {self.title} files cannot contain {wrong!r} in a label; "
                    "use JSON lines (--format jsonl), or train with other label names"
                )

    def looks_like(self, line: bytes) -> bool | None:
        """Whether a line almost certainly belongs to this format, for messages; None if that is unclear."""
        return None

    def template_for(self, template: Template | None, n_observed: int) -> Template | None:
        """The template for files with `n_observed` columns before the label: `template`, or else the format's
        default."""
        return template

    def pieces(self, source: Source, size: int = PIECE_BYTES, *, inside: bool = False) -> Iterator[Piece]:
        """The file in pieces of about `size` bytes, each of which consists of whole sequences. By default, a blank
        line ends a sequence.

        `inside`: the source may begin in the middle of a unit that must not be cut.
        """
        return pieces(source, size)

    def independent(self, piece: Piece) -> Iterator[Piece]:
        """The parts of a piece that can be labelled independently; by default, its sequences."""
        return self.sequences(piece)

    def sequences(self, piece: Piece) -> Iterator[Piece]:
        """The sequences of a piece, each with the blank line after it, if there is one."""
        begun, first, data = False, piece.line, bytearray()
        lines = piece.data.split(b"\n")[: -1 if piece.data.endswith(b"\n") else None]
        for number, line in enumerate(lines, piece.line):
            is_blank = not line.strip(b" \t\v\f\r")
            if is_blank and not begun:
                continue
            if not begun:
                begun, first, data = True, number, bytearray()
            data += line + b"\n"
            if is_blank:
                yield Piece(bytes(data), first)
                begun = False
        if begun:
            yield Piece(bytes(data), first)

    def width(self, piece: Piece, source: str) -> int:
        """The number of columns of the first token, including the label; 0 if the piece contains no tokens, or the
        format has no columns."""
        return 0

    def encoder(
        self,
        vocabulary: Vocabulary,
        grow: bool,
        missing: str,
        words: Words | None = None,
        threads: int = 1,
        label_sets: str = "",
    ) -> Any:
        """The encoder to which `add` passes sequences; it takes the options of `encode_files`. The encoder
        provides `n_sequences`, `n_tokens` and `build()`."""
        tables = vocabulary.attributes, vocabulary.labels
        return TextEncoder(*tables, vocabulary.start, grow, missing, words, threads, label_sets)

    def first_column(self, piece: Piece, source: str) -> Iterator[str]:
        """The words of the tokens of a labelled piece, for `TokenSurvey`; empty if files contain attributes
        instead."""
        return iter(())

    @abstractmethod
    def add(self, encoder: Any, piece: Piece, source: str, layout: Layout) -> Layout:
        """Encode a piece of a file, called `source` in messages. Returns what is known of the layout."""

    def read(self, source: Source, template: Template | None = None) -> Iterator[Items]:
        """The sequences of a file, for another format to write. The template's U lines generate the attributes."""
        return items_of(self.read_rows(source), template)

    def write(self, sequences: Iterable[Items], source: str) -> Iterator[str]:
        """The lines of a file with these sequences. Rejects sequences of `source` that the format cannot represent.
        The default implementation writes each attribute as a column."""
        return self.write_rows(rows_of(sequences, source), source)

    def read_rows(self, source: Source, *, ragged: bool = False) -> Iterator[Labelled]:
        """The sequences of a file as rows of columns and labels, for formats that take a template."""
        raise InputError(f"expected a format with tokens in columns, found {self.title} files")

    def write_rows(self, sequences: Iterable[Labelled], source: str) -> Iterator[str]:
        """The lines of a file with these sequences, for formats that take a template."""
        raise InputError(f"expected a format with tokens in columns, found {self.title} files")

    def labels(self, source: Source, *, ragged: bool = False) -> Iterator[Sequence[str | None]]:
        """The labels of the sequences in a file; None for tokens without a label."""
        if self.takes_template:
            return (labels for _, labels in self.read_rows(source, ragged=ragged))
        return (labels for _, labels in self.read(source))


def items_of(sequences: Iterable[Labelled], template: Template | None) -> Iterator[Items]:
    """The attributes of rows of columns, for a format with attributes; the U lines of the template generate them.

    Plain transitions (a bare B) are implied. Without a template, the columns themselves are the attributes. Lines * and
    other lines B are an error, since attributes of other formats do not condition label pairs.
    """
    if template is not None:
        _check_only_unigrams(template)
    for rows, labels in sequences:
        used = _columns_as_attributes(len(rows[0])) if template is None else template
        kinds = used.kinds
        tokens = [
            [(name, 1.0) for name, kind in zip(names, kinds, strict=True) if kind == "U"]
            for names in used.attributes(rows)
        ]
        yield tokens, labels


@lru_cache(maxsize=8)
def _columns_as_attributes(n: int) -> Template:
    return Template("".join(f"U{k}:%x[0,{k}]\n" for k in range(n)), source="columns")


def _check_only_unigrams(template: Template) -> None:
    for kind, varies in zip(template.kinds, template.varies, strict=True):
        if kind in "*T" or (kind == "B" and varies):
            raise InputError(
                "template: expected no attributes that condition label pairs, because other formats do not support "
                f"them, found an attribute in a {kind} line"
            )


def rows_of(sequences: Iterable[Items], source: str) -> Iterator[Labelled]:
    """Attributes as columns. All tokens must have the same number of attributes; columns cannot express values."""
    from sparsecrf.tables import counted

    width: int | None = None
    for i, (tokens, labels) in enumerate(sequences):
        for t, attributes in enumerate(tokens):
            where = f"{source}, sequence {i}, position {t}"
            width = len(attributes) if width is None else width
            if len(attributes) != width:
                expected = f"{counted(width, 'attribute')}, as at the previous positions"
                raise InputError(f"{where}: expected {expected}, found {len(attributes)}")
            for name, value in attributes:
                if value != 1.0:
                    raise InputError(f"{where}: expected attributes without values, found {name}:{value!r}")
        yield [[name for name, _ in attributes] for attributes in tokens], labels
