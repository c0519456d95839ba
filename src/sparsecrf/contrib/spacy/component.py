"""The component, which is trained on docs and sets entities or tags with their probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from spacy.language import Language
from spacy.pipeline import Pipe
from spacy.scorer import Scorer, get_ner_prf
from spacy.tokens import Doc, Span, SpanGroup, Token
from spacy.util import filter_spans, minibatch

from sparsecrf._core import InputError
from sparsecrf.defaults import RHO1, RHO2, TOL
from sparsecrf.encoding.mentions import with_mentions
from sparsecrf.estimators.crf import CRF
from sparsecrf.model import Model
from sparsecrf.model.spans import SpanReader

#: Maps names to the terms used in errors.
TARGETS = {"ents": "entities", "tag": "tags", "pos": "parts of speech"}


def labels_of(doc: Doc, target: str) -> list[str | None]:
    """The labels of all tokens; None for tokens that are not annotated. Entities are B-TYPE, I-TYPE and O."""
    if target == "ents":
        return [_iob2(token) for token in doc]
    return [getattr(token, f"{target}_") or None for token in doc]


def _iob2(token: Token) -> str | None:
    if token.ent_iob_ in ("", "O"):
        return token.ent_iob_ or None
    return f"{token.ent_iob_}-{token.ent_type_}"


_MODEL_FILE = "model.safetensors"
_DEFAULTS = {
    "target": "ents",
    "features": "words",
    "template": None,
    "columns": ["text"],
    "spans_key": "sparsecrf",
    "by_sentence": True,
    "overwrite": True,
    "rho1": RHO1,
    "rho2": RHO2,
    "tol": TOL,
    "n_jobs": 1,
}


@Language.factory(  # type: ignore[untyped-decorator]
    "sparsecrf",
    assigns=["doc.ents", "doc.spans", "token.ent_iob", "token.ent_type"],
    default_config=_DEFAULTS,
    default_score_weights={"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None},
)
def make_component(
    nlp: Language,
    name: str,
    target: str,
    features: str | None,
    template: str | None,
    columns: list[str],
    spans_key: str,
    by_sentence: bool,
    overwrite: bool,
    rho1: float | str,
    rho2: float,
    tol: float,
    n_jobs: int,
) -> SparseCRF:
    """The factory for `nlp.add_pipe("sparsecrf", config={...})`; see `SparseCRF` for the options."""
    return SparseCRF(**{option: value for option, value in locals().items() if option != "nlp"})


class SparseCRF(Pipe):  # type: ignore[misc]
    """A linear-chain CRF as a component of spaCy.

    `fit(docs)` trains it; so does `nlp.initialize(lambda: examples)`, which `spacy train` calls. `nlp(text)` then
    returns a doc with the entities in `doc.ents`, and also in `doc.spans["sparsecrf"]`, whose `.attrs["scores"]`
    contains the probability of each.
    """

    def __init__(
        self,
        name: str = "sparsecrf",
        *,
        target: str = "ents",
        columns: Sequence[str] = ("text",),
        spans_key: str = "sparsecrf",
        by_sentence: bool = True,
        overwrite: bool = True,
        **training: Any,
    ) -> None:
        """`target`: ents (entities), tag or pos (of every token). `columns`: attributes of spaCy's tokens from which
        features are made, the word first. `by_sentence`: sequences are sentences if docs have sentence boundaries, else
        whole docs. `overwrite`: replace existing entities or tags. `training`: parameters of `CRF`, such as features,
        template, rho1.
        """
        if target not in TARGETS:
            raise InputError(f"target: expected one of {', '.join(TARGETS)}, found {target!r}")
        self.name, self.target, self.columns = name, target, list(columns)
        self.spans_key, self.by_sentence, self.overwrite = spans_key, by_sentence, overwrite
        self.training = training
        self.model: Model | None = None

    @property
    def labels(self) -> tuple[str, ...]:
        """Types of entities, or tags."""
        if self.model is None:
            return ()
        if self.target != "ents":
            return tuple(self.model.labels)
        return SpanReader(self.model.labels).types

    def fit(self, docs: Iterable[Doc]) -> SparseCRF:
        """Train on docs with entities or tags. Tokens whose label is missing are summed over; docs without any label
        are left out."""
        X, y = [], []
        for doc in docs:
            gold = labels_of(doc, self.target)
            for start, end, tokens in self._sequences(doc):
                if any(label is not None for label in gold[start:end]):
                    X.append(tokens)
                    y.append(gold[start:end])
        if not X:
            raise InputError(f"docs: expected docs with {TARGETS[self.target]}, found none")
        self.model = CRF(**self.training).fit(X, y).model_
        return self

    def initialize(self, get_examples: Callable[[], Iterable[Any]], *, nlp: Language | None = None, **_: Any) -> None:
        """Train on the reference docs of examples; does nothing if there are no labels."""
        docs = [example.reference for example in get_examples()]
        if any(label is not None for doc in docs for label in labels_of(doc, self.target)):
            self.fit(docs)

    def __call__(self, doc: Doc) -> Doc:
        """Set the entities or tags of a doc."""
        try:
            self._annotate([doc])
        except Exception as error:
            self.get_error_handler()(self.name, self, [doc], error)
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 128) -> Iterator[Doc]:
        """Set the entities or tags of docs. Each batch is labelled in one call, on `n_jobs` threads."""
        for batch in minibatch(stream, batch_size):
            docs = list(batch)
            try:
                self._annotate(docs)
                yield from docs
            except Exception as error:
                self.get_error_handler()(self.name, self, docs, error)

    def score(self, examples: Iterable[Any], **_: Any) -> dict[str, Any]:
        """F1 of entities, or the accuracy of tags, as spaCy computes them."""
        if self.target == "ents":
            return dict(get_ner_prf(examples))
        return dict(Scorer.score_token_attr(examples, self.target))

    def _sequences(self, doc: Doc) -> list[tuple[int, int, list[Any]]]:
        """The start, end and tokens of each sequence."""
        places = [(0, len(doc))] if len(doc) else []
        if self.by_sentence and doc.has_annotation("SENT_START"):
            places = [(sentence.start, sentence.end) for sentence in doc.sents]
        tokens = [self._tokens(doc, *place) for place in places]
        if self.training.get("features") == "documents":
            tokens = with_mentions(tokens)
        return [(*place, found) for place, found in zip(places, tokens, strict=True)]

    def _tokens(self, doc: Doc, start: int, end: int) -> list[Any]:
        if self.columns == ["text"]:
            return [token.text for token in doc[start:end]]
        return [[str(getattr(token, name)) for name in self.columns] for token in doc[start:end]]

    def _annotate(self, docs: list[Doc]) -> None:
        if self.model is None:
            raise ValueError(f"{self.name}: expected a trained component: call fit(docs), or nlp.initialize(...)")
        places = [(doc, *sequence) for doc in docs for sequence in self._sequences(doc)]
        spans: dict[int, list[tuple[int, int, str, float]]] = {id(doc): [] for doc in docs}
        if places:
            chain = self.model.chain_with(int(self.training.get("n_jobs") or 1))
            corpus = self.model.encode(tokens for *_, tokens in places)
            path, offsets = chain.viterbi(corpus)[0], corpus.offsets.tolist()
            reader = SpanReader(self.model.labels) if self.target == "ents" else None
            for i, (doc, start, end, _) in enumerate(places):
                labels = path[offsets[i] : offsets[i + 1]]
                if reader is None:
                    self._set_tags(doc, start, end, labels)
                else:
                    found = reader.spans(chain, corpus, i, labels)
                    spans[id(doc)] += [(start + a, start + b, kind, p) for a, b, kind, p in found]
        if self.target == "ents":
            for doc in docs:
                self._set_entities(doc, spans[id(doc)])

    def _set_entities(self, doc: Doc, found: list[tuple[int, int, str, float]]) -> None:
        entities = [Span(doc, start, end, label=kind) for start, end, kind, _ in found]
        scores = np.array([p for *_, p in found], dtype=np.float32)
        doc.spans[self.spans_key] = SpanGroup(doc, name=self.spans_key, spans=entities, attrs={"scores": scores})
        if not self.overwrite and doc.ents:
            kept = list(doc.ents)
            taken = {token.i for entity in kept for token in entity}
            entities = filter_spans([*kept, *(e for e in entities if not taken.intersection(range(e.start, e.end)))])
        doc.set_ents(entities, default="outside")

    def _set_tags(self, doc: Doc, start: int, end: int, labels: NDArray[np.int32]) -> None:
        assert self.model is not None
        attribute = f"{self.target}_"
        for token, y in zip(doc[start:end], labels.tolist(), strict=True):
            if self.overwrite or not getattr(token, attribute):
                setattr(token, attribute, self.model.labels[y])

    def to_bytes(self, *, exclude: Sequence[str] = ()) -> bytes:
        """The model in its file format; empty if the component is not trained."""
        return b"" if self.model is None else self.model.to_bytes()

    def from_bytes(self, data: bytes, *, exclude: Sequence[str] = ()) -> SparseCRF:
        self.model = Model.from_bytes(data) if data else None
        return self

    def to_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> None:
        """Write the model to a folder, which is created if missing. `sparsecrf label` and `Model.load` can read the
        file in it."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        if self.model is not None:
            self.model.save(folder / _MODEL_FILE)

    def from_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> SparseCRF:
        file = Path(path) / _MODEL_FILE
        self.model = Model.load(file) if file.exists() else None
        return self
