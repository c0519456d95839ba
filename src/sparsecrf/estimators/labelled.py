"""Training data of an estimator: every kind of input to a corpus, with what makes a model of a fit to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

from sparsecrf._core import Corpus, InputError, StringTable
from sparsecrf.encoding.dense import DenseColumns, VectorReader, paired
from sparsecrf.encoding.label_parts import AskedParts, LabelParts
from sparsecrf.encoding.matrix import Csr
from sparsecrf.encoding.template import Template
from sparsecrf.encoding.unknown_labels import OtherData, UnknownLabels
from sparsecrf.encoding.vectors import WordVectors, look_up
from sparsecrf.encoding.vocabulary import Bigrams, Vocabulary
from sparsecrf.estimators.labels import LabelNames
from sparsecrf.estimators.sequences import beside, labels_beside, sequences
from sparsecrf.model.tokens import KIND, kind_of
from sparsecrf.warn import warn_caller

if TYPE_CHECKING:
    from sparsecrf.model import Model
    from sparsecrf.training import Fit


#: A template, or what makes one for rows of so many columns.
MakesTemplate: TypeAlias = Template | Callable[[int], Template] | None


@dataclass(frozen=True)
class Encoding:
    """How sequences were encoded: what other data need, and a model."""

    vocabulary: Vocabulary
    names: LabelNames
    template: Template | None
    n_columns: int  #: of every row of columns; 0 without a template, or if rows differ
    n_features: int | None  #: columns of every matrix; None: tokens are no rows of matrices
    frame_columns: list[str] | None = field(default=None, kw_only=True)  #: of a data frame; None: it was none
    token_kind: str | None = field(default=None, kw_only=True)  #: of all tokens (`model.tokens`); None: not known
    dense: DenseColumns | None = field(default=None, kw_only=True)  #: of vectors; None: tokens have none
    vectors: WordVectors | None = field(default=None, kw_only=True)  #: of words; None: tokens come with theirs, or none

    @property
    def label_names(self) -> list[str]:
        """By id."""
        return [self.vocabulary.labels[k] for k in range(len(self.vocabulary.labels))]

    def encode_other(self, other: tuple[Any, Any], lengths: list[int] | None = None, threads: int = 1) -> OtherData:
        """Other labelled data (X, y) by the same vocabulary. Labels that it does not have count as wrong."""
        if not isinstance(other, (tuple, list)) or len(other) != 2:
            raise InputError(f"dev: expected a pair (X, y), found {type(other).__name__} of another length")
        (X, y), unknown = other, UnknownLabels()
        names = self.names.of(labels_beside(y, lengths, "dev y"), "dev y")
        labels = ([self._known(name, unknown) for name in sequence] for sequence in names)
        tokens = sequences(X, lengths, columns=self.template is not None)
        reader = None if self.dense is None or self.vectors is not None else VectorReader(self.dense.width)
        tokens = tokens if reader is None else reader.attributes(tokens)
        words = None if self.vectors is None else self.vectors.core(self.dense)
        corpus = self.vocabulary.encode(
            tokens, labels, template=self.template, skip_empty=True, words=words, threads=threads
        )
        if reader is None or self.dense is None:
            return OtherData(corpus, unknown)
        return OtherData(self.dense.added(corpus, reader.matrix(), self.vocabulary.attributes), unknown)

    def _known(self, name: Any, unknown: UnknownLabels) -> Any:
        """The name of a label, None if it is added to the unknown ones. What is no name is refused by the encoder."""
        is_known = not isinstance(name, str) or self.vocabulary.labels.find(name) is not None
        unknown.add(name if is_known else self.names.labels([name])[0], is_known)
        return name if is_known else None

    def warn_of_unknown(self, other: OtherData) -> None:
        """Warn of labels of the dev data that these data do not have. Raises if there are no others."""
        remark = other.unknown.remark("dev", self.names.labels(self.label_names))
        if remark is not None:
            warn_caller(remark)

    def label_parts(self, asked: AskedParts | None, class_pairs: bool = False) -> LabelParts | None:
        """The parts of the labels, as asked, with classes for `class_pairs`; None: they have none."""
        return None if asked is None else LabelParts.of(self.label_names, asked, classes=class_pairs)

    def model(self, found: Fit) -> Model:
        made = found.model(self.vocabulary, template=self.template, n_columns=self.n_columns)
        made.dense, made.vectors = self.dense, self.vectors
        if self.token_kind is not None:
            made.training[KIND] = self.token_kind
        return made


@dataclass(frozen=True)
class LabelledData(Encoding):
    """Labelled sequences, encoded."""

    corpus: Corpus
    places: list[int]  #: by sequence of X: its number in the corpus; -1: it has no tokens and is left out

    @classmethod
    def encode(
        cls,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        lengths: Iterable[int] | None = None,
        *,
        template: MakesTemplate = None,
        bigrams: Bigrams = "bias",
        start: bool = True,
        standardize: bool = True,
        dense_scale: float = 1.0,
        vectors: WordVectors | None = None,
        threads: int = 1,
    ) -> LabelledData:
        """Encode in one pass, with ids of labels by name. Sequences without tokens are left out."""
        lengths = None if lengths is None else [int(n) for n in lengths]
        reader, tokens = VectorReader.of(sequences(X, lengths, columns=template is not None))
        if reader is not None:
            if vectors is not None:
                raise InputError("vectors: expected tokens without vectors of their own, found some with them")
            tokens = reader.attributes(tokens)
        if not isinstance(template, Template) and template is not None:
            n_columns, tokens = _counted_columns(tokens)
            template = template(n_columns)
        # A template says itself which attributes condition pairs.
        vocabulary = Vocabulary(bigrams if template is None else Template.conditions_pairs, start)
        if reader is not None:
            reader.name_all(vocabulary.attributes)
        seen = StringTable()  # words, if they have vectors
        if vectors is not None:
            vectors.name_all(vocabulary.attributes)
        names, shape = LabelNames(), _Shape()
        encoded = names.of(labels_beside(y, lengths))
        corpus = vocabulary.encode(
            shape.seen(tokens),
            names.some_known(encoded),
            **weights_of(sample_weight, lengths),
            grow=True,
            template=template,
            sort_labels=True,
            skip_empty=True,
            words=None if vectors is None else (seen, vectors.column),
            threads=threads,
        )
        if corpus.n_weighted_tokens == 0:
            raise InputError("sample_weight: expected a weight above zero, found all of them to be zero")
        dense = None
        if reader is not None:
            values = reader.matrix()
            dense = DenseColumns.of(values, standardize, dense_scale)
            corpus = dense.added(corpus, values, vocabulary.attributes)
        if vectors is not None:
            numbers = corpus.words
            looked = look_up(vectors, seen, numbers, standardize, dense_scale)
            dense, corpus = looked.dense, looked.added(corpus, numbers, vocabulary.attributes)
        n_columns = 0 if template is None else shape.n_columns
        kind = None if template is not None else shape.kind
        shapes = (shape.n_features, corpus, shape.places)
        return cls(vocabulary, names, template, n_columns, *shapes, token_kind=kind, dense=dense, vectors=vectors)


def with_dense(X: Any, dense: Any, lengths: Any = None, sentences: Any = None) -> Any:
    """Tokens with their vectors, as pairs; X itself without any."""
    if dense is None:
        return X
    if lengths is not None or sentences is not None:
        raise InputError("dense: expected sequences one by one, found lengths or sentences with it")
    return paired(sequences(X), dense)


def _counted_columns(X: Iterator[Any]) -> tuple[int, Iterator[Any]]:
    """How many columns the first row has, and all the sequences."""
    first = []
    for sequence in X:
        first.append(sequence)
        if len(sequence) > 0:
            break
    if not first or isinstance(first[-1], Csr) or len(first[-1]) == 0:
        return 1, chain(first, X)
    row = next(iter(first[-1]))
    return 1 if isinstance(row, str) or not hasattr(row, "__len__") else max(1, len(row)), chain(first, X)


def width_of(sequence: Any) -> int | None:
    """The number of columns of a matrix; None: it is none."""
    return sequence.shape[1] if isinstance(sequence, Csr) else None


class _Shape:
    """What the first sequence tells of all, and which of them have tokens."""

    def __init__(self) -> None:
        self.n_features: int | None = None
        self.n_columns = 0
        self.places: list[int] = []
        self.kind: str | None = None  # of the tokens, if it is one
        self._kept = 0

    def seen(self, X: Iterator[Any]) -> Iterator[Any]:
        for sequence in X:
            self.places.append(self._kept if len(sequence) > 0 else -1)
            self._kept += len(sequence) > 0
            first = self._kept == 1 and self.places[-1] == 0
            if len(sequence) > 0 and (first or self.kind is not None):
                kind = kind_of(sequence)
                self.kind = kind if first or kind == self.kind else None
            if first:
                self.n_features = width_of(sequence)
                self.n_columns = _columns_of(sequence)
            elif self.n_columns > 0 and len(sequence) > 0 and _columns_of(sequence) != self.n_columns:
                self.n_columns = 0  # any number
            yield sequence


def _columns_of(sequence: Any) -> int:
    """Those of its first row; 0: it has none."""
    if width_of(sequence) is not None:
        return 0
    row = next(iter(sequence))
    return 1 if isinstance(row, str) else len(row) if hasattr(row, "__len__") else 0


def weights_of(sample_weight: Any, lengths: list[int] | None) -> dict[str, Any]:
    """Weights of sequences or of tokens, as a vocabulary takes them."""
    if sample_weight is None:
        return {}
    if not hasattr(sample_weight, "__len__"):
        sample_weight = list(sample_weight)
    flat = len(sample_weight) > 0 and not hasattr(next(iter(sample_weight)), "__iter__")
    if flat and (lengths is None or len(sample_weight) == len(lengths)):
        return {"sequence_weight": sample_weight}
    return {"token_weight": beside(sample_weight, lengths, "sample_weight")}
