"""Sentences of known words and of new ones made of characters of all kinds."""

import random

from newswire import sentences

WORDS = [word for sentence in sentences(60, 3) for word, _, _ in sentence]


def random_sentences(n, seed=7):
    """Known words, and new ones made of characters of all kinds."""
    rng = random.Random(seed)
    letters = "aeioustrnAESZéñßœ日本語🙂-.,'0123٣\u0301"

    def word():
        return rng.choice(WORDS) if rng.random() < 0.7 else "".join(rng.choices(letters, k=rng.randint(1, 9)))

    return [[[word()] for _ in range(rng.randint(1, 14))] for _ in range(n)]
