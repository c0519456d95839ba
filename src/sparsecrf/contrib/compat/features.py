"""The features that CRFsuite would generate for a corpus.

A state feature is an attribute and a label that occur at the same position; a transition is a pair of consecutive
labels. With `feature.possible_states`, any attribute forms a feature with any label; with
`feature.possible_transitions`, any two labels form a transition. Features whose count is at least `feature.minfreq`, 0
by default, are kept. A count is a sum of values, so an attribute with value 0 (such as `False` in a dict) forms a
feature, and an attribute whose values add up to less than 0 does not.
"""

from __future__ import annotations

from typing import NamedTuple

from sparsecrf._core import Corpus, FeatureSet, Oracle
from sparsecrf.encoding.numbering import Numbering
from sparsecrf.lazy import np
from sparsecrf.training.feature_sets import Floats, Numbers


class Features(NamedTuple):
    """Features by their numbers in the virtual space."""

    numbers: Numbers | None  #: in ascending order; None means all possible features, which need not be listed
    size: int


def crfsuite_features(
    corpus: Corpus,
    bias: int,
    *,
    minfreq: float,
    possible_states: bool,
    possible_transitions: bool,
    listed: bool = False,
) -> Features:
    """The features of a corpus. `bias` is the attribute of the transitions. `listed`: list features even if all are
    possible."""
    # Counted in the core, which copies no occurrences: NumPy's tables would need more memory than training.
    found = FeatureSet.observed(corpus, zeros=True)
    numbers, counts = found.numbers, Oracle(corpus, threads=1).counts(found)
    Y, first_pair = corpus.n_labels, Numbering.of(corpus).bigram(bias, 0, 0)
    states, state_counts = numbers[: found.n_unigram], counts[: found.n_unigram]  # cells x Y + y
    pairs, pair_counts = numbers[found.n_unigram :] - first_pair, counts[found.n_unigram :]  # cells y' Y + y
    every_one = possible_states and possible_transitions and minfreq <= 0 and (state_counts >= minfreq).all()
    if every_one and not listed:
        return Features(None, (len(np.unique(states // Y)) + Y) * Y)
    if possible_states:
        every = (np.unique(states // Y)[:, None] * Y + np.arange(Y)).ravel()
        states, state_counts = every, _counts_at(every, states, state_counts)
    if possible_transitions:
        every = np.arange(Y * Y)
        pairs, pair_counts = every, _counts_at(every, pairs, pair_counts)
    numbers = np.concatenate([states[state_counts >= minfreq], first_pair + pairs[pair_counts >= minfreq]])
    return Features(numbers, len(numbers))


def _counts_at(every: Numbers, cells: Numbers, counts: Floats) -> Floats:
    """The counts of all cells in `every`; 0 for cells that are not in `cells`."""
    wide = np.zeros(len(every))
    wide[np.searchsorted(every, cells)] = counts
    return wide
