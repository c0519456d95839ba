"""Sentences about animals, and vectors of most of their words."""

import numpy as np

RNG = np.random.default_rng(7)
#: The first number separates nouns from verbs; `owl` has no vector, `Runs` has that of its lower case.
TABLE = {
    w: [s + 0.1 * RNG.normal(), RNG.normal(), RNG.normal()]
    for w, s in zip(["dog", "cat", "lynx"], [1] * 3, strict=True)
}
TABLE |= {w: [-1 + 0.1 * RNG.normal(), RNG.normal(), RNG.normal()] for w in ("barks", "sleeps", "eats", "runs")}
TABLE |= {"far": [9.0, 9.0, 9.0]}
GLOVE = "".join(f"{word} {' '.join(f'{x:.6f}' for x in row)}\n" for word, row in TABLE.items())
X = [["dog", "barks"], ["cat", "sleeps", "dog"], ["owl", "eats"], ["cat", "Runs"]]
Y = [["N", "V"], ["N", "V", "N"], ["N", "V"], ["N", "V"]]
TRAIN = "\n".join("".join(f"{w} {y}\n" for w, y in zip(xs, ys, strict=True)) for xs, ys in zip(X, Y, strict=True))
NEW = [["lynx", "eats"], ["runs", "lynx"], ["RUNS"], ["unheard"]]
