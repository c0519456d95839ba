"""Made-up sentences with entities: words say much about their labels, not all, and the labels before them the rest."""

import numpy as np

_NAMES = ["Ada", "Alan", "Grace", "Kurt", "Emmy", "Paul"]
_PLACES = ["Oslo", "Lima", "Kyoto", "Accra", "Paul", "Ada"]  # two of them are names too
_PLAIN = ["the", "a", "old", "cat", "went", "saw", "said", "hello", "quickly", "tomorrow", "."]


def sentences(n, seed=0):
    """`n` sentences of tokens (word, part of speech) and their labels in IOB2."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        tokens, labels = [], []
        for _ in range(rng.integers(1, 5)):
            kind = rng.integers(4)
            if kind == 0:
                words = list(rng.choice(_NAMES, rng.integers(1, 3)))
                tokens += [(str(w), "NNP") for w in words]
                labels += ["B-PER", "I-PER"][: len(words)]
            elif kind == 1:
                tokens += [("in", "IN"), (str(rng.choice(_PLACES)), "NNP")]
                labels += ["O", "B-LOC"]
            else:
                words = rng.choice(_PLAIN, rng.integers(1, 4))
                tokens += [(str(w), "." if w == "." else "X") for w in words]
                labels += ["O"] * len(words)
        # Some labels are deliberately wrong, so that no model can be perfect.
        labels = ["O" if rng.random() < 0.02 else label for label in labels]
        X.append(tokens)
        y.append(labels)
    return X, y


def word2features(tokens, t):
    """The attributes of a token as a mapping, as tutorials make them."""
    word, tag = tokens[t]
    features = {
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-2:]": word[-2:],
        "word.istitle()": word.istitle(),
        "postag": tag,
        "length": len(word) / 10,
    }
    if t > 0:
        features["-1:word.lower()"] = tokens[t - 1][0].lower()
    else:
        features["BOS"] = True
    return features


def dicts(X):
    return [[word2features(tokens, t) for t in range(len(tokens))] for tokens in X]


def words(X):
    return [[word for word, _ in tokens] for tokens in X]
