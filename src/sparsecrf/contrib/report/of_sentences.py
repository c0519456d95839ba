"""The data of the sentence explorer. A labelled file is scored as a whole and explained up to a size limit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import InputError
from sparsecrf.contrib.explain import START, TokenExplanation
from sparsecrf.contrib.report.pack import Names, real, whole
from sparsecrf.files.text import Source, name_of
from sparsecrf.metrics import Evaluation
from sparsecrf.model import Model
from sparsecrf.model.predict import predicted, unknown_gold
from sparsecrf.warn import warn_caller

#: Maximum number of explained tokens, which makes a page of about 15 MB.
MAX_TOKENS = 60_000
_LABELS = 5  # number of most probable labels shown for each token
_TERMS = 10  # maximum number of contributions shown for each token
_SMALL = 0.005  # smaller contributions are printed as 0.00
_CONFUSIONS = 15


@dataclass(frozen=True)
class Sentence:
    """One sequence of the file."""

    number: int  #: counted from 1
    tokens: list[Any]  #: in the form that Model.encode accepts
    gold: list[str]  #: the predicted label where the gold label is unknown


def sentence_data(
    model: Model,
    source: Source,
    max_sentences: int,
    names: Names,
    max_tokens: int = MAX_TOKENS,
    format: str | None = None,
) -> dict[str, Any]:
    """The scores of all sentences, and explanations of `max_sentences` of them, those with errors first.

    `names` collects the attributes of the explanations. `format` is passed to `predicted`.
    """
    evaluation, wrong, right = Evaluation(), list[Sentence](), list[Sentence]()
    for number, (tokens, gold, labels) in enumerate(predicted(model, source, format=format), 1):
        try:
            evaluation.add(gold, labels)
        except InputError as error:
            raise InputError(f"{name_of(source)}: {error}") from None
        sentence = Sentence(number, tokens, [z if y is None else y for y, z in zip(gold, labels, strict=True)])
        kept = right if sentence.gold == labels else wrong
        if len(kept) < max_sentences:
            kept.append(sentence)
    if not evaluation.tokens:
        raise InputError(f"{name_of(source)}: expected at least one line with labels, found none")
    if (remark := unknown_gold(evaluation, model.labels)) is not None:
        warn_caller(f"{name_of(source)}: {remark}")
    label_names = Names([*model.labels, START])  # gold labels may not be in the model
    chosen = _that_fit([*wrong, *right][:max_sentences], max_tokens)
    return {
        "file": os.path.basename(name_of(source)),  # a page may be shared, so no folders are shown
        "scores": evaluation.as_dict(),
        "wrong": evaluation.wrong_sequences,
        "confusions": evaluation.confusions(_CONFUSIONS),
        **_columns([_explained(model, sentence, label_names, names) for sentence in chosen]),
        "names": label_names.all,
        "nTop": min(_LABELS, len(model.labels)),
    }


def _that_fit(sentences: Sequence[Sentence], max_tokens: int) -> list[Sentence]:
    """The first sentences with at most `max_tokens` tokens in total, but at least one sentence."""
    ends = np.cumsum([len(sentence.tokens) for sentence in sentences])
    return list(sentences[: max(1, int(np.searchsorted(ends, max_tokens, side="right")))])


class _Term(NamedTuple):
    """What an attribute adds to the scores of a token's label and of its rival, after the same previous label."""

    x: int  #: number of the attribute; -1 for the sum of `value` other terms
    pair: bool
    value: float
    own: float
    rival: float


class _Token(NamedTuple):
    """An explained token; labels by number."""

    gold: int
    predicted: int
    rival: int  #: -1 if the model has no other label
    gold_p: float
    margin: float
    terms: list[_Term]


class _Explained(NamedTuple):
    """An explained sentence."""

    number: int
    log_prob: float
    words: list[str]
    more: list[str]  #: further columns of the tokens
    top: NDArray[np.intp]  #: [T, nTop] the most probable labels
    top_p: NDArray[np.float64]
    tokens: list[_Token]


def _explained(model: Model, sentence: Sentence, labels: Names, names: Names) -> _Explained:
    explained = model.explain(sentence.tokens)
    top = np.argsort(-explained.marginals, axis=1, kind="stable")[:, :_LABELS]
    known = {name: y for y, name in enumerate(explained.labels)}
    tokens = []
    for gold, token, marginals in zip(sentence.gold, explained.tokens, explained.marginals, strict=True):
        y, other = known[token.label], gold if gold != token.label and gold in known else token.runner_up
        rival = -1 if other is None else known[other]
        gold_p = float(marginals[known[gold]]) if gold in known else 0.0
        terms = _terms(token, y, rival, names)
        tokens.append(_Token(labels.number(gold), y, rival, gold_p, token.path_margin, terms))
    return _Explained(
        sentence.number,
        explained.log_prob,
        [_word(token, explained.tokens[t]) for t, token in enumerate(sentence.tokens)],
        [] if model.template is None else [" ".join(row[1:]) for row in sentence.tokens],
        top,
        np.take_along_axis(explained.marginals, top, axis=1),
        tokens,
    )


def _terms(token: TokenExplanation, y: int, rival: int, names: Names) -> list[_Term]:
    """The terms that differ between the two labels, the largest difference first, with the rest in one sum."""
    amounts = np.concatenate([token.unigram, token.bigram])
    own = amounts[:, y]
    other = np.zeros_like(own) if rival < 0 else amounts[:, rival]
    order = np.lexsort((-np.abs(own), -np.abs(own - other)))
    order = order[(own[order] != 0) | (other[order] != 0)]
    large = order[np.maximum(np.abs(own[order]), np.abs(other[order])) >= _SMALL]
    attributes, values = [*token.attributes, *token.bigram_attributes], [*token.values, *token.bigram_values]
    shown = large if len(large) <= _TERMS else large[: _TERMS - 1]
    terms = [
        _Term(names.number(attributes[k]), k >= len(token.attributes), values[k], own[k], other[k])
        for k in shown.tolist()
    ]
    if len(shown) < len(order):
        rest = np.setdiff1d(order, shown)
        terms.append(_Term(-1, False, len(rest), own[rest].sum(), other[rest].sum()))
    return terms


def _columns(sentences: Sequence[_Explained]) -> dict[str, Any]:
    """Explained sentences as columns, with one entry per sentence, token, label of a token, or term of a token."""
    tokens = [token for sentence in sentences for token in sentence.tokens]
    terms = [term for token in tokens for term in token.terms]
    return {
        "number": whole([sentence.number for sentence in sentences]),
        "logProb": real([sentence.log_prob for sentence in sentences]),
        "lengths": whole([len(sentence.tokens) for sentence in sentences]),
        "words": [sentence.words for sentence in sentences],
        "more": [s.more for s in sentences] if any(any(sentence.more) for sentence in sentences) else None,
        "gold": whole([token.gold for token in tokens]),
        "predicted": whole([token.predicted for token in tokens]),
        "rival": whole([token.rival for token in tokens]),
        "goldP": real([token.gold_p for token in tokens]),
        "margin": real([token.margin for token in tokens]),
        "top": whole(np.concatenate([sentence.top.ravel() for sentence in sentences])),
        "topP": real(np.concatenate([sentence.top_p.ravel() for sentence in sentences])),
        "terms": {
            "counts": whole([len(token.terms) for token in tokens]),
            "x": whole([term.x for term in terms]),
            "pair": whole([term.pair for term in terms]),
            "value": real([term.value for term in terms]),
            "own": real([term.own for term in terms]),
            "rival": real([term.rival for term in terms]),
        },
    }


def _word(token: Any, explained: TokenExplanation) -> str:
    """The printed form of a token: its first column or, for CRFsuite's attributes, the attribute that looks like the
    word."""
    if token and not isinstance(token[0], str):
        for attribute, _ in token:
            for prefix in ("w[0]=", "word=", "word:", "w=", "w:"):
                if attribute.startswith(prefix):
                    return str(attribute[len(prefix) :])
    return explained.text
