"""The slow, plain NumPy twin of the core, which the tests trust.

`lattice` turns a sequence and weights into scores psi[T,Y+1,Y]; `enumeration` looks at all paths;
`forward_backward` is the log-domain recursion; `sparse_recursion` is the paper's; `decoding` finds best
labels; `objective` sums losses and derivatives. Letters: T positions, Y labels, X attributes, mu[X,Y] and
lam[X,Y+1,Y] the weights.
"""

from . import enumeration
from .decoding import n_best, posterior_labels, sparse_viterbi, viterbi
from .forward_backward import Posterior, forward_backward, log_partition, log_prob, span_log_prob
from .lattice import (
    MISSING,
    SequenceData,
    Unsatisfiable,
    bigram_scores,
    constraint_scores,
    path_score,
    potentials,
    unigram_scores,
)
from .objective import Derivatives, empirical_counts, objective
from .sparse_recursion import sparse_forward_backward

__all__ = [
    "MISSING",
    "Derivatives",
    "Posterior",
    "SequenceData",
    "Unsatisfiable",
    "bigram_scores",
    "constraint_scores",
    "empirical_counts",
    "enumeration",
    "forward_backward",
    "log_partition",
    "log_prob",
    "n_best",
    "objective",
    "path_score",
    "posterior_labels",
    "potentials",
    "span_log_prob",
    "sparse_forward_backward",
    "sparse_viterbi",
    "unigram_scores",
    "viterbi",
]
