"""Chooses the solver for `auto`: `dual` if it is faster, else `proximal`. The choice depends only on the data and the
options, not on the number of threads.

With up to 20 labels, default runs of `dual` are 2.2 to 9.5 times as fast (benchmarks/record/dual.md), except if rho1 is
large and rho2 small. It stores T Y^2 numbers for T tokens and Y labels, and its steps take proportional time. With 26
to 36 labels, `dual` is still faster if positions have more attributes than there are labels (1.2 to 4 times), or with
few tokens (1.4 to 2 times with 18,000 to 24,000), because `proximal` takes less time per token on larger data.
Otherwise `proximal` is faster (1.5 times). With 300 to 1,700 tokens, `dual` is 4 to 15 times as fast.
"""

from __future__ import annotations

from collections.abc import Sequence

from sparsecrf._core import Corpus, DualAscent
from sparsecrf.compatibility import Choice
from sparsecrf.training.data import TrainingData
from sparsecrf.training.solvers import dual

_LABELS = 24  # maximum number of labels
# maximum if tokens have at least as many attributes as there are labels, or if there are few tokens
_LABELS_WITH_MORE_ATTRIBUTES = 36
_FEW_TOKENS = 25_000
_TOKENS = 300  # minimum number of tokens; with fewer, training takes a fraction of a second anyway
_BYTES = 2**30  # maximum memory
_RHO2 = 0.03  # minimum rho2
_RATIO = 4.0  # maximum ratio of rho1 to rho2


def choose_solver(data: TrainingData, rho1: float, rho2: float, choices: Sequence[Choice]) -> str:
    """Return `dual` or `proximal`. `choices`: the given options and the properties of the data, with their
    capabilities."""
    if dual.KIND.capabilities.conflicts(choice.capabilities for choice in choices if choice.option != "solver"):
        return "proximal"
    corpus = data.corpus
    assert isinstance(corpus, Corpus)  # dual does not support shards
    is_small = _has_few_labels(corpus) and DualAscent.bytes(corpus) <= _BYTES
    is_faster = corpus.n_tokens >= _TOKENS and rho2 >= max(_RHO2, rho1 / _RATIO)
    return "dual" if is_small and is_faster else "proximal"


def _has_few_labels(corpus: Corpus) -> bool:
    if corpus.n_labels <= _LABELS:
        return True
    is_cheap = corpus.n_tokens <= _FEW_TOKENS or DualAscent.occurrences(corpus) >= corpus.n_labels * corpus.n_tokens
    return corpus.n_labels <= _LABELS_WITH_MORE_ATTRIBUTES and is_cheap
