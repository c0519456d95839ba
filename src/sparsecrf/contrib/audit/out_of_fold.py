"""Holds out each fold in turn and judges it with a model trained on the other folds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sparsecrf._core import Chain, Corpus, InputError
from sparsecrf.chunks import Scheme
from sparsecrf.contrib.audit.probabilities import best_inside, given_others, span_log_probs
from sparsecrf.contrib.audit.result import Audit, Suspect, ranked
from sparsecrf.estimators.crf import CRF
from sparsecrf.estimators.frames import SentenceColumn
from sparsecrf.model import Model
from sparsecrf.model.spans import SpanReader
from sparsecrf.path.folds import dealt
from sparsecrf.progress import progress
from sparsecrf.shards.dataset import Dataset
from sparsecrf.training import Fit, Weights, fit
from sparsecrf.training.choices import penalties_of
from sparsecrf.training.feature_sets import Floats, Numbers

OUTSIDE = "O"


class Window(NamedTuple):
    """Tokens that are judged together."""

    start: int  #: first token of the span
    end: int
    first: int  #: first judged token: the start of the span, or the token before it if that token is in no span
    last: int  #: the token after the last judged token, which may be the token after the span


class Spans:
    """Finds the spans of label sequences, given the labels of a data set. Spans are those of `Model.spans`: chunks or,
    if labels do not encode chunks, runs of equal labels."""

    def __init__(self, labels: Sequence[str], scheme: str | Scheme = Scheme.AUTO) -> None:
        self._reader = SpanReader(labels, scheme)
        # whether to judge spans without their neighbouring tokens
        self._bounded = self._reader.scheme in (Scheme.NONE, Scheme.RUNS)

    def kind(self, labels: Sequence[str]) -> str:
        """The name of a window's labels: the types of its spans, or O."""
        return " ".join(kind or labels[a] for a, _, kind in self._reader.places_of(labels)) or OUTSIDE

    def windows(self, given: Sequence[str], best: Sequence[str]) -> Iterator[Window]:
        """The spans of a sequence's given labels, followed by the spans of the best labels that do not overlap them."""
        own = self._reader.places_of(given)
        for a, b, _ in own:
            before = not self._bounded and a > 0 and given[a - 1] == OUTSIDE
            after = not self._bounded and b < len(given) and given[b] == OUTSIDE
            yield Window(a, b, a - before, b + after)
        for a, b, _ in self._reader.places_of(best):
            if all(b <= start or a >= end for start, end, _ in own):
                yield Window(a, b, a, b)


FOLDS = 5
#: Weight of the less important of a label's two log-probabilities; see benchmarks/record/audit.md.
SECOND = 0.5
_TINY = 1e-300  # a probability may be too small for a double


@dataclass(frozen=True)
class Judged:
    """The judgements of a model trained on the other folds about the sequences of one fold."""

    number: int  #: number of the fold
    sequences: Numbers
    model: Model
    tokens: list[Suspect]
    spans: list[Suspect]


def judged_folds(
    data: Dataset,
    *,
    folds: int = FOLDS,
    groups: Iterable[Any] | None = None,
    seed: int = 0,
    scheme: str | Scheme = Scheme.AUTO,
    **options: Any,
) -> Iterator[Judged]:
    """Judge fold by fold. Each fit starts from the weights of the previous one; the problem is convex, so this only
    saves time. `groups` contains a value for each sequence; sequences with the same value are held out together.
    `scheme` is the encoding of spans by labels. `options` are passed to `fit`. Raises KeyboardInterrupt if a fit is
    interrupted.
    """
    corpus, start = data.corpus, None
    if corpus.n_labels < 2:
        raise InputError(
            "audit: expected at least 2 different labels, so that another one can be suggested, found "
            f"{corpus.n_labels}"
        )
    if corpus.n_sequences < folds:
        raise InputError(
            f"audit: expected at least as many sequences as folds ({folds}), found {corpus.n_sequences}; "
            "use more data or fewer folds"
        )
    parts = list(dealt(corpus.n_sequences, folds, groups=groups, shuffle=True, seed=seed))
    judge = _Judge(data, Spans(data.label_names, scheme), options.get("threads", 0))
    for number, (train, out) in enumerate(parts):
        found = fit(corpus.subset(train), init=start, seed=seed, **options)
        if found.stopped_by == "interrupt":
            raise KeyboardInterrupt
        start = Weights(found.numbers, found.w, found.ngrams)
        reach = max(2, int(found.ngrams.length.max(initial=0)))
        yield judge.of(number, out, found, data.model(found), reach)


def audit_of(data: Dataset, judged: Iterable[Judged]) -> Audit:
    """All judged labels, ranked together."""
    every = list(judged)
    place = _sequence_numbers(data)
    return Audit(
        ranked([suspect for fold in every for suspect in fold.tokens]),
        ranked([suspect for fold in every for suspect in fold.spans]),
        data.corpus.n_sequences,
        [fold.model for fold in every],
        {int(place[i]): k for k, fold in enumerate(every) for i in fold.sequences.tolist()},
    )


def _sequence_numbers(data: Dataset) -> Numbers:
    """Maps sequence numbers in the corpus to numbers among all sequences, since the corpus omits sequences without
    tokens."""
    if not len(data.places):
        return np.arange(data.corpus.n_sequences)
    return np.flatnonzero(np.asarray(data.places) >= 0)


class _Judge:
    """Turns the labels of held-out sequences into suspects."""

    def __init__(self, data: Dataset, spans: Spans, threads: int) -> None:
        self._corpus, self._spans, self._threads = data.corpus, spans, threads
        self._texts = data.label_names  # label names by id
        self._names = data.names.labels(self._texts)  # label names as the user gave them
        self._place = _sequence_numbers(data)

    def of(self, number: int, sequences: Numbers, found: Fit, model: Model, reach: int) -> Judged:
        chain, out = found.chain(self._threads), self._corpus.subset(sequences)
        places = self._place[sequences]
        best, _ = chain.viterbi(out)
        tokens = self._tokens(chain, out, places, reach)
        return Judged(number, sequences, model, tokens, self._judged_spans(chain, out, places, best))

    def _tokens(self, chain: Chain, out: Corpus, places: Numbers, reach: int) -> list[Suspect]:
        known = np.flatnonzero(out.labels >= 0)
        given = out.labels[known]
        p, q = (_log(m[known]) for m in (chain.marginals(out), given_others(chain, out, reach)))
        both, row = p + SECOND * q, np.arange(len(known))
        score = -both[row, given]
        both[row, given] = -np.inf
        other = both.argmax(axis=1)
        sequence = np.repeat(np.arange(out.n_sequences), np.diff(out.offsets))[known]
        token = known - out.offsets[sequence]
        columns = (places[sequence], token, token + 1, given, other, score, p[row, given], q[row, given])
        return [
            Suspect(i, t, end, self._names[g], self._names[y], s, float(np.exp(lp)), float(np.exp(lq)))
            for i, t, end, g, y, s, lp, lq in zip(*(column.tolist() for column in columns), strict=True)
        ]

    def _judged_spans(self, chain: Chain, out: Corpus, places: Numbers, best: Any) -> list[Suspect]:
        windows: list[tuple[int, Window]] = []
        for i, (a, b) in enumerate(zip(out.offsets[:-1].tolist(), out.offsets[1:].tolist(), strict=True)):
            if (out.labels[a:b] >= 0).all():
                each = self._spans.windows(self._named(out.labels[a:b]), self._named(best[a:b]))
                windows += [(i, window) for window in each]
        if not windows:
            return []
        sequence = np.array([i for i, _ in windows], dtype=np.int64)
        inside = [(window.first, window.last) for _, window in windows]
        without, given = span_log_probs(chain, out, sequence, inside)
        paths = best_inside(chain, out, sequence, inside)
        score = -given - SECOND * without
        found = []
        for k, (i, w) in enumerate(windows):
            own = self._named(out.labels[out.offsets[i] + w.start : out.offsets[i] + w.end])
            labels = self._spans.kind(own), self._spans.kind(self._named(paths[k]))
            chances = float(np.exp(without[k])), float(np.exp(given[k]))
            found.append(Suspect(int(places[i]), w.start, w.end, *labels, float(score[k]), *chances))
        return found

    def _named(self, ids: Any) -> list[str]:
        return [self._texts[y] for y in ids.tolist()]


def _log(probabilities: Floats) -> Floats:
    found: Floats = np.log(np.maximum(probabilities, _TINY))
    return found


def audit(
    X: Any,
    y: Any,
    *,
    folds: int = FOLDS,
    groups: Iterable[Any] | None = None,
    scheme: str = "auto",
    lengths: Iterable[int] | None = None,
    sentences: SentenceColumn | None = None,
    **parameters: Any,
) -> Audit:
    """Find labels that are probably wrong.

    Sequences are assigned to `folds` folds. A model that was trained on the other folds judges each fold, so no model
    was trained on a label that it judges. The result ranks all tokens and all spans, the most suspicious first, each
    with the label that the model would assign.

    X, y, `lengths` and `sentences` have the same meaning as in `CRF.fit`, and `parameters` are those of `CRF`:
    features, template, rho1, ...; with `verbose=1` progress is shown. `groups` contains a value for each sequence, such
    as its document (`path.documents`): sequences with the same value are held out together. `scheme` is the encoding of
    spans by labels, as in `sparsecrf eval`.
    """
    crf = CRF(**parameters)
    crf._check_one_fit()
    penalties_of(crf.rho1, crf.rho2)  # rejects penalties that need a search
    data = crf._encoded(X, y, None, lengths, sentences)
    options = {**crf._options_for(data), "rho1": crf.rho1}
    seed = options.pop("seed")
    with progress("audit", folds, quiet=not crf.verbose) as advance:
        judged = []
        for fold in judged_folds(data, folds=folds, groups=groups, seed=seed, scheme=scheme, **options):
            judged.append(fold)
            advance(1, f"fold {fold.number + 1} of {folds}")
    return audit_of(data, judged)
