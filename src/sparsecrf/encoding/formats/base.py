"""What the program asks of a format of labelled data files. A format is a subclass in a file of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import ClassVar, NamedTuple, TypeAlias

from sparsecrf._core import InputError, TextEncoder
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.files.text import Piece, Source

#: A sequence: the attributes of each token with their values, and the label of each token.
Items: TypeAlias = tuple[list[list[tuple[str, float]]], list[str]]


class Layout(NamedTuple):
    """How the lines of files become attributes. What is not given is learnt from the first lines."""

    template: Template | None = None  #: None: not known yet, or the files have attributes of their own
    n_columns: int = 0  #: of each line, the label included; 0: not known yet, or the format has no columns
    ragged: bool = False  #: lines may have other columns between those that the template needs and the label
    bytes: bool = False  #: cells are any bytes, not text in UTF-8


class Format(ABC):
    """A format of labelled data files, in which a blank line ends a sequence. It has no state."""

    name: ClassVar[str]  #: what `--format`, `--from` and `--to` call it
    title: ClassVar[str]  #: what errors call such files
    suffix: ClassVar[str] = ""  #: file names with this ending are in the format; "": no names are
    takes_template: ClassVar[bool] = False  #: whether a template makes the attributes; if not, the files have them

    def check_template(self, template: object | None, option: str) -> None:
        """Raise for a template (or its file) that the format cannot use. `option` is what the user calls it."""
        if template is not None and not self.takes_template:
            raise InputError(f"{option}: expected none for {self.title} files, which have attributes of their own")

    def vocabulary(self, start: bool, labels: Iterable[str] = ()) -> Vocabulary:
        """One for such files, with nothing but these labels."""
        made = Vocabulary(Template.conditions_pairs if self.takes_template else "bias", start)
        for name in labels:
            made.labels.intern(name)
        return made

    def template_for(self, template: Template | None, n_observed: int) -> Template | None:
        """The template for files with so many columns before the label: the one given, or the format's default."""
        return template

    @abstractmethod
    def add(self, encoder: TextEncoder, piece: Piece, source: str, layout: Layout) -> Layout:
        """Encode a piece of the file that errors call `source`. Returns the layout, as far as it is known then."""

    @abstractmethod
    def read(self, source: Source, template: Template | None = None) -> Iterator[Items]:
        """The sequences of a file, for another format to write."""

    @abstractmethod
    def write(self, sequences: Iterable[Items], source: str) -> Iterator[str]:
        """The lines of a file with these sequences. An error names the one of `source` that the format cannot hold."""
