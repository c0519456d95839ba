"""The CMU Pronouncing Dictionary: words with their phonemes, and, once aligned, a phoneme label for every letter."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from sparsecrf._core import InputError
from sparsecrf.contrib.datasets.align import Aligner, Word, alignable

#: Labels that occur in fewer words are alignment errors, mostly from spelled-out abbreviations.
RARE = 10
_EM_WORDS = 20_000  # number of words from which the alignment is learned; aligning the remaining words is quick
_SPLIT = {"train": 0.8, "dev": 0.1, "test": 0.1}

_ENTRY = re.compile(r"(?P<word>[^\s#]+) +(?P<phonemes>[A-Z0-2 ]+?)\s*(#.*)?")
_PLAIN = re.compile(r"[a-z]{2,}")  # no digits, apostrophes or full stops; `word(2)` would be another pronunciation


def parse(text: str) -> list[Word]:
    """Words of two or more letters a-z that can be aligned, with their first pronunciation, without stress.

    A line consists of the word, its phonemes and possibly a comment, separated by spaces: `tete T EH1 T # french`.
    """
    words: list[Word] = []
    for number, line in enumerate(text.splitlines(), 1):
        entry = _ENTRY.fullmatch(line)
        if entry is None:
            raise InputError(f"cmudict.dict, line {number}: expected a word and phonemes, found {line[:60]!r}")
        phonemes = re.sub("[0-2]", "", entry["phonemes"]).split()
        if _PLAIN.fullmatch(entry["word"]) and alignable(entry["word"], phonemes):
            words.append((entry["word"], phonemes))
    return words


def usual(labels: Sequence[Sequence[str]], least: int = RARE) -> list[bool]:
    """For each word, whether each of its labels occurs in at least `least` words."""
    words_with = Counter(label for word in labels for label in set(word))
    return [all(words_with[label] >= least for label in word) for word in labels]


def columns(files: Mapping[str, bytes]) -> dict[str, list[list[tuple[str, ...]]]]:
    """Train, dev and test sequences of (letter, label), in a fixed random order, without words that have rare
    labels."""
    words = parse(files["cmudict.dict"].decode("utf-8"))
    random.Random(1).shuffle(words)
    aligner = Aligner.for_words(words)
    aligner.fit(words[:_EM_WORDS])
    labels = aligner.align(words)
    rows: list[list[tuple[str, ...]]] = [
        list(zip(spelling, label, strict=True))
        for (spelling, _), label, kept in zip(words, labels, usual(labels), strict=True)
        if kept
    ]
    parts, begin = {}, 0
    for part, share in _SPLIT.items():
        end = begin + round(share * len(rows))
        parts[part] = rows[begin:end]
        begin = end
    return parts
