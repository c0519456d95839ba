"""Encodes text files as corpora, piece by piece."""

from __future__ import annotations

from sparsecrf._core import Corpus, InputError
from sparsecrf.encoding.formats import Layout
from sparsecrf.encoding.recipe import Recipe
from sparsecrf.encoding.token_survey import TokenSurvey
from sparsecrf.encoding.vocabulary import Vocabulary, Words
from sparsecrf.files.text import Piece


class PieceEncoder:
    """Adds pieces of labelled files to a corpus.

    In column formats, every line has `n_columns` columns including the label, or as many as the first line. Without
    `grow`, attributes that are not in the vocabulary are left out, and labels that are not in it count as missing.
    `words`: word vectors to use as dense columns, or a table that numbers the words. `threads`: number of threads that
    apply a template (0 means all cores); the corpus does not depend on it.
    """

    def __init__(
        self,
        recipe: Recipe,
        vocabulary: Vocabulary,
        *,
        n_columns: int = 0,
        grow: bool = False,
        words: Words | None = None,
        threads: int = 1,
    ) -> None:
        self.format, self.charset, self.vocabulary = recipe.reader, recipe.charset, vocabulary
        self.format.check_columns(recipe.ragged, self.charset.is_bytes)
        self.layout = Layout(recipe.lines, n_columns, recipe.ragged, self.charset.is_bytes)
        self._encoder = self.format.encoder(vocabulary, grow, recipe.missing, words, threads, recipe.label_sets)
        self.survey = TokenSurvey()  #: surveys the first tokens if the vocabulary grows, as in training
        self._is_surveyed = grow and not self.charset.is_bytes

    @property
    def n_sequences(self) -> int:
        return int(self._encoder.n_sequences)

    @property
    def n_tokens(self) -> int:
        return int(self._encoder.n_tokens)

    def add(self, piece: Piece, source: str) -> None:
        """Add a piece of a file; error messages call the file `source`."""
        text = self.charset.decoded(piece, source)
        self.layout = self.format.add(self._encoder, text, source, self.layout)
        if self._is_surveyed and self._can_label_text() and not self.survey.is_complete:
            self.survey.add(self.format.first_column(text, source))

    def _can_label_text(self) -> bool:
        """Whether the template reads only one column, so that it can be applied to running text."""
        template = self.layout.template
        return self.layout.n_columns == 2 or (template is not None and template.n_columns == 1)

    def build(self, files: str) -> Corpus:
        """The corpus of everything added since the last call; error messages call the input `files`."""
        if self.n_sequences == 0:
            raise InputError(f"{files}: expected at least one sequence, found none")
        if len(self.vocabulary.labels) == 0:
            raise InputError(f"{files}: expected labels, but all are missing")
        corpus: Corpus = self._encoder.build()
        return corpus
