"""Treats the conversion of letters to sounds as sequence labelling: makes attributes from letters, gets labels from the
aligner, and turns labels into pronunciations."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress

from sparsecrf._core import Corpus
from sparsecrf.contrib.datasets.align import JOIN, SILENT, Aligner, Word
from sparsecrf.contrib.datasets.cmudict import RARE, usual
from sparsecrf.encoding.vocabulary import Vocabulary
from sparsecrf.model import Model

WINDOW = 4  # number of letters on each side
LONGEST = 4  # length of the longest n-gram
HELD_OUT = 1000  # number of dev words, and of test words
EXAMPLES = ("phoenix", "knight", "quick", "exhaust", "island", "music")  # their letters make zero, one and two sounds


def attributes(word: str) -> list[list[str]]:
    """The attributes of each letter: the surrounding letters by distance, and the n-grams that contain or touch the
    letter.

    An attribute is `where:letters`, where `where` is the position of the first letter relative to this one: in
    `phoenix`, the attributes of x include `0:x`, `-1:ix` and `-3:eni`. `^` and `$` mark the beginning and end of the
    word.
    """
    padded = "^" * WINDOW + word + "$" * WINDOW
    here = range(WINDOW, WINDOW + len(word))
    return [[f"{begin}:{padded[t + begin : t + begin + n]}" for begin, n in _GRAMS] for t in here]


# The start and length of each n-gram: all single letters in the window, and longer n-grams that contain or touch this
# letter. The letter itself comes first, since reports use it as the token's name.
_GRAMS = sorted(
    (
        (begin, n)
        for n in range(1, LONGEST + 1)
        for begin in range(-WINDOW, WINDOW + 2 - n)
        if n == 1 or -n <= begin <= 1
    ),
    key=lambda gram: gram != (0, 1),
)


def conditions_pairs(attribute: str) -> bool:
    """Whether an attribute also conditions label pairs, which only the letter itself does."""
    return attribute.startswith("0:") and len(attribute) == 3


def phonemes(labels: Iterable[str]) -> tuple[str, ...]:
    """The pronunciation given by the labels of a word: silent letters are dropped, and double labels become two
    phonemes."""
    return tuple(phoneme for label in labels if label != SILENT for phoneme in label.split(JOIN))


def pronunciations(model: Model, word: str, k: int = 3, among: int = 20) -> list[tuple[tuple[str, ...], float]]:
    """The k best pronunciations of a word with probabilities, summed over label sequences that sound the same."""
    total: dict[tuple[str, ...], float] = {}
    for labels, p in model.nbest(attributes(word), among):
        sounds = phonemes(labels)
        total[sounds] = total.get(sounds, 0.0) + p
    return sorted(total.items(), key=lambda item: -item[1])[:k]


@dataclass(frozen=True)
class Part:
    """Words with the labels of their letters."""

    words: list[Word]
    labels: list[list[str]]

    def encode(self, vocabulary: Vocabulary, *, grow: bool = False) -> Corpus:
        """Encode the words. A label that is not in the vocabulary is encoded as missing, since no model can predict
        it."""
        known = {vocabulary.labels[k] for k in range(len(vocabulary.labels))}
        y = self.labels if grow else [[label if label in known else None for label in word] for word in self.labels]
        return vocabulary.encode((attributes(spelling) for spelling, _ in self.words), y, grow=grow)


@dataclass(frozen=True)
class Task:
    """A sample of a dictionary, aligned."""

    train: Part  #: the aligned words, without the few that need a rare label
    dev: Part
    test: Part
    examples: Part  #: a few words to show
    log_likelihoods: list[float]  #: log-likelihoods of EM on the training words


def make_task(words: Sequence[Word], n_train: int, seed: int) -> Task:
    """Draw training, dev and test words and align them. EM sees only the training words."""
    held_out = min(HELD_OUT, len(words) // 4)
    drawn = random.Random(seed).sample(list(words), min(len(words), n_train + 2 * held_out))
    dev, test, train = drawn[:held_out], drawn[held_out : 2 * held_out], drawn[2 * held_out :]
    aligner = Aligner.for_words(words)
    log_likelihoods = aligner.fit(train)
    labels = aligner.align(train)
    kept = usual(labels, least=min(RARE, 1 + len(train) // 500))
    examples = [word for word in words if word[0] in EXAMPLES]
    return Task(
        train=Part(list(compress(train, kept)), list(compress(labels, kept))),
        dev=Part(dev, aligner.align(dev)),
        test=Part(test, aligner.align(test)),
        examples=Part(examples, aligner.align(examples)),
        log_likelihoods=log_likelihoods,
    )
