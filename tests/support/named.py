"""Random models by name, and as dense arrays for the reference."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from strategies import seeds

import reference
from sparsecrf import BIAS, Model


@dataclass
class Named:
    """A random model by name, and as dense arrays for the reference. The bias is the last attribute."""

    labels: list[str]
    attributes: list[str]
    mu: Any  # float64[X+1,Y]
    lam: Any  # float64[X+1,Y+1,Y]
    conditioning: set[str]  # attributes that condition label pairs, besides the bias
    start: bool
    tokens: list[list[tuple[str, float]]]
    limits: dict[str, Any] = field(default_factory=dict)  # by name, as Model takes them

    @property
    def model(self) -> Model:
        previous = [*self.labels, None]
        names = [*self.attributes, BIAS]
        unigram = {
            (names[x], self.labels[y]): w for (x, y), w in np.ndenumerate(self.mu) if w != 0.0 and names[x] != BIAS
        }
        bigram = {
            (names[x], previous[p], self.labels[y]): w
            for (x, p, y), w in np.ndenumerate(self.lam)
            if w != 0.0 and (names[x] == BIAS or names[x] in self.conditioning)
        }
        return Model.from_weights(self.labels, unigram, bigram, bigrams=self.conditioning, start=self.start)

    @property
    def psi(self):
        """The lattice float64[T,Y+1,Y], by the definition."""
        names = {name: x for x, name in enumerate(self.attributes)}
        unigram = tuple(tuple((names[x], v) for x, v in token) for token in self.tokens)
        bias = (len(names), 1.0)
        bigram = [(bias, *((names[x], v) for x, v in token if x in self.conditioning)) for token in self.tokens]
        if not self.start:
            bigram[0] = ()
        Y, ids = len(self.labels), {y: k for k, y in enumerate(self.labels)}
        allowed = forbidden = fixed = None
        if self.limits.get("allowed") is not None:
            allowed = np.array([[names is None or y in names for y in self.labels] for names in self.limits["allowed"]])
        if self.limits.get("forbidden") is not None:
            forbidden = np.zeros((Y + 1, Y), dtype=bool)
            for p, y in self.limits["forbidden"]:
                forbidden[Y if p is None else ids[p], ids[y]] = True
        if self.limits.get("fixed") is not None:
            fixed = np.array([-1 if y is None else ids[y] for y in self.limits["fixed"]], dtype=np.int32)
        sequence = reference.SequenceData(unigram, tuple(bigram))
        return reference.potentials(sequence, self.mu, self.lam, allowed, forbidden, fixed)


@st.composite
def named_models(draw, limits: bool = False) -> Named:
    Y, X = draw(st.integers(1, 4), label="labels"), draw(st.integers(1, 4), label="attributes")
    T = draw(st.integers(1, 5), label="length")
    density = draw(st.sampled_from([0.0, 0.3, 1.0]), label="density")
    rng = np.random.default_rng(draw(seeds, label="seed"))
    # Names are interned in a different order from the reference's labels.
    attributes = [f"x{k}" for k in range(X)]
    mu = rng.normal(size=(X + 1, Y))
    lam = rng.normal(size=(X + 1, Y + 1, Y)) * (rng.random((X + 1, Y + 1, Y)) < density)
    named = Named(
        labels=[f"label {k}" for k in rng.permutation(Y)],
        attributes=attributes,
        mu=mu,
        lam=lam,
        conditioning=set(draw(st.sets(st.sampled_from(attributes)), label="conditioning")),
        start=draw(st.booleans(), label="start"),
        tokens=[
            [(str(x), float(rng.choice([1.0, 0.5, -2.0]))) for x in rng.choice(attributes, rng.integers(0, 3))]
            for _ in range(T)
        ],
    )
    if not limits:
        return named
    path = [str(y) for y in rng.choice(named.labels, T)]  # always possible
    kinds = draw(st.sets(st.sampled_from(["allowed", "forbidden", "fixed"]), min_size=1), label="limits")
    if "allowed" in kinds:
        named.limits["allowed"] = [
            None if rng.random() < 0.3 else {y, *(z for z in named.labels if rng.random() < 0.5)} for y in path
        ]
    if "forbidden" in kinds:
        taken = set(zip([None, *path], path, strict=False))
        pairs = [(p, y) for p in (None, *named.labels) for y in named.labels]
        named.limits["forbidden"] = [pair for pair in pairs if pair not in taken and rng.random() < 0.4]
    if "fixed" in kinds:
        named.limits["fixed"] = [y if rng.random() < 0.4 else None for y in path]
    return named
