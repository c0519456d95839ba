"""Column files of random words, and a template for them."""

import numpy as np

TEMPLATE = "U:%x[-1,0]\nU:%x[0,0]\nB:%x[0,1]\nB\n"


def column_text(n_sequences, seed=0):
    rng = np.random.default_rng(seed)
    lines = []
    for _ in range(n_sequences):
        for _ in range(rng.integers(1, 6)):
            word = rng.integers(0, 40)
            lines.append(f"w{word} s{word % 7} {'xyz'[rng.integers(0, 3)]}")
        lines.append("")
    return "\n".join(lines) + "\n"
