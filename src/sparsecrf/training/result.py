"""The result of training, with the weights, their certificate, and the history."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from math import isfinite
from typing import Any

from sparsecrf._core import Chain, Corpus, FeatureSet
from sparsecrf.defaults import ORDER, PENALTY
from sparsecrf.encoding.label_parts import LabelParts
from sparsecrf.encoding.ngrams import Ngrams
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.model import Model
from sparsecrf.model.file import Parts, used
from sparsecrf.model.joined import with_others
from sparsecrf.shards import Shards
from sparsecrf.training.feature_sets import Floats, Numbers
from sparsecrf.training.history import REASONS, Record, columns, distance_in_words


@dataclass(frozen=True, repr=False)
class Fit:
    """Trained weights and their certificate."""

    corpus: Corpus | Shards
    rho1: float
    rho2: float
    numbers: Numbers  #: the features that are not zero, by their number in the virtual space
    w: Floats  #: their weights
    objective: float
    loss: float
    #: sum of |smallest subgradient| over the virtual space, relative to its value at w = 0; infinite if time ran out
    #: before it was computed
    kkt: float
    #: P(w) - P* is at most this; infinite if labels are missing, or if time ran out before a bound was found
    gap: float
    remaining: float  #: an estimate of P(w) - P*
    solver: str
    #: tol, gap, max_iter, time_limit, dev, callback, interrupt, or precision (no step improves the objective any more)
    stopped_by: str
    history: list[Record]
    #: The number of features of at most two labels in the space. kkt and gap cover these and all label n-grams up to
    #: `order`.
    n_features: int
    order: int | None = ORDER  #: maximum number of labels of a feature; None means no limit
    ngrams: Ngrams = field(default_factory=Ngrams.none)  #: label n-grams, which are the last features, in order
    parts: LabelParts | None = None  #: label parts; None means no parts
    penalty_summary: dict[str, Any] = field(default_factory=dict)  #: the penalty, besides rho1 and rho2
    n_changed: int | None = None  #: number of weights that differ from the prior; None means no prior

    def __repr__(self) -> str:
        return (
            f"<Fit: rho1 {self.rho1:g}, rho2 {self.rho2:g}, objective {self.objective:.6g}, gap {self.gap:.2g}, "
            f"kkt {self.kkt:.2g}, {len(self.w)} weights, stopped by {self.stopped_by}>"
        )

    def _repr_html_(self) -> str:
        """HTML for notebooks."""
        from sparsecrf.tables import html_table

        n, iterations = len(self.w), self.history[-1].iter if self.history else 0
        distance = distance_in_words(self.objective, self.gap, self.remaining)
        rows = [
            ["weights", f"{n:,} of {self.n_features:,}"],
            ["for labels, for label pairs", f"{self.n_unigram:,}, {n - self.n_unigram - self.n_ngram:,}"],
            *([] if self.parts is None else [["for label parts", f"{self.n_part:,}"]]),
            *([["for class pairs", f"{self.n_class_pair:,}"]] if self.parts and self.parts.classes else []),
            *([] if self.order == 2 else [["for longer label n-grams", f"{self.n_ngram:,}"]]),
            *([] if self.n_changed is None else [["that differ from the prior", f"{self.n_changed:,}"]]),
            ["rho1, rho2", f"{self.rho1:g}, {self.rho2:g}"],
            *([key.replace("_", " "), str(value)] for key, value in self.penalty_summary.items() if key != "groups"),
            *([f"{name} kept", f"{n:,} of {of:,}"] for name, (n, of) in self.groups.items()),
            ["training objective", f"{self.objective:,.6g}, {distance}"],
            ["relative KKT residual", f"{self.kkt:.2g}"],
            ["solver", f"{self.solver}, {iterations:,} iterations"],
            ["stopped", REASONS[self.stopped_by]],
        ]
        return html_table("Fit", ["", ""], rows)

    def model(
        self,
        vocabulary: Vocabulary,
        *,
        note: Mapping[str, Any] | None = None,
        compacted: bool = False,
        prior: Model | None = None,
        **options: Any,
    ) -> Model:
        """The model with the vocabulary that encoded the corpus; `options` are passed to `Model` (template, columns and
        vectors). `note`: additional entries of the training record. `compacted`: drop attributes that have no weight,
        as `Model.compacted` does, and add the weights of a `prior` for attributes that are not in the corpus.

        Names that were added to the vocabulary later are left out.
        """
        vocabulary = vocabulary.first(self.corpus.n_labels, self.corpus.n_attributes)
        options |= {"training": {**self.training_record(), **(note or {})}, "label_parts": self.parts}
        if not compacted:
            return Model(vocabulary, self.features, self.w, **options)
        names = (vocabulary.labels, vocabulary.attributes)
        parts = Parts(*names, self.numbers, self.w, vocabulary.start, ngrams=self.ngrams, **options)
        return Model._of(used(parts if prior is None else with_others(parts, prior)))

    @property
    def features(self) -> FeatureSet:
        """The features that are not zero, by ids of the corpus."""
        part_rows = None if self.parts is None else self.parts.core
        Y, X = self.corpus.n_labels, self.corpus.n_attributes
        return FeatureSet.from_numbers(Y, X, self.numbers, self.ngrams.table(Y), part_rows)

    def chain(self, threads: int = 0) -> Chain:
        """Labels other corpora with the same vocabulary."""
        return Chain(self.features, self.w, threads=threads)

    @property
    def penalty(self) -> str:
        """The name of the penalty."""
        return str(self.penalty_summary.get("penalty", PENALTY))

    @property
    def groups(self) -> dict[str, list[int]]:
        """For each kind of group, largest last: the number of groups with a nonzero weight, and the number of all
        groups. Empty without groups."""
        return dict(self.penalty_summary.get("groups", {}))

    @property
    def n_unigram(self) -> int:
        """The number of weights of single labels, without label pairs and longer n-grams."""
        return int((self.numbers < self._numbering.first_bigram).sum())

    @property
    def n_part(self) -> int:
        """The number of unigram weights that belong to label parts."""
        unigram = self.numbers[: self.n_unigram]
        return int((self._numbering.label(unigram) >= self.corpus.n_labels).sum())

    @property
    def n_class_pair(self) -> int:
        """The number of pair weights that belong to pairs of label classes."""
        numbering = self._numbering
        return int(((self.numbers >= numbering.first_class) & (self.numbers < numbering.first_ngram)).sum())

    @property
    def _numbering(self) -> Numbering:
        return Numbering.with_parts(self.corpus.n_labels, self.corpus.n_attributes, self.parts)

    @property
    def n_ngram(self) -> int:
        """The number of weights with three or more labels."""
        return len(self.ngrams.attribute)

    def training_record(self) -> dict[str, Any]:
        """The training record as JSON values: None for non-finite numbers, and a thinned history, stored as columns."""
        numbers = {
            name: getattr(self, name) for name in ("rho1", "rho2", "objective", "loss", "kkt", "gap", "remaining")
        }
        counts = {
            "iterations": self.history[-1].iter if self.history else 0,
            "features": self.n_features,
            "sequences": self.corpus.n_sequences,
            "tokens": self.corpus.n_tokens,
        }
        finite = {name: float(value) if isfinite(value) else None for name, value in numbers.items()}
        return {
            **finite,
            "solver": self.solver,
            "stopped_by": self.stopped_by,
            **counts,
            **({} if self.order == 2 else {"order": self.order}),
            **self.penalty_summary,
            **({} if self.n_changed is None else {"changed": self.n_changed}),
            "version": version("sparsecrf"),
            "history": columns(self.history),
        }
