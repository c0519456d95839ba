"""Align letters with phonemes by expectation-maximisation, so that every letter gets a label.

A dictionary says that `phoenix` is pronounced F IY N IH K S, but not which letter makes which sound. In the model,
every letter makes a chunk of zero, one or two phonemes, from left to right and independently of all other letters:

    p  h  o  e   n  i   x
    F  _  _  IY  N  IH  K+S        `_`: silent

    P(phonemes | letters) = sum over alignments of prod_t theta[letter_t, chunk_t]

with theta[letter, .] a distribution over chunks. EM finds theta. The next theta is the normalised expected number of
times that a letter makes a chunk, with all alignments weighted by their probabilities. The likelihood never decreases.
The best alignment of each word under the last theta gives its labels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import InputError

SILENT = "_"  #: the label of a letter that makes no phoneme
JOIN = "+"  #: separates the two phonemes of a label; a space would end the column of a file
MOST = 2  #: maximum number of phonemes that one letter can make

#: The starting point of EM: the probability of all chunks with a given length. Most chunks consist of one phoneme.
_START = (0.25, 0.74, 0.01)
#: The share of this starting point in the mixture that is used for aligning, since new words may need chunks that EM
#: has not seen.
_UNSEEN = 1e-6

Floats = NDArray[np.float64]
Ids = NDArray[np.intp]
Word = tuple[str, Sequence[str]]  #: letters, phonemes


def alignable(letters: str, phonemes: Sequence[str]) -> bool:
    """Whether there are enough letters for the phonemes."""
    return len(phonemes) <= MOST * len(letters)


@dataclass
class Aligner:
    """The distributions theta for the letters and phonemes of the given words.

    With P phonemes, chunk 0 is silence, chunk 1 + p is one phoneme, and chunk 1 + P + p P + q is two phonemes.
    """

    letters: dict[str, int]
    phonemes: dict[str, int]
    theta: Floats = field(init=False)  #: [letters, chunks], rows sum to one; owned

    def __post_init__(self) -> None:
        self.theta = np.tile(self._start(), (len(self.letters), 1))

    @classmethod
    def for_words(cls, words: Iterable[Word]) -> Aligner:
        """An untrained aligner."""
        words = list(words)
        letters = sorted({letter for spelling, _ in words for letter in spelling})
        phonemes = sorted({phoneme for _, sounds in words for phoneme in sounds})
        return cls({name: k for k, name in enumerate(letters)}, {name: k for k, name in enumerate(phonemes)})

    def fit(self, words: Sequence[Word], *, iterations: int = 30, tol: float = 1e-4) -> list[float]:
        """Run EM until an iteration gains less than `tol` of the log-likelihood. Returns the log-likelihood before each
        iteration."""
        batches = list(self._batches(words))
        values: list[float] = []
        for _ in range(iterations):
            counts, log_likelihood = self._expectations(batches)
            values.append(log_likelihood)
            if len(values) > 1 and values[-1] - values[-2] <= tol * abs(values[-1]):
                break
            totals = counts.sum(axis=1, keepdims=True)  # a letter that does not occur in these words keeps its theta
            self.theta = np.divide(counts, totals, out=self.theta, where=totals > 0)
        return values

    def expectations(self, words: Sequence[Word]) -> tuple[Floats, float]:
        """The expected number of times that each letter makes each chunk, [letters, chunks], and the log-likelihood."""
        return self._expectations(list(self._batches(words)))

    def align(self, words: Sequence[Word]) -> list[list[str]]:
        """The most probable alignment of each word: a label for every letter."""
        names = [SILENT, *self.phonemes, *(f"{p}{JOIN}{q}" for p in self.phonemes for q in self.phonemes)]
        log_theta = np.log((1.0 - _UNSEEN) * self.theta + _UNSEEN * self._start())
        labels: list[list[str]] = [[] for _ in words]
        for batch in self._batches(words):
            for k, chunks in zip(batch.order, batch.best(log_theta).tolist(), strict=True):
                labels[k] = [names[chunk] for chunk in chunks]
        return labels

    def _start(self) -> Floats:
        """[chunks] the initial probabilities, the same for every letter."""
        sizes = [len(self.phonemes) ** length for length in range(MOST + 1)]
        start = np.concatenate([np.full(size, p / max(size, 1)) for p, size in zip(_START, sizes, strict=True)])
        start /= start.sum()
        return start

    def _expectations(self, batches: Iterable[_Batch]) -> tuple[Floats, float]:
        counts, log_likelihood = np.zeros(self.theta.size), 0.0
        for batch in batches:
            expected, log_likelihoods = batch.expected(self.theta)
            for cells, values in zip(batch.cells(self.theta), expected, strict=True):
                counts += np.bincount(cells.ravel(), values.ravel(), minlength=counts.size)
            log_likelihood += float(log_likelihoods.sum())
        return counts.reshape(self.theta.shape), log_likelihood

    def _batches(self, words: Sequence[Word]) -> Iterator[_Batch]:
        """The words, grouped by their numbers of letters and phonemes."""
        members: dict[tuple[int, int], list[int]] = defaultdict(list)
        for k, (spelling, sounds) in enumerate(words):
            if not alignable(spelling, sounds):
                raise InputError(
                    f"word {k}, {spelling!r}: expected at most {MOST * len(spelling)} phonemes, {MOST} per letter, "
                    f"found {len(sounds)}: {' '.join(sounds)}"
                )
            members[len(spelling), len(sounds)].append(k)
        for (n, m), order in members.items():
            letters = [_ids(words[k][0], self.letters, f"word {k}: expected a letter") for k in order]
            phonemes = [_ids(words[k][1], self.phonemes, f"word {k}: expected a phoneme") for k in order]
            arrays = (
                np.array(letters, np.intp).reshape(len(order), n),
                np.array(phonemes, np.intp).reshape(len(order), m),
            )
            yield _Batch(order, *arrays, n_phonemes=len(self.phonemes))


class _Batch:
    """Words of n letters and m phonemes each: Python loops over letters, and NumPy loops over words and positions.

    alpha[w, t, j]: probability that the first t letters make the first j phonemes; beta[w, t, j]: probability that the
    remaining letters make the remaining phonemes. A chunk of length l that ends at j began at j - l, so with s_l[w, t,
    i] the theta of letter t + 1 and the chunk of length l after the first i phonemes,

        alpha[t + 1, i + l] += alpha[t, i] s_l[t, i]        beta[t, i] += s_l[t, i] beta[t + 1, i + l]
    """

    def __init__(self, order: list[int], letters: Ids, phonemes: Ids, n_phonemes: int) -> None:
        self.order = order  #: [W] the indices of these words
        self.letters = letters  #: [W, n]
        self.W, self.n = letters.shape
        self.m = m = phonemes.shape[1]
        chunks = [np.zeros((self.W, m + 1), np.intp), 1 + phonemes]
        if m >= MOST:
            chunks.append(1 + n_phonemes * (1 + phonemes[:, :-1]) + phonemes[:, 1:])
        self.chunks = chunks[: m + 1]  #: by length l: [W, m + 1 - l] the chunk after the first i phonemes

    def cells(self, theta: Floats) -> list[Ids]:
        """By length l: [W, n, m + 1 - l] flat indices in theta of a letter and a chunk."""
        return [self.letters[:, :, None] * theta.shape[1] + chunk[:, None, :] for chunk in self.chunks]

    def expected(self, theta: Floats) -> tuple[list[Floats], Floats]:
        """P(letter t makes the chunk | word), laid out as `cells`, and [W] the log-likelihoods."""
        s = [theta.ravel()[cells] for cells in self.cells(theta)]
        alpha = np.zeros((self.W, self.n + 1, self.m + 1))
        beta = np.zeros_like(alpha)
        alpha[:, 0, 0] = beta[:, self.n, self.m] = 1.0
        for t in range(self.n):
            for length, s_l in enumerate(s):
                alpha[:, t + 1, length:] += alpha[:, t, : self.m + 1 - length] * s_l[:, t]
        for t in reversed(range(self.n)):
            for length, s_l in enumerate(s):
                beta[:, t, : self.m + 1 - length] += s_l[:, t] * beta[:, t + 1, length:]
        Z = alpha[:, self.n, self.m]
        if not Z.all():
            k = self.order[int(np.argmin(Z))]
            raise InputError(
                f"word {k}: expected phonemes that the letters can produce, found phonemes with probability 0"
            )
        expected = [
            alpha[:, :-1, : self.m + 1 - length] * s_l * beta[:, 1:, length:] / Z[:, None, None]
            for length, s_l in enumerate(s)
        ]
        return expected, np.log(Z)

    def best(self, log_theta: Floats) -> Ids:
        """[W, n] the chunks of the most probable alignment: the recurrence of alpha with max for the sum."""
        s = [log_theta.ravel()[cells] for cells in self.cells(log_theta)]
        score = np.full((self.W, self.m + 1), -np.inf)
        score[:, 0] = 0.0
        used = np.empty((self.W, self.n, self.m + 1), np.intp)  # length of the best last chunk
        for t in range(self.n):
            each = np.full((len(s), self.W, self.m + 1), -np.inf)
            for length, s_l in enumerate(s):
                each[length, :, length:] = score[:, : self.m + 1 - length] + s_l[:, t]
            score, used[:, t] = each.max(axis=0), each.argmax(axis=0)
        words, end = np.arange(self.W), np.full(self.W, self.m)
        found = np.empty((self.W, self.n), np.intp)
        for t in reversed(range(self.n)):
            length = used[words, t, end]
            end = end - length
            for size, chunk in enumerate(self.chunks):
                chosen = length == size
                found[chosen, t] = chunk[chosen, end[chosen]]
        return found


def _ids(names: Iterable[str], ids: dict[str, int], expected: str) -> list[int]:
    for name in names:
        if name not in ids:
            raise InputError(f"{expected} that occurs in the words of the aligner, found {name!r}")
    return [ids[name] for name in names]
