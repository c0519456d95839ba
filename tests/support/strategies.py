"""Hypothesis strategies: problems small enough to look at every path.

Hypothesis draws the structure (sizes, kinds, density), which is what makes a failing example small; the
numbers come from a seed.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st
from problems import WEIGHT_KINDS, Problem, make_limits, make_problem

LONGEST = {1: 6, 2: 6, 3: 6, 4: 5, 5: 4}  # T for a given Y: at most 1024 paths

seeds = st.integers(0, 2**32 - 1)


@st.composite
def problems(
    draw,
    weights=WEIGHT_KINDS,
    missing: bool = False,
    label_sets: bool = False,
    sequence_weights: bool = False,
    token_weights: bool = False,
    limits: bool = False,
) -> Problem:
    """A problem with 1..4 sequences, 1..5 labels, 1..6 attributes, lambda of any density.

    The flags say what may occur besides: missing labels, sets of labels, weights of sequences and tokens (0 among
    them), constraints.
    """
    n_labels = draw(st.integers(1, 5), label="n_labels")
    problem = make_problem(
        n_labels=n_labels,
        lengths=draw(st.lists(st.integers(1, LONGEST[n_labels]), min_size=1, max_size=4), label="lengths"),
        n_attributes=draw(st.integers(1, 6), label="n_attributes"),
        list_size=draw(st.integers(0, 3), label="list_size"),
        density=draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]), label="density"),
        weights=draw(st.sampled_from(weights), label="weights"),
        real_values=draw(st.booleans(), label="real_values"),
        missing=draw(st.sampled_from([0.0, 0.3, 1.0]), label="missing") if missing else 0.0,
        label_sets=draw(st.sampled_from([0.0, 0.5, 1.0]), label="label_sets") if label_sets else 0.0,
        sequence_weights=sequence_weights and draw(st.booleans(), label="sequence_weights"),
        token_weights=token_weights and draw(st.booleans(), label="token_weights"),
        seed=draw(seeds, label="seed"),
    )
    if not limits:
        return problem
    kinds = {kind: draw(st.booleans(), label=kind) for kind in ("allowed", "forbidden", "fixed")}
    return replace(problem, limits=make_limits(draw(seeds, label="limit seed"), problem, **kinds))
