"""A dataset: labelled data, encoded. A vocabulary, the data in memory or in shards, and the recipe that made them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from sparsecrf._core import Corpus, InputError, StringTable
from sparsecrf.encoding.dense import DenseColumns, name_columns
from sparsecrf.encoding.encode import PieceEncoder
from sparsecrf.encoding.label_names import LabelNames
from sparsecrf.encoding.label_parts import AskedParts, LabelParts
from sparsecrf.encoding.rare import without_rare
from sparsecrf.encoding.recipe import Recipe
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.unknown_labels import UnknownLabels, unknown_in
from sparsecrf.encoding.vectors import Looked, WordVectors, look_up
from sparsecrf.encoding.vocabulary import Vocabulary, Words
from sparsecrf.files.text import Source, name_of, readable_twice
from sparsecrf.model import Model
from sparsecrf.model.joined import with_others
from sparsecrf.model.tokens import KIND
from sparsecrf.shards.shards import Shards

Progress = Callable[[int], None]


class Fitted(Protocol):
    """A `Fit`, as far as a model is made of it."""

    def model(self, vocabulary: Vocabulary, *, note: Mapping[str, Any], **options: Any) -> Model: ...


@dataclass(frozen=True)
class Dataset:
    """Labelled data, encoded: by one recipe, with one vocabulary."""

    vocabulary: Vocabulary
    shards: Corpus | Shards  #: in memory; or in parts, on disk or on a cluster
    recipe: Recipe = field(default_factory=Recipe)
    template: Template | None = None  #: that made the attributes; None: they came with the tokens
    n_columns: int = 0  #: of every row of columns, without the label; 0: there are none, or rows differ
    n_features: int | None = None  #: columns of every matrix; None: tokens are no rows of matrices
    names: LabelNames = field(default_factory=lambda: LabelNames(str))
    frame_columns: list[str] | None = None  #: of a data frame, which tokens are made of; None: it was none
    token_kind: str | None = None  #: of all tokens (`model.tokens`); None: not known
    tokenizer: Mapping[str, Any] = field(default_factory=dict)  #: record of how words look (`encoding.token_survey`)
    dense: DenseColumns | None = None  #: of vectors; None: tokens have none
    vectors: WordVectors | None = None  #: of words; None: tokens come with theirs, or have none
    places: Sequence[int] = ()  #: by sequence: its number in the corpus; -1: it has no tokens and is left out
    unknown: UnknownLabels = field(default_factory=UnknownLabels)  #: of held-out data: labels not in the training data
    dev: Dataset | None = None  #: held-out data, by the same vocabulary
    prior: Model | None = None  #: whose weights training starts from, and which the result keeps for other attributes

    @property
    def corpus(self) -> Corpus:
        """The data in memory."""
        if not isinstance(self.shards, Corpus):
            raise InputError("data: expected them in memory, found shards")
        return self.shards

    def release(self) -> None:
        """Release shards that are held elsewhere."""
        if isinstance(self.shards, Shards):
            self.shards.release()

    @property
    def label_names(self) -> list[str]:
        """By id."""
        return [self.vocabulary.labels[k] for k in range(len(self.vocabulary.labels))]

    def label_parts(self, asked: AskedParts | None, class_pairs: bool = False) -> LabelParts | None:
        """The parts of the labels, as asked, with classes for `class_pairs`; None: they have none."""
        return None if asked is None else LabelParts.of(self.label_names, asked, classes=class_pairs)

    def ngram_attributes(self) -> list[int] | None:
        """The ids of the attributes that condition label n-grams; None: all that condition pairs."""
        return None if self.template is None else self.template.ngram_attributes(self.vocabulary.attributes)

    def model(self, found: Fitted, **note: Any) -> Model:
        """The model of a fit to these data; `note`: more entries of its training record."""
        kind = {} if self.token_kind is None else {KIND: self.token_kind}
        made = found.model(
            self.vocabulary,
            note={**self.recipe.record, **kind, **self.tokenizer, **note},
            template=self.template,
            n_columns=self.n_columns,
            dense=self.dense,
            vectors=self.vectors,
        )
        return made if self.prior is None else with_others(made, self.prior)

    def remark(self, what: str) -> str | None:
        """That held-out data, which messages call `what`, have labels that these do not have; None: they have none.
        Raises if they have no others."""
        return None if self.dev is None else self.dev.unknown.remark(what, self.names.labels(self.label_names))

    # ---- Files

    def read_other(
        self, file: str, words: Words | None = None, *, threads: int = 1, progress: Progress | None = None
    ) -> Dataset:
        """Another labelled file by the same names, in memory."""
        recipe, source = replace(self.recipe, lines=self.template), readable_twice(file)
        n_columns = self.n_columns + 1 if self.n_columns else 0  # with the label
        options: dict[str, Any] = {"words": words, "threads": threads, "progress": progress}
        other = encode_files([source], recipe, self.vocabulary, n_columns=n_columns, **options)
        return replace(other, unknown=unknown_in(source, other.corpus, recipe))

    def without_rare(self, n_dense: int) -> Dataset:
        """Without attributes that are too rare. So many of the first are dense columns, which stay."""
        corpus, vocabulary = without_rare(self.corpus, self.vocabulary, self.recipe.min_count, range(n_dense))
        return replace(self, shards=corpus, vocabulary=vocabulary)

    def with_vectors(self, looked: Looked, words: Any) -> Dataset:
        """With the vectors of these words, by number, as dense columns."""
        corpus = looked.added(self.corpus, words, self.vocabulary.attributes)
        return replace(self, shards=corpus, dense=looked.dense, vectors=looked.vectors)


def read_files(
    files: Sequence[Source],
    recipe: Recipe,
    dev: str | None = None,
    *,
    threads: int = 1,
    progress: Progress | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Dataset:
    """Labelled files in memory, read by a recipe with nothing left open. `dev` is a held-out file. `progress` is called
    with the number of bytes read since its last call, `tell` with what is worth knowing."""
    vocabulary, vectors, seen = recipe.vocabulary(), recipe.word_vectors, StringTable()
    n_dense = 0 if vectors is None else vectors.n_dense
    name_columns(vocabulary.attributes, n_dense)
    options: dict[str, Any] = {"threads": threads, "progress": progress}
    options["words"] = None if vectors is None else (seen, vectors.column)
    data = encode_files(files, recipe, vocabulary, grow=True, **options)
    words = data.corpus.words
    if recipe.min_count > 1:
        data = data.without_rare(n_dense)
    other = None if dev is None else data.read_other(dev, **options)
    if vectors is not None:  # read when all words are known
        looked = look_up(vectors.read(seen), seen, words, recipe.standardize, recipe.scale)
        tell(f"vectors of {looked.vectors.width} numbers; {100 * looked.covered:.1f} % of the tokens have a vector")
        data = data.with_vectors(looked, words)
        other = None if other is None else other.with_vectors(looked, other.corpus.words)
    return replace(data, dev=other)


def encode_files(
    sources: Sequence[Source],
    recipe: Recipe,
    vocabulary: Vocabulary,
    *,
    progress: Progress | None = None,
    **options: Any,
) -> Dataset:
    """Encode labelled files by a vocabulary; options as for `PieceEncoder`."""
    encoder = PieceEncoder(recipe, vocabulary, **options)
    for source in sources:
        for piece in encoder.format.pieces(source):
            encoder.add(piece, name_of(source))
            if progress is not None:
                progress(len(piece.data))
    corpus, layout = encoder.build(", ".join(map(name_of, sources))), encoder.layout
    n_columns, tokenizer = max(0, layout.n_columns - 1), encoder.survey.record
    return Dataset(vocabulary, corpus, recipe, layout.template, n_columns, tokenizer=tokenizer)


def encode_columns(
    sources: Sequence[Source], vocabulary: Vocabulary, template: Template | None = None, **options: Any
) -> Dataset:
    """Encode column files; options are those of a recipe (missing, ragged, encoding) and of `PieceEncoder`."""
    settings = {name: options.pop(name) for name in ("missing", "ragged", "encoding") if name in options}
    return encode_files(sources, Recipe("columns", lines=template, **settings), vocabulary, **options)


def encode_crfsuite(sources: Sequence[Source], vocabulary: Vocabulary, **options: Any) -> Dataset:
    """Encode CRFsuite files, with the options of `PieceEncoder`."""
    return encode_files(sources, Recipe("crfsuite"), vocabulary, **options)
