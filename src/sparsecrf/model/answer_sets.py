"""Sets of answers that contain the right answer with a given probability, and the scores for calibrating them.

Answers are label sequences, labels of a token, or types of a span of the best labels (None means "not a span"). With
answers sorted by decreasing probability P_1 >= P_2 >= ..., the score of the r-th answer is P_1 + ... + P_{r-1}, and the
set for threshold q (`calibration.py`) is the longest prefix of the list in which no score is above q.

At most `MOST` label sequences are listed. A right answer that is not listed gets the score 1 - P(right), an upper
bound on its score, so thresholds can only become larger. Sets are never truncated: if one would be longer than
`max_size`, which is at most `MOST`, the result is an abstention.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, islice
from math import exp
from numbers import Integral
from typing import Any, NamedTuple

from sparsecrf._core import Chain, Corpus, InputError
from sparsecrf.chunks import are_chunk_labels
from sparsecrf.lazy import NDArray, np
from sparsecrf.model.calibration import (
    SEQUENCES,
    SPANS,
    TOKENS,
    Calibration,
    calibration_of,
    check_coverage,
    check_kind,
)
from sparsecrf.model.spans import SpanReader

MOST = 1000  #: maximum number of label sequences in a set
MAX_SIZE = 10  #: default maximum size of a set
_LISTS = (10, 100, MOST)  # lengths of n-best lists: a longer list is computed only if needed


class SpanSet(NamedTuple):
    """A span of the best labels, tokens start to end - 1, and its possible types with their probabilities, most
    probable first; the type None means "not a span". `types` is None if there would be too many types."""

    start: int
    end: int
    types: list[tuple[str | None, float]] | None


class SetFinder:
    """Finds the answer sets of sequences for one coverage."""

    def __init__(
        self,
        training: Mapping[str, Any],
        labels: Sequence[str],
        coverage: float,
        of: str = SEQUENCES,
        max_size: int = MAX_SIZE,
    ) -> None:
        """`training` is the training record of a calibrated model, and `labels` are the model's own labels."""
        kind = check_kind(of)
        if isinstance(max_size, bool) or not isinstance(max_size, (int, Integral)) or not 1 <= max_size <= MOST:
            raise InputError(f"max_size: expected an integer from 1 to {MOST}, found {max_size!r:.60}")
        self.threshold = calibration_of(training, kind).threshold(check_coverage(coverage), kind)
        self.max_size = int(max_size)
        self._spans = SpanLists(labels) if kind == SPANS else None
        self._find = {SEQUENCES: self._of_sequence, TOKENS: self._of_tokens, SPANS: self._of_spans}[kind]

    def __call__(self, chain: Chain, corpus: Corpus, names: Sequence[Any]) -> list[Any]:
        """The answer sets of every sequence of a corpus, with these label names."""
        return [self._find(chain, one, names) for one in each_alone(corpus)]

    def _of_sequence(self, chain: Chain, one: Corpus, names: Sequence[Any]) -> list[tuple[list[Any], float]] | None:
        """Label sequences with their probabilities, or None if the set would be too large."""
        for paths, p, is_all in _lists(chain, one, self.max_size + 1):
            size = self.size(p)
            # the next label sequence is not in the set or does not exist
            if size < len(p) or (is_all and size <= self.max_size):
                return [([names[y] for y in paths[r]], p[r]) for r in range(size)]
        return None

    def _of_tokens(self, chain: Chain, one: Corpus, names: Sequence[Any]) -> list[list[tuple[Any, float]] | None]:
        """For each token, labels with their marginal probabilities, or None if the set would be too large."""
        found = list[list[tuple[Any, float]] | None]()
        for order, p in _sorted_rows(chain.marginals(one)):
            size = self.size(p)
            found.append([(names[order[r]], p[r]) for r in range(size)] if size <= self.max_size else None)
        return found

    def _of_spans(self, chain: Chain, one: Corpus, names: Sequence[Any]) -> list[SpanSet]:
        assert self._spans is not None
        found = list[SpanSet]()
        for a, b, types in self._spans.of(chain, one):
            size = self.size([p for _, p in types])
            # The threshold is 1 if the right type of some span was impossible with its labels.
            found.append(SpanSet(a, b, types[:size] if size <= self.max_size and self.threshold < 1 else None))
        return found

    def size(self, p: Sequence[float], rounded: float = 0.0) -> int:
        """The number of answers with these decreasing probabilities that are in the set. `rounded`: the amount by which
        rounding for output may have increased their sums."""
        return sum(1 for before in _masses_before(p) if before <= self.threshold + rounded)


class ScoreFinder:
    """Collects the scores of right answers, sequence by sequence."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.sequences, self.tokens, self.spans = list[list[float]](), list[list[float]](), list[list[float]]()
        self._spans = SpanLists(labels) if are_chunk_labels(labels, ()) else None

    def add(self, chain: Chain, corpus: Corpus) -> None:
        """Add all sequences of a corpus in which no label is missing."""
        for one in each_alone(corpus):
            gold = one.labels
            self.sequences.append([_sequence_score(chain, one, gold)])
            rows = _sorted_rows(chain.marginals(one))
            self.tokens.append([_score(order, p, y) for (order, p), y in zip(rows, gold.tolist(), strict=True)])
            if self._spans is not None:
                right = {(a, b): kind for a, b, kind in self._spans.reader.places(gold)}
                each = ((right.get((a, b)), types) for a, b, types in self._spans.of(chain, one))
                self.spans.append([_score([name for name, _ in types], [p for _, p in types], y) for y, types in each])

    def calibrations(self) -> dict[str, Any]:
        """The record for a model. Kinds without scores are left out."""
        scores = {SEQUENCES: self.sequences, TOKENS: self.tokens, SPANS: self.spans}
        return {kind: Calibration.of(own).to_json() for kind, own in scores.items() if any(own)}


class SpanLists:
    """The possible types of the spans of the best labels."""

    def __init__(self, labels: Sequence[str]) -> None:
        self.reader = SpanReader(labels, "auto")
        self._ids = {name: y for y, name in enumerate(labels)}
        self._labels = labels
        self._types = sorted({name.partition("-")[2] for name in labels if "-" in name} or {""})

    def of(self, chain: Chain, one: Corpus) -> Iterator[tuple[int, int, list[tuple[str | None, float]]]]:
        """Start, end, and types with their probabilities, most probable first, of each span of the best labels.

        The probability of a type is the probability of the span's labels with this type instead of their own; None gets
        the remaining probability.
        """
        path, _ = chain.viterbi(one)
        for a, b, _ in self.reader.places(path):
            types = list[tuple[str | None, float]]()
            for kind in self._types:
                names = [self._with_type(self._labels[y], kind) for y in path[a:b].tolist()]
                if all(name in self._ids for name in names):
                    ids = np.array([self._ids[name] for name in names], dtype=np.int32)
                    types.append((kind, exp(chain.span_log_prob(one, 0, a, ids))))
            types.append((None, max(0.0, 1.0 - sum(p for _, p in types))))
            yield a, b, sorted(types, key=lambda item: -item[1])

    @staticmethod
    def _with_type(label: str, kind: str) -> str:
        letter, hyphen, _ = label.partition("-")
        return f"{letter}{hyphen}{kind}"


def each_alone(corpus: Corpus) -> Iterator[Corpus]:
    """Each sequence as a separate corpus, so that queries do not process the other sequences."""
    return (corpus.subset(np.array([i], dtype=np.int64)) for i in range(corpus.n_sequences))


def _lists(chain: Chain, one: Corpus, most: int) -> Iterator[tuple[NDArray[np.int32], list[float], bool]]:
    """The best label sequences with their probabilities, and whether the list is complete, in lists of growing length,
    up to `most`."""
    log_z = float(chain.log_partition(one)[0])
    for k in [*(k for k in _LISTS if k < most), most]:
        paths, scores = chain.nbest(one, 0, k)
        yield paths, [exp(min(0.0, score - log_z)) for score in scores.tolist()], len(scores) < k
        if len(scores) < k:
            return


def _sequence_score(chain: Chain, one: Corpus, gold: NDArray[np.int32]) -> float:
    for paths, p, _ in _lists(chain, one, MOST):
        if (found := (paths == gold).all(axis=1)).any():
            return _mass_before(p, int(found.argmax()))
    return 1.0 - exp(float(chain.log_prob(one)[0]))


def _sorted_rows(p: NDArray[np.float64]) -> Iterator[tuple[list[int], list[float]]]:
    """For each row, its columns by decreasing value, and these values."""
    order = np.argsort(-p, axis=1, kind="stable")
    return zip(order.tolist(), np.take_along_axis(p, order, axis=1).tolist(), strict=True)


def _score(answers: Sequence[Any], p: Sequence[float], right: Any) -> float:
    """The probability of all answers before the right one; 1 if it is not among them."""
    return _mass_before(p, answers.index(right)) if right in answers else 1.0


def _mass_before(p: Sequence[float], r: int) -> float:
    """The sum of the first r probabilities, bit for bit equal to the sums of `_masses_before`, with which thresholds
    are compared. (Since Python 3.12, `sum` rounds differently.)"""
    return next(islice(_masses_before(p), r, None))


def _masses_before(p: Sequence[float]) -> Iterator[float]:
    return accumulate(p[:-1], initial=0.0)
