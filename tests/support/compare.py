"""What "equal to 1e-10 relative" means for each kind of quantity."""

from __future__ import annotations

import re

import numpy as np
from numpy.testing import assert_allclose

KERNELS = ("auto", "sparse", "dense", "log")


def without_address(value) -> str:
    """An id of a test case that is the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def assert_probabilities(actual, expected) -> None:
    """Equal to 1e-10 relative; below 1e-13, where no answer depends on them, absolute."""
    assert_allclose(actual, expected, rtol=1e-10, atol=1e-13)


def assert_logs(actual, expected, magnitude: float) -> None:
    """Equal to 1e-10 relative, -inf to -inf.

    A log-probability is a difference of scores and no better than their rounding: magnitude is their size.
    """
    assert_allclose(actual, expected, rtol=1e-10, atol=1e-14 * magnitude)


def assert_sums(actual, expected, terms: float) -> None:
    """Equal to 1e-10 relative, for sums whose absolute terms add up to `terms` before they cancel."""
    assert_allclose(actual, expected, rtol=1e-10, atol=1e-13 * (1.0 + terms))


def magnitude(psi) -> float:
    """sum_t max |psi_t|, of the finite ones: the size of a path's score."""
    return 1.0 + float(np.where(np.isfinite(psi), np.abs(psi), 0.0).max(axis=(1, 2)).sum())


def total_value(sequences) -> float:
    """sum of w (|v| + v^2) over all positions: the size of what a gradient or a curvature adds up."""
    return sum(
        s.weight * max(s.token_weight or (1.0,)) * (abs(v) + v * v)
        for s in sequences
        for attributes in (*s.unigram, *s.bigram)
        for _, v in attributes
    )
