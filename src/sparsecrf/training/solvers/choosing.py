"""Which solver `auto` is: `dual` where it is faster, else `proximal`. This depends on the data and the options alone,
not on the number of threads.

`dual` ends a default run 2.2 to 9.5 times earlier with up to 20 labels (benchmarks/record/dual.md); it is behind where
rho1 is large and rho2 small. It keeps tokens times labels squared numbers, and its steps take time in proportion. With
29 to 33 labels it is still ahead where positions have more attributes than that (1.2 to 4 times), or where data are
small and `proximal` hardly gets going (2 times); elsewhere `proximal` is (1.8 times).
"""

from __future__ import annotations

from collections.abc import Sequence

from sparsecrf._core import Corpus, DualAscent
from sparsecrf.compatibility import Choice
from sparsecrf.training.data import TrainingData
from sparsecrf.training.solvers import dual

_LABELS = 24  # at most
_LABELS_WITH_MORE_ATTRIBUTES = 36  # at most, with as many attributes per token or few tokens
_FEW_TOKENS = 10_000
_TOKENS = 2000  # at least: below, training takes a fraction of a second
_BYTES = 2**30  # at most
_RHO2 = 0.03  # at least
_RATIO = 4.0  # of rho1 to rho2, at most


def choose_solver(data: TrainingData, rho1: float, rho2: float, choices: Sequence[Choice]) -> str:
    """`dual`, or `auto` as a name of `proximal`; `choices`: the options that were given, and the data."""
    if dual.KIND.capabilities.conflicts(choice.capabilities for choice in choices if choice.option != "solver"):
        return "auto"
    corpus = data.corpus
    assert isinstance(corpus, Corpus)  # dual refuses shards
    is_small = _has_few_labels(corpus) and DualAscent.bytes(corpus) <= _BYTES
    is_faster = corpus.n_tokens >= _TOKENS and rho2 >= max(_RHO2, rho1 / _RATIO)
    return "dual" if is_small and is_faster else "auto"


def _has_few_labels(corpus: Corpus) -> bool:
    if corpus.n_labels <= _LABELS:
        return True
    is_cheap = corpus.n_tokens <= _FEW_TOKENS or DualAscent.occurrences(corpus) >= corpus.n_labels * corpus.n_tokens
    return corpus.n_labels <= _LABELS_WITH_MORE_ATTRIBUTES and is_cheap
