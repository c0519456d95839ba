"""Simulated column files for programs to work on."""

from __future__ import annotations

import random

TEMPLATE = 'U0:%x[0,0]\nU1:%X[-1,0]\nU2:%x[1,0]\nU3:%m[0,0,".?.?$"]\n*4:%x[0,1]\nB\n'
_WORDS = {"PER": ["Ada", "Alan", "Emmy", "Paul"], "LOC": ["Oslo", "Lima", "Paul", "Zürich"], "O": ["the", "saw", "in"]}


def columns(n: int, seed: int = 0) -> str:
    """`n` sentences: word, part of speech, label. Words determine most of the labels, but not all."""
    rng = random.Random(seed)
    lines = []
    for _ in range(n):
        for _ in range(rng.randint(1, 12)):
            kind = rng.choice(list(_WORDS))
            word = rng.choice(_WORDS[kind]) + str(rng.randrange(40))
            label = "O" if kind == "O" or rng.random() < 0.05 else f"B-{kind}"
            lines.append(f"{word} {'X' if kind == 'O' else 'NNP'} {label}\n")
        lines.append("\n")
    return "".join(lines)
