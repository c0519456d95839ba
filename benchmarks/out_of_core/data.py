"""Simulated column data of any length, made and written block by block, never held in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

LENGTH = 20  # tokens of a sequence
BLOCK = 5000  # sequences at a time
LABELS = 12
WORDS = 50_000
SUFFIXES = 500

TEMPLATE = """\
U-1:%x[-1,0]
U0:%x[0,0]
U1:%x[1,0]
Us-2:%x[-2,1]
Us-1:%x[-1,1]
Us0:%x[0,1]
Us1:%x[1,1]
Us2:%x[2,1]
Ub:%x[-1,1]/%x[0,1]
Bs:%x[0,1]
B
"""


def blocks(tokens: int, seed: int) -> Iterator[str]:
    """Write text of about this many tokens. Labels form a Markov chain; a word's rank follows a power law, and half of
    the time the label determines which word of that rank is chosen."""
    rng = np.random.default_rng(seed)
    follow = rng.dirichlet(np.full(LABELS, 0.3), LABELS).cumsum(axis=1)
    weight = 1.0 / np.arange(1, WORDS + 1) ** 1.1
    rank = weight.cumsum() / weight.sum()
    left = tokens
    while left > 0:
        n = min(BLOCK, -(-left // LENGTH))
        left -= n * LENGTH
        labels = np.empty((n, LENGTH), dtype=np.int64)
        labels[:, 0] = rng.integers(0, LABELS, n)
        for t in range(1, LENGTH):
            labels[:, t] = (rng.random(n)[:, np.newaxis] > follow[labels[:, t - 1]]).sum(axis=1).clip(max=LABELS - 1)
        word = np.searchsorted(rank, rng.random((n, LENGTH))).clip(max=WORDS - 1)
        own = rng.random((n, LENGTH)) < 0.5
        word = np.where(own, (word * LABELS + labels) % WORDS, word)
        suffix = (word * 7919 + np.where(own, labels, 0)) % SUFFIXES
        yield (
            "\n".join(
                "".join(f"w{w} s{s} L{y}\n" for w, s, y in zip(*rows, strict=True))
                for rows in zip(word.tolist(), suffix.tolist(), labels.tolist(), strict=True)
            )
            + "\n"
        )


def write(path: Path, tokens: int, seed: int = 0) -> None:
    with open(path, "w", encoding="ascii") as file:
        for block in blocks(tokens, seed):
            file.write(block)
