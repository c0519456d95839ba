"""Column files of the paper's hidden Markov model, and a template for them."""

import numpy as np

from sparsecrf.contrib.simulate import paper_hmm

TEMPLATE = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\n*2:%x[0,0]\nB\n"


def simulated(n, seed):
    """Column text of the paper's HMM."""
    X, y = paper_hmm().sample(n, np.random.default_rng(seed))
    return "\n".join("".join(f"{a} {b}\n" for a, b in zip(xs, ys, strict=True)) for xs, ys in zip(X, y, strict=True))
