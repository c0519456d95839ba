"""Made-up sentences with names of people, places and firms, on which the examples train."""

import random

SYLLABLES = [
    "ba",
    "be",
    "bo",
    "da",
    "do",
    "fa",
    "ga",
    "ka",
    "ko",
    "la",
    "li",
    "lo",
    "ma",
    "mi",
    "na",
    "ra",
    "ri",
    "sa",
    "ta",
]
#: The usual endings of names. Some endings occur with more than one kind of name.
ENDINGS = {
    "PER": ["na", "son", "dra", "mir", "ton", "ia"],
    "LOC": ["burg", "ville", "ton", "stad", "ia", "port"],
    "ORG": ["ex", "soft", "tech", "port", "son", "co"],
}
PATTERNS = [
    "PER said that ORG will open an office in LOC .",
    "PER and PER met in LOC on Monday .",
    "ORG of LOC sold its shares to ORG .",
    "the mayor of LOC , PER , spoke for an hour .",
    "PER went from LOC to LOC to work for ORG .",
    "nobody had heard of PER .",
    "nobody had heard of LOC .",
    "nobody had heard of ORG .",
    "PER left .",
    "ORG left LOC .",
    "they like PER and LOC .",
    "they like ORG and PER .",
]


def sentences(n, seed=0):
    """`n` sentences as lists of words, and their IOB2 labels. One name in ten has an ending that is unusual for its
    kind."""
    rng = random.Random(seed)
    words, labels = [], []
    for _ in range(n):
        tokens, tags = [], []
        for part in rng.choice(PATTERNS).split():
            name = [_name(part, rng) for _ in range(rng.choice([1, 1, 2]))] if part in ENDINGS else []
            tokens += name or [part]
            tags += [f"{'I' if k else 'B'}-{part}" for k in range(len(name))] or ["O"]
        words.append(tokens)
        labels.append(tags)
    return words, labels


def _name(kind, rng):
    endings = ENDINGS[kind] if rng.random() < 0.9 else ENDINGS[rng.choice(list(ENDINGS))]
    return ("".join(rng.choices(SYLLABLES, k=rng.choice([1, 2]))) + rng.choice(endings)).capitalize()


def features(words):
    """The attributes of each word of a sentence, as mappings."""
    padded = ["<s>", *words, "</s>"]
    return [
        {
            "word": word.lower(),
            "title": word.istitle(),
            "suffix": [word[-2:], word[-3:]],
            "before": padded[t].lower(),
            "after": padded[t + 2].lower(),
        }
        for t, word in enumerate(words)
    ]
