"""Converts Python sequences to a dataset, in one loop over tokens, labels and weights in all accepted forms."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from sparsecrf._core import Corpus, InputError, StringTable
from sparsecrf.encoding.dense import DenseColumns, VectorReader, has_vector, name_columns, paired
from sparsecrf.encoding.label_names import LabelNames
from sparsecrf.encoding.matrix import Csr
from sparsecrf.encoding.recipe import Recipe
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.token_survey import TokenSurvey
from sparsecrf.encoding.unknown_labels import UnknownLabels
from sparsecrf.encoding.vectors import look_up
from sparsecrf.encoding.vocabulary import SequenceEncoder, Vocabulary, in_step
from sparsecrf.estimators.frames import labels_in
from sparsecrf.estimators.sequences import beside, sequences
from sparsecrf.model.tokens import TEXT, kind_of
from sparsecrf.shards.dataset import Dataset
from sparsecrf.tables import counted
from sparsecrf.warn import warn_caller


class Items:
    """Sequences with their labels and weights; each sequence is released before the next is read."""

    def __init__(self, X: Any, y: Any, weight: Any, lengths: list[int] | None, *, rows: bool, what: str = "y") -> None:
        """`weight`: weights of sequences or of their tokens. `rows`: whether rows of data frames hold the columns that
        a template reads; otherwise their cells are attributes. `what`: the name of the labels in messages."""
        weights = weights_of(weight, lengths)
        self._of_sequences, self._what = weights.get("sequence_weight"), what
        extra = {
            what: beside(y, lengths, what),
            "sequence weights": self._of_sequences,
            "token weights": weights.get("token_weight"),
        }
        sizes = {name: len(values) for name, values in (("X", X), (what, y)) if isinstance(values, (list, tuple))}
        self._items = in_step(sequences(X, lengths, columns=rows), extra, sizes if lengths is None else {})
        self._ahead = deque[Any]()

    def first(self) -> Any:
        """The tokens of the first nonempty sequence; call this before reading the sequences."""
        while not self._ahead or len(self._ahead[-1][0]) == 0:
            if (item := next(self._items, None)) is None:
                return ()
            self._ahead.append(item)
        return self._ahead[-1][0]

    def add_to(
        self,
        encoder: SequenceEncoder,
        names: Callable[[Any, int], list[Any]],
        reader: VectorReader | None = None,
        see: Callable[[Any], None] = lambda tokens: None,
    ) -> None:
        """Encode all sequences. `reader` collects vectors, `names` converts labels to names, and `see` is called with
        each sequence."""
        for i, (tokens, labels, weight, weights) in enumerate(self._each()):
            attributes = tokens if reader is None else reader.without(tokens, i)
            see(attributes)
            weight = 1.0 if self._of_sequences is None else weight
            named = names(labels_in(labels), i)
            if len(named) != len(tokens):
                expected = f"{counted(len(tokens), 'label')}, one for each token"
                raise InputError(f"{self._what}, sequence {i}: expected {expected}, found {len(named)}")
            encoder.add(attributes, named, weight, weights)

    def _each(self) -> Iterator[Any]:
        while self._ahead:
            yield self._ahead.popleft()
        yield from self._items


def read_sequences(
    X: Any, y: Any, weight: Any = None, lengths: list[int] | None = None, *, recipe: Recipe, threads: int = 1
) -> Dataset:
    """The dataset of sequences in memory; sequences without tokens are left out."""
    items = Items(X, y, weight, lengths, rows=recipe.has_template)
    template = recipe.made(lambda: max(1, _n_columns(items.first())))
    _warn_of_ignored_columns(recipe, template, items.first())
    reader, vectors = VectorReader.of(items.first()), recipe.word_vectors
    if reader is not None and vectors is not None:
        raise InputError("vectors: expected tokens without vectors, found tokens with vectors")
    recipe = replace(recipe, lines=template)
    vocabulary, seen = recipe.vocabulary(files=False), StringTable()  # the words of the tokens, if there are vectors
    name_columns(vocabulary.attributes, 0 if vectors is None else vectors.n_dense)
    name_columns(vocabulary.attributes, 0 if reader is None else reader.width)
    words = None if vectors is None else (seen, vectors.column)
    encoder = SequenceEncoder(vocabulary, grow=True, template=template, skip_empty=True, words=words, threads=threads)
    names, shape = LabelNames(), _Shape(has_words=template is not None)
    items.add_to(encoder, names.of, reader, shape.see)
    names.check_some_known()
    corpus = encoder.build(sort_labels=True)
    if corpus.n_weighted_tokens == 0:
        raise InputError("sample_weight: expected at least one weight above 0, found only zeros")
    data = Dataset(
        vocabulary,
        corpus,
        recipe,
        template,
        n_columns=0 if template is None else shape.n_columns,
        n_features=shape.n_features,
        names=names,
        token_kind=None if template is not None else shape.kind,
        tokenizer=shape.survey.record if shape.n_columns == 1 else {},
        places=shape.places,
    )
    if reader is not None:
        values = reader.matrix()
        dense = DenseColumns.of(values, recipe.standardize, recipe.scale)
        return replace(data, shards=dense.added(corpus, values, vocabulary.attributes), dense=dense)
    if vectors is not None:
        looked = look_up(vectors.read(seen), seen, corpus.words, recipe.standardize, recipe.scale)
        return data.with_vectors(looked, corpus.words)
    return data


def read_other_sequences(data: Dataset, other: Any, lengths: list[int] | None = None, threads: int = 1) -> Dataset:
    """Other labelled data (X, y), encoded with the same vocabulary. Unknown labels count as wrong."""
    if not isinstance(other, (tuple, list)) or len(other) != 2:
        raise InputError(f"dev: expected a pair (X, y), found {type(other).__name__} of another length")
    unknown, vocabulary = UnknownLabels(), data.vocabulary

    def known(name: Any) -> Any:
        """The name of a label; None if it is unknown or a set. The encoder rejects anything that is not a name."""
        name = None if isinstance(name, frozenset) else name
        is_known = not isinstance(name, str) or vocabulary.labels.find(name) is not None
        unknown.add(name if is_known else data.names.labels([name])[0], is_known)
        return name if is_known else None

    X, y = other
    items = Items(X, y, None, lengths, rows=data.template is not None, what="dev y")
    reader = None if data.dense is None or data.vectors is not None else VectorReader(data.dense.width)
    words = None if data.vectors is None else data.vectors.core(data.dense)
    options: dict[str, Any] = {"template": data.template, "skip_empty": True, "words": words, "threads": threads}
    encoder = SequenceEncoder(vocabulary, grow=False, **options)
    items.add_to(encoder, lambda labels, i: [known(name) for name in data.names.of(labels, i, "dev y")], reader)
    corpus = encoder.build()
    if reader is not None and data.dense is not None:
        corpus = data.dense.added(corpus, reader.matrix(), vocabulary.attributes)
    return replace(data, shards=corpus, unknown=unknown)


def read_partition(X: Any, y: Any, weight: Any, vocabulary: Vocabulary, recipe: Recipe) -> Corpus:
    """Encode a part of the data whose labels and attributes are all known."""
    encoder = SequenceEncoder(vocabulary, grow=False, template=recipe.lines, skip_empty=True)
    Items(X, y, weight, None, rows=recipe.lines is not None).add_to(encoder, LabelNames().of)
    return encoder.build()


def warn_of_unknown(data: Dataset) -> None:
    """Warn of held-out labels that do not occur in the training data; raise an error if none of the held-out labels
    occurs there."""
    if (remark := data.remark("dev")) is not None:
        warn_caller(remark)


def with_dense(X: Any, dense: Any, lengths: Any = None, sentences: Any = None) -> Any:
    """The tokens paired with their vectors; X itself if `dense` is None."""
    if dense is None:
        return X
    if lengths is not None or sentences is not None:
        raise InputError("dense: expected X as a list of sequences; cannot be combined with lengths or sentences")
    return paired(sequences(X), dense)


def width_of(sequence: Any) -> int | None:
    """The number of columns of a matrix; None if it is not a matrix."""
    return sequence.shape[1] if isinstance(sequence, Csr) else None


def _warn_of_ignored_columns(recipe: Recipe, template: Template | None, first: Any) -> None:
    """Warn if ready-made features use fewer columns than tokens contain, such as `words` for pairs (word, tag)."""
    n = _n_columns(first)
    if recipe.features is None or template is None or n <= template.n_columns:
        return
    row = next(iter(first))
    cells = list(row[0] if has_vector(row) else row)
    ignored = ", ".join(repr(cell)[:30] for cell in cells[template.n_columns :])
    warn_caller(
        f"features={recipe.features!r} uses {template.n_columns} of the {n} columns of a token and ignores the others "
        f"(of the first token: {ignored}); features='columns' uses them all"
    )


class _Shape:
    """Properties of the sequences, taken from the first, and the positions of the nonempty ones."""

    def __init__(self, *, has_words: bool) -> None:
        self.n_features: int | None = None
        self.n_columns = 0
        self.places: list[int] = []
        self.kind: str | None = None  # the kind of all tokens; None if they differ
        self.survey = TokenSurvey()  # survey of tokens that are words
        self._has_words = has_words
        self._kept = 0

    def see(self, sequence: Any) -> None:
        self.places.append(self._kept if len(sequence) > 0 else -1)
        if len(sequence) == 0:
            return
        self._kept += 1
        first = self._kept == 1
        if first or self.kind is not None:
            kind = kind_of(sequence)
            self.kind = kind if first or kind == self.kind else None
            if self._has_words and kind == TEXT and not self.survey.is_complete:
                self.survey.add(sequence)
        if first:
            self.n_features, self.n_columns = width_of(sequence), _n_columns(sequence)
        elif self.n_columns > 0 and _n_columns(sequence) != self.n_columns:
            self.n_columns = 0  # any number of columns


def _n_columns(sequence: Any) -> int:
    """The number of columns of the first row of a sequence; 0 if it has no columns."""
    if len(sequence) == 0 or width_of(sequence) is not None:
        return 0
    row = next(iter(sequence))
    row = row[0] if has_vector(row) else row
    return 1 if isinstance(row, str) else len(row) if hasattr(row, "__len__") else 0


def weights_of(sample_weight: Any, lengths: list[int] | None) -> dict[str, Any]:
    """Weights of sequences or of tokens, as arguments of `Vocabulary.encode`."""
    if sample_weight is None:
        return {}
    if not hasattr(sample_weight, "__len__"):
        sample_weight = list(sample_weight)
    flat = len(sample_weight) > 0 and not hasattr(next(iter(sample_weight)), "__iter__")
    if flat and (lengths is None or len(sample_weight) == len(lengths)):
        return {"sequence_weight": sample_weight}
    return {"token_weight": beside(sample_weight, lengths, "sample_weight")}
