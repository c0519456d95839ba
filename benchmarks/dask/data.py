"""Simulated text in column files: word frequencies follow a power law, and each label depends on the previous one."""

from __future__ import annotations

import pathlib

import numpy as np

LABELS, LENGTH = 12, 20  # labels, tokens of a sentence
WORDS_OF = 20_000  # words that occur with one label only; their frequencies follow Zipf's law
SHARED = 0.3  # share of the tokens whose word could have any label
TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[1,0]\n*3:%x[0,1]\nB\n"


def write(folder: pathlib.Path, n_tokens: int, n_files: int, seed: int = 0) -> list[str]:
    """Files with about the same number of tokens; at most one of them is in memory at a time."""
    names = []
    for k in range(n_files):
        rng = np.random.default_rng([seed, k])
        n = (n_tokens // n_files + LENGTH - 1) // LENGTH
        path = folder / f"part-{k:05d}.txt"
        path.write_text("\n".join(_sentences(rng, n)) + "\n")
        names.append(str(path))
    return names


def _sentences(rng: np.random.Generator, n: int) -> list[str]:
    # A label is followed by itself or by the next label more often than by others.
    step = rng.choice(LABELS, p=_steps(), size=(n, LENGTH))
    y = np.cumsum(step, axis=1) % LABELS
    rank = np.minimum(rng.zipf(1.3, size=(n, LENGTH)), WORDS_OF) - 1
    owner = np.where(rng.random((n, LENGTH)) < SHARED, LABELS, y)
    return [
        "".join(f"w{o}.{r} s{r % 7} L{label}\n" for o, r, label in zip(*rows, strict=True))
        for rows in zip(owner.tolist(), rank.tolist(), y.tolist(), strict=True)
    ]


def _steps() -> np.ndarray:
    p = np.full(LABELS, 0.3 / (LABELS - 2))
    p[:2] = 0.4, 0.3
    return p
