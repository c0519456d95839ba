"""Text files to corpora."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from sparsecrf._core import Corpus, InputError
from sparsecrf.encoding.formats import COLUMNS, CRFSUITE, Format, Layout
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.vocabulary import Vocabulary, Words
from sparsecrf.files.charset import UTF8, Charset
from sparsecrf.files.text import Piece, Source, name_of


class Encoded(NamedTuple):
    """A corpus, and how its attributes were made."""

    corpus: Corpus
    template: Template | None  #: None: the files had attributes of their own
    n_columns: int  #: of each line, the label included; 0 for a format without columns, and if lines differ


class PieceEncoder:
    """Adds pieces of labelled files to a corpus; options as for `encode_files`."""

    def __init__(
        self,
        format: Format,
        vocabulary: Vocabulary,
        template: Template | None = None,
        *,
        n_columns: int = 0,
        grow: bool = False,
        missing: str = "",
        ragged: bool = False,
        encoding: str = UTF8,
        words: Words | None = None,
        threads: int = 1,
    ) -> None:
        self.charset = Charset(encoding)
        format.check_columns(ragged, self.charset.is_bytes)
        self.format, self.vocabulary, self.layout = (
            format,
            vocabulary,
            Layout(template, n_columns, ragged, self.charset.is_bytes),
        )
        self._encoder = format.encoder(vocabulary, grow, missing, words, threads)

    @property
    def n_sequences(self) -> int:
        return int(self._encoder.n_sequences)

    @property
    def n_tokens(self) -> int:
        return int(self._encoder.n_tokens)

    def add(self, piece: Piece, source: str) -> None:
        """Add a piece of the file that errors call `source`."""
        self.layout = self.format.add(self._encoder, self.charset.decoded(piece, source), source, self.layout)

    def build(self, files: str) -> Corpus:
        """The corpus of what was added since the last one, from files that errors call so."""
        if self.n_sequences == 0:
            raise InputError(f"{files}: expected at least one sequence, found none")
        if len(self.vocabulary.labels) == 0:
            raise InputError(f"{files}: expected labels, found all of them to be missing")
        corpus: Corpus = self._encoder.build()
        return corpus


def encode_files(
    format: Format,
    sources: Sequence[Source],
    vocabulary: Vocabulary,
    template: Template | None = None,
    *,
    n_columns: int = 0,
    grow: bool = False,
    missing: str = "",
    ragged: bool = False,
    encoding: str = UTF8,
    words: Words | None = None,
    threads: int = 1,
    progress: Callable[[int], None] | None = None,
) -> Encoded:
    """Encode labelled files. The template is for formats that take one; without one they have a default.

    Every line has `n_columns` columns, or as many as the first, in a format of columns. Without `grow`, attributes that
    the vocabulary does not have are left out and labels that it does not have are missing, as is the label `missing`.
    With `ragged`, lines may differ: the columns that the template needs come first, the label last.
    `encoding` is a name that Python knows, or "bytes" for column files of any bytes (files/charset.py).
    `words`: vectors of words that are dense columns, or what numbers the words.
    `threads` make attributes where a template does (0: all cores); the corpus does not depend on their number.
    `progress` is called with the number of bytes read since its last call.
    """
    encoder = PieceEncoder(
        format,
        vocabulary,
        template,
        n_columns=n_columns,
        grow=grow,
        missing=missing,
        ragged=ragged,
        encoding=encoding,
        words=words,
        threads=threads,
    )
    for source in sources:
        for piece in format.pieces(source):
            encoder.add(piece, name_of(source))
            if progress is not None:
                progress(len(piece.data))
    return Encoded(encoder.build(", ".join(map(name_of, sources))), encoder.layout.template, encoder.layout.n_columns)


def encode_columns(
    sources: Sequence[Source], vocabulary: Vocabulary, template: Template | None = None, **options: Any
) -> Encoded:
    """Encode column files, with the options of `encode_files`."""
    return encode_files(COLUMNS, sources, vocabulary, template, **options)


def encode_crfsuite(sources: Sequence[Source], vocabulary: Vocabulary, **options: Any) -> Encoded:
    """Encode CRFsuite files, with the options of `encode_files`."""
    return encode_files(CRFSUITE, sources, vocabulary, **options)
