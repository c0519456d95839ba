"""Scores of label sequences: errors by token and by sequence, precision and recall of chunks, confusions.

All rates are percentages. A rate of nothing (no token, no chunk of the kind) is zero, as in conlleval. `chunks.py`
says what a chunk is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.chunks import END, START, ChunkReader, Scheme, are_chunk_labels


@dataclass(frozen=True)
class ChunkScore:
    """Numbers of chunks and their rates. A predicted chunk is correct if gold has one of the same tokens and type."""

    gold: int
    predicted: int
    correct: int

    @property
    def precision(self) -> float:
        return _percent(self.correct, self.predicted)

    @property
    def recall(self) -> float:
        return _percent(self.correct, self.gold)

    @property
    def f1(self) -> float:
        """2 P R / (P + R)."""
        p, r = self.precision, self.recall
        return 2 * p * r / (p + r) if p + r > 0 else 0.0


class Evaluation:
    """Scores of predicted labels. Sequences are added one at a time and not kept.

    The scheme `auto` is decided by all labels together, so scores are known when the last sequence has been added.
    """

    def __init__(self, scheme: str | Scheme = Scheme.AUTO) -> None:
        self.asked_scheme = Scheme.of(scheme)
        self.sequences = 0
        self.wrong_sequences = 0
        self.confusion: Counter[tuple[str, str]] = Counter()  #: tokens by (gold, predicted) label
        self._reader = ChunkReader(self.asked_scheme)
        # Chunks by type.
        self._gold: Counter[str] = Counter()
        self._predicted: Counter[str] = Counter()
        self._correct: Counter[str] = Counter()

    def __repr__(self) -> str:
        f1 = "" if self.f1 is None else f", F1 {self.f1:.2f}"
        sizes = f"{self.sequences} sequences, {self.tokens} tokens"
        errors = f"token error {self.token_error:.2f} %, sequence error {self.sequence_error:.2f} %"
        return f"<Evaluation: {sizes}, {errors}{f1}>"

    def add(self, gold: Sequence[str], predicted: Sequence[str]) -> None:
        """Take one more sequence into account."""
        if len(gold) != len(predicted):
            where = f"sequence {self.sequences + 1}"
            raise InputError(f"{where}: expected {len(gold)} predicted labels, one per token, found {len(predicted)}")
        gold_marks, predicted_marks = self._marks("gold", gold), self._marks("predicted", predicted)
        self._count_chunks(gold, gold_marks, predicted, predicted_marks)
        self.sequences += 1
        self.wrong_sequences += any(y != z for y, z in zip(gold, predicted, strict=True))
        self.confusion.update(zip(gold, predicted, strict=True))

    def _marks(self, column: str, labels: Sequence[str]) -> list[int]:
        try:
            return self._reader.marks(labels)
        except InputError as error:
            raise InputError(f"sequence {self.sequences + 1}, {column} {error}") from None

    def _count_chunks(
        self, gold: Sequence[str], gold_marks: list[int], predicted: Sequence[str], predicted_marks: list[int]
    ) -> None:
        """Count as conlleval does: a chunk is correct if gold and predicted start together, with one type, and the
        first end of either is the end of both."""
        type_of = self._reader.type_of
        common: str | None = None  # type of the chunk that both are in since the same boundary
        labels = chain(zip(gold, predicted, strict=True), (("O", "O"),))
        for (y, z), g, p in zip(labels, gold_marks, predicted_marks, strict=True):
            if not g | p:
                continue
            if common is not None and (g | p) & END:
                if g & p & END:
                    self._correct[common] += 1
                common = None
            if g & START:
                self._gold[type_of(y)] += 1
            if p & START:
                self._predicted[type_of(z)] += 1
            if g & p & START and type_of(y) == type_of(z):
                common = type_of(y)
        if common is not None:  # labels of no scheme may leave a chunk open; the sequence ends it
            self._correct[common] += 1

    @property
    def tokens(self) -> int:
        return self.confusion.total()

    @property
    def wrong_tokens(self) -> int:
        return sum(count for (y, z), count in self.confusion.items() if y != z)

    @property
    def token_error(self) -> float:
        return _percent(self.wrong_tokens, self.tokens)

    @property
    def sequence_error(self) -> float:
        """Percentage of sequences with at least one wrong token."""
        return _percent(self.wrong_sequences, self.sequences)

    @property
    def scheme(self) -> Scheme:
        """The scheme by which chunks are read: what was asked for, or what `auto` decides."""
        if self.asked_scheme is not Scheme.AUTO:
            return self.asked_scheme
        gold, predicted = {y for y, _ in self.confusion}, {z for _, z in self.confusion}
        return Scheme.CONLLEVAL if are_chunk_labels(gold, predicted) else Scheme.NONE

    @property
    def chunks(self) -> ChunkScore | None:
        """All types together. None if labels are not read as chunks."""
        if self.scheme is Scheme.NONE:
            return None
        return ChunkScore(self._gold.total(), self._predicted.total(), self._correct.total())

    @property
    def types(self) -> dict[str, ChunkScore]:
        """Every type of gold or predicted chunks, in alphabetical order; empty if labels are not read as chunks."""
        if self.scheme is Scheme.NONE:
            return {}
        names = sorted(self._gold.keys() | self._predicted.keys())
        return {name: ChunkScore(self._gold[name], self._predicted[name], self._correct[name]) for name in names}

    @property
    def precision(self) -> float | None:
        return None if (chunks := self.chunks) is None else chunks.precision

    @property
    def recall(self) -> float | None:
        return None if (chunks := self.chunks) is None else chunks.recall

    @property
    def f1(self) -> float | None:
        return None if (chunks := self.chunks) is None else chunks.f1

    def confusions(self, n: int) -> list[tuple[str, str, int]]:
        """The n most frequent (gold, predicted, tokens) of different labels; equal numbers in alphabetical order."""
        wrong = [(y, z, count) for (y, z), count in self.confusion.items() if y != z]
        return sorted(wrong, key=lambda row: (-row[2], row[0], row[1]))[:n]

    def as_dict(self) -> dict[str, Any]:
        """The scores as JSON has them."""
        return {
            "tokens": self.tokens,
            "sequences": self.sequences,
            "token_error": self.token_error,
            "sequence_error": self.sequence_error,
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "scheme": self.scheme.value,
            "types": {
                name: {
                    "precision": score.precision,
                    "recall": score.recall,
                    "f1": score.f1,
                    "gold": score.gold,
                    "predicted": score.predicted,
                    "correct": score.correct,
                }
                for name, score in self.types.items()
            },
        }


def evaluate(pairs: Iterable[tuple[Sequence[str], Sequence[str]]], scheme: str | Scheme = Scheme.AUTO) -> Evaluation:
    """Score (gold, predicted) label sequences."""
    evaluation = Evaluation(scheme)
    for gold, predicted in pairs:
        evaluation.add(gold, predicted)
    return evaluation


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
