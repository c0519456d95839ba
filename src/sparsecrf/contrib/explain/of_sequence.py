"""Explains a label sequence: the contribution of every attribute and transition to its score, and the certainty of each
label."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import Corpus, InputError, StringTable
from sparsecrf.contrib.explain.lattice import Lattice, LongerWeights
from sparsecrf.contrib.explain.token import TokenExplanation
from sparsecrf.contrib.explain.weights import START, check_top, frame
from sparsecrf.encoding.names import named_tokens
from sparsecrf.encoding.vocabulary import Token
from sparsecrf.model import Model
from sparsecrf.model.limits import constraints_by_name

TOP = 5  # default number of contributions of each token in text output


@dataclass(frozen=True, eq=False, repr=False)
class SequenceExplanation:
    """An explanation of the labels of a sequence, made by `Model.explain`."""

    labels: list[str]  #: [Y] of the model
    path: list[str]  #: [T] the label sequence that is explained
    score: float  #: the sum of the contributions of all tokens
    log_prob: float  #: log P(path)
    marginals: NDArray[np.float64]  #: [T, Y] P(y_t = y)
    tokens: list[TokenExplanation]  #: [T]
    top: int | None  #: number of contributions of each token that are shown as text or HTML; None means all

    @property
    def probability(self) -> float:
        """P(path)."""
        return exp(self.log_prob)

    def to_frame(self) -> Any:
        """All contributions as a pandas data frame, with the position, token, previous label and label of each."""
        columns = ("position", "token", "previous", "label", "attribute", "kind", "value", "weight", "amount")
        rows = (
            (t, token.text, token.previous, token.label, *term)
            for t, token in enumerate(self.tokens)
            for term in token.contributions()
        )
        return frame(rows, columns)

    def __repr__(self) -> str:
        return f"<SequenceExplanation: {' '.join(self.path)}, score {self.score:.6g}, P {self.probability:.4g}>"

    def __str__(self) -> str:
        from sparsecrf.contrib.explain.tables import as_text, sequence_table

        return as_text(lambda console: [sequence_table(self)])

    def _repr_html_(self) -> str:
        from sparsecrf.contrib.explain.html import sequence_html

        return sequence_html(self)


def explain_sequence(
    model: Model, sequence: Iterable[Token], labels: Iterable[str | None] | None = None, *, top: int | None = TOP
) -> SequenceExplanation:
    """Explain the best labels of a sequence, or the given labels; labels given as None are predicted."""
    check_top(top)
    tokens, texts = named_tokens(sequence)
    corpus = model.encode([tokens])
    fixed = _given(labels, corpus.n_tokens)
    path, scores = model._single.viterbi(corpus, constraints_by_name(model.vocabulary, corpus.n_tokens, fixed=fixed))
    score = float(scores[0])
    marginals = model._single.marginals(corpus)
    return SequenceExplanation(
        labels=model.labels,
        path=[model.labels[y] for y in path],
        score=score,
        log_prob=min(0.0, score - float(model._single.log_partition(corpus)[0])),
        marginals=marginals,
        tokens=_tokens(model, corpus, path, marginals, texts),
        top=top,
    )


def _given(labels: Iterable[str | None] | None, length: int) -> list[str | None] | None:
    given = None if labels is None else list(labels)
    if given is not None and len(given) != length:
        raise InputError(f"labels: expected {length} entries, one per token, found {len(given)}")
    return given


def _tokens(
    model: Model, corpus: Corpus, path: NDArray[np.int32], marginals: NDArray[np.float64], texts: list[str]
) -> list[TokenExplanation]:
    lattice = Lattice(corpus, model.features, model.w)
    mu, lam = lattice.mu(), lattice.lam(path)
    p, runner_up, p_other = _own_and_other(marginals, path)
    with np.errstate(divide="ignore"):  # a probability may be too small for a double
        margin = np.log(p) - np.log(np.maximum(p_other, 0.0))
    longer = model.features.n_ngram > 0
    best, _, best_other = _own_and_other(
        _best_through(model, corpus, path) if longer else lattice.max_marginals(), path
    )
    ngrams = lattice.ngrams(path) if longer else []
    path_margin = best - best_other
    attributes = model.vocabulary.attributes
    names = [*model.labels, START]
    made = []
    for t, y in enumerate(path.tolist()):
        u = slice(lattice.unigram_ptr[t], lattice.unigram_ptr[t + 1])
        b = slice(lattice.bigram_ptr[t], lattice.bigram_ptr[t + 1])
        made.append(
            TokenExplanation(
                text=texts[t],
                label=names[y],
                previous=names[path[t - 1]] if t else START,
                probability=float(p[t]),
                runner_up=names[runner_up[t]] if len(model.labels) > 1 else None,
                margin=float(margin[t]),
                path_margin=float(path_margin[t]),
                attributes=[attributes[x] for x in lattice.unigram_id[u].tolist()],
                values=lattice.unigram_value[u],
                mu=mu[u],
                bigram_attributes=[attributes[x] for x in lattice.bigram_id[b].tolist()],
                bigram_values=lattice.bigram_value[b],
                lam=lam[b],
                labels=model.labels,
                **_longer(ngrams[t], attributes, names) if longer else {},
            )
        )
    return made


def _longer(found: list[LongerWeights], attributes: StringTable, names: list[str]) -> dict[str, Any]:
    return {
        "ngrams": [f"{attributes[x]} [{' '.join(names[y] for y in before)}]" for x, before, _, _ in found],
        "ngram_values": np.array([value for _, _, value, _ in found]),
        "theta": np.array([weights for _, _, _, weights in found]).reshape(len(found), len(names) - 1),
    }


def _best_through(model: Model, corpus: Corpus, path: NDArray[np.int32]) -> NDArray[np.float64]:
    """[T, Y]: at each position, the score of the best path through the label of `path` and, stored under one other
    label, the score of the best path through any other label; -inf elsewhere. This function is for models with label
    n-grams; it runs two searches for each position."""
    T, Y = len(path), len(model.labels)
    best = np.full((T, Y), -np.inf)
    for t, y in enumerate(path.tolist()):
        others = [name for k, name in enumerate(model.labels) if k != y]
        for label, allowed in ((y, [model.labels[y]]), (int(y == 0), others)):
            if allowed:
                masks = [allowed if s == t else None for s in range(T)]
                limits = constraints_by_name(model.vocabulary, corpus.n_tokens, masks)
                best[t, label] = float(model._single.viterbi(corpus, limits)[1][0])
    return best


def _own_and_other(
    values: NDArray[np.float64], path: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.float64]]:
    """From values[T, Y], return the value of the path's label, the best other label, and its value (-inf if there is
    none)."""
    here = np.arange(len(path)), path
    others = values.copy()
    others[here] = -np.inf
    return values[here], others.argmax(axis=1), others.max(axis=1)
