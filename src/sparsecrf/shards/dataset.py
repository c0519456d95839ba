"""A dataset: encoded labelled data, with the vocabulary and the recipe that encoded them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from sparsecrf._core import Corpus, InputError, StringTable
from sparsecrf.encoding.dense import DenseColumns, name_columns
from sparsecrf.encoding.encode import PieceEncoder
from sparsecrf.encoding.label_names import LabelNames
from sparsecrf.encoding.label_parts import LabelParts, LabelPartsChoice
from sparsecrf.encoding.recipe import Recipe
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.unknown_labels import UnknownLabels, unknown_in
from sparsecrf.encoding.vectors import TrainingVectors, WordVectors, look_up
from sparsecrf.encoding.vocabulary import Vocabulary, Words
from sparsecrf.files.text import Source, name_of, readable_twice
from sparsecrf.model import Model
from sparsecrf.model.tokens import KIND
from sparsecrf.shards.shards import Shards


def without_rare(
    corpus: Corpus, vocabulary: Vocabulary, at_least: int, everywhere: Iterable[int] = ()
) -> tuple[Corpus, Vocabulary]:
    """The corpus and its vocabulary without attributes that occur at fewer than `at_least` positions.

    An attribute that conditions labels and label pairs is counted once per position. Attributes in `everywhere` are
    kept, since they are dense columns, which are not in the corpus yet.
    """
    if at_least < 1:
        raise InputError(f"at_least: expected at least 1, found {at_least}")
    arrays = corpus.to_arrays()
    counts = [np.bincount(arrays[f"{kind}_id"], minlength=corpus.n_attributes) for kind in ("unigram", "bigram")]
    kept = np.maximum(*counts) >= at_least  # [X]
    kept[list(everywhere)] = True
    names = StringTable()
    for x in np.flatnonzero(kept).tolist():
        names.intern(vocabulary.attributes[x])
    place = np.cumsum(kept) - 1  # [X] new ids of the attributes that are kept
    for kind in ("unigram", "bigram"):
        arrays |= _filtered(kind, arrays, kept, place)
    arrays["n_attributes"] = len(names)
    smaller = Vocabulary(vocabulary.bigrams, vocabulary.start, vocabulary.labels, names, vocabulary.frozen)
    return Corpus.from_arrays(**arrays), smaller


def _filtered(kind: str, arrays: dict[str, Any], kept: Any, place: Any) -> dict[str, Any]:
    """The lists of one kind without the removed attributes."""
    ptr, ids, values = (arrays[f"{kind}_{part}"] for part in ("ptr", "id", "value"))
    stays = kept[ids]  # [entries]
    before = np.concatenate([[0], np.cumsum(stays)])  # [entries + 1] number of kept entries before each
    found = {"ptr": before[ptr].astype(np.int64), "id": place[ids[stays]].astype(np.int32)}
    found["value"] = None if values is None else values[stays]
    return {f"{kind}_{part}": array for part, array in found.items()}


Progress = Callable[[int], None]


class Fitted(Protocol):
    """The part of a `Fit` that a model is made from."""

    def model(self, vocabulary: Vocabulary, *, compacted: bool, note: Mapping[str, Any], **options: Any) -> Model: ...


@dataclass(frozen=True)
class Dataset:
    """Labelled data, encoded by one recipe and with one vocabulary."""

    vocabulary: Vocabulary
    shards: Corpus | Shards  #: the data in memory, or in parts on disk or on a cluster
    recipe: Recipe = field(default_factory=Recipe)
    template: Template | None = None  #: the template that made the attributes; None if they came with the tokens
    n_columns: int = 0  #: number of columns of every row, without the label; 0 if there are none, or if rows differ
    n_features: int | None = None  #: number of columns of every matrix; None if tokens are not rows of matrices
    names: LabelNames = field(default_factory=lambda: LabelNames(str))
    #: columns of the data frame from which tokens are made; None without a data frame
    frame_columns: list[str] | None = None
    token_kind: str | None = None  #: kind of all tokens (`model.tokens`); None if not known
    #: the entry of `encoding.token_survey` for the training record
    tokenizer: Mapping[str, Any] = field(default_factory=dict)
    dense: DenseColumns | None = None  #: standardisation of vectors; None if tokens have no vectors
    vectors: WordVectors | None = None  #: word vectors; None if tokens come with vectors, or have none
    places: Sequence[int] = ()  #: number of each sequence in the corpus; -1 if it has no tokens and is left out
    #: Labels of held-out data that are not in the training data.
    unknown: UnknownLabels = field(default_factory=UnknownLabels)
    dev: Dataset | None = None  #: held-out data, encoded with the same vocabulary
    prior: Model | None = None  #: the model that training starts from; its weights for other attributes are kept

    @property
    def corpus(self) -> Corpus:
        """The data in memory."""
        if not isinstance(self.shards, Corpus):
            raise InputError("data: expected data in memory, found shards")
        return self.shards

    def release(self) -> None:
        """Release shards that are held elsewhere."""
        if isinstance(self.shards, Shards):
            self.shards.release()

    @property
    def label_names(self) -> list[str]:
        """The names of the labels, by id."""
        return [self.vocabulary.labels[k] for k in range(len(self.vocabulary.labels))]

    def label_parts(self, asked: LabelPartsChoice | None, class_pairs: bool = False) -> LabelParts | None:
        """The parts of the labels by this rule, with classes for `class_pairs`; None if the labels have no parts."""
        return None if asked is None else LabelParts.of(self.label_names, asked, classes=class_pairs)

    def ngram_attributes(self) -> list[int] | None:
        """The ids of the attributes that condition label n-grams; None means all attributes that condition label
        pairs."""
        return None if self.template is None else self.template.ngram_attributes(self.vocabulary.attributes)

    def model(self, found: Fitted, note: Mapping[str, Any] | None = None, *, compacted: bool = True) -> Model:
        """The model of a fit to these data, by default without attributes that have no weight. `note` adds entries to
        its training record."""
        kind = {} if self.token_kind is None else {KIND: self.token_kind}
        # A template that ignores the last columns lets the model label data without them, such as plain text.
        reads_all = self.template is None or self.template.n_columns >= self.n_columns
        return found.model(
            self.vocabulary,
            compacted=compacted,
            note={**self.recipe.record, **kind, **self.tokenizer, **(note or {})},
            template=self.template,
            n_columns=self.n_columns if reads_all else 0,
            dense=self.dense,
            vectors=self.vectors,
            prior=self.prior,
        )

    def remark(self, what: str) -> str | None:
        """A warning if held-out data, called `what` in messages, contain labels that these data lack, else None. Raises
        an error if these data contain none of the held-out labels."""
        return None if self.dev is None else self.dev.unknown.remark(what, self.names.labels(self.label_names))

    # ---- Files

    def read_other(
        self, file: str, words: Words | None = None, *, threads: int = 1, progress: Progress | None = None
    ) -> Dataset:
        """Another labelled file, encoded with the same vocabulary, in memory."""
        recipe, source = replace(self.recipe, lines=self.template), readable_twice(file)
        n_columns = self.n_columns + 1 if self.n_columns else 0  # number of columns including the label
        options: dict[str, Any] = {"words": words, "threads": threads, "progress": progress}
        other = encode_files([source], recipe, self.vocabulary, n_columns=n_columns, **options)
        return replace(other, unknown=unknown_in(source, other.corpus, recipe))

    def with_vectors(self, looked: TrainingVectors, words: Any) -> Dataset:
        """The data with the vectors of these words (given by number) as dense columns."""
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
    """Read labelled files into memory with a complete recipe. `dev` is a held-out file. `progress` is called with the
    number of bytes read since its last call, and `tell` with messages for the user."""
    vocabulary, vectors, seen = recipe.vocabulary(), recipe.word_vectors, StringTable()
    n_dense = 0 if vectors is None else vectors.n_dense
    name_columns(vocabulary.attributes, n_dense)
    options: dict[str, Any] = {"threads": threads, "progress": progress}
    options["words"] = None if vectors is None else (seen, vectors.column)
    data = encode_files(files, recipe, vocabulary, grow=True, **options)
    words = data.corpus.words
    if recipe.min_count > 1:
        corpus, vocabulary = without_rare(data.corpus, vocabulary, recipe.min_count, range(n_dense))
        data = replace(data, shards=corpus, vocabulary=vocabulary)
    other = None if dev is None else data.read_other(dev, **options)
    if vectors is not None:  # read the vectors only now, when all words are known
        looked = look_up(vectors.read(seen), seen, words, recipe.standardize, recipe.scale)
        tell(f"vectors with {looked.vectors.width} dimensions; {100 * looked.covered:.1f} % of tokens have a vector")
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
    """Encode labelled files with a vocabulary and the options of `PieceEncoder`."""
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
    """Encode column files, with the options of a recipe (missing, label_sets, ...) and of `PieceEncoder`."""
    settings = {name: options.pop(name) for name in ("missing", "label_sets", "ragged", "encoding") if name in options}
    return encode_files(sources, Recipe("columns", lines=template, **settings), vocabulary, **options)


def encode_crfsuite(sources: Sequence[Source], vocabulary: Vocabulary, **options: Any) -> Dataset:
    """Encode CRFsuite files, with the options of `PieceEncoder`."""
    return encode_files(sources, Recipe("crfsuite"), vocabulary, **options)
