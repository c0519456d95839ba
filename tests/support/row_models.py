"""Models with templates and random weights, and rows for them: many ties, and sums that differ in the last bits."""

from typing import Any

import numpy as np

from sparsecrf import Model, Resource, Template, Vocabulary, _core

#: Words that look like boundary cells, or like two cells with their separator.
WORDS = ["a", "b", "A", "Ab", "aB", "ab", "b7", "a/b", "b/a", "/", "_B-1", "_B+1", "é", "Éa", "77", "new"]
_MACROS = [
    "%x[{r},{c}]",
    "%l[{r},{c}]",
    "%p[{r},{c},1]",
    "%S[{r},{c},1]",
    "%h[{r},{c},1]",
    "%c[{r},{c}]",
    "%X[{r},{c}]",
]
_RARE = [
    "%e[{r}]",
    '%t[{r},{c},"^[A-Z]"]',
    '%m[{r},{c},"a."]',
    "%x[@1,{c}]",
    "%l[@-1,{c}]",
    "%x[6,{c}]",
    "%n[{r},{c}]",
    "%d[{r},{c},names]",
]
#: The marks of a word depend on its neighbours.
_NAMES = Resource.lexicon("names", {"a b": "X", "a": "Y", "b A": "X", "A b ab": "Y"})
#: Weights in equal steps give exact ties; tenths tie up to rounding.
SIZES = [[-1.0, 0.0, 0.0, 0.5, 1.0], [-0.3, -0.1, 0.0, 0.1, 0.2, 0.7], [1e8, 1.0, -1.0, -1e8]]


def _line(rng: np.random.Generator, k: int, conditions: bool) -> str:
    parts = []
    for _ in range(rng.choice([1, 1, 2, 2, 3, 6], p=[0.4, 0.1, 0.25, 0.1, 0.1, 0.05])):
        macro = str(rng.choice(_RARE if rng.random() < 0.2 else _MACROS))
        parts.append(macro.format(r=rng.integers(-5, 6), c=rng.integers(2)))
    kind = rng.choice(["U", "*", "B"]) if conditions else "U"
    name = f"{kind}{'' if rng.random() < 0.1 else k}:"  # some lines make the same attributes
    return name + str(rng.choice(["/", "|", ""])).join(parts)


def rows_of(rng: np.random.Generator, n: int) -> list[list[list[str]]]:
    """Sequences of rows of two columns."""
    return [[[str(rng.choice(WORDS)), str(rng.choice(WORDS[:5]))] for _ in range(rng.integers(1, 9))] for _ in range(n)]


def row_model(seed: int, *, conditions: bool | None = None) -> tuple[Model, list[list[list[str]]]]:
    """A model and sequences for it. `conditions`: whether cells condition label pairs; None: some models do."""
    rng = np.random.default_rng(seed)
    if conditions is None:
        conditions = bool(rng.random() < 0.25)
    lines = [_line(rng, k, conditions) for k in range(rng.integers(1, 12))]
    text = "\n".join([*lines, *(["B"] if rng.random() < 0.8 else []), *(["U"] if rng.random() < 0.2 else [])])
    template = Template(text, resources=[_NAMES] if "%d" in text else [])
    labels = [f"y{k}" for k in range(rng.choice([1, 2, 3, 8, 9, 20]))]
    vocabulary = Vocabulary(start=bool(rng.integers(2)))
    known = rows_of(rng, 12)
    gold = [[str(rng.choice(labels)) for _ in rows] for rows in known]
    corpus = vocabulary.encode(known, gold, template=template, grow=True)
    features = _core.FeatureSet.all_virtual(corpus)
    sizes = SIZES[rng.integers(len(SIZES))]
    w = rng.choice(sizes, len(features)) if rng.random() < 0.8 else rng.normal(size=len(features))
    options: dict[str, Any] = {"template": template, "n_columns": 2}
    return Model(vocabulary, features, w * (rng.random(len(features)) < rng.choice([0.1, 0.5, 1.0])), **options), [
        *known[:4],
        *rows_of(rng, 8),
    ]
