"""Errors to inject into good labels: flipped tokens, shifted boundaries, swapped types."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsecrf.chunks import Scheme
from sparsecrf.contrib.audit.out_of_fold import OUTSIDE, Spans


class Error(NamedTuple):
    """An injected error."""

    sequence: int
    tokens: list[int]  #: the tokens whose label has changed
    kind: str


class Injector:
    """Injects errors into labels. If labels do not encode spans, all errors are flips."""

    def __init__(self, y: list[list[str]], scheme: str, seed: int) -> None:
        self._labels = sorted({label for labels in y for label in labels})
        self._spans, self._rng = Spans(self._labels, scheme), np.random.default_rng(seed)
        self._typed = self._spans.scheme is Scheme.CONLLEVAL
        self._types = sorted({self._type(label) for label in self._labels if label != OUTSIDE})

    def injected(self, y: list[list[str]], rate: float) -> tuple[list[list[str]], list[Error]]:
        """Returns the labels with errors in this share of the spans, a third of each kind, and the errors. Spans with
        an error do not touch each other."""
        noisy = [list(labels) for labels in y]
        spans = [(i, a, b) for i, labels in enumerate(y) for a, b in self._spans.places(labels)]
        errors: list[Error] = []
        touched: set[tuple[int, int]] = set()
        for k in self._rng.permutation(len(spans)):
            i, a, b = spans[k]
            around = {(i, t) for t in range(a - 1, b + 1)}
            if len(errors) == round(rate * len(spans)):
                break
            if touched & around:
                continue
            kind = "flip" if self._spans.scheme is Scheme.NONE else ("flip", "shift", "swap")[len(errors) % 3]
            made = self._with_error(noisy[i], a, b, kind)
            changed = [t for t in range(len(made)) if made[t] != noisy[i][t]]
            if changed:
                noisy[i] = made
                touched |= around
                errors.append(Error(i, changed, kind))
        return noisy, errors

    def _with_error(self, labels: list[str], a: int, b: int, kind: str) -> list[str]:
        made, own = list(labels), self._type(labels[a])
        if kind == "flip":
            t = int(self._rng.integers(a, b))
            made[t] = self._other(self._labels, labels[t])
        elif kind == "swap":
            if len(self._types) > 1:
                self._put(made, a, b, self._other(self._types, own))
            else:  # there is only one type, so the span is removed
                made[a:b] = [OUTSIDE] * (b - a)
        else:
            self._shift(made, a, b, own)
        return made

    def _shift(self, made: list[str], a: int, b: int, own: str) -> None:
        """Make a span one token longer or shorter, at the beginning or at the end."""
        longer, at_end = bool(self._rng.integers(2)) or b - a == 1, bool(self._rng.integers(2))
        if longer and (at_end or a == 0) and b < len(made):
            self._put(made, a, b + 1, own)
        elif longer and a > 0:
            self._put(made, a - 1, b, own)
        elif not longer and at_end:
            made[b - 1] = OUTSIDE if self._typed else made[b] if b < len(made) else self._other(self._types, own)
        elif not longer:
            self._put(made, a + 1, b, own)
            made[a] = OUTSIDE if self._typed else made[a - 1] if a > 0 else self._other(self._types, own)
        if self._typed:  # the rest of a neighbour begins with B
            for t in range(1, len(made)):
                if made[t].startswith("I-") and made[t - 1][2:] != made[t][2:]:
                    made[t] = f"B-{self._type(made[t])}"

    def _put(self, made: list[str], a: int, b: int, kind: str) -> None:
        """Make tokens a to b - 1 one span of this type."""
        made[a:b] = [(f"{'I' if t > a else 'B'}-{kind}" if self._typed else kind) for t in range(a, b)]

    def _type(self, label: str) -> str:
        return label.partition("-")[2] if self._typed else label

    def _other(self, names: list[str], than: str) -> str:
        return str(self._rng.choice([name for name in names if name != than]))
