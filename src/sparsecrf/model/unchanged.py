"""Proves, sentence by sentence, which labels do not change when weights are rounded.

S(y) is the score of a label sequence y of sentence x, w and w' are the weights before and after rounding, and v the
values of attributes. S'(y) - S(y) = D(y) is the score of y under the weights w' - w: the sum of the rounding errors
along the path. So

    |D(y)| <= error A(x),   error = max |w' - w|,   A(x) = sum_t ( sum over U_t of |v|  +  sum over B_t of |v| )

and, for the best label sequence y* and any other y,

    S'(y*) - S'(y) = S(y*) - S(y) + D(y*) - D(y) >= margin - (max_y D(y) - min_y D(y)),
    margin = S(y*) - the second best score.

If the margin is larger than this spread of D, which Viterbi finds (and which is at most 2 error A(x)), y* is still the
best label sequence after rounding.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from typing import Any

from sparsecrf._core import Chain, Corpus, InputError
from sparsecrf.encoding.formats.records import Record, Records
from sparsecrf.files.charset import decoded
from sparsecrf.files.columns import read_columns
from sparsecrf.files.crfsuite import read_crfsuite
from sparsecrf.files.text import Piece, Source, name_of
from sparsecrf.model.format import charset_for, format_for
from sparsecrf.model.model import Model


@dataclass
class Unchanged:
    """Counts of sentences whose labels provably stay the same, and of labels that change."""

    sequences: int = 0
    tokens: int = 0
    proved: int = 0  #: number of sentences whose labels are proved to stay the same
    changed_sequences: int = 0
    changed_tokens: int = 0

    def as_json(self) -> dict[str, Any]:
        return {**self.__dict__, "proved_percent": 100 * self.proved / max(1, self.sequences)}


def compare(model: Model, after: Model, sequences: Iterable[Any]) -> Unchanged:
    """Label sequences with a model and with the same model after its weights were rounded (`Model._rounded`)."""
    found = Unchanged()
    error = after.w - model.w
    up, down = (Chain(model.features, sign * error, threads=1) for sign in (1.0, -1.0))
    for sequence in sequences:
        corpus = model.encode([sequence])
        before, _ = model._single.viterbi(corpus)
        labels, _ = after._single.viterbi(corpus)
        n_changed = int((before != labels).sum())
        found.sequences += 1
        found.tokens += corpus.n_tokens
        found.changed_tokens += n_changed
        found.changed_sequences += n_changed > 0
        spread = up.viterbi(corpus)[1][0] + down.viterbi(corpus)[1][0]  # max D - min D = max D + max(-D)
        found.proved += bool(_margin(model, corpus) > spread)
    return found


def _margin(model: Model, corpus: Corpus) -> float:
    """The score difference between the best and the second best label sequence; infinite if there is no other."""
    _, scores = model._single.nbest(corpus, 0, 2)
    return float(scores[0] - scores[1]) if len(scores) > 1 else inf


def sequences_of(model: Model, source: Source) -> Iterable[Any]:
    """The sequences of a file in the form that the model accepts; the file has the format of its training data."""
    if model.needs_vectors:
        raise InputError("data: not supported for a model whose tokens come with vectors, because files contain none")
    format, charset = format_for(model, source), charset_for(model, None)
    if isinstance(format, Records):
        name = name_of(source)
        for piece in format.pieces(source):
            records = _with_labels_or_without(format, charset.decoded(piece, name), name)
            yield from (record.rows for record in records if record.rows)
        return
    with decoded(source, charset_for(model, None)) as text:
        if model.template is not None:
            end = model.n_columns or None  # a label may follow the observations
            yield from ([row[:end] for row in rows] for rows in read_columns(text))
        else:
            yield from (tokens for tokens, _ in read_crfsuite(text))


def _with_labels_or_without(format: Records, piece: Piece, source: str) -> list[Record]:
    try:
        return list(format.records(piece, source, True))
    except InputError:  # labels are missing in some or all lines
        return list(format.records(piece, source, False))
