"""Scores of label sequences: token and sequence errors, precision and recall of chunks, and confusions.

All rates are percentages. A rate over zero tokens or chunks is 0, as in conlleval. `chunks.py` defines chunks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

from sparsecrf._core import InputError
from sparsecrf.chunks import END, START, ChunkReader, Scheme, are_chunk_labels
from sparsecrf.tables import counted, html_table, text_table

#: The columns of tables of scores.
COLUMNS = ("precision", "recall", "F1", "gold", "predicted", "correct")


@dataclass(frozen=True)
class ChunkScore:
    """Counts of chunks and their rates. A predicted chunk is correct if a gold chunk has the same tokens and type."""

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

    def as_dict(self) -> dict[str, float]:
        """The rates and counts as JSON values."""
        rates = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        return {**rates, "gold": self.gold, "predicted": self.predicted, "correct": self.correct}


class Evaluation:
    """Scores of predicted labels. Sequences are added one at a time and not kept.

    The labels of all sequences together decide what the scheme `auto` means, so the scores are final only after the
    last sequence.
    """

    def __init__(self, scheme: str | Scheme = Scheme.AUTO) -> None:
        self.asked_scheme = Scheme.of(scheme)
        self.sequences = 0
        self.wrong_sequences = 0
        self.confusion: Counter[tuple[str, str]] = Counter()  #: number of tokens by (gold, predicted) label
        self._reader = ChunkReader(self.asked_scheme)
        # Numbers of chunks by type.
        self._gold: Counter[str] = Counter()
        self._predicted: Counter[str] = Counter()
        self._correct: Counter[str] = Counter()

    def __repr__(self) -> str:
        f1 = "" if self.f1 is None else f", F1 {self.f1:.2f}"
        sizes = f"{counted(self.sequences, 'sequence')}, {counted(self.tokens, 'token')}"
        errors = f"token error {self.token_error:.2f} %, sequence error {self.sequence_error:.2f} %"
        return f"<Evaluation: {sizes}, {errors}{f1}>"

    def __str__(self) -> str:
        head, rows = self._table()
        return f"{self._summary()}\n{text_table(head, rows)}"

    def _repr_html_(self) -> str:
        head, rows = self._table()
        return html_table(self._summary(), head, rows)

    def _summary(self) -> str:
        tokens = f"{counted(self.tokens, 'token')}, {self.token_error:.2f} % wrong"
        sequences = f"{counted(self.sequences, 'sequence')}, {self.sequence_error:.2f} % with an error"
        return f"{tokens}; {sequences}" + ("" if self.f1 is None else f"; F1 {self.f1:.2f}")

    def _table(self) -> tuple[list[str], list[list[str]]]:
        """The header and the rows: a row for each type of chunk and for the total, or a row for each label."""
        chunks = self.chunks
        scores = {**self.labels} if chunks is None else {**self.types, "all": chunks}
        rows = [
            [name or "(no type)", *(f"{rate:.2f}" for rate in (s.precision, s.recall, s.f1))]
            + [f"{count:,}" for count in (s.gold, s.predicted, s.correct)]
            for name, s in scores.items()
        ]
        return ["label" if chunks is None else "type", *COLUMNS], rows

    def add(self, gold: Sequence[str | None], predicted: Sequence[str]) -> None:
        """Add a sequence. Tokens whose gold label is None (unknown) do not count; chunks are counted as if both labels
        of such a token were O. A sequence without a known label does not count."""
        if len(gold) != len(predicted):
            where = f"sequence {self.sequences + 1}"
            raise InputError(f"{where}: expected {len(gold)} predicted labels, one per token, found {len(predicted)}")
        pairs = [("O", "O") if y is None else (y, z) for y, z in zip(gold, predicted, strict=True)]
        known = [pair for pair, y in zip(pairs, gold, strict=True) if y is not None]
        if pairs and not known:
            return
        self._count_chunks([y for y, _ in pairs], [z for _, z in pairs])
        self.sequences += 1
        self.wrong_sequences += any(y != z for y, z in known)
        self.confusion.update(known)

    def _marks(self, column: str, labels: Sequence[str]) -> list[int]:
        try:
            return self._reader.marks(labels)
        except InputError as error:
            raise InputError(f"sequence {self.sequences + 1}, {column} {error}") from None

    def _count_chunks(self, gold: Sequence[str], predicted: Sequence[str]) -> None:
        """Count as conlleval does: a predicted chunk is correct if a gold chunk has the same type, start and end."""
        gold_marks, predicted_marks = self._marks("gold", gold), self._marks("predicted", predicted)
        type_of = self._reader.type_of
        common: str | None = None  # type of the chunk that began at the same boundary in both
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
        if common is not None:  # labels that follow no scheme may leave a chunk open, which ends with the sequence
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
        """The scheme for reading chunks: the given scheme, or the one that `auto` chooses."""
        if self.asked_scheme is not Scheme.AUTO:
            return self.asked_scheme
        gold, predicted = {y for y, _ in self.confusion}, {z for _, z in self.confusion}
        return Scheme.CONLLEVAL if are_chunk_labels(gold, predicted) else Scheme.NONE

    @property
    def chunks(self) -> ChunkScore | None:
        """Scores of all types together; None if labels are not read as chunks."""
        if self.scheme is Scheme.NONE:
            return None
        return ChunkScore(self._gold.total(), self._predicted.total(), self._correct.total())

    @property
    def types(self) -> dict[str, ChunkScore]:
        """The scores of every type of gold or predicted chunks, in alphabetical order; empty if labels are not read as
        chunks."""
        if self.scheme is Scheme.NONE:
            return {}
        names = sorted(self._gold.keys() | self._predicted.keys())
        return {name: ChunkScore(self._gold[name], self._predicted[name], self._correct[name]) for name in names}

    @property
    def labels(self) -> dict[str, ChunkScore]:
        """The scores of every gold or predicted label, by tokens, in alphabetical order."""
        gold, predicted = Counter[str](), Counter[str]()
        for (y, z), count in self.confusion.items():
            gold[y] += count
            predicted[z] += count
        names = sorted(gold.keys() | predicted.keys())
        return {name: ChunkScore(gold[name], predicted[name], self.confusion[name, name]) for name in names}

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
        """The n most frequent confusions (gold, predicted, number of tokens); ties are in alphabetical order."""
        wrong = [(y, z, count) for (y, z), count in self.confusion.items() if y != z]
        return sorted(wrong, key=lambda row: (-row[2], row[0], row[1]))[:n]

    def as_dict(self) -> dict[str, Any]:
        """The scores as JSON values: by type of chunk or, if labels are not read as chunks, by label."""
        return {
            "tokens": self.tokens,
            "sequences": self.sequences,
            "token_error": self.token_error,
            "sequence_error": self.sequence_error,
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "scheme": self.scheme.value,
            "types": {name: score.as_dict() for name, score in self.types.items()},
            "labels": {name: score.as_dict() for name, score in self.labels.items()} if self.chunks is None else {},
        }


def evaluate(
    y_true: Iterable[Any], y_pred: Iterable[Any] | str | Scheme | None = None, scheme: str | Scheme = Scheme.AUTO
) -> Evaluation:
    """Score label sequences: `evaluate(y_true, y_pred)`, or `evaluate(pairs)` for pairs (gold, predicted).

    Labels that are not text are converted with `str`.
    """
    if isinstance(y_pred, (str, Scheme)):  # evaluate(pairs, scheme)
        scheme, y_pred = y_pred, None
    evaluation = Evaluation(scheme)
    for gold, predicted in y_true if y_pred is None else _in_step(y_true, y_pred):
        evaluation.add(gold, predicted)
    return evaluation


def classification_report(
    y_true: Iterable[Any], y_pred: Iterable[Any], *, scheme: str | Scheme = Scheme.AUTO, digits: int = 2
) -> str:
    """Precision, recall and F1 as fractions, for each type of chunk, or for each label if labels do not encode
    chunks: the table that scikit-learn and seqeval print."""
    evaluation = evaluate(y_true, y_pred, scheme)
    scores = evaluation.labels if evaluation.chunks is None else evaluation.types
    rows = [
        [name or "(no type)", *_shares((s.precision, s.recall, s.f1), digits), str(s.gold)]
        for name, s in scores.items()
    ]
    every, total = list(scores.values()), sum(s.gold for s in scores.values())
    whole = ChunkScore(total, sum(s.predicted for s in every), sum(s.correct for s in every))
    means = {
        "micro avg": (whole.precision, whole.recall, whole.f1),
        "macro avg": mean_rates(every, [1] * len(every)),
        "weighted avg": mean_rates(every, [s.gold for s in every]),
    }
    rows += [[name, *_shares(rates, digits), str(total)] for name, rates in means.items()]
    return text_table(["", "precision", "recall", "f1-score", "support"], rows) + "\n"


def mean_rates(scores: Sequence[ChunkScore], weights: Sequence[int]) -> tuple[float, float, float]:
    """Weighted means of precision, recall and F1."""
    total = sum(weights) or 1
    rates = [(s.precision, s.recall, s.f1) for s in scores]
    p, r, f = (sum(w * rate[k] for w, rate in zip(weights, rates, strict=True)) / total for k in range(3))
    return p, r, f


def _shares(percentages: Iterable[float], digits: int) -> list[str]:
    return [f"{rate / 100:.{digits}f}" for rate in percentages]


def _in_step(y_true: Iterable[Any], y_pred: Iterable[Any]) -> Iterator[tuple[list[str], list[str]]]:
    for i, (gold, predicted) in enumerate(zip_longest(y_true, y_pred, fillvalue=_END)):
        if gold is _END or predicted is _END:
            longer, shorter = ("y_pred", "y_true") if gold is _END else ("y_true", "y_pred")
            raise InputError(
                f"expected as many sequences in y_pred as in y_true, found only {i} in {shorter} and more in {longer}"
            )
        yield _texts(gold, "gold", i), _texts(predicted, "predicted", i)


_END = object()


def _texts(labels: Any, column: str, i: int) -> list[str]:
    if isinstance(labels, (str, bytes)) or not hasattr(labels, "__iter__"):
        hint = "pass a single sequence as [[...]]"
        raise InputError(f"sequence {i + 1}, {column}: expected a list of labels, found {labels!r:.60}; {hint}")
    return [label if isinstance(label, str) else _text(label, column, i, t) for t, label in enumerate(labels)]


def _text(label: Any, column: str, i: int, t: int) -> str:
    if label is None or isinstance(label, (set, frozenset)):
        raise InputError(f"sequence {i + 1}, {column} token {t + 1}: expected a label, found {label!r:.60}")
    return str(label)


def _percent(part: int, whole: int) -> float:
    return 100 * part / whole if whole else 0.0
