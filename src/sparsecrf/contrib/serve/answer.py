"""Computes the answer to a request in the caller's thread, mostly with the GIL released."""

from __future__ import annotations

import time
from collections.abc import Iterator
from math import exp
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.contrib.serve.errors import RequestError, too_large, wrong
from sparsecrf.contrib.serve.limits import EXPLAINED_PER_REQUEST, NUMBERS_PER_TOKEN, Limits
from sparsecrf.contrib.serve.request import INPUTS, LabelRequest
from sparsecrf.encoding.mentions import with_mentions
from sparsecrf.model import Model
from sparsecrf.model.answer_sets import MAX_SIZE
from sparsecrf.model.calibration import SEQUENCES
from sparsecrf.model.format import FORMAT
from sparsecrf.model.limits import constraints_by_name

_BLOCK_TOKENS = 2_000  # number of tokens labelled between two checks of the clock


def answer(model: Model, name: str, request: LabelRequest, limits: Limits, deadline: float) -> dict[str, Any]:
    """The answer to a request, as JSON values. Raises RequestError, also if `deadline` (time.monotonic) has passed."""
    check_input(model, request)
    _check_size(model, request, limits)
    clock = _Clock(deadline, limits, len(request.sentences))
    try:
        sentences = with_mentions(request.sentences) if _is_of_documents(model) else request.sentences
        if request.wants_labels_only:
            found: dict[str, Any] = {"labels": _labels(model, sentences, clock)}
        else:
            found = _more(model, sentences, request, clock)
    except InputError as error:
        i = _first_wrong(model, request, clock.done)
        where = request.kind if i is None else f"{request.kind}[{i}]"
        raise RequestError.of_input(error, where, _instead(model)) from None
    found["model"] = name
    if request.offsets is not None:
        found["tokens"], found["offsets"] = request.sentences, request.offsets
    return found


def _labels(model: Model, sentences: list[Any], clock: _Clock) -> list[list[str]]:
    found: list[list[str]] = []
    for block in _blocks(sentences):
        clock.check(len(found))
        filled = [sentence for sentence in block if sentence]
        labels = iter(model.label_each(model.checked(filled), model.labels))
        found += [next(labels) if sentence else [] for sentence in block]
    return found


def _first_wrong(model: Model, request: LabelRequest, done: int) -> int | None:
    """The sentence that the model cannot label, given that the block after the first `done` sentences failed; None if
    every sentence of the block can be labelled by itself."""
    for i, sentence in enumerate(next(_blocks(request.sentences[done:])), done):
        limits = {} if request.constraints is None else request.constraints[i]
        try:
            model.label(with_mentions([sentence])[0] if _is_of_documents(model) else sentence, **limits)
        except InputError:
            return i
    return None


def _blocks(sentences: list[Any]) -> Iterator[list[Any]]:
    """Consecutive sentences, in blocks with about the same number of tokens."""
    block, n = list[Any](), 0
    for sentence in sentences:
        block.append(sentence)
        n += len(sentence)
        if n >= _BLOCK_TOKENS:
            yield block
            block, n = [], 0
    yield block


def _more(model: Model, sentences: list[Any], request: LabelRequest, clock: _Clock) -> dict[str, Any]:
    """The answers, as a list for each requested item, if the request asks for more than labels or constrains them."""
    each = []
    for i, sentence in enumerate(sentences):
        clock.check(i)
        limits = {} if request.constraints is None else request.constraints[i]
        each.append(_of_sentence(model, sentence, request, limits))
    found: dict[str, Any] = {key: [one[key] for one in each] for key in _keys(request)}
    if request.marginals:
        found["classes"] = model.labels
    return found


def _keys(request: LabelRequest) -> list[str]:
    asked = {
        "nbest": request.nbest > 0,
        "marginals": request.marginals,
        "reasons": request.explain,
        "sets": request.coverage is not None,
    }
    scores = ["scores", "probabilities"] if request.scores else []
    return ["labels", *scores, *(key for key, is_asked in asked.items() if is_asked)]


def _of_sentence(model: Model, sentence: Any, request: LabelRequest, limits: dict[str, Any]) -> dict[str, Any]:
    if not sentence:
        best = {"labels": [], "probability": 1.0, "score": 0.0}
        nothing = {"labels": [], "scores": 0.0, "probabilities": 1.0, "marginals": [], "reasons": []}
        nothing["sets"] = [([], 1.0)] if request.coverage_of == SEQUENCES else []
        return {**nothing, "nbest": [best]}
    corpus, chain = model.encode([sentence]), model.chain_with(1)
    known = constraints_by_name(model.vocabulary, corpus.n_tokens, **limits)
    path, scores = chain.viterbi(corpus, known)
    labels = [model.labels[y] for y in path.tolist()]
    found: dict[str, Any] = {"labels": labels}
    if request.scores or request.nbest:
        log_z = float(chain.log_partition(corpus, known)[0])
    if request.scores:
        found["scores"] = float(scores[0])
        found["probabilities"] = exp(min(0.0, float(scores[0]) - log_z))
    if request.nbest:
        paths, of_each = chain.nbest(corpus, 0, request.nbest, known)
        found["nbest"] = [
            {
                "labels": [model.labels[y] for y in one.tolist()],
                "probability": exp(min(0.0, float(score) - log_z)),
                "score": float(score),
            }
            for one, score in zip(paths, of_each, strict=True)
        ]
    if request.marginals:
        found["marginals"] = chain.marginals(corpus, known).tolist()
    if request.explain:
        found["reasons"] = _reasons(model, sentence, labels)
    if request.coverage is not None:
        (found["sets"],) = model.predict_set([sentence], request.coverage, of=request.coverage_of)
    return found


def _reasons(model: Model, sentence: Any, labels: list[str]) -> list[dict[str, Any]]:
    """The contribution of each attribute to the score of the labels: value times weight."""
    return [
        {
            "token": t,
            "attribute": term.attribute,
            "previous": None if term.kind == "unigram" else token.previous,
            "label": token.label,
            "value": float(term.value),
            "weight": float(term.weight),
        }
        for t, token in enumerate(model.explain(sentence, labels).tokens)
        for term in token.contributions()
    ]


class _Clock:
    """Ends a request that takes too long."""

    def __init__(self, deadline: float, limits: Limits, n: int) -> None:
        self._deadline, self._limits, self._n = deadline, limits, n
        self.done = 0  #: number of sentences answered at the last check

    def check(self, done: int) -> None:
        self.done = done
        if time.monotonic() > self._deadline:
            expected = f"a request that can be answered within {self._limits.seconds:g} s"
            raise too_large(expected, f"{self._n} sentences, of which {done} were labelled in time", "time")


def check_input(model: Model, request: LabelRequest) -> None:
    """Reject sentences that are not in a form that the model reads."""
    if request.kind not in inputs_of(model):
        takes = " or ".join(inputs_of(model))
        raise wrong(f"{takes} for this model", request.kind, "the request", _instead(model))


def inputs_of(model: Model) -> list[str]:
    """The keys of INPUTS that a model accepts, the best one first."""
    if model.template is None:
        return ["attributes", "tokens", "text"]
    return ["tokens", "text", "columns"] if n_columns(model) <= 1 or _is_of_documents(model) else ["columns"]


def n_columns(model: Model) -> int:
    """The number of columns that a token must have; -1 for a model of attributes."""
    return -1 if model.template is None else model.n_columns or model.template.n_columns


def _is_of_documents(model: Model) -> bool:
    """Whether the sentences of a request are read as one document."""
    return str(model.training.get(FORMAT, "")).startswith("documents")


def _instead(model: Model) -> str:
    best = inputs_of(model)[0]
    return f'{{"{best}": [{INPUTS[best]}, ...]}}' + (
        f", with {n_columns(model)} columns per token" if best == "columns" else ""
    )


def _check_size(model: Model, request: LabelRequest, limits: Limits) -> None:
    """Reject a request whose answer would be too large."""
    sets = 0 if request.coverage is None else MAX_SIZE
    numbers = request.n_tokens * (request.nbest + sets + request.marginals * len(model.labels))
    for what, found, at_most in (
        ("numbers and labels in an answer", numbers, NUMBERS_PER_TOKEN * limits.tokens),
        ("tokens with explain", request.n_tokens * request.explain, min(EXPLAINED_PER_REQUEST, limits.tokens)),
    ):
        if found > at_most:
            raise too_large(f"at most {at_most} {what}", f"{found}", "the request")
