"""A model: labels, attributes and sparse weights, with its queries."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, overload

from sparsecrf._core import FeatureSet, InputError, ModelParts
from sparsecrf._core import Model as CoreModel
from sparsecrf.encoding.dense import DenseColumns
from sparsecrf.encoding.label_parts import LabelParts
from sparsecrf.encoding.ngrams import Ngrams
from sparsecrf.encoding.vocabulary import BIAS, Bigrams, Token, Vocabulary, bigrams_of
from sparsecrf.lazy import NDArray, lazy, np
from sparsecrf.model.answering import AnsweringModel
from sparsecrf.model.calibration import without_calibration
from sparsecrf.model.compact import RECORD, kind_of, rounded
from sparsecrf.model.file import Parts, from_bytes, options_of, read, save, to_bytes, used
from sparsecrf.model.limits import label_id
from sparsecrf.model.tokens import TokenCheck

if TYPE_CHECKING:
    from sparsecrf.contrib.explain import ModelExplanation, SequenceExplanation
    from sparsecrf.encoding.template import Template
    from sparsecrf.encoding.vectors import WordVectors


class TrainingRecord(dict[str, Any]):
    """The training record, which is read-only; `Model.noted` returns a model with a changed record."""

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise TypeError("training: a model's record is read-only; use Model.noted(key=value)")

    __setitem__ = __delitem__ = __ior__ = update = pop = popitem = setdefault = clear = _refuse

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return TrainingRecord, (dict(self),)


#: Arguments of the constructor that a model keeps as attributes.
_OPTIONS = ("template", "n_columns", "training", "dense", "label_parts", "vectors")


class Model(AnsweringModel):
    """A linear-chain CRF with fixed weights. A model is immutable, so threads may share it."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        features: FeatureSet,
        w: Any,
        *,
        template: Template | None = None,
        n_columns: int = 0,
        training: Mapping[str, Any] | None = None,
        dense: DenseColumns | None = None,
        label_parts: LabelParts | None = None,
        vectors: WordVectors | None = None,
    ) -> None:
        """`w` is an array with a float64 for each feature. A file also stores the other arguments. `template` generates
        the attributes from columns. `n_columns` is the number of observation columns (0 means any number). `training`
        describes how the weights were found, in JSON values (rho1, rho2, objective, loss, kkt, gap, ...). `dense` is
        the standardisation of token vectors; None if tokens have no vectors. `vectors` are word vectors that the model
        looks up itself; None if tokens come with vectors or have none. `label_parts` names the parts of labels, if the
        features have any.
        """
        found = (len(vocabulary.labels), len(vocabulary.attributes))
        if found != (features.n_labels, features.n_attributes):
            raise InputError(
                f"vocabulary: expected {features.n_labels} labels and {features.n_attributes} attributes, as in the "
                f"features, found {found[0]} and {found[1]}"
            )
        if (0 if label_parts is None else len(label_parts.names)) != features.n_parts:
            raise InputError(
                f"label_parts: expected the {features.n_parts} parts of the features, found different parts"
            )
        if (() if label_parts is None else label_parts.class_cells) != tuple(features.class_cells):
            raise InputError("label_parts: expected the classes of the features, found different classes")
        if label_parts is not None and dense is not None:
            raise InputError("label_parts: not supported with dense columns")
        if vectors is not None and (dense is None or dense.width != vectors.n_dense):
            n_dense = 0 if dense is None else dense.width
            raise InputError(f"vectors: expected vectors for {n_dense} dense columns, found {vectors.n_dense}")
        self.vocabulary = vocabulary.freeze()
        self.features = features
        self.template = template
        self.n_columns = n_columns
        self.dense = dense
        self.vectors = vectors
        self.label_parts = label_parts
        self.training = TrainingRecord(training or {})
        self.labels = [vocabulary.labels[k] for k in range(len(vocabulary.labels))]
        self._core = CoreModel(
            self.vocabulary.labels,
            self.vocabulary.attributes,
            features,
            w,
            start=vocabulary.start,
            template=template,
            n_columns=n_columns,
            mean=[] if dense is None else dense.mean,
            scale=[] if dense is None else dense.scale,
            vectors=None if vectors is None else vectors.core(dense),
        )
        self.chain, self._single = self._core.chain(0), self._core.chain(1)
        self._check = TokenCheck(self.training, vocabulary.attributes, template is not None, n_columns)
        self._is_made = True

    def __setattr__(self, name: str, value: Any) -> None:
        if "_is_made" in self.__dict__:
            raise AttributeError(f"a Model cannot be changed: {name} is read-only")
        super().__setattr__(name, value)

    @classmethod
    def from_weights(
        cls,
        labels: Iterable[str],
        unigram: Mapping[tuple[str, str], float],
        bigram: Mapping[tuple[str, str | None, str], float] | None = None,
        *,
        bigrams: Bigrams | None = None,
        start: bool = True,
    ) -> Model:
        """Make a model from weights by name: unigram[attribute, label], bigram[attribute, previous, label].

        The previous label None is the start of the sequence. `bigrams` selects the attributes that condition label
        pairs; by default, the attributes with a bigram weight.
        """
        bigram = bigram or {}
        conditioning = frozenset(x for x, _, _ in bigram)
        vocabulary = Vocabulary(bigrams=conditioning if bigrams is None else bigrams, start=start)
        for name in labels:
            vocabulary.labels.intern(name)
        unigram_cells = [(vocabulary.attributes.intern(x), label_id(vocabulary, y)) for x, y in unigram]
        start_id = len(vocabulary.labels)
        bigram_cells = [
            (
                vocabulary.attributes.intern(x),
                start_id if previous is None else label_id(vocabulary, previous),
                label_id(vocabulary, y),
            )
            for x, previous, y in bigram
        ]
        return cls.from_cells(vocabulary, unigram_cells, list(unigram.values()), bigram_cells, list(bigram.values()))

    @classmethod
    def from_cells(
        cls,
        vocabulary: Vocabulary,
        unigram: Any,
        unigram_w: Any,
        bigram: Any,
        bigram_w: Any,
        *,
        template: Template | None = None,
        n_columns: int = 0,
        training: Mapping[str, Any] | None = None,
    ) -> Model:
        """Make a model from weights by id, in any order. The cells (attribute, label) form an array with two columns,
        and the cells (attribute, previous label, label) form an array with three; the previous label `len(labels)` is
        the start.
        """
        u = np.asarray(unigram, dtype=np.int32).reshape(-1, 2)
        b = np.asarray(bigram, dtype=np.int32).reshape(-1, 3)
        # Weights follow the canonical order of features.
        orders = (np.lexsort(u.T[::-1]), np.lexsort(b.T[::-1]))
        w = np.concatenate(
            [np.asarray(v, dtype=np.float64)[order] for v, order in zip((unigram_w, bigram_w), orders, strict=True)]
        )
        columns = [np.ascontiguousarray(column) for column in (*u.T, *b.T)]
        features = FeatureSet(len(vocabulary.labels), len(vocabulary.attributes), *columns)
        return cls(vocabulary, features, w, template=template, n_columns=n_columns, training=training)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read a model from its file."""
        return cls._read(*read(path))

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """Make the model from the content of its file."""
        return cls._read(*from_bytes(data))

    @classmethod
    def _read(cls, parts: ModelParts, source: str) -> Model:
        labels, attributes, features = parts.labels, parts.attributes, parts.features
        vocabulary = Vocabulary(bigrams_of(attributes, features), parts.start, labels, attributes, frozen=True)
        return cls(vocabulary, features, parts.w, **options_of(parts, source))

    @classmethod
    def _of(cls, parts: Parts, source: str = "model") -> Model:
        """The model with this content; errors call the content `source`."""
        n_labels, n_attributes = len(parts.labels), len(parts.attributes)
        try:
            table = None if parts.ngrams is None else parts.ngrams.table(n_labels)
            rows = None if parts.label_parts is None else parts.label_parts.core
            features = FeatureSet.from_numbers(n_labels, n_attributes, parts.numbers, table, rows)
            bigrams = bigrams_of(parts.attributes, features)
            vocabulary = Vocabulary(bigrams, parts.start, parts.labels, parts.attributes)
            return cls(vocabulary, features, parts.w, **{name: getattr(parts, name) for name in _OPTIONS})
        except InputError as error:
            raise InputError(f"{source}: {error}") from error

    def save(self, path: str | os.PathLike[str], *, compact: bool | str = False) -> None:
        """Write the nonzero weights of the model, and their attributes, to a file.

        `compact` makes the file about four times smaller. True or "int16" rounds weights to 16 bits, which changes each
        weight by at most (largest weight) / 65534; "float32" rounds less. `training["compact"]["error"]` of the saved
        model is the largest change of a weight.
        """
        save(self.to_bytes(compact=compact), path)

    def to_bytes(self, *, compact: bool | str = False) -> bytes:
        """The bytes that `save` writes to a file."""
        kind = kind_of(compact)
        if kind is None:
            return to_bytes(self._parts())
        made, scale = self._rounded(kind)
        return to_bytes(made._parts(), (kind, scale))

    def _rounded(self, kind: str) -> tuple[Model, float]:
        """The model as stored in a compact file, and the scale of its weights; it has the same features as this
        model."""
        w, scale = rounded(self.w, kind)
        before = self.training.get(RECORD, {}).get("error", 0.0)  # if this model itself was rounded
        error = float(np.abs(w - self.w).max(initial=0.0))
        record = {**self.training, RECORD: {"weights": kind, "error": before + error}}
        # Saving a compact model again gives the same weights, except for the last bit of the scale.
        is_same = error <= 1e-12 * float(np.abs(w).max(initial=0.0))
        return self._with(w=w, training=record if is_same else without_calibration(record)), scale

    def noted(self, **record: Any) -> Model:
        """The same model with these entries in its training record."""
        return self._with(training={**self.training, **record}) if record else self

    def _with(self, **changed: Any) -> Model:
        """A copy with changes: to arguments of the constructor, `features` or `w`."""
        own = {name: getattr(self, name) for name in ("features", "w", *_OPTIONS)}
        return Model(self.vocabulary, **{**own, **changed})

    def compacted(self) -> Model:
        """The same model without zero weights and attributes without weights, as stored in a file.

        Predicted labels are the same, and probabilities are the same up to rounding. The weights now determine which
        attributes condition label pairs.
        """
        return self._of(self._parts())

    def scaled(self, factor: float) -> Model:
        """The model with all weights multiplied by a factor. A larger factor makes the model more confident; a positive
        factor keeps the best labels. A calibration becomes invalid and is dropped."""
        return self._with(w=factor * self.w, training=without_calibration(self.training))

    def calibrated(self, X: Iterable[Iterable[Token]], y: Iterable[Iterable[str]]) -> Model:
        """The same model with thresholds for `predict_set`, calibrated on fully labelled held-out sequences."""
        from sparsecrf.model.calibrating import calibrated

        return calibrated(self, zip(X, y, strict=True))

    def without_parts(self) -> Model:
        """The same model for whole labels: the weight of a label part is added to every label with that part, and the
        weight of a class pair to every label pair in it. Predicted labels are the same, and probabilities are the
        same up to rounding. Returns the model itself if labels have no parts."""
        if self.label_parts is None:
            return self
        from sparsecrf.model.joined import whole_labels

        features, w = whole_labels(self.features, self.w)
        return self._with(features=features, w=w, label_parts=None)

    def _parts(self) -> Parts:
        """The model as a file stores it."""
        about = (self.vocabulary.start, self.template, self.n_columns, self.training)
        more = (Ngrams.of(self.features), self.dense, self.label_parts, self.vectors)
        names = self.vocabulary
        return used(Parts(names.labels, names.attributes, self.features.numbers, self.w, *about, *more))

    # pickle, joblib and skops store a model as its file.
    def __getstate__(self) -> dict[str, bytes]:
        return {"file": self.to_bytes()}

    def __setstate__(self, state: dict[str, bytes]) -> None:
        self.__dict__.update(Model.from_bytes(state["file"]).__dict__)

    def __repr__(self) -> str:
        from sparsecrf.tables import counted

        sizes = {"label": len(self.labels), "attribute": self.n_attributes, "weight": self.n_active}
        return f"<Model: {', '.join(counted(n, noun) for noun, n in sizes.items())}>"

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        from sparsecrf.model.card import model_card

        return model_card(self)

    @property
    def w(self) -> NDArray[np.float64]:
        """The weights, one for each of `features`."""
        return self._core.w

    @property
    def n_active(self) -> int:
        """Number of nonzero weights."""
        return int(np.count_nonzero(self.w))

    @property
    def n_attributes(self) -> int:
        """Number of attributes with a nonzero weight; a file stores only these. `vocabulary` may contain more."""
        features = self.features
        attribute = np.concatenate([features.unigram_attribute, features.bigram_attribute, features.ngrams[0]])
        return len(np.unique(attribute[np.flatnonzero(self.w)]))

    @lazy
    def has_plain_transitions(self) -> bool:
        """Whether label pairs have the same weights at every position."""
        if self.features.n_ngram:
            return False
        plain = [self.vocabulary.attributes.find(name) for name in self.plain_attributes()]
        return set(self.features.bigram_attribute.tolist()) <= set(plain)

    @overload
    def explain(
        self, sequence: None = None, *, top: int | None = 10, label: str | None = None, attribute: str | None = None
    ) -> ModelExplanation: ...

    @overload
    def explain(
        self, sequence: Iterable[Token], labels: Iterable[str | None] | None = None, *, top: int | None = 5
    ) -> SequenceExplanation: ...

    def explain(self, sequence: Any = None, labels: Any = None, **options: Any) -> Any:
        """Explain what the model has learnt or, given a sequence, why the model predicts its labels.

        explain(top=10, label=None, attribute=None): the `top` largest weights of each label (None means all), or only
        the weights of one label or attribute; transitions; and the contribution of each template line.
        explain(sequence, labels=None, top=5): what each attribute and transition adds to the score of `labels` (None
        means the best labels), and the margins. The `top` contributions of each token are printed.
        """
        from sparsecrf.contrib.explain import explain_model, explain_sequence

        if sequence is not None:
            return explain_sequence(self, sequence, labels, **options)
        if labels is not None:
            raise InputError("labels: expected a sequence for these labels, found none")
        return explain_model(self, **options)

    def transitions(self) -> NDArray[np.float64]:
        """Plain transitions, which are weights that apply at every position: float64[Y + 1, Y], previous label by
        label.

        The last row is the start. Plain transitions are the bigram weights of the bias and of template lines without a
        macro. The weight of a class pair is added to every label pair in it.
        """
        if self.features.n_class:
            return self.without_parts().transitions()
        Y, features = len(self.labels), self.features
        matrix = np.zeros((Y + 1, Y))
        weights = self.w[features.n_unigram : features.n_unigram + features.n_bigram]
        for name in self.plain_attributes():
            here = features.bigram_attribute == self.vocabulary.attributes.find(name)
            matrix[features.bigram_previous[here], features.bigram_label[here]] += weights[here]
        return matrix

    def plain_attributes(self) -> list[str]:
        """The model's attributes that condition label pairs at every position."""
        names = [BIAS]
        if self.template is not None:
            lines = self.template
            made = lines.attributes([[""] * max(1, lines.n_columns)])[0]  # attributes of lines without macros
            every = zip(made, lines.kinds, lines.varies, strict=True)
            names += [name for name, kind, varies in every if kind != "U" and not varies]
        return [name for name in dict.fromkeys(names) if self.vocabulary.attributes.find(name) is not None]
