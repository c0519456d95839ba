"""Determines, while reading the training data, which tokenizer would produce similar tokens.

Labelled files are already tokenized. To label running text, a model must tokenize it in the same way: if it has learnt
`Ave,` and gets `Ave` and `,`, it silently makes more errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sparsecrf.encoding.formats.documents import MARK
from sparsecrf.files.words import TOKENIZERS, word_offsets

RECORD = "tokenizer"  #: key in the training record
DEFAULT = "words"
_MOST = 50_000  # number of tokens to survey; this is enough to decide, and takes a few hundredths of a second
_MARKS = ",;:!?"  # marks that the words tokenizer never leaves at the end of a word


class TokenSurvey:
    """Counts of the first training tokens.

    The words tokenizer splits off punctuation, so that marks such as `,` are separate tokens. The blanks tokenizer
    leaves them at the ends of words. Data were split at whitespace if they contain more marks at the ends of words,
    or if they contain no marks of either kind but some tokens that the words tokenizer would split (192.168.0.1).
    """

    def __init__(self) -> None:
        self.n_tokens = self.n_split = self.n_attached = self.n_alone = 0
        self.example = ""  # the first token that the words tokenizer would split
        self._is_split: dict[str, bool] = {}

    @property
    def is_complete(self) -> bool:
        return self.n_tokens >= _MOST

    def add(self, tokens: Iterable[str]) -> None:
        for token in tokens:
            if token == MARK:  # this mark begins a document
                continue
            if (is_split := self._is_split.get(token)) is None:
                is_split = self._is_split[token] = len(word_offsets(token)) > 1
            self.n_tokens += 1
            self.n_alone += token == "." or (len(token) == 1 and token in _MARKS)
            if is_split:
                self.example = self.example or token
                self.n_split += 1
                self.n_attached += token[-1] in _MARKS

    @property
    def tokenizer(self) -> str:
        return "blanks" if self.n_split > 0 and self.n_attached >= self.n_alone else DEFAULT

    @property
    def record(self) -> dict[str, Any]:
        """The entry for the training record; empty if the default tokenizer produces these tokens."""
        if self.n_split == 0:
            return {}
        counts = {"tokens": self.n_tokens, "split": self.n_split, "alone": self.n_alone, "example": self.example}
        return {RECORD: {"name": self.tokenizer, **counts}}


def tokenizer_of(training: Mapping[str, Any]) -> str:
    """The tokenizer for running text, according to the training record of a model."""
    name = _entry(training).get("name")
    return name if name in TOKENIZERS else DEFAULT


_WORTH_SAYING = 0.01  # minimum share of the training tokens


def mismatch(training: Mapping[str, Any], tokenizer: str) -> str | None:
    """A warning if this tokenizer cannot make tokens like those of the training data, else None."""
    found = _entry(training)
    kind, example = ("split", found.get("example")) if tokenizer == "words" else ("alone", ",")
    n, of = found.get(kind), found.get("tokens")
    if not (isinstance(n, int) and isinstance(of, int) and isinstance(example, str)):
        return None  # there is no record, or another program wrote it
    if n < _WORTH_SAYING * of or tokenizer == "blanks" == found.get("name"):
        return None
    happens = "splits" if tokenizer == "words" else "leaves attached to words"
    return (
        f"{n:,} of {of:,} training tokens look like {example!r:.40}, which the {tokenizer} tokenizer {happens}; "
        "expect more errors than on the tokens of the training data"
    )


def _entry(training: Mapping[str, Any]) -> Mapping[str, Any]:
    found = training.get(RECORD)
    return found if isinstance(found, Mapping) else {}
