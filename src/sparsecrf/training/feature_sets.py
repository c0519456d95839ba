"""Sets of features in ascending order of their numbers, and the working set of features that training considers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sparsecrf._core import FeatureSet
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.shards.protocol import Floats as Floats
from sparsecrf.shards.protocol import Numbers as Numbers


@dataclass(frozen=True)
class WorkingSet:
    """A set of features of the virtual space, in ascending order of their numbers."""

    numbers: Numbers
    feature_set: FeatureSet
    counts: Floats  #: C, the empirical count of each feature

    @property
    def size(self) -> int:
        return len(self.numbers)

    def attributes(self) -> Numbers:
        """The attribute of each feature."""
        found: Numbers = Numbering.of(self.feature_set).attribute(self.numbers)
        return found

    def carry(self, values: Floats, other: WorkingSet) -> Floats:
        """Values for the features of `other` (along the last axis), rearranged for this set; 0 for features that
        `other` lacks."""
        out = np.zeros((*values.shape[:-1], self.size))
        here, there = matches(self.numbers, other.numbers)
        out[..., here] = values[..., there]
        return out


def union(a: Numbers, b: Numbers) -> Numbers:
    """The sorted union of the sorted arrays a and b. A merge is much faster than np.union1d."""
    both = np.concatenate([a, b])
    both.sort(kind="stable")
    first = np.ones(len(both), dtype=np.bool_)
    first[1:] = both[1:] != both[:-1]
    return both[first]


def shared(a: Numbers, b: Numbers) -> Numbers:
    """The sorted intersection of the sorted arrays a and b."""
    return a[place_among(a, b) >= 0]


def matches(a: Numbers, b: Numbers) -> tuple[Any, Any]:
    """The indices of the common numbers of the sorted arrays a and b, in a and in b."""
    if np.array_equal(a, b):
        return slice(None), slice(None)
    if len(a) > len(b):
        return matches(b, a)[::-1]
    place = place_among(a, b)
    return place >= 0, place[place >= 0]


def place_among(numbers: Numbers, among: Numbers) -> Numbers:
    """The index of each number in the sorted array `among`, or -1 if it is missing."""
    if not len(among):
        return np.full(len(numbers), -1)
    place = np.minimum(np.searchsorted(among, numbers), len(among) - 1)
    return np.where(among[place] == numbers, place, -1)
