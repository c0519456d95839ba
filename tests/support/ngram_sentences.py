"""Sentences whose labels depend on the two labels before them."""

import numpy as np

WORDS = ["a", "b"]


def sentences(n=60, seed=0):
    """The label of a token depends on the two labels before it."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        labels = ["P", "Q"]
        for _ in range(int(rng.integers(2, 8))):
            same = labels[-1] == labels[-2]
            labels.append("R" if same else ("P" if rng.random() < 0.8 else "Q"))
        y.append(labels[2:])
        X.append([[str(rng.choice(WORDS))] for _ in y[-1]])
    return X, y
