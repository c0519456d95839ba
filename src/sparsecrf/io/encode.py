"""Text files to corpora."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sparsecrf._core import Corpus, InputError, TextEncoder
from sparsecrf.features.template import Template
from sparsecrf.io.text import Source, name_of, pieces, width
from sparsecrf.vocabulary import BIAS, Vocabulary


class Encoded(NamedTuple):
    """A corpus, and how its attributes were made."""

    corpus: Corpus
    template: Template | None  #: None: the files had attributes of their own
    n_columns: int  #: of each line, the label included; 0 for CRFsuite's format


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
    encoder = TextEncoder(vocabulary.attributes, vocabulary.labels, vocabulary.start, grow, missing)
    for source in sources:
        for piece in pieces(source):
            if template is None:
                if (columns := width(piece)) == 0:
                    continue  # blank lines
                if columns == 1:
                    where = f"{name_of(source)}, line {piece.line}"
                    raise InputError(f"{where}: expected columns of observations before the label, found one column")
                template = Template.of_columns(columns - 1)
            n_columns = encoder.add_columns(piece.data, template, True, name_of(source), n_columns, piece.line)
            if progress is not None:
                progress(len(piece.data))
    return Encoded(_build(encoder, vocabulary, sources), template, n_columns)


def encode_crfsuite(
    sources: Sequence[Source],
    vocabulary: Vocabulary,
    *,
    grow: bool = False,
    missing: str = "",
    progress: Callable[[int], None] | None = None,
) -> Encoded:
    """Encode CRFsuite files: their attributes condition labels, and plain transitions are added."""
    encoder = TextEncoder(vocabulary.attributes, vocabulary.labels, vocabulary.start, grow, missing)
    for source in sources:
        for piece in pieces(source):
            encoder.add_crfsuite(piece.data, BIAS, name_of(source), piece.line)
            if progress is not None:
                progress(len(piece.data))
    return Encoded(_build(encoder, vocabulary, sources), None, 0)


def _build(encoder: TextEncoder, vocabulary: Vocabulary, sources: Sequence[Source]) -> Corpus:
    files = ", ".join(map(name_of, sources))
    if encoder.n_sequences == 0:
        raise InputError(f"{files}: expected at least one sequence, found none")
    if len(vocabulary.labels) == 0:
        raise InputError(f"{files}: expected labels, found all of them to be missing")
    return encoder.build()
