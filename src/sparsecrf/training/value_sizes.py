"""Warns before training about attributes whose values have very different magnitudes.

A penalty acts on weights. An attribute with values of the order of v needs weights of the order of 1 / v, so the same
penalty suppresses attributes with small values and hardly affects those with large ones. Solvers take the magnitudes
into account (`TrainingData.units`); whether to scale values for the penalty is the user's choice.
"""

from __future__ import annotations

import numpy as np

from sparsecrf.shards import shards_of
from sparsecrf.shards.dataset import Dataset
from sparsecrf.shards.oracle import ShardedOracle
from sparsecrf.warn import warn_caller

_FAR_APART = 1000.0  # warn if the largest size divided by the smallest exceeds this


class ScaleWarning(UserWarning):
    """Issued when attributes have values of widely different sizes."""


def remark_on_sizes(data: Dataset) -> str | None:
    """A warning if the magnitudes of values are far apart: the attributes at both ends, and advice."""
    oracle = ShardedOracle(shards_of(data.shards))
    if oracle.value_sizes is None:
        return None
    sizes = np.where(oracle.masses(absolute=True)[0] > 0, oracle.value_sizes[0], np.nan)
    if np.isnan(sizes).all() or np.nanmax(sizes) < _FAR_APART * np.nanmin(sizes):
        return None
    (small, least), (large, most) = (
        (data.vocabulary.attributes[int(x)], f"{sizes[x]:.2g}") for x in (np.nanargmin(sizes), np.nanargmax(sizes))
    )
    return (
        f"attribute values differ greatly in size: the values of {small!r} are about {least} and the values of "
        f"{large!r} about {most}. The penalty hardly affects attributes with large values and suppresses attributes "
        "with small values; divide the values of each attribute by their usual size, such as their standard deviation"
    )


def warn_of_sizes(data: Dataset) -> None:
    """Issue the warning."""
    remark = remark_on_sizes(data)
    if remark is not None:
        warn_caller(remark, ScaleWarning)
