"""Folders with train.txt, dev.txt and test.txt: one word and one label per line."""

from __future__ import annotations

import pathlib
from typing import NamedTuple

from sparsecrf import read_columns
from sparsecrf.chunks import are_chunk_labels


class Sentences(NamedTuple):
    """Words and labels."""

    X: list[list[str]]
    y: list[list[str]]

    def __add__(self, other: Sentences) -> Sentences:  # type: ignore[override]
        return Sentences(self.X + other.X, self.y + other.y)

    def where(self, chosen: list[int]) -> Sentences:
        return Sentences([self.X[i] for i in chosen], [self.y[i] for i in chosen])


def sentences(file: pathlib.Path) -> Sentences:
    rows = [sentence for sentence in read_columns(file) if sentence]
    return Sentences([[row[0] for row in own] for own in rows], [[row[-1] for row in own] for own in rows])


def preset(labels: set[str]) -> str:
    """Ready-made features for these labels."""
    return "words" if are_chunk_labels(labels, ()) else "tagging"
