"""Parses and checks the body of POST /label. Client errors are found here or by the model."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from http import HTTPStatus
from typing import Any

from sparsecrf.contrib.serve.errors import RequestError, too_large, wrong
from sparsecrf.contrib.serve.limits import MAX_NBEST, Limits
from sparsecrf.files.words import TOKENIZERS
from sparsecrf.model.calibration import KINDS, SEQUENCES
from sparsecrf.model.chunk_rules import SCHEMES

#: The input forms of sentences, with an example of one sentence and an example of two.
INPUTS = {
    "text": '"Ada went home."',
    "tokens": '["Ada", "went"]',
    "columns": '[["Ada", "NNP"], ["went", "VBD"]]',
    "attributes": '[["word=Ada", "upper"], {"word=went": 1, "length": 4}]',
}
CONSTRAINTS = ("constrain", "allowed", "forbidden", "fixed")
OPTIONS = ("model", "nbest", "marginals", "scores", "explain", "coverage", "coverage_of", *CONSTRAINTS)
Tokenizer = Callable[[str], list[tuple[int, int]]]
_KNOWN = frozenset((*INPUTS, *OPTIONS))


@dataclass(frozen=True)
class LabelRequest:
    """Sentences, and what to return for each."""

    model: str | None  #: None means the only model
    kind: str  #: one of INPUTS
    sentences: list[list[Any]]  #: in the form that `Model.label` accepts
    n_tokens: int
    offsets: list[list[tuple[int, int]]] | None = None  #: start and end of each token, if the input is text
    nbest: int = 0  #: 0 if not requested
    marginals: bool = False
    scores: bool = False
    explain: bool = False
    coverage: float | None = None  #: coverage of answer sets; None if not requested
    coverage_of: str = SEQUENCES
    constraints: list[dict[str, Any]] | None = None  #: for each sentence, in the form that `Model.label` accepts

    @property
    def wants_labels_only(self) -> bool:
        more = (self.nbest, self.marginals, self.scores, self.explain, self.coverage, self.constraints)
        return not any(more)


def parse(body: bytes, limits: Limits, tokenizer_for: Callable[[str | None], str]) -> LabelRequest:
    """The request in a body; text is cut by the tokenizer for its model. Raises RequestError."""
    given = _object(body)
    if not given.keys() <= _KNOWN:
        _refuse_key(next(key for key in given if key not in _KNOWN))
    kinds = [kind for kind in INPUTS if kind in given]
    if len(kinds) != 1:
        raise wrong(
            f"exactly one of {', '.join(INPUTS)}", f"{' and '.join(kinds) if kinds else 'none of them'}", "the request"
        )
    kind = kinds[0]
    model = _typed(given, "model", str, None, "the name of a model (GET /models lists them)")
    is_one, sentences, offsets = _sentences(kind, given[kind], lambda: TOKENIZERS[tokenizer_for(model)])
    n_tokens = sum(map(len, sentences))
    if n_tokens > limits.tokens:
        raise too_large(f"at most {limits.tokens} tokens per request", f"{n_tokens}", kind)
    return LabelRequest(
        model=model,
        kind=kind,
        sentences=sentences,
        n_tokens=n_tokens,
        offsets=offsets,
        nbest=_nbest(given),
        marginals=_typed(given, "marginals", bool, False, "true or false"),
        scores=_typed(given, "scores", bool, False, "true or false"),
        explain=_typed(given, "explain", bool, False, "true or false"),
        **_coverage(given),
        constraints=_constraints(given, is_one, len(sentences)),
    )


def _object(body: bytes) -> dict[str, Any]:
    example = '{"tokens": [["Ada", "went"]]}'
    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError is a ValueError
        said = "too deeply nested brackets" if isinstance(error, RecursionError) else str(error)
        raise RequestError(HTTPStatus.BAD_REQUEST, "JSON in UTF-8", said, where="body", instead=example) from None
    if type(given) is not dict:
        raise RequestError(HTTPStatus.BAD_REQUEST, "a JSON object", _shown(given), where="body", instead=example)
    return given


def _refuse_key(key: str) -> None:
    close = get_close_matches(key, _KNOWN, 1)
    raise wrong(
        f"only the keys {', '.join((*INPUTS, *OPTIONS))}",
        repr(key)[:80],
        "the request",
        f'"{close[0]}"' if close else "",
    )


# ---- Sentences: one, or a list of them.
def _sentences(
    kind: str, given: Any, tokenizer: Callable[[], Tokenizer]
) -> tuple[bool, list[list[Any]], list[list[tuple[int, int]]] | None]:
    """Whether the input is a single sentence outside of a list; all sentences; and, for text, the offsets of their
    tokens."""
    if kind == "text":
        return _texts(given, tokenizer())
    if type(given) is not list:
        raise _of_kind(kind, given, kind)
    is_one = _is_sentence(kind, given)
    sentences = [given] if is_one else given
    for i, sentence in enumerate(sentences):
        where = kind if is_one else f"{kind}[{i}]"
        if type(sentence) is not list:
            raise _of_kind(kind, sentence, where)
        for t, token in enumerate(sentence):
            if not _IS_TOKEN[kind](token):
                raise _of_kind(kind, token, f"{where}[{t}]")
    return is_one, sentences, None


def _texts(given: Any, tokenizer: Tokenizer) -> tuple[bool, list[list[Any]], list[list[tuple[int, int]]]]:
    texts = [given] if type(given) is str else given
    if type(texts) is not list:
        raise _of_kind("text", given, "text")
    for i, text in enumerate(texts):
        if type(text) is not str:
            raise _of_kind("text", text, f"text[{i}]")
    offsets = [tokenizer(text) for text in texts]
    words = [[text[a:b] for a, b in places] for text, places in zip(texts, offsets, strict=True)]
    return type(given) is str, words, offsets


def _is_sentence(kind: str, given: list[Any]) -> bool:
    """Whether a list is one sentence, judging by its content; an empty list contains no sentences."""
    inside = next((one for one in given if one != []), None)
    if kind == "tokens":
        return type(inside) is str
    if kind == "attributes" and type(inside) is dict:
        return True
    return type(inside) is list and type(next(iter(inside), None)) is str


def _are_texts(value: Any) -> bool:
    return type(value) is list and set(map(type, value)) <= {str}


def _are_attributes(token: Any) -> bool:
    is_map = type(token) is dict and set(map(type, token.values())) <= {int, float, str, bool}
    return is_map or _are_texts(token)


_IS_TOKEN: dict[str, Callable[[Any], bool]] = {
    "tokens": lambda token: type(token) is str,
    "columns": lambda token: _are_texts(token) and len(token) > 0,
    "attributes": _are_attributes,
}
_DESCRIBED = {
    "text": "a string or a list of strings",
    "tokens": "sentences that are lists of strings, one string for each token",
    "columns": "sentences whose tokens are lists of strings, one string for each column",
    "attributes": "sentences whose tokens are lists of attributes, or objects that map attributes to numbers or "
    "strings",
}


# ---- Options.
def _typed(given: dict[str, Any], key: str, kind: type, default: Any, expected: str) -> Any:
    value = given.get(key, default)
    if value is not default and type(value) is not kind:
        raise wrong(expected, _shown(value), key)
    return value


def _nbest(given: dict[str, Any]) -> int:
    k = _typed(given, "nbest", int, 0, f"an integer from 1 to {MAX_NBEST}")
    if "nbest" in given and not 1 <= k <= MAX_NBEST:
        raise wrong(f"an integer from 1 to {MAX_NBEST}", str(k)[:40], "nbest")
    return int(k)


def _coverage(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of `Model.predict_set`, which does not support constraints."""
    if "coverage" not in given:
        if "coverage_of" in given:
            raise wrong("a value for coverage too, such as 0.95", "none", "coverage_of")
        return {}
    if not given.keys().isdisjoint(CONSTRAINTS):
        raise wrong("no constraints with coverage", ", ".join(key for key in CONSTRAINTS if key in given), "coverage")
    coverage, of = given["coverage"], given.get("coverage_of", SEQUENCES)
    if type(coverage) is not float or not 0 < coverage < 1:
        raise wrong("a number above 0 and below 1", _shown(coverage), "coverage")
    if of not in KINDS:
        raise wrong(f"one of {', '.join(KINDS)}", _shown(of), "coverage_of")
    return {"coverage": coverage, "coverage_of": of}


def _constraints(given: dict[str, Any], is_one: bool, n: int) -> list[dict[str, Any]] | None:
    """The constraints of each sentence, or None. The model checks whether the labels exist."""
    if given.keys().isdisjoint(CONSTRAINTS):
        return None
    scheme = given.get("constrain")
    if scheme is not None and scheme not in SCHEMES:
        raise wrong(f"one of {', '.join(SCHEMES)}", _shown(scheme), "constrain")
    pairs = given.get("forbidden")
    if pairs is not None:
        pairs = [_pair(pair, k) for k, pair in enumerate(_list(pairs, "forbidden", "a list of pairs of labels"))]
    made = [{"constrain": scheme, "forbidden": pairs} for _ in range(n)]
    for key, is_entry in (("allowed", _is_choice), ("fixed", _is_label)):
        if (value := given.get(key)) is None:
            continue
        each = [value] if is_one else _list(value, key, "a list with an entry for each sentence")
        if len(each) != n:
            raise wrong(f"{n} entries, one for each sentence", f"{len(each)}", key)
        for i, entries in enumerate(each):
            where = key if is_one else f"{key}[{i}]"
            expected = "a list with null or a label for each token"
            if key == "allowed":
                expected = "a list with null or a list of labels for each token"
            if entries is not None:
                t = next((t for t, one in enumerate(_list(entries, where, expected)) if not is_entry(one)), None)
                if t is not None:
                    raise wrong(expected, _shown(entries[t]), f"{where}[{t}]")
            made[i][key] = entries
    return made


def _list(value: Any, where: str, expected: str) -> list[Any]:
    if type(value) is not list:
        raise wrong(expected, _shown(value), where)
    return value


def _pair(pair: Any, k: int) -> tuple[str | None, str]:
    if type(pair) is list and len(pair) == 2 and (pair[0] is None or type(pair[0]) is str) and type(pair[1]) is str:
        return pair[0], pair[1]
    raise wrong("[previous label or null for the start, label]", _shown(pair), f"forbidden[{k}]")


def _is_label(value: Any) -> bool:
    return value is None or type(value) is str


def _is_choice(value: Any) -> bool:
    return value is None or _are_texts(value)


# ---- Errors.
def _of_kind(kind: str, found: Any, where: str) -> RequestError:
    example = INPUTS[kind]
    instead = f'{{"{kind}": {example}}} or {{"{kind}": [{example}, ...]}}'
    return wrong(_DESCRIBED[kind], _shown(found), where, instead)


def _shown(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
