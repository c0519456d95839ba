"""The features that CRFsuite would make for a corpus.

A state feature is an attribute and a label that stand at one position, a transition two labels one after the other;
with `feature.possible_states` and `feature.possible_transitions`, any attribute with any label, and any two labels. Of
these it keeps those whose count is at least `feature.minfreq`, 0 by default. A count is a sum of values. So an
attribute of value 0 makes a feature (the `False` of a dict), and one whose values add up to less than 0 does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sparsecrf._core import Corpus
from sparsecrf.encoding.numbering import Numbering

if TYPE_CHECKING:
    from sparsecrf.training.feature_sets import Floats, Numbers

_TABULATED = 8  # cells for each occurrence that a table may have


class Features(NamedTuple):
    """Features by their numbers in the virtual space."""

    numbers: Numbers | None  #: ascending; None: all that are possible, which need not be listed
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
    """The features of a corpus. `bias` is the attribute of the transitions. `listed`: even if they are all possible."""
    import numpy as np

    Y = corpus.n_labels
    arrays = corpus.to_arrays()
    # States: the cells x Y + y, once for each occurrence of x.
    x = arrays["unigram_id"].astype(np.int64)
    y = np.repeat(corpus.labels, np.diff(arrays["unigram_ptr"]))
    states, state_counts = _counted(x * Y + y, arrays["unigram_value"], corpus.n_attributes * Y)
    # Transitions: the cells y' Y + y of all positions but the first of a sequence.
    labels = corpus.labels.astype(np.int64)
    inner = np.ones(len(labels), dtype=np.bool_)
    inner[corpus.offsets[:-1]] = False
    after = np.flatnonzero(inner)
    pairs, pair_counts = _counted(labels[after - 1] * Y + labels[after], np.ones(len(after)), Y * Y)
    every_one = possible_states and possible_transitions and minfreq <= 0 and (state_counts >= minfreq).all()
    if every_one and not listed:
        return Features(None, (len(np.unique(x)) + Y) * Y)
    if possible_states:
        every = (np.unique(x)[:, None] * Y + np.arange(Y)).ravel()
        states, state_counts = every, _counts_at(every, states, state_counts)
    if possible_transitions:
        every = np.arange(Y * Y)
        pairs, pair_counts = every, _counts_at(every, pairs, pair_counts)
    first_pair = Numbering.of(corpus).bigram(bias, 0, 0)
    numbers = np.concatenate([states[state_counts >= minfreq], first_pair + pairs[pair_counts >= minfreq]])
    return Features(numbers, len(numbers))


def _counted(cells: Numbers, values: Floats, n_cells: int) -> tuple[Numbers, Floats]:
    """Distinct cells of 0, ..., n_cells - 1, ascending, and the sum of the values of each."""
    import numpy as np

    if n_cells <= _TABULATED * len(cells):  # a table of all is several times as fast as sorting
        distinct = np.flatnonzero(np.bincount(cells, minlength=n_cells)).astype(np.int64)
        sums = np.bincount(cells, weights=values, minlength=n_cells).astype(np.float64)
        return distinct, sums[distinct]
    distinct, place = np.unique(cells, return_inverse=True)
    return distinct, np.bincount(place, weights=values, minlength=len(distinct)).astype(np.float64)


def _counts_at(every: Numbers, cells: Numbers, counts: Floats) -> Floats:
    """Counts of `every` cell, 0 where it is not among `cells`."""
    import numpy as np

    wide = np.zeros(len(every))
    wide[np.searchsorted(every, cells)] = counts
    return wide
