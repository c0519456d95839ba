"""Text files to corpora."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sparsecrf._core import Corpus, InputError, TextEncoder
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.vocabulary import BIAS, Vocabulary
from sparsecrf.files.text import Piece, Source, name_of, pieces, width


class Encoded(NamedTuple):
    """A corpus, and how its attributes were made."""

    corpus: Corpus
    template: Template | None  #: None: the files had attributes of their own
    n_columns: int  #: of each line, the label included; 0 for CRFsuite's format


class PieceEncoder:
    """Adds pieces of labelled files to a corpus; options as for `encode_columns`.

    `crfsuite`: the pieces have attributes of their own, and no template is taken.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        template: Template | None = None,
        *,
        crfsuite: bool = False,
        n_columns: int = 0,
        grow: bool = False,
        missing: str = "",
    ) -> None:
        self.vocabulary, self.template, self.n_columns = vocabulary, template, n_columns
        self._crfsuite = crfsuite
        self._encoder = TextEncoder(vocabulary.attributes, vocabulary.labels, vocabulary.start, grow, missing)

    @property
    def n_sequences(self) -> int:
        return self._encoder.n_sequences

    @property
    def n_tokens(self) -> int:
        return self._encoder.n_tokens

    def add(self, piece: Piece, source: str) -> None:
        """Add a piece of the file that errors call `source`."""
        if self._crfsuite:
            self._encoder.add_crfsuite(piece.data, BIAS, source, piece.line)
            return
        if self.template is None:
            if (columns := width(piece)) == 0:
                return  # blank lines
            if columns == 1:
                where = f"{source}, line {piece.line}"
                raise InputError(f"{where}: expected columns of observations before the label, found one column")
            self.template = Template.of_columns(columns - 1)
        added = self._encoder.add_columns(piece.data, self.template, True, source, self.n_columns, piece.line)
        self.n_columns = added

    def build(self, files: str) -> Corpus:
        """The corpus of what was added since the last one, from files that errors call so."""
        if self.n_sequences == 0:
            raise InputError(f"{files}: expected at least one sequence, found none")
        if len(self.vocabulary.labels) == 0:
            raise InputError(f"{files}: expected labels, found all of them to be missing")
        return self._encoder.build()


def encode_columns(
    sources: Sequence[Source],
    vocabulary: Vocabulary,
    template: Template | None = None,
    *,
    n_columns: int = 0,
    grow: bool = False,
    missing: str = "",
    progress: Callable[[int], None] | None = None,
) -> Encoded:
    """Encode labelled column files. Without a template, attributes are the columns themselves and the bias.

    Every line has `n_columns` columns, or as many as the first. Without `grow`, attributes that the vocabulary does not
    have are left out and labels that it does not have are missing, as is the label `missing`. `progress` is told how
    many bytes have been read since the last call.
    """
    encoder = PieceEncoder(vocabulary, template, n_columns=n_columns, grow=grow, missing=missing)
    return _encoded(encoder, sources, progress)


def encode_crfsuite(
    sources: Sequence[Source],
    vocabulary: Vocabulary,
    *,
    grow: bool = False,
    missing: str = "",
    progress: Callable[[int], None] | None = None,
) -> Encoded:
    """Encode CRFsuite files: their attributes condition labels, and plain transitions are added."""
    return _encoded(PieceEncoder(vocabulary, crfsuite=True, grow=grow, missing=missing), sources, progress)


def _encoded(encoder: PieceEncoder, sources: Sequence[Source], progress: Callable[[int], None] | None) -> Encoded:
    for source in sources:
        for piece in pieces(source):
            encoder.add(piece, name_of(source))
            if progress is not None:
                progress(len(piece.data))
    return Encoded(encoder.build(", ".join(map(name_of, sources))), encoder.template, encoder.n_columns)
