"""Encodes Python tokens as corpora, with the strings of a model and the attributes that condition label pairs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Set
from itertools import zip_longest
from types import MappingProxyType
from typing import Any, TypeAlias

from sparsecrf._core import Corpus, Encoder, FeatureSet, InputError, StringTable, WordVectors
from sparsecrf.encoding.matrix import Columns, Csr, is_matrix
from sparsecrf.encoding.template import Template

#: The attribute that occurs at every position: with it alone, the model has plain transitions.
BIAS = "[bias]"

#: The attributes that condition label pairs: "bias" (only the bias: plain transitions), "all", a collection of
#: attributes, or a predicate. The bias always conditions them.
Bigrams: TypeAlias = str | Collection[str] | Callable[[str], bool]

#: Word vectors to use as dense columns; or a string table and a column, whose words the table numbers (`Corpus.words`).
Words: TypeAlias = WordVectors | tuple[StringTable, int]

#: Text, a mapping (name to number, text or list of text), or a list of attributes and (attribute, value) pairs; with a
#: template, a row of columns.
Token: TypeAlias = Any

_END = object()


class Vocabulary:
    """Labels and attributes by id. `encode` with grow=True adds new names; the vocabulary of a model cannot grow."""

    def __init__(
        self,
        bigrams: Bigrams = "bias",
        start: bool = True,
        labels: StringTable | None = None,
        attributes: StringTable | None = None,
        frozen: bool = False,
    ) -> None:
        """`start`: whether a start label precedes the first position; otherwise, that position has no label pair.
        `frozen`: nothing can be added, so several threads may encode at the same time."""
        self.bigrams, self.start, self.frozen = bigrams, start, frozen
        self.labels = StringTable() if labels is None else labels
        self.attributes = StringTable() if attributes is None else attributes

    def __repr__(self) -> str:
        return f"Vocabulary({len(self.labels)} labels, {len(self.attributes)} attributes)"

    def freeze(self) -> Vocabulary:
        """A frozen copy, or the vocabulary itself if it is frozen."""
        if self.frozen:
            return self
        return Vocabulary(self.bigrams, self.start, self.labels.copy(), self.attributes.copy(), True)

    def first(self, n_labels: int, n_attributes: int) -> Vocabulary:
        """A vocabulary of only the first names, for a corpus that was encoded before other names were added; the
        vocabulary itself if no names were added."""
        if (len(self.labels), len(self.attributes)) == (n_labels, n_attributes):
            return self
        labels, attributes = _first(n_labels, self.labels), _first(n_attributes, self.attributes)
        return Vocabulary(self.bigrams, self.start, labels, attributes, frozen=True)

    def encoder(
        self,
        *,
        grow: bool = False,
        skip_empty: bool = False,
        template: Template | None = None,
        features: FeatureSet | None = None,
        words: Words | None = None,
        threads: int = 1,
    ) -> Encoder:
        """An encoder that takes sequences one at a time, with the options of `encode`. `features` belong to a model:
        attributes with a weight for label pairs condition them, regardless of `bigrams`."""
        if grow and self.frozen:
            raise InputError("grow: the vocabulary of a model cannot grow")
        return Encoder(
            attributes=self.attributes,
            labels=self.labels,
            bigram=_predicate(self.bigrams),
            bias=BIAS,
            start=self.start,
            grow=grow,
            skip_empty=skip_empty,
            frozen=self.frozen,
            template=template,
            features=features,
            words=words,
            threads=threads,
        )

    def encode(
        self,
        X: Iterable[Iterable[Token]],
        y: Iterable[Iterable[str | Set[str] | None]] | None = None,
        *,
        sequence_weight: Iterable[float] | None = None,
        token_weight: Iterable[Iterable[float]] | None = None,
        grow: bool = False,
        template: Template | None = None,
        features: FeatureSet | None = None,
        sort_labels: bool = False,
        skip_empty: bool = False,
        words: Words | None = None,
        threads: int = 1,
    ) -> Corpus:
        """Encode sequences of tokens in one pass; the Python objects of a sequence are released before the next is
        read.

        A sequence may also be a matrix of numbers (NumPy, SciPy) with a row for each token. A label of None is missing;
        a set of labels means that one of them is right.
        Without `grow`, attributes that are not in the vocabulary are left out, and labels that are not in it are an
        error. A `template` generates the attributes from rows of columns and determines which of them condition label
        pairs; for a model, its `features` determine this. `sort_labels` assigns ids to labels in the order of their
        names: use it only for the first corpus of a vocabulary. A sequence without tokens is an error, unless
        `skip_empty` leaves it out. `words`: word vectors to use as dense columns, for tokens that are text or rows of
        columns. `threads`: number of threads that apply a template (0 means all cores); the corpus does not depend on
        it.
        """
        encoder = SequenceEncoder(
            self, grow=grow, skip_empty=skip_empty, template=template, features=features, words=words, threads=threads
        )
        extra = {"label sequences": y, "sequence weights": sequence_weight, "token weights": token_weight}
        for tokens, labels, weight, weights in in_step(X, extra):
            encoder.add(tokens, labels, 1.0 if sequence_weight is None else weight, weights)
        return encoder.build(sort_labels)


class SequenceEncoder:
    """Adds sequences of tokens to a corpus, one at a time, with the options of `Vocabulary.encode`."""

    def __init__(self, vocabulary: Vocabulary, *, grow: bool, **options: Any) -> None:
        self._encoder = vocabulary.encoder(grow=grow, **options)
        self._columns = Columns(vocabulary.attributes, grow)

    def add(self, tokens: Any, labels: Any = None, weight: float = 1.0, weights: Any = None) -> None:
        """Add a sequence, with one weight for the sequence or weights of its tokens."""
        if isinstance(tokens, Csr) or is_matrix(tokens):
            rows = tokens if isinstance(tokens, Csr) else Csr(tokens)
            self._encoder.add_matrix(
                rows.ptr, rows.column, rows.value, self._columns.ids(rows), labels, weight, weights
            )
        else:
            self._encoder.add(tokens, labels, weight, weights)

    def build(self, sort_labels: bool = False) -> Corpus:
        """The corpus of all sequences added."""
        return self._encoder.build(sort_labels)


def _first(n: int, table: StringTable) -> StringTable:
    text, offsets = table.to_arrays()
    return StringTable.from_arrays(text[: offsets[n]], offsets[: n + 1])


def in_step(
    X: Iterable[Any], extra: dict[str, Iterable[Any] | None], sizes: Mapping[str, int] = MappingProxyType({})
) -> Iterator[tuple[Any, ...]]:
    """Yield items of X together with items of each of `extra` (None where it is None); their lengths must agree.

    `sizes`: the lengths of X and `extra`, where known, for the message.
    """
    given = {name: values for name, values in extra.items() if values is not None}
    for i, (tokens, *rest) in enumerate(zip_longest(X, *given.values(), fillvalue=_END)):
        item = dict(zip(given, rest, strict=True))
        for name, value in item.items():
            if tokens is _END or value is _END:
                seen = {"X": i if tokens is _END else "more", name: i if value is _END else "more"}
                counts: dict[str, Any] = {**seen, **sizes}
                of_both = sorted(((counts[each], each) for each in ("X", name)), key=lambda one: one[0] == "more")
                found = " and ".join(f"{count} in {each}" for count, each in of_both)
                raise InputError(f"X and {name}: expected the same number of sequences, found {found}")
        yield (tokens, *(item.get(name) for name in extra))


def _predicate(bigrams: Bigrams) -> Callable[[str], bool] | bool | None:
    """`bigrams` in the form that the encoder takes: None for the bias alone, True for every attribute, else a
    function."""
    if isinstance(bigrams, str):
        if bigrams not in ("bias", "all"):
            raise InputError(f"bigrams: expected 'bias', 'all', a collection or a function, found {bigrams!r}")
        return None if bigrams == "bias" else True
    if callable(bigrams):
        return bigrams
    return frozenset(bigrams).__contains__


def bigrams_of(attributes: StringTable, features: FeatureSet) -> Bigrams:
    """The attributes with a feature for label pairs or longer n-grams."""
    conditioning = {attributes[x] for x in features.conditioning}
    if conditioning <= {BIAS}:
        return "bias"
    return "all" if len(conditioning) == len(attributes) else frozenset(conditioning)
