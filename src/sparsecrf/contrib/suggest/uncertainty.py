"""Measures of the information that a model can gain from a sequence: exact functions of P(y | x), one value per
sequence.

    confidence   - log P(y* | x)                       y* the best labels: log Z - score(y*)
    entropy      sum_t H(y_t) = - sum_t sum_y p_t(y) log p_t(y)
    change       sum_t |u_t|^2 (1 - sum_y p_t(y)^2)    u_t the values of the attributes of token t

If y were the correct label, the gradient of the loss in the weights of the attributes of token t would be
u_t (p_t - e_y)', whose expected squared length under p_t is |u_t|^2 (1 - sum_y p_t(y)^2). So `change` is the expected
change of the model if tokens share no attributes and transitions are ignored.

All measures grow with the length of a sequence, since annotating a longer sequence yields more information.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sparsecrf._core import Chain, Corpus

Floats = NDArray[np.float64]


def confidence(chain: Chain, corpus: Corpus) -> Floats:
    """- log P(y* | x)."""
    _, best = chain.viterbi(corpus)
    found: Floats = np.maximum(chain.log_partition(corpus) - best, 0.0)
    return found


def entropy(chain: Chain, corpus: Corpus) -> Floats:
    """Sum of the entropies of the labels of all tokens, in nats."""
    p = chain.marginals(corpus)
    return _sums(-(p * np.log(np.maximum(p, 1e-300))).sum(axis=1), corpus)


def change(chain: Chain, corpus: Corpus) -> Floats:
    """Expected squared length of the gradient, token by token."""
    p, arrays = chain.marginals(corpus), corpus.to_arrays()
    square = np.concatenate([[0.0], np.cumsum(arrays["unigram_value"] ** 2)])
    values = square[arrays["unigram_ptr"][1:]] - square[arrays["unigram_ptr"][:-1]]  # |u_t|^2
    return _sums(values * (1 - (p**2).sum(axis=1)), corpus)


def _sums(of_tokens: Floats, corpus: Corpus) -> Floats:
    """Sums over the tokens of each sequence; no sequence is empty."""
    found: Floats = np.add.reduceat(of_tokens, corpus.offsets[:-1])
    return found


#: The measures by name.
MEASURES: dict[str, Callable[[Chain, Corpus], Floats]] = {
    "confidence": confidence,
    "entropy": entropy,
    "change": change,
}
