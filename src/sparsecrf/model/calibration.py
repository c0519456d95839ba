"""Split conformal calibration, which computes thresholds for a given coverage from scores on held-out sentences.

The score of an answer is the probability of all answers that are more probable (0 for the best answer). A question is
about the labels of a whole sequence, the label of a token, or the type of a span. The answer set for threshold q
contains every answer whose score is at most q. Let L_i(q) be the share of the questions of sentence i (of n) whose
right answer has a score above q, so that the set misses it. L_i decreases with q, and for exchangeable sentences

    q = min { q : (sum_i L_i(q) + 1) / (n + 1) <= 1 - coverage }      implies      E L_{n+1}(q) <= 1 - coverage

for a new sentence n + 1 and any model (conformal risk control: Angelopoulos, Bates, Fisch, Lei and Schuster,
2022). With one question per sentence, the labels of the whole sequence, this is split conformal prediction: q is the
ceil((n + 1) coverage)-th smallest score. Questions about one sentence depend on each other, so the shares L_i are
averaged instead of single questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, isfinite
from numbers import Real
from typing import Any, NamedTuple

from sparsecrf._core import InputError
from sparsecrf.compatibility import Named, OptionError

KEY = "calibration"  #: key in the training record: `Calibration.to_json` for each kind of question
SEQUENCES, TOKENS, SPANS = "sequences", "tokens", "spans"
KINDS = (SEQUENCES, TOKENS, SPANS)
MIN_SENTENCES = 19  #: the smallest number of sentences that allows a coverage of 0.95

_DIGITS = 1e6  # sums of shares are rounded up to millionths, so sets can only become larger
_THINNED = 0.99  # neighbouring steps differ by at least a hundredth in the number of misses


class Calibration(NamedTuple):
    """sum_i L_i(q) as a step function: `missed[j]` from `score[j]` on, ascending in score, decreasing in missed."""

    n: int  #: number of sentences with a question of this kind
    score: list[float]
    missed: list[float]

    @classmethod
    def of(cls, scores: Sequence[Sequence[float]]) -> Calibration:
        """Calibrate on the scores of the right answers of each sentence; sentences without a question do not count."""
        asked = [own for own in scores if len(own) > 0]
        steps = sorted((s, 1.0 / len(own)) for own in asked for s in own)
        made, left = cls(len(asked), [], []), float(len(asked))
        for j, (s, share) in enumerate(steps):
            left -= share
            if j + 1 < len(steps) and steps[j + 1][0] == s:
                continue
            missed = max(0.0, _rounded_up(left)) if j + 1 < len(steps) else 0.0
            # the previous step lies too close to this one
            if len(made.missed) > 1 and missed > _THINNED * made.missed[-2]:
                made.score.pop()
                made.missed.pop()
            made.score.append(s)
            made.missed.append(missed)
        return made

    def threshold(self, coverage: float, kind: str) -> float:
        """The threshold q for this coverage. Raises an error if there were too few sentences for it."""
        budget = (1 - coverage) * (self.n + 1) * (1 + 1e-12) - 1  # largest allowed sum_i L_i(q)
        if budget < 0:
            needed = ceil(coverage / (1 - coverage) * (1 - 1e-12))
            raise OptionError(
                Named("coverage", coverage),
                f": expected a model calibrated on at least {needed:,} sentences (with {kind}), "
                f"found {self.n:,}; calibrate it on more sentences, or request at most {self.n / (self.n + 1):.4g}",
            )
        return next(s for s, missed in zip(self.score, self.missed, strict=True) if missed <= budget)

    def to_json(self) -> dict[str, Any]:
        return self._asdict()


def _rounded_up(x: float) -> float:
    return ceil(x * _DIGITS - 1e-6) / _DIGITS


def check_coverage(coverage: Any) -> float:
    """Return the coverage, or raise an error if it is invalid."""
    if isinstance(coverage, bool) or not isinstance(coverage, Real) or not 0 < float(coverage) < 1:
        raise OptionError(
            Named("coverage"), f": expected a number above 0 and below 1, such as 0.95, found {coverage!r:.60}"
        )
    return float(coverage)


def check_kind(kind: Any) -> str:
    if kind not in KINDS:
        raise InputError(f"of: expected one of {', '.join(KINDS)}, found {kind!r:.60}")
    return str(kind)


def check_enough(n: int, what: str) -> None:
    """Reject data with too few sentences to calibrate on."""
    if n < MIN_SENTENCES:
        raise InputError(
            f"{what}: expected at least {MIN_SENTENCES} sentences to calibrate on (the minimum for a coverage of "
            f"0.95; several hundred are better), found {n}"
        )


def calibration_of(training: Mapping[str, Any], kind: str) -> Calibration:
    """The calibration in a model's training record. Raises an error if the model is not calibrated for this kind."""
    record = training.get(KEY)
    if record is None:
        raise OptionError(
            Named("coverage"),
            ": expected a calibrated model, found an uncalibrated one; run `sparsecrf calibrate MODEL DATA` or "
            "CRF.calibrate(X, y) with held-out data",
        )
    found = record.get(kind) if isinstance(record, Mapping) else None
    if found is None and isinstance(record, Mapping):
        reason = f"because the calibration data contained no {kind}"
        raise OptionError(Named("coverage"), f": this model is not calibrated for {kind}, {reason}")
    return _checked(found)


def without_calibration(training: Mapping[str, Any]) -> dict[str, Any]:
    """The training record for a model whose probabilities have changed, without the calibration."""
    return {name: value for name, value in training.items() if name != KEY}


def _checked(found: Any) -> Calibration:
    """The calibration read from a file. Raises an error if it is invalid."""
    try:
        made = Calibration(int(found["n"]), list(map(float, found["score"])), list(map(float, found["missed"])))
    except (TypeError, KeyError, ValueError, OverflowError):
        raise InputError("calibration of the model: expected n, score and missed, found a damaged record") from None
    falling = all(a >= b for a, b in zip(made.missed, made.missed[1:], strict=False))
    rising = all(a <= b for a, b in zip(made.score, made.score[1:], strict=False))
    finite = all(map(isfinite, made.score + made.missed))
    if (
        not (rising and falling and finite and made.n > 0)
        or len(made.score) != len(made.missed)
        or made.missed[-1:] != [0]
    ):
        raise InputError(
            "calibration of the model: expected increasing scores and misses that decrease to 0, found other numbers"
        )
    return made
