"""The data of the sentence explorer: a labelled file, scored as a whole and explained up to a size limit."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import InputError
from sparsecrf.contrib.explain import START
from sparsecrf.contrib.report.pack import Names, real, whole
from sparsecrf.files.text import Source, name_of
from sparsecrf.metrics import Evaluation
from sparsecrf.model.predict import predicted, unknown_gold
from sparsecrf.warn import warn_caller

if TYPE_CHECKING:
    from sparsecrf.contrib.explain import SequenceExplanation, TokenExplanation
    from sparsecrf.model import Model

#: Maximum number of explained tokens: a page of about 15 MB.
MAX_TOKENS = 60_000
_LABELS = 5  # most probable labels shown for each token
_TERMS = 10  # maximum number of contributions shown for each token
_SMALL = 0.005  # smaller contributions are printed as 0.00
_CONFUSIONS = 15


@dataclass(frozen=True)
class Sentence:
    """One sequence of the file."""

    number: int  #: from 1
    tokens: list[Any]  #: as for Model.encode
    gold: list[str]  #: the predicted label if the gold label is unknown


def sentence_data(
    model: Model,
    source: Source,
    max_sentences: int,
    names: Names,
    max_tokens: int = MAX_TOKENS,
    format: str | None = None,
) -> dict[str, Any]:
    """The scores of all sentences, and explanations of `max_sentences` of them, those with errors first.

    `names` collects the attributes of the explanations. `format` is as for `predicted`.
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
    chosen = _that_fit([*wrong, *right][:max_sentences], max_tokens)
    table = _Table(model, names)
    for sentence in chosen:
        table.add(sentence, model.explain(sentence.tokens))
    return {
        "file": os.path.basename(name_of(source)),  # a page may be shared, so no folders are shown
        "scores": evaluation.as_dict(),
        "wrong": evaluation.wrong_sequences,
        "confusions": evaluation.confusions(_CONFUSIONS),
        **table.columns(),
    }


def _that_fit(sentences: Sequence[Sentence], max_tokens: int) -> list[Sentence]:
    """The first sentences with at most `max_tokens` tokens in total, but at least one sentence."""
    ends = np.cumsum([len(sentence.tokens) for sentence in sentences])
    return list(sentences[: max(1, int(np.searchsorted(ends, max_tokens, side="right")))])


class _Table:
    """Explained sentences as columns, with one entry per sentence, token, label of a token, or term of a token."""

    def __init__(self, model: Model, names: Names) -> None:
        self._model, self._names = model, names
        self._labels = Names([*model.labels, START])  # gold labels may not be in the model
        self._number: list[int] = []
        self._log_prob: list[float] = []
        self._lengths: list[int] = []
        self._words: list[list[str]] = []
        self._more: list[list[str]] = []
        self._gold: list[int] = []
        self._predicted: list[int] = []
        self._rival: list[int] = []
        self._gold_p: list[float] = []
        self._margin: list[float] = []
        self._top: list[NDArray[np.intp]] = []
        self._top_p: list[NDArray[np.float64]] = []
        self._terms = _Terms(names)

    def add(self, sentence: Sentence, explained: SequenceExplanation) -> None:
        self._number.append(sentence.number)
        self._log_prob.append(explained.log_prob)
        self._lengths.append(len(sentence.tokens))
        self._words.append([_word(token, explained.tokens[t]) for t, token in enumerate(sentence.tokens)])
        if self._model.template is not None:
            self._more.append([" ".join(row[1:]) for row in sentence.tokens])
        n = min(_LABELS, len(explained.labels))
        top = np.argsort(-explained.marginals, axis=1, kind="stable")[:, :n]
        self._top.append(top)
        self._top_p.append(np.take_along_axis(explained.marginals, top, axis=1))
        known = {name: y for y, name in enumerate(explained.labels)}
        for gold, token, marginals in zip(sentence.gold, explained.tokens, explained.marginals, strict=True):
            rival = gold if gold != token.label and gold in known else token.runner_up
            self._gold.append(self._labels.number(gold))
            self._predicted.append(known[token.label])
            self._rival.append(-1 if rival is None else known[rival])
            self._gold_p.append(float(marginals[known[gold]]) if gold in known else 0.0)
            self._margin.append(token.path_margin)
            self._terms.add(token, known[token.label], None if rival is None else known[rival])

    def columns(self) -> dict[str, Any]:
        return {
            "names": self._labels.all,
            "number": whole(self._number),
            "logProb": real(self._log_prob),
            "lengths": whole(self._lengths),
            "words": self._words,
            "more": self._more if any(any(row) for row in self._more) else None,
            "gold": whole(self._gold),
            "predicted": whole(self._predicted),
            "rival": whole(self._rival),
            "goldP": real(self._gold_p),
            "margin": real(self._margin),
            "nTop": min(_LABELS, len(self._model.labels)),
            "top": whole(np.concatenate([rows.ravel() for rows in self._top])),
            "topP": real(np.concatenate([rows.ravel() for rows in self._top_p])),
            "terms": self._terms.columns(),
        }


class _Terms:
    """The evidence for the predicted label of each token, and for its rival after the same previous label."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._counts: list[int] = []
        self._x: list[int] = []
        self._pair: list[bool] = []
        self._value: list[float] = []
        self._own: list[float] = []
        self._rival: list[float] = []

    def add(self, token: TokenExplanation, y: int, rival: int | None) -> None:
        """Add the terms that differ between the two labels, the largest difference first, with the rest in one sum."""
        amounts = np.concatenate([token.unigram, token.bigram])
        own = amounts[:, y]
        other = np.zeros_like(own) if rival is None else amounts[:, rival]
        order = np.lexsort((-np.abs(own), -np.abs(own - other)))
        order = order[(own[order] != 0) | (other[order] != 0)]
        large = order[np.maximum(np.abs(own[order]), np.abs(other[order])) >= _SMALL]
        names, values = [*token.attributes, *token.bigram_attributes], [*token.values, *token.bigram_values]
        shown = large if len(large) <= _TERMS else large[: _TERMS - 1]
        for k in shown.tolist():
            self._put(self._names.number(names[k]), k >= len(token.attributes), values[k], own[k], other[k])
        if len(shown) < len(order):
            rest = np.setdiff1d(order, shown)
            self._put(-1, False, len(rest), own[rest].sum(), other[rest].sum())
        self._counts.append(len(shown) + (len(shown) < len(order)))

    def _put(self, x: int, pair: bool, value: float, own: float, other: float) -> None:
        self._x.append(x)
        self._pair.append(pair)
        self._value.append(float(value))
        self._own.append(float(own))
        self._rival.append(float(other))

    def columns(self) -> dict[str, Any]:
        """The columns. An entry with `x` = -1 is the sum of `value` other terms."""
        return {
            "counts": whole(self._counts),
            "x": whole(self._x),
            "pair": whole(self._pair),
            "value": real(self._value),
            "own": real(self._own),
            "rival": real(self._rival),
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
